// What is read from files, on any bytes: no crash, no other exception than the documented ones, and what was read and
// written is read again as the same. Two programs are made of this file: the unit test replays the inputs in corpus/, and
// run.sh, with clang, looks for new ones (libFuzzer).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tileseek/record/ansor.hpp>
#include <tileseek/record/autotvm.hpp>
#include <tileseek/record/csv.hpp>
#include <tileseek/record/detail/expression.hpp>
#include <tileseek/record/kernel_tuner.hpp>
#include <tileseek/record/metaschedule.hpp>
#include <tileseek/record/t1.hpp>
#include <tileseek/record/t4.hpp>
#include <tileseek/record/winners.hpp>

namespace {

void demand(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "broken: " << what << '\n';
  std::abort();
}

/// Lines of records: each is kept as it is, and stays so when it is moved to where it is.
template <class Record, class... Options>
void lines(const std::string& text, Options... options) {
  std::istringstream in(text);
  tileseek::record_reader<Record, Options...> log(in, "fuzz", tileseek::damage::skip, options...);
  while (auto r = log.next()) {
    demand(text.find(r->line()) != std::string::npos, "a record's line is in the file");
    static_cast<void>(r->task());
    static_cast<void>(r->target());
    static_cast<void>(r->family());
    const auto space = r->space();
    const auto here = r->values_in(space);
    const auto same = r->with(here);
    demand(same.values_in(space) == here, "a record is where it was put");
    demand(same.family() == r->family(), "a record stays in its family");
    demand(r->with_result(tileseek::failure(tileseek::status::timed_out, "")).family() == r->family(),
           "a result changes no family");
    const tileseek::measurement timed{tileseek::status::ok, {0.5, 0.25}, {}};
    demand(r->with_result(timed).result().seconds == timed.seconds, "a result is read as written");
  }
  static_cast<void>(to_string(log.report()));
}

void ansor(const std::string& text) {
  lines<tileseek::ansor_record>(text);
  lines<tileseek::ansor_record>(text, tileseek::ansor_options{.unroll = {0, 16}});
}
void autotvm(const std::string& text) { lines<tileseek::autotvm_record>(text); }
void metaschedule(const std::string& text) {
  lines<tileseek::metaschedule_record>(text, std::size_t{3}, tileseek::metaschedule_options{.annotations = true});
  std::istringstream in(text);
  tileseek::record_reader<tileseek::metaschedule_workload> workloads(in, "fuzz", tileseek::damage::skip);
  while (auto w = workloads.next()) static_cast<void>(w->module());
}

/// Documents: what is written of what was read is read and written as the same.
template <class Document>
std::string written(const Document& d) {
  std::ostringstream out;
  d.write(out);
  return out.str();
}
template <class Document, class... Options>
Document read(const std::string& text, Options... options) {
  std::istringstream in(text);
  return Document::read(in, "fuzz", options...);
}
template <class Document, class... Options>
void document(const std::string& text, Options... options) {
  std::optional<Document> first;
  try {
    first.emplace(read<Document>(text, options...));
  } catch (const std::runtime_error&) {
    return;
  }
  demand(written(read<Document>(written(*first), options...)) == written(*first), "a document stays as it was written");
}

void kernel_tuner(const std::string& text) {
  document<tileseek::kernel_tuner_cache>(text, tileseek::damage::skip);
  try {
    static_cast<void>(read<tileseek::kernel_tuner_cache>(text, tileseek::damage::skip).record());
  } catch (const std::runtime_error&) {
  }
}
void t1(const std::string& text) { document<tileseek::t1_definition>(text); }
void t4(const std::string& text) {
  document<tileseek::t4_results>(text, tileseek::damage::skip);
  try {
    static_cast<void>(read<tileseek::t4_results>(text, tileseek::damage::skip).record());
  } catch (const std::runtime_error&) {
  }
}
void csv(const std::string& text) {
  const auto once = [](const std::string& from) -> std::string {
    std::istringstream in(from);
    const auto got = tileseek::read_csv(in, "fuzz", tileseek::damage::skip);
    std::ostringstream out;
    tileseek::write_csv(out, got.record);
    return out.str();
  };
  std::string first;
  try {
    first = once(text);
  } catch (const std::runtime_error&) {
    return;
  } catch (const std::invalid_argument&) {
    return;
  }
  if (first.starts_with("status")) return;  // no configuration, hence no parameter
  demand(once(first) == first, "lines stay as they were written");
}
void winners(const std::string& text) {
  const auto once = [](const tileseek::winners& w) {
    std::ostringstream out;
    out << w;
    return out.str();
  };
  try {
    const auto w = read<tileseek::winners>(text);
    demand(once(read<tileseek::winners>(once(w))) == once(w), "winners stay as they were written");
    std::ostringstream header;
    w.write_header(header, "tuned");
    if (w.all().empty()) return;
    std::istringstream in(header.str());
    demand(once(tileseek::winners::read_header(in, "fuzz")) == once(w), "a header holds the winners");
  } catch (const std::runtime_error&) {
  } catch (const std::invalid_argument&) {
  }
}
void expression(const std::string& text) {
  try {
    const tileseek::detail::expression e(text);
    const std::vector<tileseek::value> some(e.names().size(), tileseek::value(3));
    try {
      static_cast<void>(e(some));
      static_cast<void>(e.holds(some));
    } catch (const std::runtime_error&) {
    }
    static_cast<void>(e.list());
  } catch (const std::runtime_error&) {
  }
}

constexpr std::pair<std::string_view, void (*)(const std::string&)> targets[] = {{"ansor", ansor},
                                                                                 {"autotvm", autotvm},
                                                                                 {"csv", csv},
                                                                                 {"expression", expression},
                                                                                 {"kernel_tuner", kernel_tuner},
                                                                                 {"metaschedule", metaschedule},
                                                                                 {"t1", t1},
                                                                                 {"t4", t4},
                                                                                 {"winners", winners}};

}  // namespace

#if defined(TILESEEK_FUZZ)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto target = [] {
    const char* name = std::getenv("TILESEEK_FUZZ");
    for (const auto& [known, run] : targets)
      if (name != nullptr && name == known) return run;
    std::cerr << "TILESEEK_FUZZ names no target\n";
    std::abort();
  }();
  target(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

#else

#include <doctest/doctest.h>

TEST_CASE("readers take the inputs of the corpus") {
  for (const auto& target : targets) {
    const std::string name(target.first);
    const auto run = target.second;
    CAPTURE(name);
    std::vector<std::filesystem::path> files;
    for (const auto& f : std::filesystem::directory_iterator(std::filesystem::path(TILESEEK_CORPUS) / name))
      files.push_back(f.path());
    std::sort(files.begin(), files.end());
    CHECK(files.size() >= 2);
    for (const auto& f : files) {
      CAPTURE(f.string());
      std::ifstream in(f, std::ios::binary);
      const std::string text(std::istreambuf_iterator<char>(in), {});
      CHECK_NOTHROW(run(text));
      // Cut off where it hurts: in the middle, at the last byte.
      CHECK_NOTHROW(run(text.substr(0, text.size() / 2)));
      CHECK_NOTHROW(run(text.substr(0, text.empty() ? 0 : text.size() - 1)));
    }
  }
}

#endif

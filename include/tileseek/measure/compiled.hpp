#pragma once
// Tunes a C or C++ function whose tile sizes are macros or template arguments.
//
//   auto kernel = tileseek::compiled(space, {.source = "matmul.c",
//                                            .function = "matmul",
//                                            .arguments = {tileseek::input<float>(n * n), ..., tileseek::scalar(n)},
//                                            .truth = matmul_reference});
//   std::cout << tileseek::tune(space, kernel, {.trials = 200}) << '\n';
//
// Each configuration is compiled to a shared object by the host's compiler, all cores at once; then loaded in a worker
// process (see isolated.hpp), checked against the reference, and timed with the machine alone (see pipeline.hpp,
// arguments.hpp). Kept objects are found again by source, flags and compiler.
//
// A parameter of the space is a macro of the same name: `#define BM 32`. A tile axis `m` is m_0, m_1, ..., outermost
// first; truth values are 1 and 0; a text stands as it is. Or it is a template argument: with .function =
// "matmul<{BM}, {BN}>", BM and BN are put in there instead, and are no macros.
//
// POSIX only. The program needs -ldl where dlopen() is not in the C library (glibc before 2.34).

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <dlfcn.h>
#include <stdlib.h>

#include <tileseek/core/format.hpp>
#include <tileseek/core/hash.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/measure/arguments.hpp>
#include <tileseek/measure/detail/process.hpp>
#include <tileseek/measure/detail/source_text.hpp>
#include <tileseek/measure/isolated.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/measure/pipeline.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek {

/// What compiled() compiles, and how.
struct compilation {
  std::string source{};               ///< the file; its extension decides the language: .c is C, all others are C++
  std::string function{};             ///< its name, with template arguments if it has some: "matmul<{BM}, {BN}>"
  std::vector<argument> arguments{};  ///< of the function, in order
  reference truth{};                  ///< what its results are compared with
  std::string compiler{};             ///< empty: $CC or $CXX, or else cc or c++
  std::vector<std::string> flags{"-O3", "-march=native"};
  caches state = caches::warm;  ///< of the kernel's data
  std::uint64_t seed = 0;       ///< of the random inputs
  /// Where objects are kept for later runs. Empty: in a folder of their own that goes with the measurer.
  std::string folder{};
  double compile_seconds = 30;  ///< for one configuration, as MetaSchedule's builder has it. Infinite: no limit
  std::size_t jobs = 0;         ///< compilers at once; 0: as many as there are cores
  isolation limits{};           ///< of the process that runs the kernels
};

namespace detail {

/// The files that a rule of make depends on.
[[nodiscard, gnu::cold]] inline std::vector<std::string> dependencies_of(std::string_view rule) {
  std::vector<std::string> out;
  std::string name;
  const auto colon = rule.find(": ");
  for (std::size_t i = colon == std::string_view::npos ? rule.size() : colon + 1; i < rule.size(); ++i) {
    const char c = rule[i];
    if (c == '\\' && i + 1 < rule.size() && rule[i + 1] != '\n') {
      name += rule[++i];
    } else if (c == ' ' || c == '\n' || c == '\\') {
      if (!name.empty()) out.push_back(std::exchange(name, {}));
    } else {
      name += c;
    }
  }
  if (!name.empty()) out.push_back(std::move(name));
  return out;
}

/// All that does not depend on the type of the configuration. build() may be called from several threads at once.
class kernel_source {
 public:
  kernel_source(compilation how, const named_values& untuned)
      : how_(std::move(how)), folder_(how_.folder), data_(how_.arguments, how_.truth, how_.seed) {
    if (how_.function.empty())
      fail<std::invalid_argument>({"compiled: function is empty; name the function that '", how_.source, "' defines"});
    if (!(how_.compile_seconds > 0))
      fail<std::invalid_argument>({"compiled: compile_seconds is ", how_.compile_seconds, "; give more than 0"});
    std::error_code why;
    source_ = std::filesystem::canonical(how_.source, why).string();
    if (why || !content_of(source_))
      fail<std::runtime_error>({"compiled: the source '", how_.source,
                                "' can't be read: ", why ? why.message() : std::string("not a file")});
    c_ = source_.ends_with(".c");
    if (how_.compiler.empty()) {
      const char* const chosen = std::getenv(c_ ? "CC" : "CXX");
      how_.compiler = chosen != nullptr && *chosen != '\0' ? chosen : c_ ? "cc" : "c++";
    }
    const auto asked = run_program({how_.compiler, "--version"}, how_.compile_seconds);
    version_ = asked.output.substr(0, asked.output.find('\n'));
    common_ = checksum(version_, checksum(how_.compiler, 0));
    for (const auto& f : how_.flags) common_ = checksum(f, common_);
    // What the source includes counts as well. System headers do not: they change with the system.
    const std::string wrapper = write_wrapper(untuned);
    const auto listed = run_program(command({"-MM", wrapper}), how_.compile_seconds);
    auto files = listed.succeeded() ? dependencies_of(listed.output) : std::vector<std::string>{source_};
    std::erase(files, wrapper);
    for (const auto& f : files) common_ = checksum(content_of(f).value_or(""), checksum(f, common_));
  }

  [[nodiscard]] const compilation& how() const noexcept { return how_; }
  [[nodiscard]] arguments& data() noexcept { return data_; }

  /// Compiles it unless it is there. @return the failure, if any
  [[nodiscard, gnu::cold]] std::optional<measurement> build(const named_values& c) const {
    const std::string object = object_of(c);
    std::error_code ignored;
    if (std::filesystem::exists(object, ignored)) return std::nullopt;
    const std::string unfinished = name_unfinished(object);
    const auto ran =
        run_program(command({"-shared", "-fPIC", "-o", unfinished, write_wrapper(c)}), how_.compile_seconds);
    if (ran.succeeded() && std::rename(unfinished.c_str(), object.c_str()) == 0) return std::nullopt;
    std::filesystem::remove(unfinished, ignored);
    if (ran.late)
      return failure(status::timed_out, concat({"not compiled within ", show_seconds(how_.compile_seconds)}));
    return failure(status::build_failed,
                   concat({how_.compiler, " ", describe_end(ran.how), ": ", ran.output.substr(0, longest_message)}));
  }

  /// Checks and times it.
  [[nodiscard, gnu::cold]] measurement run(const named_values& c, const timing_limits& limits) {
    struct closer {
      void operator()(void* o) const { ::dlclose(o); }
    };
    const std::unique_ptr<void, closer> object(::dlopen(object_of(c).c_str(), RTLD_NOW | RTLD_LOCAL));
    void* const entry = object ? ::dlsym(object.get(), entry_name) : nullptr;
    if (entry == nullptr) return failure(status::launch_failed, ::dlerror());
    const auto kernel = reinterpret_cast<void (*)(void* const*)>(entry);
    return data_.check_and_time(kernel, limits, how_.state);
  }

  [[nodiscard]] named_values conditions() const {
    std::string flags;
    for (const auto& f : how_.flags) append(flags, {flags.empty() ? "" : " ", f});
    return {{"source", value(source_)},
            {"kernel_compiler", value(version_)},
            {"kernel_flags", value(flags)},
            {"caches", value(std::string(to_string(how_.state)))},
            {"checked", value(data_.has_reference())}};
  }

  /// The translation unit of a configuration.
  [[nodiscard, gnu::cold]] std::string text_of(const named_values& c) const {
    auto values = source_values(c);
    const std::string function = fill_in(how_.function, values);
    std::string out;
    for (const auto& [name, v] : values) append(out, {"#define ", name, " ", v, "\n"});
    append(out,
           {"#include \"", source_, "\"\n", c_ ? "" : "extern \"C\" ", "__attribute__((visibility(\"default\"))) void ",
            entry_name, "(void* const* argument) {\n  ", function, "("});
    for (std::size_t i = 0; i < how_.arguments.size(); ++i) {
      const auto& a = how_.arguments[i];
      const bool by_value = a.kind() == argument::role::scalar;
      append(out, {i == 0 ? "" : ", ", by_value ? "*(const " : "(", a.declaration(), by_value ? "*)" : ")", "argument[",
                   i, "]"});
    }
    return out += ");\n}\n";
  }

 private:
  static constexpr const char* entry_name = "tileseek_kernel";

  [[nodiscard]] std::vector<std::string> command(std::initializer_list<std::string> rest) const {
    std::vector<std::string> out{how_.compiler};
    out.insert(out.end(), how_.flags.begin(), how_.flags.end());
    out.insert(out.end(), rest);
    return out;
  }

  [[nodiscard]] std::string stem_of(const std::string& text) const {
    return folder_.name() + "/" + hexadecimal(checksum(text, common_));
  }
  [[nodiscard]] std::string object_of(const named_values& c) const { return stem_of(text_of(c)) + ".so"; }

  /// Of a file that is not there in full yet: no two are the same.
  [[nodiscard]] std::string name_unfinished(const std::string& file) const {
    return concat({file, ".", ::getpid(), ".", static_cast<std::uint64_t>(++unfinished_)});
  }

  /// @return its file. @throws std::runtime_error  it can't be written
  [[nodiscard]] std::string write_wrapper(const named_values& c) const {
    const std::string text = text_of(c);
    std::string file = stem_of(text) + (c_ ? ".c" : ".cpp");
    // Under another name first: another run that shares the folder may be compiling this very file.
    const std::string unfinished = name_unfinished(file);
    std::ofstream out(unfinished, std::ios::binary);
    out << text;
    if (!out.flush() || std::rename(unfinished.c_str(), file.c_str()) != 0)
      fail<std::runtime_error>({"compiled: '", file, "' can't be written"});
    return file;
  }

  compilation how_;
  object_folder folder_;
  arguments data_;
  std::string source_;
  std::string version_;  ///< the compiler's own words
  bool c_ = false;
  std::uint64_t common_ = 0;  ///< checksum of compiler, flags and sources
  mutable std::atomic<unsigned> unfinished_ = 0;
};

}  // namespace detail

/// A measurer that compiles, checks and times configurations of a function. See compiled().
template <class Config>
class compiled_measurer {
 public:
  compiled_measurer(const space<Config>& of, compilation how)
      : kernel_(
            std::make_unique<detail::kernel_source>(std::move(how), of.named_values_of(of.default_configuration()))),
        pipeline_(pipeline(of, builder{of, kernel_.get()},
                           isolated(of, timer{of, kernel_.get()}, kernel_->how().limits),
                           pipelining{.jobs = kernel_->how().jobs})) {}

  [[nodiscard]] std::size_t batch_size() const { return pipeline_.batch_size(); }
  [[nodiscard]] named_values conditions() const { return kernel_->conditions(); }

  [[nodiscard]] std::vector<measurement> measure(std::span<const Config> batch) { return measure(batch, measuring{}); }

  /// @throws std::invalid_argument  a configuration is not in the space
  /// @throws std::runtime_error     no worker process, or no compiler, can be started
  [[nodiscard]] std::vector<measurement> measure(std::span<const Config> batch, const measuring& run) {
    kernel_->data().know_truth();  // before the worker is forked, or each would have to find out by itself
    return pipeline_.measure(batch, run);
  }

  /// The translation unit that a configuration is compiled as.
  [[nodiscard]] std::string source_of(const space<Config>& of, const Config& c) const {
    return kernel_->text_of(of.named_values_of(c));
  }

 private:
  struct builder {
    space<Config> of;
    const detail::kernel_source* kernel;
    std::optional<measurement> operator()(const Config& c) const { return kernel->build(of.named_values_of(c)); }
  };
  struct timer {
    space<Config> of;
    detail::kernel_source* kernel;
    measurement operator()(const Config& c, const timing_limits& limits) const {
      return kernel->run(of.named_values_of(c), limits);
    }
  };

  std::unique_ptr<detail::kernel_source> kernel_;
  decltype(pipeline(std::declval<const space<Config>&>(), std::declval<builder>(),
                    isolated(std::declval<const space<Config>&>(), std::declval<timer>()))) pipeline_;
};

/// A measurer of a function in a source file, compiled once for each configuration.
/// @throws std::invalid_argument  an option has no meaning; the function names a parameter that the space lacks; the
///                                reference has other parameters
/// @throws std::runtime_error     the source can't be read, the compiler can't be started, the folder can't be made
template <class Config>
[[nodiscard]] compiled_measurer<Config> compiled(const space<Config>& of, compilation how) {
  return compiled_measurer<Config>(of, std::move(how));
}

}  // namespace tileseek

#pragma once
// What opencl() and cuda() share: compilers in processes of their own, one process for the device, and what happens there.
// The tuner's own process never touches a device.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/hash.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/measure/arguments.hpp>
#include <tileseek/measure/detail/process.hpp>
#include <tileseek/measure/detail/source_text.hpp>
#include <tileseek/measure/device_kernel.hpp>
#include <tileseek/measure/isolated.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/measure/pipeline.hpp>
#include <tileseek/measure/time.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek {

namespace detail {

/// What went wrong on a device.
struct device_failure : std::runtime_error {
  status outcome;
  device_failure(status s, const std::string& what) : std::runtime_error(what), outcome(s) {}
};

/// As bytes that in_child() can hand over.
[[nodiscard]] inline std::string pack(const device_limits& l) {
  std::string out;
  for (const std::uint64_t n : {l.threads[0], l.threads[1], l.threads[2], l.all_threads, l.shared_bytes, l.processors,
                                l.cache_bytes, static_cast<std::size_t>(l.architecture), std::size_t{l.is_cpu}})
    out.append(reinterpret_cast<const char*>(&n), sizeof n);
  return out += l.name + '\n' + l.under;
}
[[nodiscard]] inline device_limits unpack_limits(const std::string& bytes) {
  std::array<std::uint64_t, 9> n{};
  if (bytes.size() < sizeof n) throw std::runtime_error("the device did not say what it is");
  std::memcpy(n.data(), bytes.data(), sizeof n);
  const auto end = std::min(bytes.find('\n', sizeof n), bytes.size());
  return {bytes.substr(sizeof n, end - sizeof n),
          bytes.substr(std::min(end + 1, bytes.size())),
          {n[0], n[1], n[2]},
          n[3],
          n[4],
          n[5],
          n[6],
          static_cast<int>(n[7]),
          n[8] != 0};
}

/// What the backend's device is, found out in another process.
/// @throws std::runtime_error  there is none
template <class Backend>
[[nodiscard]] device_limits ask_limits(std::size_t device) {
  return unpack_limits(in_child([device] { return pack(Backend::limits(device)); }, 60));
}

/// What a configuration is compiled from, and the function's name there.
template <class Config>
[[nodiscard]] std::pair<std::string, std::string> text_of(const space<Config>& of, const device_kernel<Config>& kernel,
                                                          const Config& c) {
  auto values = source_values(of.named_values_of(c));
  if (kernel.derived)
    for (auto& v : source_values(kernel.derived(c))) values.push_back(std::move(v));
  std::string function = fill_in(kernel.function, values);
  std::string text;
  for (const auto& [name, v] : values) append(text, {"#define ", name, " ", v, "\n"});
  return {text += kernel.source, std::move(function)};
}

/// The kernel, its text read from its file.
/// @throws std::invalid_argument  it lacks something, or its function names a parameter that the space lacks
/// @throws std::runtime_error     the file can't be read
template <class Config>
[[nodiscard]] device_kernel<Config> complete(const char* who, const space<Config>& of, device_kernel<Config> kernel) {
  const auto refuse = [who](const char* what) { fail<std::invalid_argument>({who, ": ", what}); };
  if (kernel.source.empty() == kernel.file.empty()) refuse("give the kernel's source or its file, one of the two");
  if (kernel.function.empty()) refuse("function is empty; name the kernel's");
  if (!kernel.geometry) refuse("geometry is empty; give a function of the configuration that returns a launch");
  if (!(kernel.compile_seconds > 0)) refuse("compile_seconds must be more than 0");
  if (kernel.source.empty()) {
    auto text = content_of(kernel.file);
    if (!text) fail<std::runtime_error>({who, ": the file '", kernel.file, "' can't be read"});
    kernel.source = std::move(*text);
  }
  static_cast<void>(text_of(of, kernel, of.default_configuration()));
  return kernel;
}

/// A kernel, what it is compiled to, and what happens on the device. The backend has
///   name                     "opencl"
///   limits(device)           what the device is; called in a child process
///   compiler(device, limits) compile(text, function, flags, file), or throws device_failure; in a process of its own
///   runner(device, arguments, limits)   load(function, file, launch), which returns what is worth noting; upload(), run(), download();
///                            restore() and flush(); timed_run() and timed_runs(count) in seconds; their resolution(). In another process
/// build() may be called from several threads at once.
template <class Config, class Backend>
class device_source {
 public:
  device_source(const space<Config>& of, device_kernel<Config> kernel)
      : of_(of),
        kernel_(complete(Backend::name, of, std::move(kernel))),
        folder_(""),
        data_(kernel_.arguments, kernel_.truth, kernel_.seed) {
    limits_ = ask_limits<Backend>(kernel_.device);
    common_ = checksum(limits_.name, static_cast<std::uint64_t>(limits_.architecture));
    for (const auto& f : kernel_.flags) common_ = checksum(f, common_);
  }

  [[nodiscard]] const device_kernel<Config>& kernel() const noexcept { return kernel_; }
  [[nodiscard]] const device_limits& limits() const noexcept { return limits_; }
  [[nodiscard]] arguments& data() noexcept { return data_; }
  [[nodiscard]] const space<Config>& searched() const noexcept { return of_; }

  [[nodiscard]] std::pair<std::string, std::string> text_of(const Config& c) const {
    return detail::text_of(of_, kernel_, c);
  }

  /// Starts so many compilers, as far as they don't run, before threads build with them.
  void start_compilers(std::size_t count) {
    const std::lock_guard lock(mutex_);
    while (compilers_ < count) idle_.push_back(new_compiler());
    for (auto& c : idle_) c->start();
  }

  /// Compiles it unless it is there. @return the failure, if any
  [[nodiscard]] std::optional<measurement> build(const Config& c) {
    if (std::string why = limits_.refuses(kernel_.geometry(c)); !why.empty())
      return failure(status::launch_failed, std::move(why));
    std::error_code ignored;
    if (std::filesystem::exists(object_of(c), ignored)) return std::nullopt;
    auto compiler = take_compiler();
    auto m = compiler->measure(std::span<const Config>(&c, 1)).front();
    {
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(compiler));
    }
    if (m.outcome == status::ok) return std::nullopt;
    if (m.outcome == status::crashed) return failure(status::build_failed, "the compiler was " + m.note);
    return m;
  }

  /// Checks and times it.
  [[nodiscard]] measurement run(const Config& c, const timing_limits& limits) {
    try {
      if (!runner_) runner_ = std::make_unique<typename Backend::runner>(kernel_.device, data_, limits_);
      auto& on = *runner_;
      const std::string note = on.load(text_of(c).second, object_of(c), kernel_.geometry(c));
      const auto wrong = data_.check([&on](void* const*) {
        on.upload();
        on.run();
        on.download();
      });
      if (wrong) return *wrong;
      bool alone = kernel_.state == caches::flushed;  // something comes before each run
      for (const auto& a : data_.list()) alone = alone || a.kind() == argument::role::in_out;
      const auto one = [&] {
        on.restore();
        if (kernel_.state == caches::flushed) on.flush();
        return on.timed_run();
      };
      // A sample is long enough for the device's clock: so many runs, 128 at most.
      const double first = one();
      int runs = 1;
      while (runs < 128 && runs * first < 1000 * on.resolution()) runs *= 2;
      const auto sample = [&] {
        if (!alone) return on.timed_runs(runs) / runs;
        double seconds = 0;
        for (int i = 0; i < runs; ++i) seconds += one();
        return seconds / runs;
      };
      auto m = take_samples(sample, limits);
      append(m.note, {m.note.empty() ? "" : "; ", note});
      return m;
    } catch (const device_failure& f) {
      return failure(f.outcome, f.what());
    }
  }

 private:
  /// In a compiler's process.
  struct compile_step {
    const device_source* self;
    std::shared_ptr<typename Backend::compiler> compiler{};
    measurement operator()(const Config& c) {
      try {
        if (!compiler) compiler = std::make_shared<typename Backend::compiler>(self->kernel_.device, self->limits_);
        const auto [text, function] = self->text_of(c);
        const std::string object = self->object_of(c);
        const std::string unfinished = concat({object, ".", ::getpid()});
        compiler->compile(text, function, self->kernel_.flags, unfinished);
        if (std::rename(unfinished.c_str(), object.c_str()) != 0)
          return failure(status::build_failed, concat({"'", object, "' can't be written"}));
        return {status::ok, {0.0}, {}};
      } catch (const device_failure& f) {
        return failure(f.outcome, std::string(f.what()).substr(0, longest_message));
      }
    }
  };
  using compiler_process = isolated_measurer<Config, each_measurer<Config, compile_step>>;

  [[nodiscard]] std::string object_of(const Config& c) const {
    const auto [text, function] = text_of(c);
    return folder_.name() + "/" + hexadecimal(checksum(text, checksum(function, common_)));
  }

  [[nodiscard]] std::unique_ptr<compiler_process> take_compiler() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return new_compiler();
    auto out = std::move(idle_.back());
    idle_.pop_back();
    return out;
  }
  [[nodiscard]] std::unique_ptr<compiler_process> new_compiler() {
    ++compilers_;
    const isolation how{
        .most_seconds = kernel_.compile_seconds, .build_seconds = kernel_.compile_seconds, .quiet = true};
    return std::make_unique<compiler_process>(of_, each_measurer<Config, compile_step>(compile_step{this}), how);
  }

  space<Config> of_;
  device_kernel<Config> kernel_;
  object_folder folder_;
  arguments data_;
  device_limits limits_;
  std::uint64_t common_ = 0;  ///< checksum of device and flags
  std::mutex mutex_;
  std::vector<std::unique_ptr<compiler_process>> idle_;
  std::size_t compilers_ = 0;                         ///< idle or not
  std::unique_ptr<typename Backend::runner> runner_;  ///< in the worker alone
};

/// A measurer that compiles kernels, checks and times them on a device. See opencl() and cuda().
template <class Config, class Backend>
class device_measurer {
  using source = device_source<Config, Backend>;

 public:
  device_measurer(const space<Config>& of, device_kernel<Config> kernel)
      : source_(std::make_unique<source>(of, std::move(kernel))),
        pipeline_(pipeline(of, builder{source_.get()}, isolated(of, timer{source_.get()}, source_->kernel().limits),
                           pipelining{source_->kernel().jobs, !source_->limits().is_cpu})) {}

  [[nodiscard]] std::size_t batch_size() const { return pipeline_.batch_size(); }
  [[nodiscard]] const device_limits& device() const noexcept { return source_->limits(); }

  /// The space with one rule more: a block fits the device.
  /// @throws std::invalid_argument  when it is used: no configuration does
  [[nodiscard]] space<Config> fitting() const {
    space<Config> out = source_->searched();
    out.where("a block fits the device", [geometry = source_->kernel().geometry, limits = source_->limits()](
                                             const Config& c) { return limits.refuses(geometry(c)).empty(); });
    return out;
  }

  [[nodiscard]] named_values conditions() const {
    const auto& k = source_->kernel();
    std::string flags;
    for (const auto& f : k.flags) append(flags, {flags.empty() ? "" : " ", f});
    return {{"device", value(source_->limits().name)}, {"device_under", value(source_->limits().under)},
            {"backend", value(Backend::name)},         {"kernel_flags", value(flags)},
            {"caches", value(to_string(k.state))},     {"checked", value(source_->data().has_reference())}};
  }

  /// Builds ahead, unless the device is the CPU, which must time alone.
  void prepare(std::span<const Config> batch) {
    start_compilers(batch);
    pipeline_.prepare(batch);
  }

  [[nodiscard]] std::vector<measurement> measure(std::span<const Config> batch) { return measure(batch, measuring{}); }

  /// @throws std::invalid_argument  a configuration is not in the space
  /// @throws std::runtime_error     no process can be started
  [[nodiscard]] std::vector<measurement> measure(std::span<const Config> batch, const measuring& run) {
    source_->data().know_truth();  // before the worker is forked, or each would have to find out by itself
    start_compilers(batch);
    return pipeline_.measure(batch, run);
  }

  /// What a configuration is compiled from.
  [[nodiscard]] std::string source_of(const Config& c) const { return source_->text_of(c).first; }

 private:
  void start_compilers(std::span<const Config> batch) {
    source_->start_compilers(std::min(batch.size(), pipeline_.batch_size()));
  }

  struct builder {
    source* from;
    std::optional<measurement> operator()(const Config& c) const { return from->build(c); }
  };
  struct timer {
    source* from;
    measurement operator()(const Config& c, const timing_limits& limits) const { return from->run(c, limits); }
  };

  std::unique_ptr<source> source_;
  decltype(pipeline(std::declval<const space<Config>&>(), std::declval<builder>(),
                    isolated(std::declval<const space<Config>&>(), std::declval<timer>()))) pipeline_;
};

}  // namespace detail
}  // namespace tileseek

#pragma once
// When a run ends. Budgets combine: a || b ends when either is spent, a && b when both are.

#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <tileseek/core/format.hpp>
#include <tileseek/core/progress.hpp>

namespace tileseek {

/// A condition for the end of a run. Default-constructed, it is never met.
///
///   tileseek::max_trials(200) || (tileseek::max_seconds(60) && tileseek::stalled_for(50))
class budget {
 public:
  budget() = default;

  [[nodiscard, gnu::cold]] friend budget operator||(budget a, budget b) {
    if (!a.limited()) return b;
    if (!b.limited()) return a;
    return {kind::either, std::move(a), std::move(b)};
  }
  [[nodiscard, gnu::cold]] friend budget operator&&(budget a, budget b) {
    if (!a.limited() || !b.limited()) return {};
    return {kind::both, std::move(a), std::move(b)};
  }

  /// Whether it can ever be spent.
  [[nodiscard]] bool limited() const noexcept { return kind_ != kind::never; }

  /// Why it is spent, if it is: of several reasons the first.
  [[nodiscard, gnu::cold]] std::optional<stop> spent(const progress& p) const {
    switch (kind_) {
      case kind::never: return std::nullopt;
      case kind::trials: return when(static_cast<double>(p.trials) >= limit_, stop::trials);
      case kind::seconds: return when(p.seconds >= limit_, stop::seconds);
      case kind::target: return when(p.best <= limit_, stop::target);
      case kind::stalled: return when(static_cast<double>(p.trials - p.last_improvement) >= limit_, stop::stalled);
      case kind::fraction: return when(static_cast<double>(p.trials) >= limit_ * p.space_size, stop::fraction);
      case kind::either: {
        const auto a = parts_->first.spent(p);
        return a ? a : parts_->second.spent(p);
      }
      case kind::both: {
        const auto a = parts_->first.spent(p);
        return a && parts_->second.spent(p) ? a : std::nullopt;
      }
    }
    return std::nullopt;
  }

  /// The number of trials at which the run ends at the latest as far as trials decide; infinite if they do not.
  [[nodiscard]] double trial_limit(const progress& p) const { return bound(kind::trials, p.space_size); }

  /// The seconds at which the run ends at the latest as far as the clock decides; infinite if it does not.
  [[nodiscard]] double second_limit() const { return bound(kind::seconds, 0); }

  friend budget max_trials(std::size_t n);
  friend budget max_seconds(double seconds);
  friend budget target(double seconds);
  friend budget stalled_for(std::size_t trials);
  friend budget share_of_space(double share);

 private:
  enum class kind { never, trials, seconds, target, stalled, fraction, either, both };

  budget(kind k, double limit) : kind_(k), limit_(limit) {}
  budget(kind k, budget a, budget b)
      : kind_(k), parts_(std::make_shared<const std::pair<budget, budget>>(std::move(a), std::move(b))) {}

  [[nodiscard, gnu::cold]] static budget positive(kind k, double limit, const char* what) {
    if (!(limit > 0)) detail::fail<std::invalid_argument>({"budget: ", what, " must be above 0, and is ", limit});
    return {k, limit};
  }

  [[nodiscard]] static std::optional<stop> when(bool reached, stop why) {
    return reached ? std::optional<stop>(why) : std::nullopt;
  }

  [[nodiscard, gnu::cold]] double bound(kind of, double space_size) const {
    if (kind_ == kind::either)
      return std::fmin(parts_->first.bound(of, space_size), parts_->second.bound(of, space_size));
    if (kind_ == kind::both)
      return std::fmax(parts_->first.bound(of, space_size), parts_->second.bound(of, space_size));
    if (kind_ == of) return limit_;
    if (kind_ == kind::fraction && of == kind::trials) return std::ceil(limit_ * space_size);
    return std::numeric_limits<double>::infinity();
  }

  kind kind_ = kind::never;
  double limit_ = 0;
  std::shared_ptr<const std::pair<budget, budget>> parts_;
};

/// Ends after n unique configurations, replayed ones included. 0 ends at once.
[[nodiscard, gnu::cold]] inline budget max_trials(std::size_t n) {
  return {budget::kind::trials, static_cast<double>(n)};
}
/// Ends after this much tuning time; the time of a resumed run counts on.
[[nodiscard, gnu::cold]] inline budget max_seconds(double seconds) {
  return budget::positive(budget::kind::seconds, seconds, "seconds");
}
/// Ends when a configuration costs at most this many seconds.
[[nodiscard, gnu::cold]] inline budget target(double seconds) {
  return budget::positive(budget::kind::target, seconds, "the target");
}
/// Ends when the best has not improved for this many trials.
[[nodiscard, gnu::cold]] inline budget stalled_for(std::size_t trials) {
  return budget::positive(budget::kind::stalled, static_cast<double>(trials), "trials without improvement");
}
/// Ends when this share of the space, in (0, 1], is measured.
[[nodiscard, gnu::cold]] inline budget share_of_space(double share) {
  if (share > 1) detail::fail<std::invalid_argument>({"budget: a share of the space is at most 1, and is ", share});
  return budget::positive(budget::kind::fraction, share, "the share of the space");
}

}  // namespace tileseek

#pragma once
// When a run ends. Budgets combine: a || b ends when either is spent, a && b when both are.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <tileseek/core/progress.hpp>

namespace tileseek {

/// A condition for the end of a run. Default-constructed, it is never met.
///
///   tileseek::max_trials(200) || tileseek::max_seconds(60) && tileseek::stalled_for(50)
class budget {
 public:
  budget() = default;

  [[nodiscard]] friend budget operator||(budget a, budget b) {
    if (!a.limited()) return b;
    if (!b.limited()) return a;
    return {kind::either, std::move(a), std::move(b)};
  }
  [[nodiscard]] friend budget operator&&(budget a, budget b) {
    if (!a.limited() || !b.limited()) return {};
    return {kind::both, std::move(a), std::move(b)};
  }

  /// Whether it can ever be spent.
  [[nodiscard]] bool limited() const noexcept { return kind_ != kind::never; }

  /// Why it is spent, if it is: of several reasons the first.
  [[nodiscard]] std::optional<stop> spent(const progress& p) const {
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
  [[nodiscard]] double trial_limit(const progress& p) const {
    return bound([&](const budget& b) {
      if (b.kind_ == kind::trials) return b.limit_;
      if (b.kind_ == kind::fraction) return std::ceil(b.limit_ * p.space_size);
      return std::numeric_limits<double>::infinity();
    });
  }

  /// The seconds at which the run ends at the latest as far as the clock decides; infinite if it does not.
  [[nodiscard]] double second_limit() const {
    return bound([](const budget& b) { return b.kind_ == kind::seconds ? b.limit_ : std::numeric_limits<double>::infinity(); });
  }

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

  [[nodiscard]] static budget positive(kind k, double limit, const char* what) {
    if (!(limit > 0)) throw std::invalid_argument(std::string("budget: ") + what + " must be above 0, and is " + std::to_string(limit));
    return {k, limit};
  }

  [[nodiscard]] static std::optional<stop> when(bool reached, stop why) {
    return reached ? std::optional<stop>(why) : std::nullopt;
  }

  template <class Limit>
  [[nodiscard]] double bound(const Limit& limit) const {
    if (kind_ == kind::either) return std::min(parts_->first.bound(limit), parts_->second.bound(limit));
    if (kind_ == kind::both) return std::max(parts_->first.bound(limit), parts_->second.bound(limit));
    return limit(*this);
  }

  kind kind_ = kind::never;
  double limit_ = 0;
  std::shared_ptr<const std::pair<budget, budget>> parts_;
};

/// Ends after n unique configurations, replayed ones included. 0 ends at once.
[[nodiscard]] inline budget max_trials(std::size_t n) { return {budget::kind::trials, static_cast<double>(n)}; }
/// Ends after this much tuning time; the time of a resumed run counts on.
[[nodiscard]] inline budget max_seconds(double seconds) { return budget::positive(budget::kind::seconds, seconds, "seconds"); }
/// Ends when a configuration costs at most this many seconds.
[[nodiscard]] inline budget target(double seconds) { return budget::positive(budget::kind::target, seconds, "the target"); }
/// Ends when the best has not improved for this many trials.
[[nodiscard]] inline budget stalled_for(std::size_t trials) {
  return budget::positive(budget::kind::stalled, static_cast<double>(trials), "trials without improvement");
}
/// Ends when this share of the space, in (0, 1], is measured.
[[nodiscard]] inline budget share_of_space(double share) {
  if (share > 1) throw std::invalid_argument("budget: a share of the space is at most 1, and is " + std::to_string(share));
  return budget::positive(budget::kind::fraction, share, "the share of the space");
}

}  // namespace tileseek

#pragma once
// A strategy written as one straight-line coroutine. It co_yields a batch of points of any size and receives their
// trials; the adapter cuts the batch to what is asked, gathers the answers and resumes when all are in.
//
//   tileseek::search_routine climb(tileseek::search_context& here) {
//     tileseek::point best = here.space().sample(here.random());
//     for (bool better = true; better;) {
//       better = false;
//       const auto near = here.space().neighbours(best, 1);
//       for (const auto& t : co_yield near)
//         if (t.result.cost() < here.known().cost(best)) best = t.at, better = true;
//     }
//   }
//   struct climber : tileseek::coroutine_strategy { climber() : coroutine_strategy(climb) {} };
//
// Options go into the coroutine by value, as parameters: a lambda's captures do not live as long as the coroutine does.
// And g++ 12 refuses a braced list in the operand of co_yield: name the batch first.

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tileseek/search/history.hpp>
#include <tileseek/search/strategy.hpp>

namespace tileseek {

/// What a search coroutine works with: the space, the random stream, and what it was told without asking.
class search_context {
 public:
  [[nodiscard]] const lattice& space() const noexcept { return space_; }
  [[nodiscard]] rng& random() noexcept { return random_; }
  /// The n of the ask that resumed the coroutine: how many points the caller can use at once.
  [[nodiscard]] std::size_t wanted() const noexcept { return wanted_; }
  /// Everything asked and told so far, whoever asked for it: a coroutine looks up costs here, and asks for what it does
  /// not know.
  [[nodiscard]] history& known() noexcept { return known_; }
  /// Where the caller wants the search to start, if it said so (`coroutine_strategy::start_at`).
  [[nodiscard]] const std::optional<point>& start() const noexcept { return start_; }
  /// Trials told so far that the coroutine did not ask for (warm starts, other tools' records), in the order told.
  /// Those that are not feasible are left out.
  [[nodiscard]] std::span<const trial> unasked() const noexcept { return unasked_; }

 private:
  friend class coroutine_strategy;
  lattice space_;
  rng random_;
  std::size_t wanted_ = 0;
  history known_;
  std::optional<point> start_;
  std::vector<trial> unasked_;
};

/// The return type of a search coroutine.
class search_routine {
 public:
  struct promise_type {
    std::vector<point> batch;
    std::vector<trial> answers;
    std::exception_ptr thrown;

    [[nodiscard]] search_routine get_return_object() {
      return search_routine{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
    [[nodiscard]] std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { thrown = std::current_exception(); }
    /// Asks for a batch; the co_yield expression gives its trials in the order of the batch.
    [[nodiscard]] auto yield_value(std::vector<point> points) {
      batch = std::move(points);
      answers.clear();
      struct awaiter {
        promise_type& promise;
        [[nodiscard]] bool await_ready() const noexcept { return promise.batch.empty(); }
        void await_suspend(std::coroutine_handle<>) const noexcept {}
        std::vector<trial> await_resume() const { return std::move(promise.answers); }
      };
      return awaiter{*this};
    }
  };

  search_routine() = default;
  explicit search_routine(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  search_routine(search_routine&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  search_routine& operator=(search_routine&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  search_routine(const search_routine&) = delete;
  search_routine& operator=(const search_routine&) = delete;
  ~search_routine() {
    if (handle_) handle_.destroy();
  }

  [[nodiscard]] bool done() const noexcept { return !handle_ || handle_.done(); }
  [[nodiscard]] promise_type& promise() const noexcept { return handle_.promise(); }
  /// Runs to the next co_yield or to the end; rethrows what the coroutine threw.
  void resume() const {
    handle_.resume();
    if (handle_.promise().thrown) std::rethrow_exception(handle_.promise().thrown);
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {
/// The feasible point nearest to one that a user gave.
/// @throws std::invalid_argument  it does not lie in the space
[[nodiscard]] inline point nearest_to(const lattice& space, const point& given, const char* who) {
  bool inside = given.size() == space.dimensions();
  for (std::size_t d = 0; inside && d < given.size(); ++d) inside = given[d] >= 0 && given[d] < space.extent(d);
  if (!inside)
    fail<std::invalid_argument>(
        {who, ": option 'start' is no point of the space; give an index within its extent for each coordinate"});
  return space.nearest(given);
}
}  // namespace detail

/// Makes a search coroutine a SearchStrategy. The coroutine runs inside ask(), never inside tell(). It starts with the
/// first ask; what was told before is in `unasked()`. It holds a private copy of the caller's random stream only while
/// it runs, so that strategy and session may be moved freely.
class coroutine_strategy {
 public:
  using routine = std::function<search_routine(search_context&)>;

  explicit coroutine_strategy(routine start) : start_(std::move(start)) {}

  [[nodiscard]] std::vector<point> ask(const lattice& space, rng& random, std::size_t n) {
    if (n == 0) return {};
    if (!here_) {
      here_ = std::make_unique<search_context>();
      here_->space_ = space;
      here_->known_.tell(early_);
      here_->unasked_ = std::exchange(early_, {});
      here_->start_ = std::move(start_point_);
      here_->random_ = random;
      routine_ = start_(*here_);
      advance(random, n);
    }
    std::vector<point> out;
    for (;;) {
      for (; !routine_.done() && out.size() < n && handed_ < batch().size(); ++handed_) {
        if (places_[handed_].answered) continue;
        hand_out(handed_);
        out.push_back(batch()[handed_]);
      }
      if (!out.empty() || open_ > 0 || routine_.done()) return out;
      advance(random, n);
    }
  }

  void tell(const lattice& space, std::span<const trial> done) {
    for (const auto& t : done) {
      bool asked = false;
      if (const auto number = asked_.find(t.at); number != point_index::none)
        for (std::size_t i = latest_[number]; i != point_index::none; i = places_[i].earlier)
          if (!places_[i].answered) {
            asked = true;
            --open_;
            answer(i, t);
          }
      if (!asked && !space.feasible(t.at))
        continue;  // another tool's record: no coroutine should have to guard
                   // against it
      if (here_) here_->known_.tell(t);
      if (asked) continue;
      (here_ ? here_->unasked_ : early_).push_back(trial(t));
      answer_ahead(t);
    }
  }

 protected:
  /// Starts the coroutine anew, with all it knows, at this point (see RestartableStrategy). For derived strategies
  /// whose coroutine heeds `search_context::start()` to make public.
  void start_at(point p) {
    if (!here_) {
      start_point_ = std::move(p);
      return;
    }
    here_->start_ = std::move(p);
    routine_ = start_(*here_);
    forget_batch();
  }

 private:
  /// A place in the batch.
  struct place {
    bool answered = false;
    std::size_t earlier = point_index::none;  ///< where the same point was given out before
  };

  [[nodiscard]] const std::vector<point>& batch() const noexcept { return routine_.promise().batch; }

  void hand_out(std::size_t i) {
    here_->known_.mark(batch()[i]);
    const auto [number, is_new] = asked_.add(batch()[i]);
    if (is_new)
      latest_.push_back(i);
    else
      places_[i].earlier = std::exchange(latest_[number], i);
    ++open_;
  }

  void answer(std::size_t i, const trial& t) {
    routine_.promise().answers[i] = t;
    places_[i].answered = true;
  }

  /// A point of the batch that is told before it was handed out needs not be asked.
  void answer_ahead(const trial& t) {
    if (!here_ || routine_.done()) return;
    for (std::size_t i = handed_; i < batch().size(); ++i)
      if (batch()[i] == t.at) answer(i, t);
  }

  void forget_batch() {
    handed_ = 0;
    open_ = 0;
    places_.clear();
    asked_ = {};
    latest_.clear();
  }

  void advance(rng& random, std::size_t n) {
    here_->random_ = random;
    here_->wanted_ = n;
    forget_batch();
    if (!routine_.done()) {
      routine_.promise().batch.clear();
      routine_.resume();
    }
    random = here_->random_;
    if (routine_.done()) return;
    routine_.promise().answers = std::vector<trial>(batch().size());
    places_ = std::vector<place>(batch().size());
  }

  routine start_;
  std::unique_ptr<search_context> here_;  ///< on the heap: the coroutine refers to it, and the strategy may be moved
  search_routine routine_;
  std::vector<trial> early_;
  std::optional<point> start_point_;
  std::size_t handed_ = 0;  ///< points of the batch given out, or passed over
  std::size_t open_ = 0;    ///< of them, not answered
  std::vector<place> places_;
  point_index asked_;                ///< the points given out
  std::vector<std::size_t> latest_;  ///< of each of them: its last place in the batch
};

static_assert(SearchStrategy<coroutine_strategy>);

}  // namespace tileseek

#pragma once
// Every strategy by its name, with options as text: for command lines and configuration files.
//
//   auto search = tileseek::make_strategy("dynamic_gradient", {"form=published", "n_start=3"});
//   for (const auto& s : tileseek::strategies()) std::cout << s.name << ": " << s.summary << '\n';

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tileseek/model/boosted_trees.hpp>
#include <tileseek/model/features.hpp>
#include <tileseek/model/gaussian_process.hpp>
#include <tileseek/model/level_ridge.hpp>
#include <tileseek/model/ridge.hpp>
#include <tileseek/search/annealing.hpp>
#include <tileseek/search/any_strategy.hpp>
#include <tileseek/search/bayesian.hpp>
#include <tileseek/search/detail/option_text.hpp>
#include <tileseek/search/droplet.hpp>
#include <tileseek/search/dynamic_gradient.hpp>
#include <tileseek/search/evolutionary.hpp>
#include <tileseek/search/exhaustive.hpp>
#include <tileseek/search/explore_then.hpp>
#include <tileseek/search/guided_evolution.hpp>
#include <tileseek/search/local_search.hpp>
#include <tileseek/search/maximin.hpp>
#include <tileseek/search/random.hpp>

namespace tileseek {

/// A strategy of the registry.
struct strategy_help {
  std::string name;  ///< of its header
  std::string summary;
  std::vector<option_help> options;
};

namespace detail {

struct key_value {
  std::string key;
  std::string value;
};

/// Which defaults the other options start from.
enum class option_form { tuned, published };

// What a strategy can be told as text: its options and, where there is a choice of parts, that choice.

/// Nothing to choose.
struct no_setup {
  template <class Visit>
  friend void describe(no_setup& /*setup*/, Visit&& /*visit*/) {}
};

/// Options that may start from those of the publication.
template <class Options>
struct plain_setup {
  option_form form = option_form::tuned;
  Options options = {};

  static constexpr bool has_forms = requires { Options::published(); };
  void start_from(option_form f) {
    if constexpr (has_forms)
      if (f == option_form::published) options = Options::published();
  }

  template <class Visit>
  friend void describe(plain_setup& s, Visit&& visit) {
    if constexpr (has_forms) visit("form", s.form, "the defaults of the other options", {"tuned", "published"});
    describe(s.options, visit);
  }
};

enum class model_choice { level_ridge, ridge, boosted_trees, gaussian_process };

struct gradient_setup {
  option_form form = option_form::tuned;
  model_choice model = model_choice::level_ridge;
  dynamic_gradient_options options = {};

  void start_from(option_form f) {
    if (f == option_form::tuned) return;
    options = dynamic_gradient_options::published();
    model = model_choice::boosted_trees;
  }

  template <class Visit>
  friend void describe(gradient_setup& s, Visit&& visit) {
    visit("form", s.form, "the defaults of the other options; published: with boosted trees", {"tuned", "published"});
    visit("model", s.model, "what ranks the neighbours", {"level_ridge", "ridge", "boosted_trees", "gaussian_process"});
    describe(s.options, visit);
  }
};

struct evolution_setup {
  model_choice model = model_choice::boosted_trees;
  guided_evolution_options options = {};

  template <class Visit>
  friend void describe(evolution_setup& s, Visit&& visit) {
    visit("model", s.model, "what judges the children", {"level_ridge", "ridge", "boosted_trees", "gaussian_process"});
    describe(s.options, visit);
  }
};

enum class explorer_choice { maximin, random, evolutionary };
enum class exploiter_choice { droplet, local_search, annealing };

struct explore_setup {
  explorer_choice explorer = explorer_choice::maximin;
  exploiter_choice exploiter = exploiter_choice::droplet;
  explore_then_options options = {};

  template <class Visit>
  friend void describe(explore_setup& s, Visit&& visit) {
    visit("explorer", s.explorer, "what looks for starts", {"maximin", "random", "evolutionary"});
    visit("exploiter", s.exploiter, "what goes on from them; local_search and annealing do with a patience only",
          {"droplet", "local_search", "annealing"});
    describe(s.options, visit);
  }
};

[[nodiscard]] inline any_strategy make(const gradient_setup& s) {
  switch (s.model) {
    case model_choice::ridge: return dynamic_gradient<ridge>(s.options);
    case model_choice::boosted_trees: return dynamic_gradient<boosted_trees>(s.options);
    case model_choice::gaussian_process: return dynamic_gradient<gaussian_process>(s.options);
    case model_choice::level_ridge: break;
  }
  return dynamic_gradient<level_ridge>(s.options);
}

[[nodiscard]] inline any_strategy make(const evolution_setup& s) {
  switch (s.model) {
    case model_choice::level_ridge: return guided_evolution<level_ridge>(s.options);
    case model_choice::ridge: return guided_evolution<ridge>(s.options);
    case model_choice::gaussian_process: return guided_evolution<gaussian_process>(s.options);
    case model_choice::boosted_trees: break;
  }
  return guided_evolution<boosted_trees>(s.options);
}

template <class Exploiter>
[[nodiscard]] any_strategy explore_with(const explore_setup& s, Exploiter exploiter) {
  any_strategy explorer = maximin{};
  if (s.explorer == explorer_choice::random) explorer = random{};
  if (s.explorer == explorer_choice::evolutionary) explorer = evolutionary{};
  return explore_then<any_strategy, Exploiter>(std::move(explorer), std::move(exploiter), s.options);
}

[[nodiscard]] inline any_strategy make(const explore_setup& s) {
  if (s.exploiter == exploiter_choice::droplet) {
    droplet_options once;
    once.restart = false;
    return explore_with(s, droplet(std::move(once)));
  }
  if (s.options.patience == 0)
    throw std::invalid_argument(
        "explore_then: option patience is 0, and this exploiter never ends by itself; give a patience, such as 32");
  if (s.exploiter == exploiter_choice::local_search) return explore_with(s, local_search{});
  return explore_with(s, annealing{});
}

/// Reads the options into the setup of a strategy. The form goes first, wherever it stands.
template <class Setup>
void read_options(Setup& setup, std::string_view name, const std::vector<key_value>& options) {
  if constexpr (requires { setup.start_from(option_form::tuned); }) {
    for (const auto& o : options)
      if (o.key == "form") {
        set_option(setup, name, o.key, o.value);
        setup.start_from(setup.form);
      }
  }
  for (const auto& o : options) set_option(setup, name, o.key, o.value);
}

/// Calls visit(name, summary, a setup with the defaults, how to make the strategy from a setup) for every strategy. The
/// table.
template <class Visit>
void each_strategy(Visit&& visit) {
  const auto simple = [](auto strategy) {
    return [strategy](const no_setup&) mutable { return any_strategy(std::move(strategy)); };
  };
  visit("bayesian", "Gaussian process, least lower confidence bound: the fewest measurements",
        plain_setup<bayesian_options>{}, [](const auto& s) { return any_strategy(bayesian(s.options)); });
  visit("dynamic_gradient", "descent over neighbours ranked by a model that learns as it goes", gradient_setup{},
        [](const gradient_setup& s) { return make(s); });
  visit("guided_evolution", "evolution judged by a model between measurements", evolution_setup{},
        [](const evolution_setup& s) { return make(s); });
  visit("explore_then", "a few points far apart, then coordinate descent from the best", explore_setup{},
        [](const explore_setup& s) { return make(s); });
  visit("droplet", "coordinate descent with growing steps and a test of significance", plain_setup<droplet_options>{},
        [](const auto& s) { return any_strategy(droplet(s.options)); });
  visit("local_search", "variable neighbourhoods or kicks, from the best of a few points",
        plain_setup<local_search_options>{}, [](const auto& s) { return any_strategy(local_search(s.options)); });
  visit("evolutionary", "a genetic algorithm", plain_setup<evolutionary_options>{},
        [](const auto& s) { return any_strategy(evolutionary(s.options)); });
  visit("annealing", "simulated annealing", plain_setup<annealing_options>{},
        [](const auto& s) { return any_strategy(annealing(s.options)); });
  visit("maximin", "points far apart", no_setup{}, simple(maximin{}));
  visit("random", "uniform, without repetition: the baseline", no_setup{}, simple(random{}));
  visit("exhaustive", "every configuration, in order", no_setup{}, simple(exhaustive{}));
}

}  // namespace detail

/// All strategies, those that need the fewest measurements first, with their options and defaults.
[[nodiscard]] inline std::vector<strategy_help> strategies() {
  std::vector<strategy_help> out;
  detail::each_strategy([&](std::string_view name, std::string_view summary, auto setup, auto&& /*make*/) {
    out.push_back({std::string(name), std::string(summary), detail::list_options(std::move(setup))});
  });
  return out;
}

/// The strategy with this name. Its own name() adds the options that are not the defaults, so that a log shows them.
/// @param options  "key=value" each; a later one overrides an earlier one
/// @throws std::invalid_argument  no such strategy or option (the message lists those there are), a value that is none,
/// or one
///                                that the strategy refuses
[[nodiscard]] inline any_strategy make_strategy(std::string_view name, const std::vector<std::string>& options = {}) {
  std::vector<detail::key_value> pairs;
  for (const auto& o : options) {
    const std::size_t equals = o.find('=');
    if (equals == std::string::npos || equals == 0)
      throw std::invalid_argument(std::string(name) + ": option '" + o + "' is not of the form key=value");
    pairs.push_back({o.substr(0, equals), o.substr(equals + 1)});
  }
  any_strategy out;
  std::string all;
  detail::each_strategy([&](std::string_view known, std::string_view /*summary*/, auto setup, auto&& make) {
    all.append(all.empty() ? "" : ", ").append(known);
    if (known != name) return;
    const auto defaults = detail::list_options(setup);
    detail::read_options(setup, name, pairs);
    out = make(setup);
    std::string changed;
    const auto chosen = detail::list_options(setup);
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (chosen[i].fallback != defaults[i].fallback)
        changed += (changed.empty() ? "(" : ", ") + chosen[i].name + "=" + chosen[i].fallback;
    if (!changed.empty()) out.rename(std::string(name) + changed + ")");
  });
  if (!out.has_value()) throw std::invalid_argument("no strategy '" + std::string(name) + "'; there are " + all);
  return out;
}

}  // namespace tileseek

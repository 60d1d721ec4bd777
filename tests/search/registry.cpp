#include <tileseek/search/registry.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

tileseek::lattice box() {
  std::vector<tileseek::coordinate> axes;
  for (const char* name : {"a", "b", "c"}) axes.push_back({name, {1, 2, 4, 8, 16, 32}, true});
  return tileseek::lattice(std::move(axes), {}, {});
}

std::vector<tileseek::point> first_asks(tileseek::any_strategy search) {
  const auto space = box();
  tileseek::rng random(1);
  std::vector<tileseek::point> out;
  for (int round = 0; round < 12; ++round) {
    std::vector<tileseek::trial> done;
    for (const auto& p : search.ask(space, random, 8)) {
      out.push_back(p);
      done.push_back({p, {tileseek::status::ok, {1.0 + p[0] + 2 * p[1] + 3 * p[2]}, {}}});
    }
    if (done.empty()) break;
    search.tell(space, done);
  }
  return out;
}

std::string error_of(std::string_view name, const std::vector<std::string>& options) {
  try {
    (void)tileseek::make_strategy(name, options);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("every strategy is there under its name, and searches") {
  const auto all = tileseek::strategies();
  for (const char* name : {"bayesian", "dynamic_gradient", "guided_evolution", "explore_then", "droplet",
                           "local_search", "evolutionary", "annealing", "maximin", "random", "exhaustive"}) {
    CAPTURE(name);
    CHECK(std::count_if(all.begin(), all.end(), [&](const auto& s) { return s.name == name && !s.summary.empty(); }) ==
          1);
    auto search = tileseek::make_strategy(name);
    CHECK(search.name() == name);
    const auto asked = first_asks(std::move(search));
    CHECK(asked.size() > 8);
    for (const auto& p : asked) CHECK(box().feasible(p));
  }
}

TEST_CASE("every option takes its own default, and the search stays the same") {
  for (const auto& s : tileseek::strategies()) {
    std::vector<std::string> all;
    for (const auto& o : s.options) {
      CAPTURE(s.name);
      CAPTURE(o.name);
      CHECK_FALSE(o.help.empty());
      if (o.values.starts_with("indices")) continue;  // no start is given by default
      all.push_back(o.name + "=" + o.fallback);
      CHECK_NOTHROW((void)tileseek::make_strategy(s.name, {all.back()}));
    }
    CAPTURE(s.name);
    CHECK(first_asks(tileseek::make_strategy(s.name, all)) == first_asks(tileseek::make_strategy(s.name)));
  }
}

TEST_CASE("a strategy's name tells the options that are not the defaults") {
  CHECK(tileseek::make_strategy("droplet", {"explore=12"}).name() == "droplet");
  CHECK(tileseek::make_strategy("droplet", {"restart=false", "explore=0"}).name() ==
        "droplet(explore=0, restart=false)");
  CHECK(tileseek::make_strategy("dynamic_gradient", {"form=published", "model=ridge"}).name().find("model=ridge") !=
        std::string::npos);
}

TEST_CASE("options change the search; published forms and models can be chosen") {
  const auto space = box();
  tileseek::rng random(1);
  auto published =
      tileseek::make_strategy("dynamic_gradient", {"init_size=10", "form=published"});  // the form goes first
  CHECK(published.ask(space, random, 100).size() == 10);
  auto whole = tileseek::make_strategy("dynamic_gradient", {"form=published"});
  CHECK(whole.ask(space, random, 100).size() == 64);
  for (const char* model : {"level_ridge", "ridge", "boosted_trees", "gaussian_process"})
    for (const char* name : {"dynamic_gradient", "guided_evolution"})
      CHECK(first_asks(tileseek::make_strategy(name, {std::string("model=") + model})).size() > 8);
  auto sent = tileseek::make_strategy("bayesian", {"start=5,4,3"});
  CHECK(sent.ask(space, random, 1) == std::vector<tileseek::point>{{5, 4, 3}});
  for (const char* exploiter : {"droplet", "local_search", "annealing"})
    for (const char* explorer : {"maximin", "random", "evolutionary"})
      CHECK(first_asks(tileseek::make_strategy("explore_then", {std::string("exploiter=") + exploiter,
                                                                std::string("explorer=") + explorer, "patience=20"}))
                .size() > 8);
}

TEST_CASE("what is wrong is said, with what there is") {
  CHECK(error_of("drplet", {}).starts_with("no strategy 'drplet'; there are bayesian, dynamic_gradient, "));
  CHECK(error_of("bayesian", {"kapa=2"})
            .starts_with("bayesian: no option 'kapa'; there are start_points, design, kappa, "));
  CHECK(error_of("random", {"seed=1"}) == "random: no option 'seed'; there are none");
  CHECK(error_of("bayesian", {"kappa=much"}) == "bayesian: option kappa is 'much'; give number");
  CHECK(error_of("bayesian", {"kappa=2 "}) == "bayesian: option kappa is '2 '; give number");
  CHECK(error_of("bayesian", {"kappa=-2"}).find("kappa") != std::string::npos);
  CHECK(error_of("bayesian", {"start_points=-1"}) == "bayesian: option start_points is '-1'; give whole number");
  CHECK(error_of("bayesian", {"design=latin"}) == "bayesian: option design is 'latin'; give random|maximin");
  CHECK(error_of("bayesian", {"start=1,,2"}) == "bayesian: option start is '1,,2'; give indices i,j,...");
  CHECK(error_of("dynamic_gradient", {"third_hop=maybe"}) ==
        "dynamic_gradient: option third_hop is 'maybe'; give true|false");
  CHECK(error_of("bayesian", {"kappa"}) == "bayesian: option 'kappa' is not of the form key=value");
  CHECK(error_of("bayesian", {"=3"}) == "bayesian: option '=3' is not of the form key=value");
  CHECK(error_of("explore_then", {"exploiter=annealing", "patience=0"}).find("patience") != std::string::npos);
}

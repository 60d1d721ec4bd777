// How well cost models rank configurations they have not seen, on recorded samples of other tuners' runs.
//
//   TILESEEK_SHARED=... model_ranking [seeds] [file.json]
//
// Each log in $TILESEEK_SHARED/data/model_logs (CSV, xz: parameters, status, time_ms) is split at random: a model
// learns 30 % and ranks the rest. Reported per model: Spearman's rank correlation of predicted and measured time over
// the successes; the regret of the top 8, i.e. how much slower the fastest of the 8 predicted best is than the fastest
// of the rest (infinite when all 8 fail; means are over the finite ones, and failures are counted); and the time to fit
// and to predict. Rows "with a prior" begin with another recording of the same parameters, "logs with a prior" is the
// plain model on the same logs, to compare. Prints a Markdown table; writes all figures as JSON if a file is named.

#include <lzma.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <tileseek/model/boosted_trees.hpp>
#include <tileseek/model/features.hpp>
#include <tileseek/model/gaussian_process.hpp>
#include <tileseek/model/labels.hpp>
#include <tileseek/model/level_ridge.hpp>
#include <tileseek/model/pretrained.hpp>
#include <tileseek/model/ridge.hpp>

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using tileseek::point;

std::string unpack(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string packed((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, UINT64_MAX, 0) != LZMA_OK) throw std::runtime_error("liblzma does not start");
  std::vector<unsigned char> bytes(packed.begin(), packed.end());
  stream.next_in = bytes.data();
  stream.avail_in = bytes.size();
  std::string out;
  std::vector<unsigned char> buffer(std::size_t{1} << 16);
  lzma_ret state = LZMA_OK;
  while (state == LZMA_OK) {
    stream.next_out = buffer.data();
    stream.avail_out = buffer.size();
    state = lzma_code(&stream, LZMA_FINISH);
    out.append(buffer.begin(), buffer.end() - static_cast<std::ptrdiff_t>(stream.avail_out));
  }
  lzma_end(&stream);
  if (state != LZMA_STREAM_END) throw std::runtime_error(file.string() + ": damaged");
  return out;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == at)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

struct recording {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<std::vector<double>> rows;  ///< values of the parameters; each combination once, the first time measured
  std::vector<double> seconds;
};

recording read(const std::filesystem::path& file) {
  recording out;
  out.name = file.stem().stem().string();
  const auto lines = split(unpack(file), '\n');
  const auto header = split(lines[0], ',');
  const auto status = static_cast<std::size_t>(std::find(header.begin(), header.end(), "status") - header.begin());
  if (status + 1 >= header.size()) throw std::runtime_error(file.string() + ": no columns status and time_ms");
  out.parameters.assign(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(status));
  std::set<std::vector<double>> seen;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto cells = split(lines[i], ',');
    if (cells.size() <= status + 1) continue;
    std::vector<double> row;
    for (std::size_t d = 0; d < status; ++d) row.push_back(std::strtod(cells[d].c_str(), nullptr));
    if (!seen.insert(row).second) continue;
    const double ms = std::strtod(cells[status + 1].c_str(), nullptr);
    out.seconds.push_back(cells[status] == "ok" && ms > 0 ? ms / 1000 : std::numeric_limits<double>::infinity());
    out.rows.push_back(std::move(row));
  }
  return out;
}

struct encoded {
  tileseek::lattice space;
  std::vector<std::vector<point>> points;  ///< of each log
};

/// One lattice for logs with the same parameters.
encoded encode(const std::vector<const recording*>& logs) {
  std::vector<tileseek::coordinate> axes;
  std::vector<std::map<double, int>> index(logs[0]->parameters.size());
  for (std::size_t d = 0; d < index.size(); ++d) {
    for (const recording* l : logs)
      for (const auto& row : l->rows) index[d][row[d]] = 0;
    tileseek::coordinate axis;
    axis.name = logs[0]->parameters[d];
    axis.ordered = axis.name.find("Categorical") == std::string::npos;
    int i = 0;
    for (auto& [value, at] : index[d]) {
      at = i++;
      axis.values.push_back(axis.ordered ? value : at);
    }
    axes.push_back(std::move(axis));
  }
  encoded out;
  std::vector<point> all;
  for (const recording* l : logs) {
    out.points.emplace_back();
    for (const auto& row : l->rows) {
      point p;
      for (std::size_t d = 0; d < row.size(); ++d) p.push_back(index[d][row[d]]);
      all.push_back(p);
      out.points.back().push_back(std::move(p));
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  out.space = tileseek::lattice::of_points(std::move(axes), std::move(all));
  return out;
}

/// Ranks with ties at their mean.
std::vector<double> ranks(const std::vector<double>& v) {
  std::vector<std::size_t> order(v.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return v[a] < v[b]; });
  std::vector<double> out(v.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && v[order[end]] == v[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) out[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return out;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 2) return 0;
  const auto ra = ranks(a);
  const auto rb = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (ra[i] - mean) * (rb[i] - mean);
    aa += (ra[i] - mean) * (ra[i] - mean);
    bb += (rb[i] - mean) * (rb[i] - mean);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

struct score {
  double correlation = 0;
  double regret = 0;
  double fit_ms = 0;
  double predict_ms = 0;
};

struct summary {
  std::vector<score> scores;
  std::vector<std::string> of;  ///< the log of each score
};

struct data {
  MatrixXd train_x;
  VectorXd train_y;
  MatrixXd rest_x;
  std::vector<double> rest_seconds;
};

using predictor = std::function<VectorXd(const data&, score&)>;

template <class Model>
VectorXd fit_and_predict(Model model, const data& d, score& s) {
  const auto start = std::chrono::steady_clock::now();
  model.fit(d.train_x, d.train_y);
  const auto fitted = std::chrono::steady_clock::now();
  VectorXd out = model.predict(d.rest_x);
  const auto done = std::chrono::steady_clock::now();
  s.fit_ms = std::chrono::duration<double, std::milli>(fitted - start).count();
  s.predict_ms = std::chrono::duration<double, std::milli>(done - fitted).count();
  return out;
}

score judge(const predictor& predict, const data& d) {
  score s;
  const VectorXd predicted = predict(d, s);
  std::vector<double> p(predicted.data(), predicted.data() + predicted.size());
  std::vector<std::size_t> order(p.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  double top = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min<std::size_t>(8, order.size()); ++i)
    top = std::min(top, d.rest_seconds[order[i]]);
  s.regret = top / *std::min_element(d.rest_seconds.begin(), d.rest_seconds.end()) - 1;
  std::vector<double> of_successes;
  std::vector<double> seconds;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (std::isfinite(d.rest_seconds[i])) {
      of_successes.push_back(p[i]);
      seconds.push_back(d.rest_seconds[i]);
    }
  s.correlation = spearman(of_successes, seconds);
  return s;
}

double mean(const summary& s, double score::*what) {
  double sum = 0;
  double n = 0;
  for (const auto& one : s.scores)
    if (std::isfinite(one.*what)) sum += one.*what, n += 1;
  return n > 0 ? sum / n : std::numeric_limits<double>::quiet_NaN();
}

MatrixXd rows_of(const MatrixXd& x, const std::vector<std::size_t>& which, std::size_t begin, std::size_t end) {
  MatrixXd out(static_cast<Index>(end - begin), x.cols());
  for (std::size_t i = begin; i < end; ++i)
    out.row(static_cast<Index>(i - begin)) = x.row(static_cast<Index>(which[i]));
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const char* shared = std::getenv("TILESEEK_SHARED");
  const std::filesystem::path folder = std::filesystem::path(shared ? shared : "") / "data" / "model_logs";
  if (!shared || !std::filesystem::is_directory(folder)) {
    std::puts("skipped: no recorded samples; set TILESEEK_SHARED to the folder that holds data/model_logs");
    return 0;
  }
  const int seeds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 3;

  std::vector<recording> logs;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".xz") logs.push_back(read(entry.path()));
  std::sort(logs.begin(), logs.end(), [](const recording& a, const recording& b) { return a.name < b.name; });

  // What to begin with: another recording of the same family (another run, or another shape) with the same parameters.
  const auto prior_of = [&](const recording& l) -> const recording* {
    for (const auto& other : logs)
      if (&other != &l && other.parameters == l.parameters && other.name.substr(0, 20) == l.name.substr(0, 20))
        return &other;
    return nullptr;
  };

  struct entry {
    std::string name;
    tileseek::feature_options features;
    std::function<VectorXd(const data&, score&, std::uint64_t)> run;
  };
  const tileseek::feature_options plain;
  const auto trees = tileseek::feature_options::for_trees();
  tileseek::feature_options trees_no_pairs = trees;
  trees_no_pairs.pairs = false;
  const auto make_trees = [](std::uint64_t seed) { return tileseek::boosted_trees({.seed = seed}); };
  const std::vector<entry> models{
      {"random order", plain, [](const data& d, score&, std::uint64_t) { return VectorXd::Zero(d.rest_x.rows()); }},
      {"ridge, linear", plain,
       [](const data& d, score& s, std::uint64_t) {
         return fit_and_predict(tileseek::ridge({.quadratic = false}), d, s);
       }},
      {"ridge", plain, [](const data& d, score& s, std::uint64_t) { return fit_and_predict(tileseek::ridge(), d, s); }},
      {"ridge with levels", plain,
       [](const data& d, score& s, std::uint64_t) { return fit_and_predict(tileseek::level_ridge(), d, s); }},
      {"Gaussian process", plain,
       [](const data& d, score& s, std::uint64_t seed) {
         return fit_and_predict(tileseek::gaussian_process({.seed = seed}), d, s);
       }},
      {"Gaussian process, plain product", plain,
       [](const data& d, score& s, std::uint64_t seed) {
         return fit_and_predict(tileseek::gaussian_process({.product = tileseek::kernel_product::plain, .seed = seed}),
                                d, s);
       }},
      {"boosted trees", trees,
       [&](const data& d, score& s, std::uint64_t seed) { return fit_and_predict(make_trees(seed), d, s); }},
      {"boosted trees, no pairs", trees_no_pairs,
       [&](const data& d, score& s, std::uint64_t seed) { return fit_and_predict(make_trees(seed), d, s); }},
      {"boosted trees, 200", trees,
       [](const data& d, score& s, std::uint64_t seed) {
         return fit_and_predict(tileseek::boosted_trees({.trees = 200, .seed = seed}), d, s);
       }},
  };

  // [share of the log that is learnt][model]
  const std::vector<double> shares{0.05, 0.3};
  std::vector<std::map<std::string, summary>> results(shares.size());
  for (const auto& l : logs) {
    const recording* prior = prior_of(l);
    std::vector<const recording*> both{&l};
    if (prior) both.push_back(prior);
    const encoded space = encode(both);
    for (std::size_t m = 0; m < models.size(); ++m) {
      const tileseek::feature_map map(space.space, models[m].features);
      const MatrixXd x = map.encode(space.points[0]);
      const bool use_prior = prior && (models[m].name == "boosted trees" || models[m].name == "Gaussian process" ||
                                       models[m].name == "ridge");
      const MatrixXd prior_x = use_prior ? map.encode(space.points[1]) : MatrixXd();
      for (std::size_t k = 0; k < shares.size(); ++k)
        for (int seed = 1; seed <= seeds; ++seed) {
          tileseek::rng random(static_cast<std::uint64_t>(seed));
          std::vector<std::size_t> order(l.rows.size());
          for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
          random.shuffle(std::span<std::size_t>(order));
          const std::size_t n =
              std::max<std::size_t>(8, static_cast<std::size_t>(shares[k] * static_cast<double>(order.size())));
          data d;
          d.train_x = rows_of(x, order, 0, n);
          d.rest_x = rows_of(x, order, n, order.size());
          std::vector<double> train;
          for (std::size_t i = 0; i < n; ++i) train.push_back(l.seconds[order[i]]);
          for (std::size_t i = n; i < order.size(); ++i) d.rest_seconds.push_back(l.seconds[order[i]]);
          d.train_y = tileseek::label(train).y;
          const auto run_seed = static_cast<std::uint64_t>(seed);
          const auto add = [&](const std::string& name, const predictor& p) {
            results[k][name].scores.push_back(judge(p, d));
            results[k][name].of.push_back(l.name);
          };
          add(models[m].name, [&](const data& of, score& s) { return models[m].run(of, s, run_seed); });
          if (!use_prior) continue;
          add(models[m].name + ", logs with a prior",
              [&](const data& of, score& s) { return models[m].run(of, s, run_seed); });
          const VectorXd prior_y = tileseek::label(prior->seconds).y;
          add(models[m].name + ", with a prior", [&](const data& of, score& s) {
            const auto begin_with = [&](auto model) {
              auto older = model;
              older.fit(prior_x, prior_y);
              return fit_and_predict(tileseek::pretrained(std::move(older), std::move(model)), of, s);
            };
            if (models[m].name == "ridge") return begin_with(tileseek::ridge());
            if (models[m].name == "boosted trees") return begin_with(make_trees(run_seed));
            return begin_with(tileseek::gaussian_process({.seed = run_seed}));
          });
        }
    }
    std::fprintf(stderr, "%s: %zu configurations%s%s\n", l.name.c_str(), l.rows.size(), prior ? ", prior " : "",
                 prior ? prior->name.c_str() : "");
  }

  for (std::size_t k = 0; k < shares.size(); ++k) {
    std::printf("\n%zu logs, %d seeds, %.0f %% learnt\n\n", logs.size(), seeds, 100 * shares[k]);
    std::puts(
        "| model | logs | Spearman | mean regret of top 8 | regret <= 5 % | all 8 failed | fit ms | predict ms |");
    std::puts("|---|---|---|---|---|---|---|---|");
    for (const auto& [name, s] : results[k]) {
      double good = 0;
      double failed = 0;
      for (const auto& one : s.scores) {
        good += one.regret <= 0.05;
        failed += !std::isfinite(one.regret);
      }
      const auto n = static_cast<double>(s.scores.size());
      std::printf("| %s | %zu | %.3f | %.1f %% | %.0f %% | %.0f %% | %.1f | %.1f |\n", name.c_str(),
                  std::set<std::string>(s.of.begin(), s.of.end()).size(), mean(s, &score::correlation),
                  100 * mean(s, &score::regret), 100 * good / n, 100 * failed / n, mean(s, &score::fit_ms),
                  mean(s, &score::predict_ms));
    }
  }
  if (argc > 2) {
    std::ofstream out(argv[2]);
    out << "[";
    bool first = true;
    for (std::size_t k = 0; k < shares.size(); ++k)
      for (const auto& [name, s] : results[k])
        for (std::size_t i = 0; i < s.scores.size(); ++i) {
          const auto& one = s.scores[i];
          out << (first ? "\n" : ",\n") << R"({"share": )" << shares[k] << R"(, "model": ")" << name << R"(", "log": ")"
              << s.of[i] << R"(", "spearman": )" << one.correlation << R"(, "regret": )";
          if (std::isfinite(one.regret))
            out << one.regret;
          else
            out << "null";
          out << R"(, "fit_ms": )" << one.fit_ms << R"(, "predict_ms": )" << one.predict_ms << "}";
          first = false;
        }
    out << "\n]\n";
    if (!out.flush()) {
      std::fprintf(stderr, "cannot write %s\n", argv[2]);
      return 1;
    }
  }
}

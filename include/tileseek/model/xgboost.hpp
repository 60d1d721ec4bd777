#pragma once
// XGBoost as a cost model: the reference of the published tuners, to compare with and to fall back on. Included by name
// alone; needs the library's C interface (Debian: libxgboost-dev) and linking with -lxgboost. boosted_trees is the same
// kind of model without the dependency.
//
// Chen and Guestrin, "XGBoost: a scalable tree boosting system", KDD 2016.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <xgboost/c_api.h>
#include <Eigen/Core>

#include <tileseek/model/cost_model.hpp>
#include <tileseek/model/detail/standardise.hpp>
#include <tileseek/model/detail/text.hpp>

namespace tileseek {

struct xgboost_options {
  int trees = 50;
  int depth = 4;
  double rate = 0.12;         ///< share of each tree's correction that is applied ("eta")
  double lambda = 0.5;        ///< L2 penalty of leaves
  double least_weight = 2;    ///< samples a leaf must hold ("min_child_weight")
  double row_share = 0.8;     ///< drawn for each tree ("subsample")
  double column_share = 0.5;  ///< drawn for each tree ("colsample_bytree")
  int threads = 1;            ///< a tuner times kernels on the same machine
  std::uint32_t seed = 1;
};

/// A cost model that hands over to XGBoost; takes weights. Move-only, as the library's handle is.
/// Every member throws std::runtime_error with XGBoost's message when the library reports an error.
class xgboost {
 public:
  explicit xgboost(xgboost_options options = {}) : options_(options) {
    if (options.trees < 1)
      throw std::invalid_argument("xgboost: trees is " + std::to_string(options.trees) + "; give at least 1");
    if (options.threads < 1)
      throw std::invalid_argument("xgboost: threads is " + std::to_string(options.threads) + "; give at least 1");
  }

  void fit(const Eigen::MatrixXd& x, const Eigen::VectorXd& y) { fit(x, y, Eigen::VectorXd::Ones(y.size())); }

  /// @pre weights[i] > 0
  void fit(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& weights) {
    if (x.rows() != y.size() || weights.size() != y.size())
      throw std::invalid_argument("xgboost: " + std::to_string(x.rows()) + " rows, " + std::to_string(y.size()) +
                                  " labels and " + std::to_string(weights.size()) +
                                  " weights; give one label and one weight a row");
    booster_.reset();
    inputs_ = detail::standardisation::of(x, weights);
    const auto label = detail::standardisation::of(y, weights);
    centre_ = y.size() > 0 ? label.centre[0] : 0;
    unit_ = y.size() > 0 && label.factor[0] > 0 ? 1 / label.factor[0] : 0;
    if (!(unit_ > 0) || x.cols() == 0) return;
    const matrix data = to_matrix(x);
    const Eigen::VectorXf y_float = label.apply(y).col(0).cast<float>();
    const Eigen::VectorXf w_float = weights.cast<float>();
    const auto n = static_cast<bst_ulong>(y.size());
    check(XGDMatrixSetFloatInfo(data.get(), "label", y_float.data(), n));
    check(XGDMatrixSetFloatInfo(data.get(), "weight", w_float.data(), n));
    const DMatrixHandle handle = data.get();
    booster_ = create(&handle, 1);
    for (int tree = 0; tree < options_.trees; ++tree) check(XGBoosterUpdateOneIter(booster_.get(), tree, data.get()));
  }

  [[nodiscard]] Eigen::VectorXd predict(const Eigen::MatrixXd& x) const {
    Eigen::VectorXd out = Eigen::VectorXd::Constant(x.rows(), centre_);
    if (!booster_ || x.rows() == 0) return out;
    if (x.cols() != inputs_.centre.size())
      throw std::invalid_argument("xgboost: fitted to " + std::to_string(inputs_.centre.size()) +
                                  " columns, asked about " + std::to_string(x.cols()) +
                                  "; encode both with the same feature_map");
    const matrix data = to_matrix(x);
    bst_ulong n = 0;
    const float* result = nullptr;
    check(XGBoosterPredict(booster_.get(), data.get(), 0, 0, 0, &n, &result));
    if (n != static_cast<bst_ulong>(x.rows()))
      throw std::runtime_error("xgboost: as many predictions as rows were expected");
    out += unit_ * Eigen::Map<const Eigen::VectorXf>(result, x.rows()).cast<double>();
    return out;
  }

  /// The fitted model as text that `load` reads back to equal predictions.
  [[nodiscard]] std::string save() const {
    detail::text_writer out("tileseek-xgboost", 1);
    const auto& o = options_;
    for (const int v : {o.trees, o.depth, o.threads}) out.add(v);
    for (const double v : {o.rate, o.lambda, o.least_weight, o.row_share, o.column_share, centre_, unit_}) out.add(v);
    out.add(o.seed);
    out.line();
    inputs_.save(out);
    std::string model;
    if (booster_) {
      bst_ulong length = 0;
      const char* bytes = nullptr;
      check(XGBoosterSaveModelToBuffer(booster_.get(), R"({"format": "json"})", &length, &bytes));
      model.assign(bytes, length);
    }
    out.add(model);
    return std::move(out).take();
  }

  /// @throws std::invalid_argument  the text is damaged, or of another model or version
  [[nodiscard]] static xgboost load(std::string_view text) {
    detail::text_reader in(text, "tileseek-xgboost", 1);
    xgboost_options o;
    for (int* v : {&o.trees, &o.depth, &o.threads}) *v = in.number<int>();
    double centre = 0;
    double unit = 0;
    for (double* v : {&o.rate, &o.lambda, &o.least_weight, &o.row_share, &o.column_share, &centre, &unit})
      *v = in.number<double>();
    o.seed = in.number<std::uint32_t>();
    xgboost out(o);
    out.centre_ = centre;
    out.unit_ = unit;
    out.inputs_ = detail::standardisation::load(in);
    const std::string_view model = in.text();
    in.finish();
    if (model.empty()) return out;
    out.booster_ = out.create(nullptr, 0);
    if (XGBoosterLoadModelFromBuffer(out.booster_.get(), model.data(), model.size()) != 0)
      throw std::invalid_argument(std::string("load tileseek-xgboost: ") + XGBGetLastError());
    return out;
  }

 private:
  struct free_matrix {
    void operator()(DMatrixHandle m) const noexcept { XGDMatrixFree(m); }
  };
  struct free_booster {
    void operator()(BoosterHandle b) const noexcept { XGBoosterFree(b); }
  };
  using matrix = std::unique_ptr<void, free_matrix>;
  using booster = std::unique_ptr<void, free_booster>;

  static void check(int status) {
    if (status != 0) throw std::runtime_error(std::string("xgboost: ") + XGBGetLastError());
  }

  /// Standardised, because the library takes single precision and refuses what overflows it.
  [[nodiscard]] matrix to_matrix(const Eigen::MatrixXd& x) const {
    const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = inputs_.apply(x).cast<float>();
    DMatrixHandle m = nullptr;
    check(XGDMatrixCreateFromMat(rows.data(), static_cast<bst_ulong>(rows.rows()), static_cast<bst_ulong>(rows.cols()),
                                 std::numeric_limits<float>::quiet_NaN(), &m));
    return matrix(m);
  }

  [[nodiscard]] booster create(const DMatrixHandle* data, bst_ulong n) const {
    BoosterHandle b = nullptr;
    check(XGBoosterCreate(data, n, &b));
    booster out(b);
    const auto set = [&](const char* name, const std::string& value) {
      check(XGBoosterSetParam(b, name, value.c_str()));
    };
    const auto text = [](double v) {  // std::to_string follows the locale
      char buffer[40];
      return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr);
    };
    set("objective", "reg:squarederror");
    set("verbosity", "0");
    set("base_score", "0");
    set("max_depth", std::to_string(options_.depth));
    set("nthread", std::to_string(options_.threads));
    set("seed", std::to_string(options_.seed));
    set("eta", text(options_.rate));
    set("lambda", text(options_.lambda));
    set("min_child_weight", text(options_.least_weight));
    set("subsample", text(options_.row_share));
    set("colsample_bytree", text(options_.column_share));
    return out;
  }

  xgboost_options options_;
  detail::standardisation inputs_;
  booster booster_;
  double centre_ = 0;  ///< of the labels
  double unit_ = 0;    ///< their deviation; 0 when they are equal
};

static_assert(WeightedCostModel<xgboost>);

}  // namespace tileseek

#pragma once
// Numbers as text and back, exactly, whatever the locale: what models save themselves with.

#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <Eigen/Core>

namespace tileseek::detail {

/// Writes "name version" and then items apart by single spaces, a line per vector.
class text_writer {
 public:
  text_writer(std::string_view name, int version) {
    text_ += name;
    add(version);
    line();
  }

  template <class Number>
    requires std::is_arithmetic_v<Number>
  void add(Number value) {
    if constexpr (std::is_same_v<Number, bool>) {
      text_ += value ? " 1" : " 0";
    } else {
      char buffer[40];
      const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);  // the shortest text that reads back equal
      text_ += ' ';
      text_.append(buffer, end.ptr);
    }
  }

  template <class Number>
  void add(const std::vector<Number>& values) {
    add(values.size());
    for (const Number v : values) add(v);
    line();
  }

  void add(const Eigen::MatrixXd& m) {
    add(m.rows());
    add(m.cols());
    for (Eigen::Index i = 0; i < m.size(); ++i) add(m.data()[i]);
    line();
  }

  /// A text within the text, led by its length.
  void add(const std::string& inner) {
    add(inner.size());
    text_ += '\n';
    text_ += inner;
  }

  void line() { text_ += '\n'; }

  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  std::string text_;
};

/// Reads what a text_writer wrote; every reader throws std::invalid_argument when the text is not that.
class text_reader {
 public:
  /// @param version  the only one understood
  text_reader(std::string_view text, std::string_view name, int version) : rest_(text), name_(name) {
    if (next() != name_) fail("this is not the text of one");
    if (const int found = number<int>(); found != version)
      fail("saved in version " + std::to_string(found) + ", this library reads version " + std::to_string(version));
  }

  template <class Number>
  [[nodiscard]] Number number() {
    const std::string_view word = next();
    if constexpr (std::is_same_v<Number, bool>) {
      if (word != "0" && word != "1") fail("'" + std::string(word) + "' is neither 0 nor 1");
      return word == "1";
    } else {
      Number value{};
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (error != std::errc{} || end != word.data() + word.size()) fail("'" + std::string(word) + "' is not a number");
      return value;
    }
  }

  template <class Number>
  [[nodiscard]] std::vector<Number> numbers() {
    std::vector<Number> out(count(number<std::size_t>()));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = number<Number>();
    return out;
  }

  [[nodiscard]] Eigen::MatrixXd matrix() {
    const auto rows = number<Eigen::Index>();
    const auto columns = number<Eigen::Index>();
    if (rows < 0 || columns < 0) fail("a matrix of negative size");
    if (rows > 0 && columns > 0) (void)count(static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
    Eigen::MatrixXd m(rows, columns);
    for (Eigen::Index i = 0; i < m.size(); ++i) m.data()[i] = number<double>();
    return m;
  }

  [[nodiscard]] Eigen::VectorXd vector() {
    const Eigen::MatrixXd m = matrix();
    if (m.cols() != 1) fail("a matrix where a vector should be");
    return m.col(0);
  }

  /// A text within the text.
  [[nodiscard]] std::string_view text() {
    const auto length = number<std::size_t>();
    if (rest_.empty() || length > rest_.size() - 1) fail("the text ends early");
    const std::string_view inner = rest_.substr(1, length);
    rest_.remove_prefix(1 + length);
    return inner;
  }

  void require(bool holds, std::string_view what) const {
    if (!holds) fail(std::string(what));
  }

  /// Only white space may follow.
  void finish() {
    skip();
    if (!rest_.empty()) fail("text after its end");
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw std::invalid_argument("load " + name_ + ": " + why); }

  /// Damaged sizes must not allocate the machine away: each number takes at least two characters.
  [[nodiscard]] std::size_t count(std::size_t n, std::size_t times = 1) const {
    if (n > rest_.size() / times) fail("the text ends early");
    return n;
  }

  void skip() {
    std::size_t i = 0;
    while (i < rest_.size() && (rest_[i] == ' ' || rest_[i] == '\n' || rest_[i] == '\r' || rest_[i] == '\t')) ++i;
    rest_.remove_prefix(i);
  }

  [[nodiscard]] std::string_view next() {
    skip();
    std::size_t i = 0;
    while (i < rest_.size() && rest_[i] != ' ' && rest_[i] != '\n' && rest_[i] != '\r' && rest_[i] != '\t') ++i;
    if (i == 0) fail("the text ends early");
    const std::string_view word = rest_.substr(0, i);
    rest_.remove_prefix(i);
    return word;
  }

  std::string_view rest_;
  std::string name_;
};

}  // namespace tileseek::detail

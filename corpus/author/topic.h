// One corpus file while it is written, and the checks that every vector must pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/case.h"
#include "harness/operators/case_builder.h"

namespace qconform::author {

/// The vectors of one file. Each function adds one, says which lane it is in, and checks what it
/// says against the semantics; what does not agree is collected in problems().
///
/// `vector` is a builder of harness/operators/case_builder.h with id, note and rules stated.
class Topic {
 public:
  /// `path` is relative to the corpus: "qlinear_conv/padding.json".
  explicit Topic(std::string path) : path_(std::move(path)) {}

  /// Valid, with an answer worked out by hand: shape and values in row-major order.
  template <typename Builder>
  void known(const Builder& vector, const make::Shape& shape, const std::vector<std::int64_t>& answer) {
    add_known(vector.build(), shape, answer);
  }
  template <typename Builder>
  void known_floats(const Builder& vector, const make::Shape& shape, const std::vector<float>& answer) {
    add_answered(vector.build(), make::float32(shape, answer));
  }
  /// The same for any type of y; the numbers are exact in it.
  template <typename Builder>
  void known_numbers(const Builder& vector, const make::Shape& shape, const std::vector<double>& answer) {
    add_known_numbers(vector.build(), shape, answer);
  }
  /// Valid; `wrong` is what an arithmetic gives that the rules forbid, and no element of it may be
  /// right. The reference's answer is recorded where it is the only one.
  template <typename Builder>
  void separates(const Builder& vector, const std::vector<double>& wrong) {
    add_separating(vector.build(), wrong);
  }
  /// Valid; the reference's answer is recorded.
  template <typename Builder>
  void computed(const Builder& vector) {
    add_computed(vector.build(), Expectation::valid);
  }
  /// Valid, and an element has more than one right answer: none is recorded.
  template <typename Builder>
  void open(const Builder& vector) {
    add_open(vector.build());
  }
  /// Likewise, and the usual float32 expression (profile ort-f32) gives another answer than exact
  /// arithmetic: both are right. Adds the tag "float32-departs".
  template <typename Builder>
  void open_unlike_float32(const Builder& vector) {
    add_unlike_float32(vector.build());
  }
  /// The right value or a clean error; the value is recorded where it is determined.
  template <typename Builder>
  void tolerated(const Builder& vector) {
    add_computed(vector.build(), Expectation::latitude);
  }
  /// Out of contract: a clear error is required.
  template <typename Builder>
  void refused(const Builder& vector) {
    add(vector.build(), Expectation::invalid);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::vector<Case>& cases() const { return cases_; }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  void add(Case vector, Expectation expectation);
  void add_unlike_float32(Case vector);
  void add_computed(Case vector, Expectation expectation);
  void add_open(Case vector);
  void add_separating(Case vector, const std::vector<double>& wrong);
  void add_known_numbers(Case vector, const make::Shape& shape, const std::vector<double>& answer);
  void add_known(Case vector, const make::Shape& shape, const std::vector<std::int64_t>& answer);
  void add_answered(Case vector, Tensor answer);
  void problem(const Case& vector, const std::string& text);

  std::string path_;
  std::vector<Case> cases_;
  std::vector<std::string> problems_;
};

/// A tensor of any integer or float type from numbers; each must be one of the type's.
[[nodiscard]] Tensor numbers(ElementType type, make::Shape shape, const std::vector<double>& values);

/// Integers of the whole range of an 8-bit type: `first`, `first + step`, ..., wrapped. With an odd
/// step of about 100 neighbours differ in sign and size.
[[nodiscard]] Tensor pattern(ElementType type, make::Shape shape, std::int64_t first, std::int64_t step);

}  // namespace qconform::author

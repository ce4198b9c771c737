// One corpus file while it is written, and the checks that every vector must pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/case_builder.h"

namespace qconform::author {

/// The vectors of one file. Each function adds one, says which lane it is in, and checks what it
/// says against the semantics; what does not agree is collected in problems().
///
/// `vector` is a builder of harness/core/case_builder.h with id, note and rules stated.
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
  /// Valid; the reference's answer is recorded.
  template <typename Builder>
  void computed(const Builder& vector) {
    add_computed(vector.build(), Expectation::valid);
  }
  /// Valid, and more than one answer is right: none is recorded.
  template <typename Builder>
  void open(const Builder& vector) {
    add(vector.build(), Expectation::valid);
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
  void add_known(Case vector, const make::Shape& shape, const std::vector<std::int64_t>& answer);
  void add_answered(Case vector, Tensor answer);
  void problem(const Case& vector, const std::string& text);

  std::string path_;
  std::vector<Case> cases_;
  std::vector<std::string> problems_;
};

/// Integers of the whole range of an 8-bit type: `first`, `first + step`, ..., wrapped. With an odd
/// step of about 100 neighbours differ in sign and size.
[[nodiscard]] Tensor pattern(ElementType type, make::Shape shape, std::int64_t first, std::int64_t step);

}  // namespace qconform::author

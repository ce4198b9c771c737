// One corpus file of DirectML descriptions while it is written, and the checks that each must pass.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "corpus/author/topic.h"
#include "harness/json/json_text.h"

namespace qconform::author {

/// Descriptions are written as changes of a plain right one: JSON pointers and what is put there.
///
///   a 1x1 filter of one weight 10 over the row 1, 2, 3, scales 1, zero points and bias null, output
///   INT8 {1, 1, 1, 3}
class DescriptionTopic {
 public:
  using Edits = std::vector<std::pair<const char*, const char*>>;

  struct Label {
    std::string id;
    std::string note;
    std::vector<std::string> rules;
    std::vector<std::string> tags;
  };

  /// `path` is relative to the corpus: "dml_quantized_linear_convolution/ties.dml.json".
  explicit DescriptionTopic(std::string path) : checks_(std::move(path)) {}

  /// Valid; the reference's answer is recorded in OutputTensor.
  void computed(const Label& label, const Edits& edits);
  /// Valid, and under dml-doc more than one answer is right: none is recorded.
  void open(const Label& label, const Edits& edits);
  /// The right value or a clean error.
  void tolerated(const Label& label, const Edits& edits);
  /// Breaks one of `label.rules`.
  void refused(const Label& label, const Edits& edits);

  [[nodiscard]] const std::string& path() const { return checks_.path(); }
  [[nodiscard]] std::size_t vectors() const { return descriptions_.size(); }
  [[nodiscard]] std::vector<std::string> problems() const;
  [[nodiscard]] std::string text() const;

 private:
  enum class Lane { computed, open, tolerated };
  void add_valid(const Label& label, const Edits& edits, Lane lane);
  void problem(const Label& label, const std::string& text);

  Topic checks_;  // of the cases that the valid descriptions mean
  std::vector<Json> descriptions_;
  std::vector<std::string> problems_;
};

}  // namespace qconform::author

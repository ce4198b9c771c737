// Suites of cases that lie somewhere: in JSON case files, DirectML descriptions, folders of ONNX backend tests, or a
// list; and those among them that are newer than qconform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/suite.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace qconform {

/// The case files below a folder, in the order of their paths; of a file, itself. Errors: no such path, a folder
/// without case files. Dot files and what does not end in ".json" or ends in ".schema.json" are left alone.
[[nodiscard]] Result<std::vector<std::filesystem::path>> case_files_at(const std::filesystem::path& path);

/// The cases of case_files_at(). Files are read one at a time. What ends in ".dml.json" holds DirectML descriptions
/// (DirectMlSuite).
///
/// Cases of operators that qconform does not know are left aside: skipped() counts them.
///
/// A case that states no provenance gets the file's path relative to the folder (of a single file:
/// its name) and its position in the file.
class CorpusSuite final : public Suite {
 public:
  /// `name` is the suite's, as on the command line; of a folder, what is in its folder `skipped` is left out, unless
  /// that is empty. Errors: no such path, a folder without case files.
  [[nodiscard]] static Result<std::unique_ptr<CorpusSuite>> open(std::string name, const std::filesystem::path& path,
                                                                 std::string_view skipped = {});

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] Result<std::optional<Case>> next() override;

 private:
  Result<std::optional<Case>> next_of_any_operator();

  CorpusSuite(std::string name, std::filesystem::path root, std::vector<std::filesystem::path> files)
      : name_(std::move(name)), root_(std::move(root)), files_(std::move(files)) {}

  std::string name_;
  std::filesystem::path root_;
  std::vector<std::filesystem::path> files_;
  std::size_t next_file_ = 0;
  std::vector<Case> cases_;  // cases of the file before next_file_
  std::size_t next_case_ = 0;
};

// Cases from DirectML's descriptions of a quantized linear convolution: suite `dml:FILE.json`.

/// The descriptions of one file (docs/operators/dml_quantized_linear_convolution.md), each lowered
/// to QLinearConv. A description without an id gets the file's name without ".json", with "-0", "-1"
/// where the file holds several.
class DirectMlSuite final : public Suite {
 public:
  /// Reads the whole file. Errors: no such file, text or a description that breaks a rule
  /// (unless it says so, and names the rule).
  [[nodiscard]] static Result<std::unique_ptr<DirectMlSuite>> open(const std::filesystem::path& path);

  /// The cases of such a file, without a provenance.
  [[nodiscard]] static Result<std::vector<Case>> load(const std::filesystem::path& path);

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] Result<std::optional<Case>> next() override;
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return cases_.size(); }

 private:
  DirectMlSuite(std::string name, std::vector<Case> cases) : name_(std::move(name)), cases_(std::move(cases)) {}

  std::string name_;
  std::vector<Case> cases_;
  std::size_t next_case_ = 0;
};

// Cases from folders of ONNX's backend tests: suite `onnx:DIR`.

/// A folder with a model.onnx, or the folders below one, to a depth of kMaxDepth, in the order of
/// their paths. Each single node of a quantized operator, and each quantized graph that a case can hold, becomes one
/// case for each test_data_set_N: inputs from its files, the recorded output from output_0.pb. Any other model with
/// quantized nodes is cut into units (OnnxModelSuite), which a run on the inputs of the data set feeds. Everything else
/// is counted as skipped, by reason. A damaged model or data set of a quantized operator is an error; so is a model
/// file that cannot be parsed at all.
///
/// The id is the folder's path below DIR, with "/1", "/2" for further data sets, and of a unit its own behind it; cases
/// that qconform wrote keep their own.
class OnnxFolderSuite final : public Suite {
 public:
  static constexpr int kMaxDepth = 8;

  /// Errors: no such folder, a folder without any model.onnx.
  [[nodiscard]] static Result<std::unique_ptr<OnnxFolderSuite>> open(const std::filesystem::path& root,
                                                                     std::uint64_t seed = 1);

  [[nodiscard]] std::string name() const override { return "onnx:" + root_.string(); }
  [[nodiscard]] Result<std::optional<Case>> next() override;

 private:
  OnnxFolderSuite(std::filesystem::path root, std::vector<std::filesystem::path> folders, std::uint64_t seed)
      : root_(std::move(root)), folders_(std::move(folders)), seed_(seed) {}
  /// Sets `cases_` or `models_`.
  [[nodiscard]] Result<void> load(const std::filesystem::path& folder);
  /// One for each data set.
  [[nodiscard]] Result<void> add_cases(const onnx::ModelProto& model, const std::filesystem::path& folder,
                                       const std::vector<std::filesystem::path>& data_sets);
  /// Sets `units_`, or counts the model as skipped.
  void cut_into_units();
  [[nodiscard]] Result<std::optional<Case>> next_unit();

  /// A model that is no single case, and one of its data sets; none: its inputs are drawn.
  struct WholeModel {
    std::filesystem::path file;
    std::filesystem::path data_set;
    std::string id;
  };

  std::filesystem::path root_;
  std::vector<std::filesystem::path> folders_;
  std::uint64_t seed_;
  std::size_t next_folder_ = 0;
  std::vector<Case> cases_;  // cases of the folder before next_folder_
  std::size_t next_case_ = 0;
  std::deque<WholeModel> models_;  // those of that folder which are still to be cut
  std::unique_ptr<Suite> units_;   // of models_.front()
};

}  // namespace qconform

namespace qconform::testing {

/// A suite of given cases.
class ListedSuite final : public Suite {
 public:
  explicit ListedSuite(std::vector<Case> cases, std::string name = "listed")
      : cases_(std::move(cases)), name_(std::move(name)) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (next_ == cases_.size()) return std::nullopt;
    return cases_[next_++];
  }

 private:
  std::vector<Case> cases_;
  std::string name_;
  std::size_t next_ = 0;
};

}  // namespace qconform::testing

namespace qconform {

// Cases of opsets that are newer than qconform.

/// Counts the cases whose opset is newer than kNewestOpset. They are judged by the newest versions known, which the
/// reader has to be told: a later opset may have changed the operator.
class NewerOpsets {
 public:
  void add(const Case& test_case);
  /// "3 cases have opset 40, newer than 28, the newest known: judged by QuantizeLinear 25"; empty without such cases.
  [[nodiscard]] std::string text() const;

 private:
  std::uint64_t cases_ = 0;
  std::set<std::int64_t> opsets_;
  std::map<std::string, std::int64_t> versions_;  ///< by operator
};

/// Wraps a source so that its cases are counted on their way. `newer` must outlive it.
[[nodiscard]] std::unique_ptr<Suite> counted(std::unique_ptr<Suite> source, NewerOpsets& newer);

}  // namespace qconform

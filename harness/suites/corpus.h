// Cases from JSON case files and DirectML descriptions: the corpus, a folder of one's own, or one file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/suite.h"

namespace qconform {

/// The case files below a folder, in the order of their paths; of a file, itself. Errors: no such path, a folder
/// without case files. Dot files and what does not end in ".json" or ends in ".schema.json" are left alone.
[[nodiscard]] Result<std::vector<std::filesystem::path>> case_files_at(const std::filesystem::path& path);

/// The cases of case_files_at(). Files are read one at a time. What ends in ".dml.json" holds DirectML descriptions
/// (harness/suites/corpus.h).
///
/// Cases of operators that qconform does not know are left aside: skipped() counts them.
///
/// A case that states no provenance gets the file's path relative to the folder (of a single file:
/// its name) and its position in the file.
class CorpusSuite final : public Suite {
 public:
  /// `name` is the suite's, as on the command line. Errors: no such path, a folder without case files.
  [[nodiscard]] static Result<std::unique_ptr<CorpusSuite>> open(std::string name, const std::filesystem::path& path);

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

}  // namespace qconform

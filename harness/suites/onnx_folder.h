// Cases from folders of ONNX's backend tests: suite `onnx:DIR`.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/suite.h"

namespace qconform {

/// A folder with a model.onnx, or the folders below one, to a depth of kMaxDepth, in the order of
/// their paths. Each single node of a quantized operator becomes one case for each test_data_set_N:
/// inputs from its files, the recorded output from output_0.pb. Everything else is counted as
/// skipped, by reason. A damaged model or data set of a quantized operator is an error; so is a
/// model file that cannot be parsed at all.
///
/// The id is the folder's path below DIR, with "/1", "/2" for further data sets; cases that qconform
/// wrote keep their own.
class OnnxFolderSuite final : public Suite {
 public:
  static constexpr int kMaxDepth = 8;

  /// Errors: no such folder, a folder without any model.onnx.
  [[nodiscard]] static Result<std::unique_ptr<OnnxFolderSuite>> open(const std::filesystem::path& root);

  [[nodiscard]] std::string name() const override { return "onnx:" + root_.string(); }
  [[nodiscard]] Result<std::optional<Case>> next() override;

 private:
  OnnxFolderSuite(std::filesystem::path root, std::vector<std::filesystem::path> folders)
      : root_(std::move(root)), folders_(std::move(folders)) {}
  [[nodiscard]] Result<void> load(const std::filesystem::path& folder);

  std::filesystem::path root_;
  std::vector<std::filesystem::path> folders_;
  std::size_t next_folder_ = 0;
  std::vector<Case> cases_;  // cases of the folder before next_folder_
  std::size_t next_case_ = 0;
};

}  // namespace qconform

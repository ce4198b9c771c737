// Cases from DirectML's descriptions of a quantized linear convolution: suite `dml:FILE.json`.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/suite.h"

namespace qconform {

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

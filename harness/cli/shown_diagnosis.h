// A diagnoser that says on the progress line which failure is being explained: that takes longer than many cases.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/output.h"
#include "harness/core/backend.h"
#include "harness/engine/findings.h"

namespace qconform::cli {

class ShownDiagnosis final : public Diagnoser {
 public:
  /// All of them outlive it.
  ShownDiagnosis(Diagnoser& diagnoser, const std::vector<std::unique_ptr<Backend>>& backends, ProgressLine& line)
      : diagnoser_(diagnoser), backends_(backends), line_(line) {}

  void passed(std::size_t backend, const Case& test_case, const Expected& expected) override {
    diagnoser_.passed(backend, test_case, expected);
  }
  [[nodiscard]] std::string failed(std::size_t backend, const Case& test_case, const Expected& expected,
                                   const Outcome& outcome, const Verdict& verdict) override {
    show([&] { return fmt::format("explaining why {} fails {}", name(backend), test_case.id); });
    return diagnoser_.failed(backend, test_case, expected, outcome, verdict);
  }
  [[nodiscard]] std::string settled(std::size_t backend, const std::string& op_type,
                                    const std::string& signature) override {
    show([&] { return fmt::format("sorting failures of {} on {} by cause", name(backend), op_type); });
    return diagnoser_.settled(backend, op_type, signature);
  }
  [[nodiscard]] std::optional<Diagnosis> diagnosis(std::size_t backend, const std::string& op_type,
                                                   const std::string& signature) const override {
    return diagnoser_.diagnosis(backend, op_type, signature);
  }

 private:
  [[nodiscard]] const std::string& name(std::size_t backend) const { return backends_[backend]->info().name; }

  template <typename Text>
  void show(Text text) {
    line_.update([&] { return fmt::format("{}, {}", text(), line_.times(0, std::nullopt)); });
  }

  Diagnoser& diagnoser_;
  const std::vector<std::unique_ptr<Backend>>& backends_;
  ProgressLine& line_;
};

}  // namespace qconform::cli

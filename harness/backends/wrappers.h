// Backends around another one: under an alias, with siblings, for valid nodes alone.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "harness/core/backend.h"

namespace qconform::backend {

/// Does what the inner backend does; what derives from it changes a part of that.
class Forwarding : public Backend {
 public:
  explicit Forwarding(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] const BackendInfo& info() const override { return inner_->info(); }
  [[nodiscard]] std::optional<CaseGraph> rewritten(const Case& test_case) override {
    return inner_->rewritten(test_case);
  }
  [[nodiscard]] Preparation prepare(const Case& test_case) override { return inner_->prepare(test_case); }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    return inner_->prepare_at(test_case, inputs);
  }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& wanted) override {
    return inner_->prepare_repeated(test_case, wanted);
  }
  [[nodiscard]] std::span<const std::unique_ptr<Backend>> siblings() override { return inner_->siblings(); }
  [[nodiscard]] Worker* worker() override { return inner_->worker(); }
  [[nodiscard]] CodeCoverage* code_coverage() override { return inner_->code_coverage(); }

 private:
  std::unique_ptr<Backend> inner_;
};

}  // namespace qconform::backend

#include "harness/backends/kinds.h"

#include <utility>

namespace qconform::backend {
namespace {

class ValidOnly final : public Backend {
 public:
  ValidOnly(std::unique_ptr<Backend> inner, std::string name) : inner_(std::move(inner)), info_(inner_->info()) {
    info_.name = std::move(name);
    info_.valid_only = true;
  }
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override { return inner_->prepare(test_case); }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    return inner_->prepare_at(test_case, inputs);
  }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& wanted) override {
    return inner_->prepare_repeated(test_case, wanted);
  }
  [[nodiscard]] Worker* worker() override { return inner_->worker(); }
  [[nodiscard]] CodeCoverage* code_coverage() override { return inner_->code_coverage(); }

 private:
  std::unique_ptr<Backend> inner_;
  BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> valid_only(std::unique_ptr<Backend> inner, std::string name) {
  return std::make_unique<ValidOnly>(std::move(inner), std::move(name));
}

}  // namespace qconform::backend

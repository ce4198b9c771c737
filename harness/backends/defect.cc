#include "harness/backends/kinds.h"

#include <utility>

#include "harness/core/version.h"
#include "harness/model/defects/modelled_case.h"

namespace qconform::backend {
namespace {

class PreparedModel final : public PreparedCase {
 public:
  explicit PreparedModel(std::vector<Tensor> outputs) : produced_(std::move(outputs)) {}

  void run(OutputSink& sink) override { copy_outputs(produced_, sink); }

 private:
  outcome::Produced produced_;
};

// Refuses a case that no model computes: out of contract, or open, or of a family without stages.
Preparation refusal_of(const Case& test_case, const Classification& classification) {
  const reference::Remark* remark = classification.deciding_remark();
  if (remark != nullptr) return outcome::Rejected{remark->text()};
  return outcome::Unsupported{"no model of " + operator_name(test_case)};
}

class DefectModel final : public Backend {
 public:
  DefectModel(diagnose::Model model, std::string name)
      : model_(std::move(model)), info_{std::move(name), kVersion, "defect"} {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    const Classification classification = classify(test_case);
    const auto modelled = diagnose::ModelledCase::prepare(test_case, classification);
    if (!modelled) return refusal_of(test_case, classification);
    std::optional<std::vector<Tensor>> outputs = modelled->outputs(model_);
    if (!outputs) return outcome::Unsupported{"the model's geometry has no output for this case"};
    return std::make_unique<PreparedModel>(std::move(*outputs));
  }

 private:
  diagnose::Model model_;
  BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> defect_model(diagnose::Model model, std::string name) {
  return std::make_unique<DefectModel>(std::move(model), std::move(name));
}

}  // namespace qconform::backend

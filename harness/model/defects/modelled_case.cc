#include "harness/model/defects/modelled_case.h"

#include <algorithm>
#include <utility>

namespace qconform::diagnose {
namespace {

// Measured: a product takes 1 to 3 ns, an element some 40, and a run some 2 us.
std::uint64_t expense_of(std::int64_t work, const Lowered& lowered) {
  constexpr std::int64_t kOfARun = 1000;
  constexpr std::int64_t kOfAnElement = 20;
  std::int64_t elements = 1;
  for (const std::int64_t dimension : lowered.output_shape()) elements *= dimension;
  return static_cast<std::uint64_t>(kOfARun + work + kOfAnElement * elements);
}

bool can_be_modelled(const Case& test_case, const Classification& classification) {
  return classification.lowered != nullptr && !classification.value_is_open && family_of(test_case)->run != nullptr;
}

}  // namespace

ModelledCase::ModelledCase(const Case& test_case, const Lowered& lowered, std::unique_ptr<Classification> owned)
    : case_(test_case),
      owned_(std::move(owned)),
      lowered_(lowered),
      op_(operator_of(test_case)),
      family_(family_of(test_case)),
      work_(lowered.work()),
      expense_(expense_of(work_, lowered)) {}

std::unique_ptr<ModelledCase> ModelledCase::prepare(const Case& test_case) {
  auto owned = std::make_unique<Classification>(classify(test_case));
  if (!can_be_modelled(test_case, *owned)) return nullptr;
  const Lowered& lowered = *owned->lowered;
  return std::unique_ptr<ModelledCase>(new ModelledCase(test_case, lowered, std::move(owned)));
}

std::unique_ptr<ModelledCase> ModelledCase::prepare(const Case& test_case, const Classification& classification) {
  if (!can_be_modelled(test_case, classification)) return nullptr;
  return std::unique_ptr<ModelledCase>(new ModelledCase(test_case, *classification.lowered, nullptr));
}

std::optional<Tensor> ModelledCase::run(const Model& model) const {
  return run(model.stages(op_->name));
}

// Families speak of the first output: each takes its turn as that.
std::optional<std::vector<Tensor>> ModelledCase::outputs(const Model& model) const {
  std::optional<Tensor> first = run(model);
  if (!first) return std::nullopt;
  std::vector<Tensor> all{std::move(*first)};
  Case turned = case_;
  while (all.size() < case_.output_count()) {
    std::rotate(turned.outputs.begin(), turned.outputs.begin() + 1, turned.outputs.end());
    const Classification classification = classify(turned);
    std::optional<Tensor> output = family_->run(turned, *classification.lowered, model.stages(op_->name));
    if (!output) return std::nullopt;
    all.push_back(std::move(*output));
  }
  return all;
}

std::optional<Tensor> ModelledCase::run(const Stages& stages) const {
  return family_->run(case_, lowered_, stages);
}

std::optional<Tensor> ModelledCase::run(const Defect& defect) const {
  Stages stages;
  if (defect.operators.contains(op_->name)) defect.apply(stages);
  return run(stages);
}

}  // namespace qconform::diagnose

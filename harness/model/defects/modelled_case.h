// A case on the reference's pipeline, with or without defects.
//
//   const auto modelled = ModelledCase::prepare(test_case);
//   for (const Defect& defect : defects()) modelled->run(defect);
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "harness/core/case.h"
#include "harness/model/defects/defect.h"
#include "harness/model/family.h"

namespace qconform::diagnose {

/// A case, parsed once and then run on any number of models. The case must outlive it. Thread-safe.
class ModelledCase {
 public:
  /// Prepares the case. Null when it is out of contract, or when any value is right (rules C21, Q5): there is nothing
  /// to model. The classification says why. Null, too, where the family has no stages (Family::run).
  [[nodiscard]] static std::unique_ptr<ModelledCase> prepare(const Case& test_case);
  /// Prepares the case with a classification that is at hand; it must outlive the result.
  [[nodiscard]] static std::unique_ptr<ModelledCase> prepare(const Case& test_case,
                                                             const Classification& classification);

  [[nodiscard]] const Case& test_case() const { return case_; }
  [[nodiscard]] const Operator& op() const { return *op_; }
  [[nodiscard]] const Family& family() const { return *family_; }
  [[nodiscard]] const Lowered& lowered() const { return lowered_; }
  /// The work of the case: products, or elements of an element-wise node.
  [[nodiscard]] std::int64_t work() const { return work_; }
  /// The cost of running a model, counted in products: a run, and each element, costs as much as several products.
  [[nodiscard]] std::uint64_t expense() const { return expense_; }

  /// Computes the case's output, or the first of several, by the model. Its shape may differ from the right one.
  /// Nothing when the model's geometry has no output, because its window does not fit.
  [[nodiscard]] std::optional<Tensor> run(const Model& model) const;
  [[nodiscard]] std::optional<Tensor> run(const Stages& stages) const;
  /// Computes all outputs of the case by the model.
  [[nodiscard]] std::optional<std::vector<Tensor>> outputs(const Model& model) const;
  /// Runs the model of this one defect.
  [[nodiscard]] std::optional<Tensor> run(const Defect& defect) const;

 private:
  ModelledCase(const Case& test_case, const Lowered& lowered, std::unique_ptr<Classification> owned);

  const Case& case_;
  std::unique_ptr<Classification> owned_;  // the classification, where nobody else holds it
  const Lowered& lowered_;
  const Operator* op_;
  const Family* family_;
  std::int64_t work_;
  std::uint64_t expense_;
};

}  // namespace qconform::diagnose

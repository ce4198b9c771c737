// A whole model ran in one backend: this tells the layers that are wrong from those that follow from a wrong one.
#pragma once

#include <map>
#include <string>

#include "harness/core/verdict.h"
#include "harness/report/report.h"
#include "harness/suites/onnx_model.h"

namespace qconform {

/// Returns the layers that the report's results judge, in the model's order, with what its first backend made of them.
/// `worst` has the worst element of each wrong layer, by the id of its case.
[[nodiscard]] ModelRun model_run(const ModelFacts& facts, const std::map<std::string, ElementReport>& worst,
                                 const Report& report);

}  // namespace qconform

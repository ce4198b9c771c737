// Defect models as backends: implementations that are wrong in a known way.
#pragma once

#include <memory>
#include <string>

#include "harness/core/backend.h"
#include "harness/diagnose/models/defect.h"

namespace qconform::backend {

/// Refuses what is out of contract, and odd scales for which any value would do (rule C21); operators in
/// which the model's defects do not show are computed right. A case for which the model's geometry has no
/// output is unsupported, and so are the operators of a family without stages (Family::run).
[[nodiscard]] std::unique_ptr<Backend> defect_model(diagnose::Model model, std::string name);

}  // namespace qconform::backend

#include "harness/model/defects/arithmetic.h"

#include <algorithm>

namespace qconform::diagnose {

std::optional<Tensor> NodeModels::run(const ModelledCase& modelled) const {
  if (of_kinds.empty()) return modelled.run(common);
  const NodeKind kind = kind_of(modelled);
  const auto found =
      std::find_if(of_kinds.begin(), of_kinds.end(), [&](const auto& one) { return matches(one.first, kind); });
  return modelled.run(found == of_kinds.end() ? common : found->second);
}

}  // namespace qconform::diagnose

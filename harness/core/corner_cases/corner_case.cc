#include "harness/core/corner_cases/corner_case.h"

#include <algorithm>

namespace qconform {
namespace {

constexpr CornerCaseInfo kInfos[] = {
#define QCONFORM_CORNER_CASE(name, id, label, topic, rules, explanation) \
  {CornerCase::name, id, label, CornerCaseTopic::topic, rules, explanation},
#include "harness/core/corner_cases/corner_cases.inc"
#undef QCONFORM_CORNER_CASE
};

}  // namespace

std::span<const CornerCaseInfo> corner_cases() {
  return kInfos;
}

const CornerCaseInfo& info_of(CornerCase corner_case) {
  return kInfos[static_cast<std::size_t>(corner_case)];
}

const CornerCaseInfo* corner_case_with_id(std::string_view id) {
  const auto* found =
      std::find_if(std::begin(kInfos), std::end(kInfos), [&](const CornerCaseInfo& i) { return i.id == id; });
  return found == std::end(kInfos) ? nullptr : found;
}

}  // namespace qconform

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "harness/forms/json/case_json.h"
#include "harness/tests/arbitrary_any_case.h"

namespace qconform {
namespace {

using testing::bitwise_equal;

RC_GTEST_PROP(CaseJsonProperty, EveryCaseComesBackBitForBit, (const Case& first, const Case& second)) {
  const std::vector<Case> cases{first, second};
  const Result<std::vector<Case>> again = read_cases_json(cases_json(cases));
  if (!again) RC_FAIL(again.error().text());
  RC_ASSERT(again->size() == cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) RC_ASSERT(bitwise_equal(cases[i], (*again)[i]));
}

RC_GTEST_PROP(CaseJsonProperty, EveryElementComesBackBitForBit, (std::uint64_t raw)) {
  for (const ElementType type : testing::known_types()) {
    const int bits = bits_of(type);
    if (bits > 64) continue;
    const std::uint64_t kept = raw & (~std::uint64_t{0} >> (64 - bits));
    RC_ASSERT(element_bits(type, element_json(type, kept)) == std::optional(kept));
  }
}

// Lines stay reviewable: nothing but a long string makes one longer than the page.
RC_GTEST_PROP(CaseJsonProperty, NumbersStayWithinThePage, (const Tensor& tensor)) {
  Case test_case;
  test_case.inputs.emplace_back(tensor);
  const std::string text = case_json(test_case);
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin)) {
    RC_ASSERT(end - begin <= 100U);
  }
}

}  // namespace
}  // namespace qconform

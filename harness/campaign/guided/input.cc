#include "harness/campaign/guided/input.h"

#include "harness/mutate/case_mutator.h"
#include "harness/onnx/case_model.h"

namespace qconform::guided {

Result<Case> case_of_input(std::string_view bytes) {
  QCONFORM_ASSIGN(auto test_case, case_from_model(bytes));
  QCONFORM_TRY(check_operator(test_case));
  test_case = computation_of(test_case);
  test_case.id = "fuzz";
  if (!is_small(test_case, classify(test_case))) return fail("", "too large to be judged at once");
  return test_case;
}

}  // namespace qconform::guided

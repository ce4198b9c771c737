#include "harness/cli/case_operand.h"

#include "harness/cli/output.h"
#include "harness/suites/newer_opsets.h"
#include "harness/suites/select.h"

namespace qconform::cli {

Result<Case> load_operand(const std::string& file) {
  QCONFORM_ASSIGN(auto test_case, load_single_case(file));
  NewerOpsets newer;
  newer.add(test_case);
  print_note(newer.text());
  return test_case;
}

}  // namespace qconform::cli

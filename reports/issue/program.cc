#include "reports/issue/program.h"

#include <fmt/format.h>

#include "reports/issue/libraries.h"

namespace qconform::report {

int exit_code_of_refusal(const Expected& expected) {
  return expected.classification.expectation() == Expectation::valid ? 2 : 0;
}

Result<IssueProgram> program_for(const Expected& expected, const backend::Specification& what,
                                 const BackendInfo& info) {
  const bool is_library = what.kind == backend::Specification::Kind::named;
  if (!expected.test_case->is_one_node()) return fail("--issue", "a program has one node, the case has several");
  if (is_library && what.name == "onnxruntime") return onnxruntime_program(expected, what);
  if (is_library && what.name == "opencv") return opencv_program(expected);
  if (is_library && what.name == "onednn") return onednn_program(expected, what, info.version);
  if (is_library && what.name == "xnnpack") {
    if (what.version.empty()) return xnnpack_program(expected);
    return fail("--issue", fmt::format("\"{}\": the programs call XNNPACK's interface of 2022", what.version));
  }
  return fail("--issue", fmt::format("there is no program for \"{}\"; there are for onnxruntime, opencv, onednn and "
                                     "xnnpack",
                                     backend::text_of(what)));
}

}  // namespace qconform::report

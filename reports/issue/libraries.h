// The programs of each library. program.h is the way in.
#pragma once

#include "reports/issue/program.h"

namespace qconform::report {

[[nodiscard]] Result<IssueProgram> onnxruntime_program(const Expected& expected, const backend::Specification& what);
[[nodiscard]] Result<IssueProgram> opencv_program(const Expected& expected);
/// `version`: the library's, "2.6.3"; another interface begins at 3.
[[nodiscard]] Result<IssueProgram> onednn_program(const Expected& expected, const backend::Specification& what,
                                                  const std::string& version);
/// By the interface of 2022.
[[nodiscard]] Result<IssueProgram> xnnpack_program(const Expected& expected);

/// Behind the check, what ends a program whose library refuses.
[[nodiscard]] int exit_code_of_refusal(const Expected& expected);

}  // namespace qconform::report

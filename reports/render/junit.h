// The report as JUnit XML: what Jenkins, GitLab and others show as tests.
#pragma once

#include <string>

#include "harness/core/report.h"

namespace qconform::report {

/// A test suite for each backend and operator. Its test cases are "verdicts" (the counts; fails where nothing was
/// computed) and one for each finding, named by its signature: a failure; an error where the process died or
/// hung; skipped where it is waived, or the backend does not decide. One more suite for the relations, if there are
/// any. Valid by the schema that Jenkins' xUnit plugin uses for Surefire's form. Characters that XML 1.0 cannot hold
/// are replaced by U+FFFD.
[[nodiscard]] std::string to_junit(const Report& report);

}  // namespace qconform::report

// The JSON that `qconform replay` and `qconform shrink` print.
#pragma once

#include <string>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/verdict.h"
#include "harness/engine/shrink/shrink.h"

namespace qconform::report {

/// Runs one case on one backend.
struct Replayed {
  std::string backend;
  Verdict verdict;
};

/// {"case", "operator", "expectation", "remark", "results": [{"backend", "verdict", "detail", "worst"}]};
/// `remark` is what decided the expectation, or empty.
[[nodiscard]] std::string to_json(const Case& test_case, Expectation expectation, const std::string& remark,
                                  const std::vector<Replayed>& results);

/// {"case", "operator", "ending", "runs", "steps", "seconds", "reduced", "before", "after", "verdict",
/// "detail", "worst", "file", "replay"}.
[[nodiscard]] std::string to_json(const shrink::Result& result, const Case& original, const std::string& file,
                                  const std::string& replay);

}  // namespace qconform::report

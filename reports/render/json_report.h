// The report as JSON: the form that every other one is made from. Described by
// reports/schema/report-1.schema.json.
#pragma once

#include <string>
#include <vector>

#include "harness/core/report.h"
#include "harness/shrink/shrink.h"

namespace qconform::report {

/// Version of the JSON form; it grows when a reader of the older form could be misled.
inline constexpr int kJsonVersion = 1;

[[nodiscard]] std::string to_json(const Report& report);

/// One case on one backend, for `qconform replay --json`.
struct Replayed {
  std::string backend;
  Verdict verdict;
};

/// {"case", "operator", "expectation", "remark", "results": [{"backend", "verdict", "detail", "worst"}]};
/// `remark` is what decided the expectation, or empty.
[[nodiscard]] std::string to_json(const Case& test_case, Expectation expectation, const std::string& remark,
                                  const std::vector<Replayed>& results);

/// {"case", "operator", "ending", "runs", "steps", "seconds", "reduced", "before", "after", "verdict",
/// "detail", "worst", "file", "replay"}, for `qconform shrink --json`.
[[nodiscard]] std::string to_json(const shrink::Result& result, const Case& original, const std::string& file,
                                  const std::string& replay);

}  // namespace qconform::report

// A single case for the terminal and as JSON: its explanation, and its replay.
#pragma once

#include <string>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/verdict.h"
#include "harness/diagnose/explain/explain.h"
#include "harness/diagnose/explain/whereabouts.h"
#include "harness/engine/shrink/shrink.h"
#include "harness/engine/suspects.h"
#include "reports/render/terminal.h"

namespace qconform::report {

/// One case on one backend, with why it failed.
struct Explained {
  const Case& test_case;
  std::string backend;
  Verdict verdict;
  /// Absent where there is nothing to explain: the case does not fail, or by no output's values.
  std::optional<diagnose::Explanation> explanation;
  std::optional<diagnose::Whereabouts> whereabouts;  ///< of the smallest case, where they were asked for
  std::optional<Case> smallest;                      ///< case that fails in the same way, where one was looked for
  Verdict smallest_verdict;
  /// The least part of a failing graph that fails too, in a few words; empty where none is known.
  std::string failing_part{};
  /// The settings behind the backend's @ with which the case is right (cures.h); empty where none are known.
  std::string cured_by{};
  /// The lines of an instrumented plugin that failing cases execute and passing ones do not.
  std::optional<Suspects> suspects{};
};

/// The status with the defect, its rule, what it is known from, where to look, and what supports it.
[[nodiscard]] std::string text_of(const Explained& explained, const Painter& paint);

/// {"case", "backend", "verdict", "detail", "status", "signature", "candidates", "support", "pattern",
/// "errors", "region", "smallest", "failing_part", "cured_by", ...}, for `qconform explain --json`: docs/explain.md.
[[nodiscard]] std::string to_json(const Explained& explained);

// The JSON that `qconform replay` and `qconform shrink` print.

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

// The page of Markdown that tells the maintainers of a library of a failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/issue_program.h"
#include "harness/model/judge/judge.h"
#include "harness/report/report.h"
#include "reports/render/single_case.h"

namespace qconform::report {

/// The smallest case on the same library in another release, or with another setting.
struct FurtherAttempt {
  std::string backend;  ///< "onnxruntime:1.14.0", "onednn@avx2"
  Verdict verdict;
};

struct Issue {
  const Explained& explained;  ///< explanation of a case that fails
  const Expected& expected;    ///< expectation of its smallest case
  BackendInfo info;
  Environment environment;
  Result<issue::IssueProgram> program;
  std::vector<FurtherAttempt> releases;  ///< those that are here, the oldest first
  std::vector<FurtherAttempt> settings;
  std::optional<CaseGraph> rewritten = {};  ///< what the library computes in place of a graph, where it shows that
};

/// Versions and processor; the cause; what the operator's document says; the smallest case, worked out by hand, as a
/// program and as an ONNX model in base64; since when, and what avoids it.
[[nodiscard]] std::string issue_page(const Issue& issue);

// How one element of an output comes about, step by step.

/// Steps from the inputs to the reference's value of element `index`: the products, their sum, the scaled value,
/// rounding and saturation. Of a long sum the products that are not 0, as many as a reader wants. Of a graph the right
/// values that each node computes, before rounding too. `expected` has that output with
/// that element; `output` is 0 of one node.
[[nodiscard]] std::vector<std::string> worked_out(const Expected& expected, std::int64_t index, std::size_t output = 0);

}  // namespace qconform::report

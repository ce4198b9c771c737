// A stream of cases, and what a covering one covers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/core/fields.h"

namespace qconform {

/// Counts, for one model, the combinations of `strength` classes that can occur in a case, and those that the suite's
/// cases have.
struct CombinationCoverage {
  QC_DESCRIBED(.name = "coverage");
  QC_FIELD(std::string, model, {}, "model");
  QC_FIELD(std::uint64_t, strength, {3}, "strength", .doc = "Classes of how many parameters make a combination.",
           .minimum = 1);
  QC_FIELD(std::uint64_t, parameters, {}, "parameters");
  QC_FIELD(std::uint64_t, classes, {}, "classes", .doc = "Of all parameters together.");
  QC_FIELD(std::uint64_t, cases, {}, "cases");
  QC_FIELD(std::uint64_t, feasible, {}, "feasible", .doc = "Combinations that can occur in a case.");
  QC_FIELD(std::uint64_t, infeasible, {}, "infeasible", .doc = "Combinations proved to occur in none.");
  QC_FIELD(std::uint64_t, covered, {}, "covered", .doc = "Feasible combinations that the cases have.");

  bool operator==(const CombinationCoverage&) const = default;
};

/// Quantized nodes of one operator that are left out for one reason.
struct UncoveredNodes {
  QC_DESCRIBED(.name = "uncovered_nodes");
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(std::string, reason, {}, "reason", .doc = "One line.");
  QC_FIELD(std::uint64_t, nodes, {}, "nodes");

  bool operator==(const UncoveredNodes&) const = default;
};

/// How much of a whole model cases hold, or a backend was judged on.
struct NodeCoverage {
  QC_DESCRIBED(.name = "node_coverage",
               .doc =
                   "Nodes of a whole model: of a suite, those that its cases hold; of a backend, those that it was "
                   "judged on. docs/formats.md says which nodes are quantized.");
  QC_FIELD(std::string, suite, {}, "suite");
  QC_LINE(describe_derived(archive, "quantized", [&self] { return self.quantized(); },
                           {.doc = "Quantized nodes of the model: those covered, and all that are left out."}));
  QC_FIELD(std::uint64_t, covered, {}, "covered", .doc = "Quantized nodes on a path to an output of a case.");
  QC_FIELD(std::vector<UncoveredNodes>, uncovered, {}, "uncovered",
           .doc = "All other quantized nodes, by operator and reason.");
  QC_FIELD(std::uint64_t, others, {}, "others", .doc = "Nodes that are not quantized.");
  QC_FIELD(std::uint64_t, others_covered, {}, "others_covered", .doc = "Those of them in the same cases.");

  [[nodiscard]] std::uint64_t quantized() const {
    std::uint64_t sum = covered;
    for (const UncoveredNodes& part : uncovered) sum += part.nodes;
    return sum;
  }

  bool operator==(const NodeCoverage&) const = default;
};

/// Inputs that a suite skipped, by reason: "Relu" 3 times, say.
using SkippedCounts = std::map<std::string, std::uint64_t>;

class Suite {
 public:
  Suite() = default;
  Suite(const Suite&) = delete;
  Suite& operator=(const Suite&) = delete;
  virtual ~Suite() = default;

  /// The suite's name on the command line: "random", "onnx:DIR".
  [[nodiscard]] virtual std::string name() const = 0;
  /// The next case, or nullopt at the end. After an error the suite is at its end.
  [[nodiscard]] virtual Result<std::optional<Case>> next() = 0;
  /// Number of cases where it is known beforehand, for progress lines.
  [[nodiscard]] virtual std::optional<std::uint64_t> size() const { return std::nullopt; }
  /// The inputs skipped so far, by reason.
  [[nodiscard]] virtual const SkippedCounts& skipped() const { return skipped_; }
  /// The combinations that all cases cover together, for suites that promise to cover some.
  [[nodiscard]] virtual std::vector<CombinationCoverage> coverage() const { return {}; }
  /// The combinations that the chosen cases cover together: `chosen` says for each case, in their order, whether it
  /// counts.
  [[nodiscard]] virtual std::vector<CombinationCoverage> coverage_of(const std::vector<bool>& /*chosen*/) const {
    return {};
  }

  /// Counts the nodes of a whole model that the cases so far hold; nothing where the suite is none. With `why_not`,
  /// those that were judged: it says of each case in their order why it was not, in one line; empty where it was. Cases
  /// beyond the list's end were not reached.
  [[nodiscard]] virtual std::optional<NodeCoverage> node_coverage(
      const std::vector<std::string>* /*why_not*/ = nullptr) const {
    return std::nullopt;
  }

 protected:
  SkippedCounts skipped_;
};

}  // namespace qconform

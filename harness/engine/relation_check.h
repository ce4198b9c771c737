// Checks relations on the cases of suites with all backends, and reports.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/profile.h"
#include "harness/core/verdict.h"
#include "harness/engine/execute.h"
#include "harness/engine/run_suites.h"
#include "harness/model/relations/relation.h"

namespace qconform {

/// A backend's output for a case, judged without the right answer.
struct FormedOutput {
  std::optional<Tensor> tensor;  ///< has the right type and shape, within bounds; the first of several outputs
  Verdict verdict;               ///< pass with a tensor; otherwise why there is none
};

[[nodiscard]] FormedOutput run_for_output(Backend& backend, const Case& test_case, GuardedOutput& output);

enum class RelationOutcome : std::uint8_t {
  held,
  broken,
  implementation_defined,  ///< answers differ, and the specification admits both: neither held nor broken
  refused,                 ///< the backend refused a derived case
  failed,                  ///< a derived case failed by itself; see `verdict`
  not_applicable,          ///< see `verdict.detail`
};

struct RelationCheck {
  RelationOutcome outcome = RelationOutcome::held;
  /// When the relation is broken, the verdict is inconsistent, with the relation's id as its rule.
  Verdict verdict;
  /// The derived cases that take part in the contradiction; the one that failed; otherwise empty.
  std::vector<Case> derived;
};

/// Runs the derived cases and holds their outputs against `base_output`, the backend's answer to the
/// subject's case. Equal answers are settled without any reference. Where answers differ, the sets of
/// admissible values under `policy` are asked: a difference is implementation-defined where one of the two elements
/// has several right values and each is one of its own element's; otherwise the relation is broken.
/// `siblings`: the same implementation at other levels, for relations between these.
[[nodiscard]] RelationCheck check_relation(const relations::Relation& relation,
                                           const relations::RelationSubject& subject, const Tensor& base_output,
                                           Backend& backend, GuardedOutput& output, const Policy& policy,
                                           std::span<Backend* const> siblings = {});

/// Checks a relation where the backend refused the subject's case: broken where the relation compares refusals and a
/// derived case has an output. `refusal` says why it was refused.
[[nodiscard]] RelationCheck check_refusal(const relations::Relation& relation,
                                          const relations::RelationSubject& subject, const Verdict& refusal,
                                          Backend& backend, GuardedOutput& output,
                                          std::span<Backend* const> siblings = {});

/// Checks every relation on every case of every source, on every backend: the answers of a backend
/// against each other, never against the reference's. Adds to the report's suites (named
/// "relations:SOURCE"), backends (in the order of `backends`; added where the report has none yet),
/// findings and times; a source's error ends the run.
[[nodiscard]] Result<void> run_relations(std::vector<std::unique_ptr<Suite>>& bases,
                                         std::vector<std::unique_ptr<Backend>>& backends,
                                         const SuiteRunOptions& options, Report& report);

}  // namespace qconform

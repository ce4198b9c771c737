// How the parts of a report (harness/report/report.h) are described whose JSON has another shape than their C++ type.
// Whoever describes a report includes this file.
#pragma once

#include "harness/forms/archive/archive.h"
#include "harness/report/report.h"

namespace qconform {

void describe(Archive& archive, VerdictKind& kind, const FieldRule& rule);
void describe(Archive& archive, reference::Tier& tier, const FieldRule& rule);
/// Null without elements.
void describe(Archive& archive, TierCounts& tiers, const FieldRule& rule);
/// Bins without elements are left out.
void describe(Archive& archive, ErrorHistogram& errors, const FieldRule& rule);
/// Every corner case of the operators that were run, reached or not.
void describe(Archive& archive, CornerCaseCoverage& coverage, const FieldRule& rule);
void describe(Archive& archive, LayerState& state, const FieldRule& rule);
/// [first, end)
void describe(Archive& archive, CampaignResult::Range& range, const FieldRule& rule);

/// Words that follow from the other members: what is read is left aside.
void describe_conclusion(Archive& archive, std::string words);
/// Words for the result of a backend or a run: name_of(Conclusion), or "agrees on 2 of 141 quantized nodes".
[[nodiscard]] std::string conclusion_text(const BackendResult& backend);
[[nodiscard]] std::string conclusion_text(const Report& report);
void describe_scope(Archive& archive, const BackendResult& backend);
void describe_looser_terms(Archive& archive, const BackendResult& backend);
/// Only the kinds that occurred; pass always, so that its absence is never read as success.
void describe_verdicts(Archive& archive, VerdictCounts& counts);
/// Only the kinds that were waived; no more of them than there are verdicts.
void describe_waived(Archive& archive, OperatorResult& result);
/// Null where no relations were asked for.
void describe_relations(Archive& archive, std::vector<RelationResult>& relations, std::uint64_t& failed_bases);
/// A line about a case: what was read, or what is known of the case.
void describe_summary(Archive& archive, const Case& test_case, std::string& summary, const FieldRule& rule = {});
void describe_original(Archive& archive, Shrinking& shrinking);
void describe_trial(Archive& archive, Diagnosis& diagnosis);
void describe_place_counts(Archive& archive, Diagnosis& diagnosis);
void describe_region(Archive& archive, Diagnosis& diagnosis);
void describe_example(Archive& archive, Finding& finding);
void describe_related(Archive& archive, Finding& finding);
/// Right values as null where the expected value alone is right; wrong elements by their positions.
void describe_elements(Archive& archive, ElementMap& map);
/// The first wrong layer follows from the states of the layers; what is read must agree with them.
void describe_first_wrong(Archive& archive, const ModelRun& run);
/// Single cases as columns, which take a tenth of the room. Describes the report's backends by their position.
void describe_results(Archive& archive, Report& report);

/// Checks what must hold between the members of a report, beyond what reading them checks: element maps have as many
/// values as elements, groups of blocks ascend. Errors name the JSON path.
[[nodiscard]] Result<void> validate(const Report& report);

/// Returns the operators that a conforming backend conforms on: "on ConvInteger, QLinearConv (69 of 3,259 valid cases
/// computed); QuantizeLinear not implemented". Empty where only relations were checked.
[[nodiscard]] std::string scope_of(const BackendResult& backend);

/// In which arithmetic the wrong values of a backend are right, and the profile that judges by it: "conforms in fixed
/// point, Q31; not correctly rounded; --profile tflite". Begins with the operator where something else fails too. Empty
/// where some value is right in none.
[[nodiscard]] std::string looser_terms_of(const BackendResult& backend);

}  // namespace qconform

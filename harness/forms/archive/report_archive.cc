#include "harness/forms/archive/report_archive.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "harness/base/text.h"
#include "harness/core/profile.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"

namespace qconform {
namespace {

constexpr std::size_t kTiers = std::size(reference::kAllTiers);

std::span<const std::string_view> verdict_names() {
  static const auto kNames = [] {
    std::array<std::string_view, kVerdictKinds> names;
    for (int kind = 0; kind < kVerdictKinds; ++kind) {
      names[static_cast<std::size_t>(kind)] = name_of(static_cast<VerdictKind>(kind));
    }
    return names;
  }();
  return kNames;
}

std::span<const std::string_view> tier_names() {
  static const auto kNames = [] {
    std::array<std::string_view, kTiers> names;
    for (std::size_t i = 0; i < kTiers; ++i) names[i] = name_of(reference::kAllTiers[i]);
    return names;
  }();
  return kNames;
}

// Counts by verdict; `rule` without the names.
void describe_counts(Archive& archive, VerdictCounts& counts, FieldRule rule) {
  rule.names = verdict_names();
  rule.names_def = "verdict";
  Counts by_name;
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    if (counts[kind] > 0 || rule.names[kind] == rule.required_key)
      by_name[std::string(rule.names[kind])] = counts[kind];
  }
  // In the order of the kinds, not of their names.
  std::vector<std::string> keys;
  for (const std::string_view name : rule.names) {
    if (by_name.count(std::string(name)) > 0) keys.emplace_back(name);
  }
  for (const std::string& key : archive.begin_map(std::move(keys), rule)) {
    archive.begin_entry(key);
    describe(archive, by_name[key], describing::rule_of_items(rule));
    archive.end_entry();
  }
  archive.end_map();
  if (!archive.fills()) return;
  for (std::size_t kind = 0; kind < counts.size(); ++kind) counts[kind] = by_name[std::string(rule.names[kind])];
}

// Tiers behind kSumTiers are of graphs alone.
FieldRule rule_of(std::size_t tier) {
  if (tier < reference::kSumTiers.size()) return {};
  return {.doc = "Graphs alone have it.", .presence = Presence::omitted};
}

}  // namespace

void describe(Archive& archive, VerdictKind& kind, const FieldRule& /*rule*/) {
  describe_name(archive, kind, {.names = verdict_names(), .names_def = "verdict"}, "verdict");
}

void describe(Archive& archive, reference::Tier& tier, const FieldRule& /*rule*/) {
  describe_name(archive, tier, {.names = tier_names()}, "tier");
}

void describe(Archive& archive, LayerState& state, const FieldRule& rule) {
  describe_name(archive, state, {.doc = rule.doc, .names = kLayerStates}, "state of a layer");
}

void describe(Archive& archive, TierCounts& tiers, const FieldRule& /*rule*/) {
  const FieldRule rule{.def = "tiers",
                       .def_doc = "Of the elements of QLinearConv and of graphs; null where there are none."};
  if (!archive.begin_nullable(tiers.elements() == 0, rule)) {
    if (archive.fills()) tiers = {};
    return;
  }
  std::optional<reference::Tier> reached = tiers.common.strictest();
  std::vector<reference::Tier> common;
  for (const reference::Tier tier : reference::kAllTiers) {
    if (tiers.common.contains(tier)) common.push_back(tier);
  }
  archive.begin_object({});
  describe_nullable_field(archive, "reached", reached, {.doc = "The strictest tier that every element meets."});
  describe_field(archive, "common", common,
                 {.doc = "All tiers that every element meets: what shards of a run have in common is computed "
                         "from it."});
  describe_group(archive, "elements", {.doc = "By the strictest tier that they meet."}, [&] {
    for (std::size_t i = 0; i < kTiers; ++i) describe_field(archive, tier_names()[i], tiers.by_tier[i], rule_of(i));
    describe_field(archive, "none", tiers.none, {});
  });
  if (archive.fills()) {
    tiers.common = {};
    for (const reference::Tier tier : common) tiers.common.insert(tier);
    if (tiers.common.strictest() != reached) {
      archive.refuse_member("reached", fmt::format("\"{}\" is not the strictest of the common tiers",
                                                   reached ? name_of(*reached) : "none"));
    }
  }
  archive.end_object();
  archive.end_nullable();
}

namespace {

struct ErrorBin {
  QC_DESCRIBED();
  std::optional<double> up_to{};
  QC_LINE(
      describe_nullable_field(archive, "up_to", self.up_to,
                              {.doc = "The largest distance of the bin, a power of two from 1/2 on; it begins above "
                                      "half of that, the first one at 0. Null: any larger distance."}));
  QC_FIELD(std::uint64_t, low, {}, "low", .doc = "Too low.");
  QC_FIELD(std::uint64_t, high, {}, "high", .doc = "Too high, or other bits of the same number.");
};

// The upper limit of a bin; the last one has none.
std::optional<double> limit_of(std::size_t bin) {
  if (bin + 1 == ErrorHistogram::kBins) return std::nullopt;
  return std::ldexp(0.5, static_cast<int>(bin));
}

void take_bins(Archive& archive, const std::vector<ErrorBin>& bins, ErrorHistogram& errors) {
  errors.low = {};
  errors.high = {};
  for (const ErrorBin& bin : bins) {
    std::size_t position = 0;
    while (position < ErrorHistogram::kBins && limit_of(position) != bin.up_to) ++position;
    if (position == ErrorHistogram::kBins)
      return archive.refuse_member("bins", "expected up_to 0.5, 1, 2, 4, ... or null");
    errors.low[position] += bin.low;
    errors.high[position] += bin.high;
  }
}

}  // namespace

void describe(Archive& archive, ErrorHistogram& errors, const FieldRule& /*rule*/) {
  std::vector<ErrorBin> bins;
  for (std::size_t i = 0; i < ErrorHistogram::kBins; ++i) {
    if (errors.low[i] + errors.high[i] > 0) bins.push_back({limit_of(i), errors.low[i], errors.high[i]});
  }
  archive.begin_object({.name = "errors", .doc = "Wrong elements by got - expected; absent where there are none."});
  describe_field(archive, "incomparable", errors.incomparable, {.doc = "Infinite, or NaN on one side."});
  describe_field(archive, "bins", bins, {.doc = "Ascending; those without elements are left out."});
  if (archive.fills()) take_bins(archive, bins, errors);
  archive.end_object();
}

void describe(Archive& archive, CampaignResult::Range& range, const FieldRule& /*rule*/) {
  std::vector<std::uint64_t> ends{range.first, range.end};
  describe(archive, ends, {.min_items = 2, .max_items = 2});
  if (!archive.fills() || !archive.is_sound()) return;
  if (ends.size() != 2 || ends[0] >= ends[1]) return archive.refuse("expected [first, end), first below end");
  range = {ends[0], ends[1]};
}

namespace {

// Tells operators that graphs alone have by their number if the backend takes no graphs.
std::vector<std::string> missing_operators(const BackendResult& backend) {
  const auto is_missing = [&](const auto& part) { return part.second.attempted() == 0; };
  const auto graphs = backend.operators.find(std::string(kGraphSubject));
  const bool has_none = graphs != backend.operators.end() && is_missing(*graphs);
  std::vector<std::string> names;
  std::size_t of_graphs = 0;
  for (const auto& part : backend.operators) {
    if (!is_missing(part)) continue;
    const bool is_own = part.first == kGraphSubject || find_operator("", part.first) != nullptr;
    if (is_own || !has_none) {
      names.push_back(part.first);
    } else {
      ++of_graphs;
    }
  }
  const auto named = std::find(names.begin(), names.end(), kGraphSubject);
  if (of_graphs > 0) *named += fmt::format(" with {} operators", of_graphs);
  return names;
}

}  // namespace

std::string scope_of(const BackendResult& backend) {
  std::vector<std::string> computed;
  const std::vector<std::string> missing = missing_operators(backend);
  for (const auto& [op_type, result] : backend.operators) {
    if (result.attempted() == 0) continue;
    if (result.count(VerdictKind::unsupported) == 0) {
      computed.push_back(op_type);
    } else {
      computed.push_back(fmt::format("{} ({} of {} valid cases computed)", op_type, with_thousands(result.attempted()),
                                     with_thousands(result.owed())));
    }
  }
  std::string text = computed.empty() ? "" : fmt::format("on {}", fmt::join(computed, ", "));
  if (!missing.empty()) {
    text += fmt::format("{}{} not implemented", text.empty() ? "" : "; ", fmt::join(missing, ", "));
  }
  return text;
}

void describe_conclusion(Archive& archive, std::string words) {
  describe_field(
      archive, "conclusion", words,
      {.doc = "The conclusion in words; where it does not conform, also why: \"not fused\", \"judged in part\"."});
}

void describe_scope(Archive& archive, const BackendResult& backend) {
  std::string scope = backend.conforms() ? scope_of(backend) : "";
  describe_field(archive, "scope", scope,
                 {.doc = "On what it conforms, in words; absent where it does not.", .presence = Presence::omitted});
}

namespace {

struct NodeCounts {
  std::uint64_t covered = 0;
  std::uint64_t quantized = 0;
};

NodeCounts nodes_of(const BackendResult& backend) {
  NodeCounts counts;
  for (const NodeCoverage& model : backend.nodes) {
    counts.covered += model.covered;
    counts.quantized += model.quantized();
  }
  return counts;
}

}  // namespace

std::string conclusion_text(const BackendResult& backend) {
  const Conclusion conclusion = backend.conclusion();
  if (conclusion != Conclusion::agrees_in_part && conclusion != Conclusion::too_few_nodes) {
    return std::string(name_of(conclusion));
  }
  const NodeCounts counts = nodes_of(backend);
  return fmt::format("agrees on {} of {} quantized nodes", with_thousands(counts.covered),
                     with_thousands(counts.quantized));
}

std::string conclusion_text(const Report& report) {
  const Conclusion conclusion = report.conclusion();
  const BackendResult* least = nullptr;
  for (const BackendResult& backend : report.backends) {
    if (!backend.decides || backend.conclusion() != conclusion || backend.nodes.empty()) continue;
    const bool is_less = least != nullptr && nodes_of(backend).covered * nodes_of(*least).quantized <
                                                 nodes_of(*least).covered * nodes_of(backend).quantized;
    if (least == nullptr || is_less) least = &backend;
  }
  return least == nullptr ? std::string(name_of(conclusion)) : conclusion_text(*least);
}

namespace {

struct LooserTerms {
  reference::Tier tier;
  std::string_view text;
  Profile profile;
};

constexpr LooserTerms kLooserTerms[] = {
    {reference::Tier::float32, "in float32, F_5", Profile::conformance},
    {reference::Tier::fixed_point, "in fixed point, Q31", Profile::fixed_point},
    {reference::Tier::fixed_point_float32, "in fixed point with a multiplier of float32, Q31-f32",
     Profile::fixed_point_f32},
    {reference::Tier::float_convolution, "as a convolution in float32, D", Profile::dml_doc},
    {reference::Tier::fused_int8, "in fused integer kernels, fused-int8", Profile::fused_int8},
    {reference::Tier::fused_fixed_point, "in fused kernels of fixed point, fused-q31", Profile::fused_q31}};

// The profile that pins every wrong output, if one does, else that of the tier.
std::string profile_for(const OperatorResult& result, const LooserTerms& terms) {
  for (const ProfileInfo& info : profiles()) {
    const auto pinned = result.pinned_by.find(std::string(info.name));
    if (pinned != result.pinned_by.end() && pinned->second == result.count(VerdictKind::wrong)) return pinned->first;
  }
  return std::string(name_of(terms.profile));
}

std::string looser_terms_of(const OperatorResult& result) {
  if (result.count(VerdictKind::wrong) == 0 || result.tiers.elements() == 0) return {};
  for (const LooserTerms& terms : kLooserTerms) {
    if (result.tiers.common.strictest() != terms.tier) continue;
    return fmt::format("{}; not correctly rounded; --profile {}", terms.text, profile_for(result, terms));
  }
  return {};
}

// Whether nothing fails that is not waived but values that looser_terms_of() speaks of.
bool conforms_in_looser_terms(const BackendResult& backend) {
  if (!backend.fails() || !backend.stopped.empty()) return false;
  const bool relations_hold = std::all_of(backend.relations.begin(), backend.relations.end(),
                                          [](const RelationResult& r) { return r.broken + r.failed == 0; });
  return relations_hold && backend.failed_bases == 0 &&
         std::all_of(backend.operators.begin(), backend.operators.end(), [](const auto& of) {
           const OperatorResult& result = of.second;
           const auto wrong = static_cast<std::size_t>(VerdictKind::wrong);
           const std::uint64_t wrong_owed = result.verdicts[wrong] - result.waived[wrong];
           const std::uint64_t owed = result.failing() - result.waived_failing();
           return owed == wrong_owed && (owed == 0 || !looser_terms_of(result).empty());
         });
}

}  // namespace

std::string looser_terms_of(const BackendResult& backend) {
  for (const auto& [op_type, result] : backend.operators) {
    const std::string text = looser_terms_of(result);
    if (!text.empty()) return conforms_in_looser_terms(backend) ? "conforms " + text : op_type + " conforms " + text;
  }
  return {};
}

void describe_looser_terms(Archive& archive, const BackendResult& backend) {
  std::string terms = looser_terms_of(backend);
  describe_field(archive, "looser_terms", terms,
                 {.doc = "In which arithmetic its wrong values are right, and the profile that judges by it; absent "
                         "where there is none.",
                  .presence = Presence::omitted});
}

void describe_verdicts(Archive& archive, VerdictCounts& counts) {
  const FieldRule rule{.def = "verdicts",
                       .def_doc = "Cases by verdict. Kinds that did not occur are left out, except pass.",
                       .required_key = "pass"};
  if (!archive.begin_member("verdicts", {}, Presence::always, true)) return;
  describe_counts(archive, counts, rule);
  archive.end_member();
}

void describe_waived(Archive& archive, OperatorResult& result) {
  const FieldRule items{.minimum = 1};
  const FieldRule rule{.doc = "Those of the verdicts that a waiver covers: they do not count against the backend.",
                       .items = &items};
  if (!archive.begin_member("waived", rule, Presence::always, true)) return;
  describe_counts(archive, result.waived, rule);
  archive.end_member();
  if (!archive.fills()) return;
  for (std::size_t kind = 0; kind < result.waived.size(); ++kind) {
    if (result.waived[kind] <= result.verdicts[kind]) continue;
    return archive.refuse_member("waived", fmt::format("{} {} waived, of {}", result.waived[kind],
                                                       verdict_names()[kind], result.verdicts[kind]));
  }
}

void describe_relations(Archive& archive, std::vector<RelationResult>& relations, std::uint64_t& failed_bases) {
  const FieldRule rule{
      .doc =
          "Answers of the backend against each other (docs/relations.md); null where no relations were "
          "asked for."};
  if (!archive.begin_member("relations", rule, Presence::always, true)) return;
  if (archive.begin_nullable(relations.empty(), {})) {
    archive.begin_object({});
    describe_field(archive, "failed_bases", failed_bases,
                   {.doc = "Base cases that failed by themselves: no relation could be checked."});
    describe_field(archive, "by_relation", relations, {});
    archive.end_object();
    archive.end_nullable();
  }
  archive.end_member();
}

void describe_summary(Archive& archive, const Case& test_case, std::string& summary, const FieldRule& rule) {
  if (archive.fills()) return describe_field(archive, "summary", summary, rule);
  std::string text = summary.empty() ? summary_of(test_case) : summary;
  describe_field(archive, "summary", text, rule);
}

void describe_original(Archive& archive, Shrinking& shrinking) {
  const FieldRule rule{.doc = "The case as it was met; present when steps > 0.", .presence = Presence::omitted};
  const bool is_there = archive.begin_member("original", rule, rule.presence, shrinking.steps > 0);
  if (is_there) {
    archive.begin_object({});
    describe_field(archive, "id", shrinking.original.id, {});
    describe_summary(archive, shrinking.original, shrinking.original_summary);
    describe_field(archive, "file", shrinking.original_file, {.doc = "Relative to the report."});
    describe_field(archive, "picture", shrinking.element_map, {});
    archive.end_object();
    archive.end_member();
  }
  if (archive.fills() && is_there != (shrinking.steps > 0)) {
    archive.refuse_member("original", "expected where steps > 0, and only there");
  }
}

void describe_trial(Archive& archive, Diagnosis& diagnosis) {
  describe_group(archive, "trial", {.doc = "Cases made to tell explanations apart, the first failing one included."},
                 [&] {
                   describe_field(archive, "cases", diagnosis.trial_cases, {});
                   describe_field(archive, "failing", diagnosis.trial_failing, {});
                   describe_field(archive, "reproduced", diagnosis.trial_reproduced, {});
                 });
}

void describe_place_counts(Archive& archive, Diagnosis& diagnosis) {
  const FieldRule rule{
      .doc =
          "Elements of cases like the smallest one, with other sizes and values, that were run to find `where`; 0 "
          "where it is the narrowest of the known places. It is exact where none there is right."};
  describe_group(archive, "place", rule, [&] {
    describe_field(archive, "wrong", diagnosis.wrong_there, {.doc = "In the place; all wrong ones are there."});
    describe_field(archive, "right", diagnosis.right_there, {.doc = "In the place, right in every run."});
    describe_field(archive, "right_elsewhere", diagnosis.right_elsewhere, {});
  });
}

void describe_region(Archive& archive, Diagnosis& diagnosis) {
  const FieldRule rule{
      .doc =
          "Features and bounds on sizes that all failing cases have, and as few passing ones as possible. Empty where "
          "the precision would be below 0.9."};
  describe_group(archive, "region", rule, [&] {
    describe_field(archive, "conditions", diagnosis.when, {});
    describe_field(archive, "elements", diagnosis.when_elements,
                   {.doc = "Cases whose outputs have fewer elements were left out, which may be right by chance; all "
                           "failing cases, these too, have the features. 0: none was.",
                    .presence = Presence::omitted});
    describe_field(archive, "failing", diagnosis.failing, {.doc = "Cases that it was learnt from."});
    describe_field(
        archive, "shown", diagnosis.when_shown,
        {.doc = "Of those, cases of the suites that pass, and fail with other data.", .presence = Presence::omitted});
    describe_field(archive, "passing", diagnosis.passing, {});
    describe_field(archive, "passing_inside", diagnosis.passing_inside,
                   {.doc = "Passing cases that have these features all the same."});
    describe_field(archive, "precision", diagnosis.precision,
                   {.doc = "Share of failing cases among those that meet the conditions, each case held against "
                           "conditions that were learnt without it."});
    describe_field(archive, "recall", diagnosis.recall,
                   {.doc = "Share of failing cases that meet conditions learnt without them."});
  });
}

namespace {

// Like a summary: what was read, or what is known of the case.
void describe_graph(Archive& archive, Finding& finding) {
  const bool is_made = !archive.fills() && !finding.example_graph && is_judged_as_graph(finding.example);
  std::optional<CaseGraph> made = is_made ? std::optional(shown_graph(finding.example)) : std::nullopt;
  describe_field(archive, "graph", is_made ? made : finding.example_graph, {});
}

}  // namespace

void describe_example(Archive& archive, Finding& finding) {
  const FieldRule rule{.doc = "The smallest failing case: shrunk, or the smallest that was met."};
  describe_group(archive, "example", rule, [&] {
    describe_field(archive, "id", finding.example.id, {});
    describe_summary(archive, finding.example, finding.example_summary,
                     {.doc = "Shapes and attributes, for the reader."});
    describe_graph(archive, finding);
    describe_field(archive, "rewritten", finding.rewritten, {});
    describe_field(archive, "file", finding.case_file, {.doc = "The case as JSON, relative to the report."});
    describe_field(archive, "model", finding.model_file, {.doc = "The case as an ONNX model of one node."});
    describe_field(archive, "folder", finding.test_folder, {.doc = "The case as a backend-test folder of ONNX."});
    describe_field(
        archive, "note", finding.example.note,
        {.doc = "The case's own line for the reader; absent where it has none.", .presence = Presence::omitted});
  });
  if (!archive.fills()) return;
  finding.example.node().op_type = finding.op_type;
  finding.verdict.kind = finding.kind;
}

void describe_related(Archive& archive, Finding& finding) {
  const FieldRule rule{.doc = "The cases whose answers contradict the example's, where the verdict is inconsistent.",
                       .presence = Presence::omitted};
  std::vector<std::string> ids;
  for (const Case& related : finding.related) ids.push_back(related.id);
  describe_group(
      archive, "related", rule,
      [&] {
        describe_field(archive, "ids", ids, {.min_items = 1});
        describe_field(archive, "file", finding.related_file, {.doc = "Relative to the report."});
      },
      !finding.related_file.empty());
  if (!archive.fills()) return;
  finding.related.assign(ids.size(), {});
  for (std::size_t i = 0; i < ids.size(); ++i) finding.related[i].id = ids[i];
}

void describe_first_wrong(Archive& archive, const ModelRun& run) {
  std::optional<std::uint64_t> first = run.first_wrong();
  describe_field(archive, "first_wrong", first,
                 {.doc = "Position of the first wrong layer, from 0 on; absent where none is wrong."});
  if (archive.fills() && first != run.first_wrong())
    archive.refuse_member("first_wrong", "is not the first wrong layer");
}

void describe_elements(Archive& archive, ElementMap& map) {
  std::vector<std::optional<std::string>> admissible;
  std::vector<std::uint64_t> wrong;
  for (std::size_t i = 0; i < map.admissible.size(); ++i) {
    const bool is_expected = map.admissible[i] == "{" + map.expected[i] + "}";
    admissible.push_back(is_expected ? std::nullopt : std::optional(map.admissible[i]));
    if (map.wrong[i]) wrong.push_back(i);
  }
  describe_field(archive, "admissible", admissible, {.doc = "Sets of right values; null: the expected value alone."});
  describe_field(archive, "wrong", wrong,
                 {.doc = "Positions of the wrong elements in these lists, ascending.", .def = "index"});
  if (!archive.fills()) return;
  map.admissible.clear();
  map.wrong.assign(map.expected.size(), false);
  for (std::size_t i = 0; i < admissible.size(); ++i) {
    map.admissible.push_back(admissible[i] || i >= map.expected.size() ? admissible[i].value_or("")
                                                                       : "{" + map.expected[i] + "}");
  }
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    if (wrong[i] < map.wrong.size() && (i == 0 || wrong[i] > wrong[i - 1])) {
      map.wrong[static_cast<std::size_t>(wrong[i])] = true;
    } else {
      return archive.refuse_member(
          fmt::format("wrong[{}]", i),
          fmt::format("expected positions below {}, ascending, got {}", map.wrong.size(), wrong[i]));
    }
  }
}

}  // namespace qconform

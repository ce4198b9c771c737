#include "reports/read/arbitrary_report.h"

#include "reports/read/arbitrary_values.h"

namespace qconform::testing {
namespace {

CombinationCoverage combinations(const Values& values) {
  return {values.text(),   Values::count(), Values::count(), Values::count(),
          Values::count(), Values::count(), Values::count(), Values::count()};
}

SuiteResult suite(const Values& values) {
  SuiteResult result;
  result.name = values.text();
  result.cases = Values::count();
  result.digest = *rc::gen::arbitrary<std::uint64_t>();
  result.skipped = values.counts_by_text();
  result.disputed = values.texts(2);
  result.expectations = {{"valid", Values::count()}, {"invalid", Values::count()}};
  result.elements = Values::count();
  result.exact_ties = Values::count();
  result.near_ties = Values::count();
  result.coverage = Values::some(2, [&] { return combinations(values); });
  return result;
}

HazardCoverage coverage() {
  HazardCoverage result;
  for (const std::string_view op_type : kHazardOperators) {
    if (!Values::coin()) continue;
    result.note(std::string(op_type));
    for (const HazardInfo& info : hazards()) {
      if (!info.concerns(op_type) || !Values::coin()) continue;
      HazardCoverage::Tallies tallies{};
      tallies[static_cast<std::size_t>(info.hazard)] = {1 + Values::count(), 1 + Values::count()};
      result.add(std::string(op_type), Values::coin() ? "uint8 int8 uint8" : "int8", tallies);
    }
  }
  return result;
}

TierTally tiers() {
  TierTally result;
  result.common = {};
  for (const reference::Tier tier : reference::kAllTiers) {
    result.by_tier[static_cast<std::size_t>(tier)] = Values::count();
    if (Values::coin()) result.common.insert(tier);
  }
  result.none = 1 + Values::count();
  return result;
}

ErrorTally errors() {
  ErrorTally result;
  for (std::size_t bin = 0; bin < ErrorTally::kBins; ++bin) {
    if (Values::coin()) result.low[bin] = Values::count();
    if (Values::coin()) result.high[bin] = Values::count();
  }
  result.incomparable = 1 + Values::count();
  return result;
}

OperatorResult operator_result(const Values& values) {
  OperatorResult result;
  for (std::size_t i = 0; i < result.verdicts.size(); ++i) {
    result.verdicts[i] = Values::coin() ? Values::count() : 0;
    result.waived[i] = Values::coin() ? result.verdicts[i] / 2 : 0;
  }
  result.elements = Values::count();
  result.wrong_elements = Values::count();
  if (Values::coin()) result.tiers = tiers();
  if (Values::coin()) result.errors = errors();
  result.unsupported_reasons = values.counts_by_text();
  result.mistrusted_reasons = values.counts_by_text();
  return result;
}

RelationResult relation(const Values& values) {
  return {values.text(),   Values::count(), Values::count(), Values::count(),
          Values::count(), Values::count(), Values::count()};
}

BackendResult backend(const Values& values) {
  BackendResult result;
  result.info = {values.text(), values.text(), values.text()};
  result.decides = Values::coin();
  result.seconds = Values::seconds();
  result.worst = Values::some(2, [&] { return WorstElement{values.text(), values.element()}; });
  for (const std::string_view op_type : kHazardOperators) {
    if (Values::coin()) result.operators[std::string(op_type)] = operator_result(values);
  }
  result.relations = Values::some(2, [&] { return relation(values); });
  if (!result.relations.empty()) result.failed_bases = Values::count();
  return result;
}

}  // namespace

Report arbitrary_report(Texts texts) {
  const Values values(texts);
  const auto text = [&] { return values.text(); };
  Report report;
  report.environment = {text(), text(), text(), text(), text(), text(), values.texts(3), values.texts(2)};
  report.command = values.texts(4);
  report.seed = *rc::gen::arbitrary<std::uint64_t>();
  report.profile = text();
  report.overflow = text();
  report.suites = Values::some(2, [&] { return suite(values); });
  report.hazards = coverage();
  report.backends = Values::some(2, [&] { return backend(values); });
  report.findings = Values::some(3, [&] { return arbitrary_finding(values); });
  const auto seconds = [] { return Values::seconds(); };
  report.times = {seconds(), seconds(), seconds(), seconds(), seconds(), seconds(), seconds()};
  if (Values::coin()) report.campaign = arbitrary_campaign(values);
  if (Values::coin()) report.results = arbitrary_results(values, report.backends.size());
  return report;
}

}  // namespace qconform::testing

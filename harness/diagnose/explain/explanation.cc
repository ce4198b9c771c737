#include "harness/diagnose/explain/explanation.h"

#include <algorithm>

namespace qconform::diagnose {
namespace {

void describe_support(Explanation& explanation, const Evidence& evidence, const CandidateTest& test) {
  const DefectSet& best = explanation.candidates.front();
  const Model model = test.model_of(best);
  explanation.arithmetic = test.known_arithmetics()[best.arithmetic].name;
  Support& support = explanation.support;
  for (const auto& observation : evidence) {
    const Match found = test.outcome_of(model, *observation);
    support.reproduced_cases += found.holds ? 1 : 0;
    support.explained += found.explained;
    support.broken += found.broken;
    support.legal += found.legal;
    if (observation == evidence.front()) support.reproduces_case = found.holds;
  }
}

}  // namespace

std::string_view name_of(Status status) {
  switch (status) {
    case Status::explained: return "explained";
    case Status::ambiguous: return "ambiguous";
    case Status::partial: return "partial";
    case Status::unexplained: break;
  }
  return "unexplained";
}

std::string Explanation::signature() const {
  if (status == Status::partial && support.reproduces_case) return "partial:" + candidates.front().name();
  if (status != Status::explained && status != Status::ambiguous) return "unexplained:" + std::string(place().id);
  std::vector<std::string> names;
  for (const DefectSet& candidate : candidates) names.push_back(candidate.name());
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "|") + name;
  return text;
}

std::optional<Model> Explanation::model(const Policy& policy) const {
  if (candidates.empty() || (status == Status::partial && !support.reproduces_case)) return std::nullopt;
  return CandidateTest(*op, policy).model_of(candidates.front());
}

void describe(Explanation& explanation, const Evidence& evidence, const CandidateTest& test) {
  Support& support = explanation.support;
  std::vector<const Observation*> all;
  for (const auto& observation : evidence) {
    all.push_back(observation.get());
    support.elements += static_cast<std::uint64_t>(observation->got().elements());
    support.wrong += observation->wrong_elements();
  }
  support.cases = all.size();
  support.failing = failures_of(evidence).size();
  const Observation* const first[] = {all.front()};
  explanation.pattern = pattern_of(all);
  explanation.pattern_of_case = pattern_of(first);
  explanation.errors = errors_of(first);
  if (!explanation.candidates.empty()) describe_support(explanation, evidence, test);
}

}  // namespace qconform::diagnose

#include "harness/diagnose/explain/explain.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/text.h"

namespace qconform::diagnose {

namespace {

void describe_support(Explanation& explanation, const Evidence& evidence, const CandidateTest& test) {
  const DefectSet& best = explanation.candidates.front();
  const NodeModels model = test.model_of(best);
  explanation.arithmetic = test.known_arithmetics()[best.arithmetic].name;
  explanation.is_on_base = test.is_on_base(best);
  Support& support = explanation.support;
  for (const auto& observation : evidence) {
    const Match found = test.outcome_of(model, *observation);
    support.reproduced_cases += found.is_exact() ? 1 : 0;
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
    case Status::learnt: return "learnt";
    case Status::ambiguous: return "ambiguous";
    case Status::reproduced: return "reproduced";
    case Status::partial: return "partial";
    case Status::unexplained: break;
  }
  return "unexplained";
}

std::string Explanation::signature() const {
  if (status == Status::partial && support.reproduces_case) return "partial:" + candidates.front().name();
  if (status > Status::reproduced) return kUnexplained + std::string(place().id);
  std::vector<std::string> names;
  for (const DefectSet& candidate : candidates) names.push_back(candidate.name());
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "|") + name;
  return text;
}

std::string Explanation::base() const {
  return is_on_base ? arithmetic : std::string();
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

bool Region::contains(const CaseTraits& traits) const {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const std::string& text) { return Condition::parse(text)->holds(traits); });
}

std::string Region::text() const {
  std::string text;
  for (const std::string& condition : conditions) text += (text.empty() ? "" : ", ") + condition;
  return text;
}

namespace {

// A place with nearly all elements says nothing.
constexpr double kNearlyAll = 0.9;

struct RegionCounts {
  std::vector<std::uint64_t> there;  // by place
  std::uint64_t common = ~std::uint64_t{0};
  std::uint64_t wrong = 0;
  std::uint64_t elements = 0;

  void add(const Observation& observation) {
    const std::vector<std::uint64_t> located = output_regions_of(observation);
    for (std::size_t i = 0; i < located.size(); ++i) {
      for (std::size_t place = 0; place < there.size(); ++place) there[place] += located[i] >> place & 1U;
      if (observation.states()[i] != ElementState::wrong) continue;
      common &= located[i];
      ++wrong;
    }
    elements += located.size();
  }
};

}  // namespace

Pattern pattern_of(std::span<const Observation* const> observations) {
  RegionCounts counts{std::vector<std::uint64_t>(output_regions().size(), 0)};
  for (const Observation* observation : observations) {
    if (!observation->has_wrong_shape() && observation->wrong_elements() > 0) counts.add(*observation);
  }
  const auto has_wrong_shape = [](const Observation* observation) { return observation->has_wrong_shape(); };
  if (counts.elements == 0 && std::any_of(observations.begin(), observations.end(), has_wrong_shape))
    return {"shape", "outputs of another shape", 0, 0, 0};
  Pattern narrowest{"everywhere", kNoPlace, counts.wrong, counts.elements, counts.elements};
  const auto limit = static_cast<std::uint64_t>(kNearlyAll * static_cast<double>(counts.elements));
  for (std::size_t place = 0; place < output_regions().size(); ++place) {
    const bool holds_all = (counts.common >> place & 1U) != 0;
    if (!holds_all || counts.there[place] > limit || counts.there[place] >= narrowest.there) continue;
    narrowest.id = output_regions()[place].id;
    narrowest.description = output_regions()[place].description;
    narrowest.there = counts.there[place];
  }
  return narrowest;
}

bool lies_in(const Observation& observation, std::string_view pattern_id) {
  if (observation.has_wrong_shape() || pattern_id == "shape") {
    return observation.has_wrong_shape() && pattern_id == "shape";
  }
  if (pattern_id == "everywhere") return true;
  const auto found = std::find_if(output_regions().begin(), output_regions().end(),
                                  [&](const OutputRegion& place) { return place.id == pattern_id; });
  if (found == output_regions().end()) return false;
  const auto bit = static_cast<std::size_t>(found - output_regions().begin());
  const std::vector<std::uint64_t> located = output_regions_of(observation);
  for (std::size_t i = 0; i < located.size(); ++i) {
    if (observation.states()[i] == ElementState::wrong && (located[i] >> bit & 1U) == 0) return false;
  }
  return true;
}

ErrorDistribution errors_of(std::span<const Observation* const> observations) {
  ErrorDistribution errors;
  for (const Observation* observation : observations) {
    const std::vector<ElementState>& states = observation->states();
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (states[i] != ElementState::wrong) continue;
      const auto index = static_cast<std::int64_t>(i);
      const double off = number_at(observation->got(), index) - number_at(observation->right(), index);
      errors.lowest = errors.wrong == 0 ? off : std::fmin(errors.lowest, off);
      errors.highest = errors.wrong == 0 ? off : std::fmax(errors.highest, off);
      ++errors.wrong;
      errors.too_low += off < 0 ? 1 : 0;
      errors.too_high += off > 0 ? 1 : 0;
      errors.by_one += std::fabs(off) == 1 ? 1 : 0;
    }
  }
  return errors;
}

}  // namespace qconform::diagnose

#include "reports/read/arbitrary_values.h"

namespace qconform::testing {
namespace {

CampaignCourse course() {
  CampaignCourse result;
  const std::uint64_t width = std::uint64_t{1} << *rc::gen::inRange(0, 40);
  std::uint64_t next = 0;
  for (int group = *rc::gen::inRange(0, 4); group > 0; --group) {
    next += 1 + Values::count();
    result.groups.push_back({next * width, Values::count(), Values::count(), Values::seconds()});
  }
  if (result.groups.empty()) return result;
  result.group_blocks = width;
  result.hazards = Values::some(2, [] {
    const auto position = *rc::gen::inRange<std::size_t>(0, kHazards);
    return CampaignCourse::Reached{std::string(hazards()[position].id), Values::count()};
  });
  return result;
}

}  // namespace

CampaignState arbitrary_campaign(const Values& values) {
  CampaignState result;
  result.block_cases = 1 + Values::count();
  result.blocks = Values::some(3, [] {
    const std::uint64_t first = Values::count();
    return CampaignState::Range{first, first + 1 + Values::count()};
  });
  result.parts = Values::some(2, [] { return CampaignState::Part{Values::count(), Values::count()}; });
  result.runs = Values::some(2, [&] {
    return CampaignRun{values.text(), values.text(),   Values::seconds(), 3,
                       values.text(), Values::count(), values.text()};
  });
  result.progress = Values::some(
      3, [] { return CampaignProgress{Values::seconds(), Values::count(), Values::count(), Values::count(), 0, 0}; });
  if (Values::coin()) {
    result.engine =
        EngineState{values.text(), Values::count(), Values::count(), Values::count(), Values::count(), Values::count()};
    for (CampaignProgress& at : result.progress) at.edges = at.features = Values::count();
  }
  result.course = course();
  return result;
}

CaseResults arbitrary_results(const Values& values, std::size_t backends) {
  const auto of_backend = [&] {
    CaseResult::OfBackend result;
    result.verdict = Values::kind();
    if (Values::coin())
      result.tier = *rc::gen::elementOf(
          std::vector<reference::Tier>(std::begin(reference::kAllTiers), std::end(reference::kAllTiers)));
    if (!is_failure(result.verdict)) return result;
    result.wrong_elements = Values::count();
    result.finding = values.text();
    return result;
  };
  CaseResults result;
  result.cases = Values::count();
  result.failing = Values::count();
  result.rows = Values::some(4, [&] {
    return CaseResult{values.text(), values.text(), values.text(), values.text(),
                      Values::several(static_cast<int>(backends), of_backend)};
  });
  return result;
}

}  // namespace qconform::testing

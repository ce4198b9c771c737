#include "reports/render/campaign_json.h"

namespace qconform::report {
namespace {

using Json = nlohmann::ordered_json;

Json course_json(const CampaignCourse& course) {
  Json groups = Json::array();
  for (const CampaignCourse::Group& group : course.groups) {
    groups.push_back(
        {{"first", group.first}, {"cases", group.cases}, {"failures", group.failures}, {"seconds", group.seconds}});
  }
  Json hazards = Json::array();
  for (const auto& [hazard, first] : course.hazards) hazards.push_back({{"id", hazard}, {"case", first}});
  return {{"group_blocks", course.group_blocks}, {"groups", std::move(groups)}, {"hazards", std::move(hazards)}};
}

}  // namespace

Json campaign_json(const CampaignState& campaign) {
  Json blocks = Json::array();
  for (const auto& [first, end] : campaign.blocks) blocks.push_back(Json::array({first, end}));
  Json parts = Json::array();
  for (const auto& [block, cases] : campaign.parts) parts.push_back({{"block", block}, {"cases", cases}});
  Json runs = Json::array();
  for (const CampaignRun& run : campaign.runs) {
    runs.push_back({{"machine", run.machine},
                    {"started", run.started},
                    {"seconds", run.seconds},
                    {"jobs", run.jobs},
                    {"shard", run.shard},
                    {"cases", run.cases},
                    {"ended", run.ended}});
  }
  Json progress = Json::array();
  for (const CampaignProgress& at : campaign.progress) {
    Json entry{{"seconds", at.seconds}, {"cases", at.cases}, {"failures", at.failures}, {"findings", at.findings}};
    if (campaign.engine) entry.update({{"edges", at.edges}, {"features", at.features}});
    progress.push_back(std::move(entry));
  }
  Json result{{"block_cases", campaign.block_cases},
              {"blocks", std::move(blocks)},
              {"parts", std::move(parts)},
              {"runs", std::move(runs)},
              {"progress", std::move(progress)}};
  if (const auto& engine = campaign.engine) {
    result["engine"] = {{"name", engine->name},   {"executions", engine->executions},
                        {"edges", engine->edges}, {"features", engine->features},
                        {"kept", engine->kept},   {"crashes", engine->crashes}};
  }
  if (!campaign.course.groups.empty()) result["course"] = course_json(campaign.course);
  return result;
}

}  // namespace qconform::report

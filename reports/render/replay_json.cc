#include "reports/render/replay_json.h"

#include "harness/operators/case_text.h"
#include "reports/render/verdict_json.h"

namespace qconform::report {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string to_json(const Case& test_case, Expectation expectation, const std::string& remark,
                    const std::vector<Replayed>& results) {
  Json list = Json::array();
  for (const auto& [backend, verdict] : results) {
    Json entry{{"backend", backend},
               {"verdict", name_of(verdict.kind)},
               {"detail", verdict.detail},
               {"elements", verdict.elements},
               {"wrong_elements", verdict.wrong_elements},
               {"tiers", tiers_json(verdict.tiers)}};
    if (!verdict.log.empty()) entry["log"] = verdict.log;
    if (verdict.worst) entry["worst"] = element_json(*verdict.worst);
    list.push_back(std::move(entry));
  }
  const Json json{{"case", test_case.id},
                  {"operator", test_case.op_type},
                  {"expectation", name_of(expectation)},
                  {"remark", remark},
                  {"results", std::move(list)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_json(const shrink::Result& result, const Case& original, const std::string& file,
                    const std::string& replay) {
  Json reduced = Json::array();
  for (const auto& [name, count] : result.reduced) reduced.push_back({{"reduction", name}, {"steps", count}});
  Json json{{"case", original.id},
            {"operator", original.op_type},
            {"ending", name_of(result.ending)},
            {"runs", result.runs},
            {"steps", result.steps},
            {"seconds", result.seconds},
            {"reduced", std::move(reduced)},
            {"before", summary_of(original)},
            {"after", summary_of(result.smallest)},
            {"verdict", name_of(result.verdict.kind)},
            {"detail", result.verdict.detail}};
  if (result.verdict.worst) json["worst"] = element_json(*result.verdict.worst);
  if (!file.empty()) json["file"] = file;
  if (!replay.empty()) json["replay"] = replay;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace qconform::report

#include "reports/render/results_json.h"

#include <algorithm>
#include <utility>

namespace qconform::report {
namespace {

using Json = nlohmann::ordered_json;

// Texts by the order in which they are first met. Those that are written alike are one: what is no UTF-8 is replaced
// then, and a reader could not tell them apart.
class Names {
 public:
  std::size_t position(const std::string& name) {
    std::string written = Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
    const auto known = std::find(written_.begin(), written_.end(), written);
    if (known != written_.end()) return static_cast<std::size_t>(known - written_.begin());
    written_.push_back(std::move(written));
    names_.push_back(name);
    return names_.size() - 1;
  }
  [[nodiscard]] const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> written_;
};

struct Failures {
  Json row = Json::array();
  Json wrong_elements = Json::array();
  Json finding = Json::array();
};

Json backend_results_json(const CaseResults& results, std::size_t position, const std::string& name, Names& verdicts) {
  Json verdict = Json::array();
  Json tier = Json::array();
  Failures failures;
  for (std::size_t row = 0; row < results.rows.size(); ++row) {
    const CaseResult::OfBackend& of = results.rows[row].backends[position];
    verdict.push_back(verdicts.position(std::string(name_of(of.verdict))));
    tier.push_back(of.tier ? Json(static_cast<int>(*of.tier)) : Json(nullptr));
    if (!is_failure(of.verdict)) continue;
    failures.row.push_back(row);
    failures.wrong_elements.push_back(of.wrong_elements);
    failures.finding.push_back(of.finding);
  }
  return {{"name", name},
          {"verdict", std::move(verdict)},
          {"tier", std::move(tier)},
          {"failures",
           {{"row", std::move(failures.row)},
            {"wrong_elements", std::move(failures.wrong_elements)},
            {"finding", std::move(failures.finding)}}}};
}

}  // namespace

Json results_json(const CaseResults& results, const std::vector<BackendResult>& backends) {
  Names suites;
  Names operators;
  Names verdicts;
  Json suite = Json::array();
  Json op_type = Json::array();
  Json id = Json::array();
  Json summary = Json::array();
  for (const CaseResult& row : results.rows) {
    suite.push_back(suites.position(row.suite));
    op_type.push_back(operators.position(row.op_type));
    id.push_back(row.id);
    summary.push_back(row.summary);
  }
  Json by_backend = Json::array();
  for (std::size_t i = 0; i < backends.size(); ++i) {
    by_backend.push_back(backend_results_json(results, i, backends[i].info.name, verdicts));
  }
  Json tiers = Json::array();
  for (const reference::Tier tier : reference::kAllTiers) tiers.push_back(name_of(tier));
  return {{"cases", results.cases},        {"failing", results.failing},       {"suites", suites.all()},
          {"operators", operators.all()},  {"verdicts", verdicts.all()},       {"tiers", std::move(tiers)},
          {"suite", std::move(suite)},     {"operator", std::move(op_type)},   {"id", std::move(id)},
          {"summary", std::move(summary)}, {"backends", std::move(by_backend)}};
}

}  // namespace qconform::report

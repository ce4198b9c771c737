#include "reports/render/picture_json.h"

#include <algorithm>
#include <cmath>

namespace qconform::report {
namespace {

using Json = nlohmann::ordered_json;

Json box_json(const TensorBox& box) {
  return {{"name", box.name},   {"type", box.type},     {"shape", box.shape},
          {"begin", box.begin}, {"extent", box.extent}, {"values", box.values}};
}

Json geometry_json(const reference::ConvolutionGeometry& geometry) {
  Json axes = Json::array();
  for (const reference::SpatialAxis& axis : geometry.axes) {
    axes.push_back({{"input", axis.input},
                    {"kernel", axis.kernel},
                    {"stride", axis.stride},
                    {"dilation", axis.dilation},
                    {"pad_begin", axis.pad_begin},
                    {"pad_end", axis.pad_end}});
  }
  return {{"group_input_channels", geometry.group_input_channels()},
          {"group_output_channels", geometry.group_output_channels()},
          {"axes", std::move(axes)}};
}

// Most elements have one right value, the expected one.
Json admissible_json(const Picture& picture) {
  Json list = Json::array();
  for (std::size_t i = 0; i < picture.admissible.size(); ++i) {
    const bool is_expected = picture.admissible[i] == "{" + picture.expected[i] + "}";
    list.push_back(is_expected ? Json(nullptr) : Json(picture.admissible[i]));
  }
  return list;
}

Json wrong_json(const std::vector<bool>& wrong) {
  Json list = Json::array();
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    if (wrong[i]) list.push_back(i);
  }
  return list;
}

// Texts by the order in which they are first met.
class Names {
 public:
  std::size_t position(const std::string& name) {
    const auto known = std::find(names_.begin(), names_.end(), name);
    if (known != names_.end()) return static_cast<std::size_t>(known - names_.begin());
    names_.push_back(name);
    return names_.size() - 1;
  }
  [[nodiscard]] const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_;
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

Json picture_json(const Picture& picture) {
  Json inputs = Json::array();
  for (const TensorBox& input : picture.inputs) inputs.push_back(box_json(input));
  Json result{{"got", box_json(picture.got)},
              {"expected", picture.expected},
              {"exact", picture.exact},
              {"admissible", admissible_json(picture)},
              {"wrong", wrong_json(picture.wrong)},
              {"wrong_elements", picture.wrong_elements},
              {"worst", picture.worst}};
  if (picture.geometry) result["geometry"] = geometry_json(*picture.geometry);
  if (!picture.parameter.empty()) result["parameter"] = picture.parameter;
  result["inputs"] = std::move(inputs);
  return result;
}

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

Json errors_json(const ErrorTally& errors) {
  Json bins = Json::array();
  for (std::size_t i = 0; i < ErrorTally::kBins; ++i) {
    if (errors.low[i] + errors.high[i] == 0) continue;
    const bool is_last = i + 1 == ErrorTally::kBins;
    bins.push_back({{"up_to", is_last ? Json(nullptr) : Json(std::ldexp(0.5, static_cast<int>(i)))},
                    {"low", errors.low[i]},
                    {"high", errors.high[i]}});
  }
  return {{"incomparable", errors.incomparable}, {"bins", std::move(bins)}};
}

}  // namespace qconform::report

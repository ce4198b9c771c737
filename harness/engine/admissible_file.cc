#include "harness/engine/admissible_file.h"

#include <map>

#include "harness/base/file.h"
#include "harness/forms/json/element_json.h"
#include "harness/forms/json/json_text.h"
#include "harness/model/judge/judge.h"
#include "harness/model/right_values.h"
#include "harness/onnx/node_proto.h"

namespace qconform {
namespace {

Json set_object(const RightValues& right) {
  Json object = Json::object();
  if (right.any_value) object["any_value"] = true;
  Json ranges = Json::array();
  for (const auto& [low, high] : right.ranges) {
    ranges.push_back(Json::array({element_json(right.type, low), element_json(right.type, high)}));
  }
  if (!right.any_value) object["ranges"] = std::move(ranges);
  if (right.any_nan) object["any_nan"] = true;
  if (right.either_zero) object["either_zero"] = true;
  return object;
}

// Many elements have one set: each is written once.
Json output_object(const Expected& expected, const Lowered& output, const std::string& name) {
  Json sets = Json::array();
  Json elements = Json::array();
  std::map<std::string, std::size_t> known;
  const std::int64_t count = elements_of(output.output_shape());
  for (std::int64_t i = 0; i < count; ++i) {
    const RightValues right = expected.classification.value_is_open
                                  ? RightValues{.type = output.output_type(), .any_value = true}
                                  : output.right_values(i, expected.policy);
    Json set = set_object(right);
    const auto [entry, is_new] = known.emplace(set.dump(), known.size());
    if (is_new) sets.push_back(std::move(set));
    elements.push_back(entry->second);
  }
  return {{"name", name},
          {"type", name_of(output.output_type())},
          {"shape", output.output_shape()},
          {"sets", std::move(sets)},
          {"elements", std::move(elements)}};
}

}  // namespace

std::string admissible_text(const Case& test_case, const Policy& policy) {
  const Expected expected = expect(test_case, policy);
  Json object{{"format", "qconform-admissible"},
              {"version", 1},
              {"expectation", name_of(expected.classification.expectation())}};
  if (const reference::Remark* remark = expected.classification.deciding_remark()) {
    object["remark"] = Json{{"field", remark->field}, {"rule", remark->rule}, {"text", remark->text()}};
  }
  Json outputs = Json::array();
  if (const auto& lowered = expected.classification.lowered) {
    const std::vector<std::string> names = output_names(test_case);
    for (std::size_t i = 0; i < names.size(); ++i) {
      outputs.push_back(output_object(expected, lowered->output(i), names[i]));
    }
  }
  object["outputs"] = std::move(outputs);
  return print_json(object);
}

Result<void> write_admissible(const Case& test_case, const std::filesystem::path& folder, const Policy& policy) {
  return write_file(folder / "test_data_set_0" / "admissible.json", admissible_text(test_case, policy));
}

}  // namespace qconform

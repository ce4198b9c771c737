#include "reports/render/picture_json.h"

namespace qconform::report {
namespace {

using Json = nlohmann::ordered_json;

Json box_json(const TensorBox& box) {
  return {{"name", box.name},   {"type", box.type},     {"shape", box.shape},
          {"begin", box.begin}, {"extent", box.extent}, {"values", box.values}};
}

Json geometry_json(const PictureGeometry& geometry) {
  Json axes = Json::array();
  for (const PictureGeometry::Axis& axis : geometry.axes) {
    axes.push_back({{"input", axis.input},
                    {"kernel", axis.kernel},
                    {"stride", axis.stride},
                    {"dilation", axis.dilation},
                    {"pad_begin", axis.pad_begin},
                    {"pad_end", axis.pad_end}});
  }
  return {{"group_input_channels", geometry.group_input_channels},
          {"group_output_channels", geometry.group_output_channels},
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

}  // namespace qconform::report

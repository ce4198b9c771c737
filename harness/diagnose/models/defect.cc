#include "harness/diagnose/models/defect.h"

#include <algorithm>
#include <array>

#include "harness/base/near_names.h"
#include "harness/diagnose/models/defect_lists.h"

namespace qconform::diagnose {
namespace {

std::vector<Defect> all_defects() {
  std::vector<Defect> all;
  for (const auto& list : {geometry_defects, sum_defects, output_defects, linear_defects}) {
    const std::span<const Defect> defects = list();
    all.insert(all.end(), defects.begin(), defects.end());
  }
  return all;
}

Stages with(const Defect& defect, Stages stages) {
  defect.replace(stages);
  return stages;
}

std::string unknown_id(std::string_view id) {
  std::vector<std::string_view> ids;
  for (const Defect& defect : defects()) ids.push_back(defect.id);
  std::string text = "no defect model \"" + std::string(id) + "\"";
  const std::vector<std::string_view> near = near_names(id, ids);
  for (std::size_t i = 0; i < near.size(); ++i) text += (i == 0 ? "; did you mean " : ", ") + std::string(near[i]);
  return text + (near.empty() ? "; see" : "? See") + " `qconform list defects`";
}

}  // namespace

std::string_view name_of(Op op) {
  switch (op) {
    case Op::qlinear_conv: return "QLinearConv";
    case Op::conv_integer: return "ConvInteger";
    case Op::quantize_linear: return "QuantizeLinear";
    case Op::dequantize_linear: break;
  }
  return "DequantizeLinear";
}

std::span<const Defect> defects() {
  static const std::vector<Defect> all = all_defects();
  return all;
}

const Defect* find_defect(std::string_view id) {
  const auto all = defects();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Defect& defect) { return defect.id == id; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string_view> stages_of(const Defect& defect) {
  const Stages original = reference_stages(reference::RoundingProfile::correctly_rounded);
  return replaced_stages(with(defect, original), original);
}

Model::Model(reference::RoundingProfile profile) : original_(reference_stages(profile)) {}

Model::Model(const reference::FloatExpression& expression) : Model() {
  use_expression(original_, expression);
}

Result<void> Model::add(const Defect& defect) {
  const std::vector<std::string_view> added = stages_of(defect);
  for (const Defect* present : defects_) {
    for (const std::string_view stage : stages_of(*present)) {
      if (std::find(added.begin(), added.end(), stage) == added.end()) continue;
      return fail("", "defects " + std::string(present->id) + " and " + std::string(defect.id) +
                          " do not combine: both replace the stage " + std::string(stage));
    }
  }
  defects_.push_back(&defect);
  return {};
}

Result<Model> Model::named(std::string_view ids, reference::RoundingProfile profile, const std::string& field) {
  Model model(profile);
  for (std::size_t begin = 0; begin <= ids.size();) {
    const std::size_t end = std::min(ids.find('+', begin), ids.size());
    const std::string_view id = ids.substr(begin, end - begin);
    const Defect* defect = find_defect(id);
    if (defect == nullptr) return fail(field, unknown_id(id));
    if (const Result<void> added = model.add(*defect); !added) return fail(field, added.error().message);
    begin = end + 1;
  }
  return model;
}

Stages Model::stages(Op op) const {
  Stages stages = original_;
  for (const Defect* defect : defects_) {
    if (defect->operators.contains(op)) defect->replace(stages);
  }
  return stages;
}

Result<Model> pair_of(const Defect& a, const Defect& b) {
  Model model;
  for (const Defect* defect : {&a, &b}) QCONFORM_TRY(model.add(*defect));
  return model;
}

}  // namespace qconform::diagnose

#include "harness/diagnose/identify/identify_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/file.h"
#include "harness/describe/json_archives.h"
#include "harness/diagnose/models/modelled_case.h"
#include "harness/json/json_fields.h"
#include "harness/operators/operator_names.h"

namespace qconform::diagnose {
namespace {

std::optional<Op> op_named(std::string_view name) {
  for (const Op op : kAllOps) {
    if (name_of(op) == name) return op;
  }
  return std::nullopt;
}

// The types that a pin may speak of.
TextsByKey types_of(const Form& form) {
  TextsByKey types{{"x", name_of(form.x)}};
  if (form.op == Op::qlinear_conv || form.op == Op::conv_integer) types["w"] = name_of(form.w);
  if (form.op != Op::conv_integer) types["y"] = name_of(form.y);
  return types;
}

TextsByKey types_of(const Case& test_case, Op op, ElementType y) {
  Form form;
  form.op = op;
  form.x = test_case.input(0)->type;
  form.y = y;
  if (op == Op::qlinear_conv) form.w = test_case.input(3)->type;
  if (op == Op::conv_integer) form.w = test_case.input(1)->type;
  return types_of(form);
}

bool speaks_of(const Pin& pin, const TextsByKey& types) {
  return std::all_of(pin.types.begin(), pin.types.end(), [&](const auto& type) {
    const auto found = types.find(type.first);
    return found != types.end() && found->second == type.second;
  });
}

void add_ways(const Answer& answer, TextsByKey& ways) {
  for (std::size_t a = 0; a < answer.aspects.size(); ++a) {
    const Aspect& aspect = *answer.aspects[a];
    ways[aspect.id] = answer.forms.empty() ? aspect.ways.front().id : answer.survivors().front()->ways[a]->id;
  }
}

// Where answers differ by types, each set of types has a pin of its own, which holds what is common too.
void add_pins(const Identification& identification, Op op, PinnedProfile& profile) {
  Pin common{std::string(name_of(op)), {}, {}};
  bool takes_any = false;
  std::vector<const Answer*> by_types;
  for (const Answer& answer : identification.answers) {
    if (answer.op != op) continue;
    takes_any = takes_any || !answer.forms.empty();
    if (answer.by_types) {
      by_types.push_back(&answer);
    } else if (!answer.survivors().empty() && answer.narrowed.empty()) {
      add_ways(answer, common.ways);
    }
  }
  if (!takes_any) return;
  if (by_types.empty()) return profile.pins.push_back(std::move(common));
  for (const Answer* const answer : by_types) {
    if (answer->survivors().empty()) continue;
    const auto types = types_of(answer->forms.front());
    auto present = std::find_if(profile.pins.begin(), profile.pins.end(),
                                [&](const Pin& pin) { return pin.op_type == common.op_type && pin.types == types; });
    if (present == profile.pins.end()) {
      profile.pins.push_back({common.op_type, types, common.ways});
      present = std::prev(profile.pins.end());
    }
    add_ways(*answer, present->ways);
  }
}

tl::unexpected<Error> unknown(std::string where, const char* what, const std::string& name,
                              std::span<const std::string_view> known) {
  return fail(std::move(where), fmt::format("no {} \"{}\"; there are {}", what, name, fmt::join(known, ", ")));
}

Result<void> check_way(Op op, const std::string& id, const std::string& name, const std::string& where) {
  std::vector<std::string_view> known;
  const Aspect* const aspect = find_aspect(op, id);
  if (aspect == nullptr) {
    for (const Aspect& each : aspects()) {
      if (each.op == op) known.push_back(each.id);
    }
    return unknown(where, "aspect", id, known);
  }
  if (find_way(*aspect, name) != nullptr) return {};
  for (const Way& way : aspect->ways) known.push_back(way.id);
  return unknown(json_path(where, id), "way", name, known);
}

Result<void> check(const Pin& pin, const std::string& where) {
  const std::optional<Op> op = op_named(pin.op_type);
  if (!op) return unknown(json_path(where, "operator"), "operator", pin.op_type, operator_names());
  const std::string types = json_path(where, "types");
  for (const auto& [input, type] : pin.types) {
    if (!element_type_named(type)) return fail(json_path(types, input), fmt::format("no type \"{}\"", type));
  }
  for (const auto& [id, name] : pin.ways) QCONFORM_TRY(check_way(*op, id, name, json_path(where, "ways")));
  return {};
}

}  // namespace

PinnedProfile pinned_profile(const Identification& identification) {
  PinnedProfile profile{identification.backend.name + " " + identification.backend.version, {}};
  for (const Op op : kAllOps) add_pins(identification, op, profile);
  return profile;
}

std::optional<Tensor> pinned_output(const Case& test_case, const Classification& classification,
                                    const PinnedProfile& profile) {
  const auto modelled = ModelledCase::prepare(test_case, classification);
  if (modelled == nullptr) return std::nullopt;
  const Op op = modelled->op();
  const auto types = types_of(test_case, op, modelled->lowered().output_type());
  const auto pin = std::find_if(profile.pins.begin(), profile.pins.end(),
                                [&](const Pin& p) { return p.op_type == name_of(op) && speaks_of(p, types); });
  if (pin == profile.pins.end()) return std::nullopt;
  Stages stages = reference_stages(RoundingProfile::correctly_rounded);
  const NodeDescription node = description_of(modelled->lowered());
  for (const Aspect& aspect : aspects()) {
    if (aspect.op != op || !aspect.concerns(node)) continue;
    const auto way = pin->ways.find(aspect.id);
    if (way == pin->ways.end()) return std::nullopt;
    find_way(aspect, way->second)->replace(stages);
  }
  return modelled->run(stages);
}

Profile named_profile_like(const PinnedProfile& profile) {
  for (const Pin& pin : profile.pins) {
    if (pin.op_type != name_of(Op::qlinear_conv) || !pin.types.empty()) continue;
    const auto way = [&](const char* aspect) {
      const auto found = pin.ways.find(aspect);
      return found == pin.ways.end() ? std::string() : found->second;
    };
    if (way("product") == "ort-f32" && way("rounding") == "half-even") return Profile::ort_f32;
    if (way("product") == "f32-multiplier-widened" && way("rounding").starts_with("zero-point-first")) {
      return Profile::onnx_reference;
    }
  }
  return Profile::conformance;
}

std::string pinned_profile_json(const PinnedProfile& profile) {
  return print_json(write_document(description_of(profile)));
}

Result<PinnedProfile> read_pinned_profile_json(std::string_view text) {
  QCONFORM_ASSIGN(const auto json, parse_json(text));
  QCONFORM_ASSIGN(auto profile, read_document<PinnedProfile>(json));
  for (std::size_t i = 0; i < profile.pins.size(); ++i) QCONFORM_TRY(check(profile.pins[i], json_path("pins", i)));
  return profile;
}

Result<PinnedProfile> load_pinned_profile(const std::filesystem::path& path) {
  QCONFORM_ASSIGN(const auto text, read_file(path, limits::kJsonFileBytes));
  QCONFORM_ASSIGN(auto profile, in_context(path.string(), read_pinned_profile_json(text)));
  profile.file = path.string();
  return profile;
}

}  // namespace qconform::diagnose

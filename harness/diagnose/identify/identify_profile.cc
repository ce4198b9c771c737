#include "harness/diagnose/identify/identify_profile.h"

#include <algorithm>

#include "harness/core/file.h"
#include "harness/core/near_names.h"
#include "harness/diagnose/models/modelled_case.h"
#include "harness/json/json_fields.h"

namespace qconform::diagnose {
namespace {

constexpr std::string_view kFormat = "qconform-profile";
constexpr std::size_t kMostPins = 256;

std::optional<Op> op_named(std::string_view name) {
  for (const Op op : kAllOps) {
    if (name_of(op) == name) return op;
  }
  return std::nullopt;
}

// The types that a pin may speak of.
std::map<std::string, std::string> types_of(const Form& form) {
  std::map<std::string, std::string> types{{"x", name_of(form.x)}};
  if (form.op == Op::qlinear_conv || form.op == Op::conv_integer) types["w"] = name_of(form.w);
  if (form.op != Op::conv_integer) types["y"] = name_of(form.y);
  return types;
}

std::map<std::string, std::string> types_of(const Case& test_case, Op op, ElementType y) {
  Form form;
  form.op = op;
  form.x = test_case.input(0)->type;
  form.y = y;
  if (op == Op::qlinear_conv) form.w = test_case.input(3)->type;
  if (op == Op::conv_integer) form.w = test_case.input(1)->type;
  return types_of(form);
}

bool speaks_of(const Pin& pin, const std::map<std::string, std::string>& types) {
  return std::all_of(pin.types.begin(), pin.types.end(), [&](const auto& type) {
    const auto found = types.find(type.first);
    return found != types.end() && found->second == type.second;
  });
}

void add_ways(const Answer& answer, std::map<std::string, std::string>& ways) {
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

Json map_object(const std::map<std::string, std::string>& map) {
  Json object = Json::object();
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

template <typename Names>
std::string unknown(const std::string& what, const std::string& name, const Names& names) {
  std::vector<std::string_view> views(names.begin(), names.end());
  std::string known;
  for (const std::string_view each : views) known += (known.empty() ? "" : ", ") + std::string(each);
  return "no " + what + " \"" + name + "\"; there are " + known;
}

class ProfileReader {
 public:
  Result<PinnedProfile> read(const Json& value) {
    PinnedProfile profile;
    if (!read_profile(value, profile)) return tl::unexpected(*fields_.error());
    return profile;
  }

 private:
  bool read_profile(const Json& value, PinnedProfile& profile) {
    std::string format;
    std::int64_t version = 0;
    if (!fields_.object(value, "", {"format", "version", "name", "pins"})) return false;
    if (!fields_.read(value["format"], "format", format) || !fields_.read(value["version"], "version", version) ||
        !fields_.read(value["name"], "name", profile.name) || !fields_.array(value["pins"], "pins", kMostPins)) {
      return false;
    }
    if (format != kFormat) {
      return fields_.refuse("format", "expected \"" + std::string(kFormat) + "\", got \"" + format + "\"");
    }
    if (version != 1) return fields_.refuse("version", "expected 1, got " + std::to_string(version));
    for (std::size_t i = 0; i < value["pins"].size(); ++i) {
      if (!read_pin(value["pins"][i], json_path("pins", i), profile.pins.emplace_back())) return false;
    }
    return true;
  }

  bool read_pin(const Json& value, const std::string& where, Pin& pin) {
    if (!fields_.object(value, where, {"operator", "ways"}, {"types"})) return false;
    if (!fields_.read(value["operator"], json_path(where, "operator"), pin.op_type)) return false;
    const std::optional<Op> op = op_named(pin.op_type);
    if (!op) {
      std::vector<std::string_view> names;
      for (const Op known : kAllOps) names.push_back(name_of(known));
      return fields_.refuse(json_path(where, "operator"), unknown("operator", pin.op_type, names));
    }
    const auto types = value.find("types");
    if (types != value.end() && !read_types(*types, json_path(where, "types"), pin.types)) return false;
    return read_texts_by_key(value["ways"], json_path(where, "ways"), pin.ways) &&
           check_ways(*op, json_path(where, "ways"), pin.ways);
  }

  bool read_types(const Json& value, const std::string& where, std::map<std::string, std::string>& types) {
    if (!fields_.object(value, where, {}, {"x", "w", "y"}) || !read_texts_by_key(value, where, types)) return false;
    for (const auto& [input, type] : types) {
      if (!element_type_named(type)) return fields_.refuse(json_path(where, input), "no type \"" + type + "\"");
    }
    return true;
  }

  bool read_texts_by_key(const Json& value, const std::string& where, std::map<std::string, std::string>& texts) {
    if (!value.is_object()) return fields_.refuse(where, "expected an object, got " + brief(value));
    for (const auto& [key, text] : value.items()) {
      if (!fields_.read(text, json_path(where, key), texts[key])) return false;
    }
    return true;
  }

  bool check_ways(Op op, const std::string& where, const std::map<std::string, std::string>& ways) {
    for (const auto& [id, way] : ways) {
      const Aspect* const aspect = find_aspect(op, id);
      if (aspect == nullptr) {
        std::vector<std::string_view> names;
        for (const Aspect& known : aspects()) {
          if (known.op == op) names.push_back(known.id);
        }
        return fields_.refuse(where, unknown("aspect", id, names));
      }
      if (find_way(*aspect, way) != nullptr) continue;
      std::vector<std::string_view> names;
      for (const Way& known : aspect->ways) names.push_back(known.id);
      return fields_.refuse(json_path(where, id), unknown("way", way, names));
    }
    return true;
  }

  JsonFields fields_;
};

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
  const NodeDescription node = modelled->lowered().description();
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
  Json pins = Json::array();
  for (const Pin& pin : profile.pins) {
    Json entry{{"operator", pin.op_type}};
    if (!pin.types.empty()) entry["types"] = map_object(pin.types);
    entry["ways"] = map_object(pin.ways);
    pins.push_back(std::move(entry));
  }
  return print_json({{"format", kFormat}, {"version", 1}, {"name", profile.name}, {"pins", std::move(pins)}});
}

Result<PinnedProfile> read_pinned_profile_json(std::string_view text) {
  QCONFORM_ASSIGN(const auto json, parse_json(text));
  return ProfileReader().read(json);
}

Result<PinnedProfile> load_pinned_profile(const std::filesystem::path& path) {
  QCONFORM_ASSIGN(const auto text, read_file(path, limits::kJsonFileBytes));
  QCONFORM_ASSIGN(auto profile, in_context(path.string(), read_pinned_profile_json(text)));
  profile.file = path.string();
  return profile;
}

}  // namespace qconform::diagnose

#include "harness/diagnose/identify/identify_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/file.h"
#include "harness/core/profile.h"
#include "harness/describe/json_archives.h"
#include "harness/diagnose/models/modelled_case.h"
#include "harness/json/json_fields.h"

namespace qconform::diagnose {
namespace {

// The types that a pin may speak of.
TextsByKey types_of(const Form& form) {
  TextsByKey types{{"x", name_of(form.x)}};
  if (form.w != ElementType::undefined) types["w"] = name_of(form.w);
  if (form.y != ElementType::undefined) types["y"] = name_of(form.y);
  return types;
}

TextsByKey types_of(const Case& test_case, const ModelledCase& modelled) {
  TextsByKey types{{"y", name_of(modelled.lowered().output_type())}};
  const auto inputs = modelled.op().inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].role != InputRole::parameter) types[std::string(inputs[i].name)] = name_of(test_case.input(i)->type);
  }
  return types;
}

bool speaks_of(const Pin& pin, const TextsByKey& types) {
  return std::all_of(pin.types.begin(), pin.types.end(), [&](const auto& type) {
    const auto found = types.find(type.first);
    return found != types.end() && found->second == type.second;
  });
}

void add_variants(const Answer& answer, TextsByKey& variants) {
  for (std::size_t a = 0; a < answer.choices.size(); ++a) {
    const Choice& choice = *answer.choices[a];
    variants[choice.id] =
        answer.forms.empty() ? choice.variants.front().id : answer.survivors().front()->variants[a]->id;
  }
}

// Where answers differ by types, each set of types has a pin of its own, which holds what is common too.
void add_pins(const Identification& identification, std::string_view op_type, PinnedProfile& profile) {
  Pin common{std::string(op_type), {}, {}};
  bool takes_any = false;
  std::vector<const Answer*> by_types;
  for (const Answer& answer : identification.answers) {
    if (answer.op_type != op_type) continue;
    takes_any = takes_any || !answer.forms.empty();
    if (answer.by_types) {
      by_types.push_back(&answer);
    } else if (!answer.survivors().empty() && answer.narrowed.empty()) {
      add_variants(answer, common.variants);
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
      profile.pins.push_back({common.op_type, types, common.variants});
      present = std::prev(profile.pins.end());
    }
    add_variants(*answer, present->variants);
  }
}

tl::unexpected<Error> unknown(std::string where, const char* what, const std::string& name,
                              std::span<const std::string_view> known) {
  return fail(std::move(where), fmt::format("no {} \"{}\"; there are {}", what, name, fmt::join(known, ", ")));
}

Result<void> check_variant(std::string_view op_type, const std::string& id, const std::string& name,
                           const std::string& where) {
  std::vector<std::string_view> known;
  const Choice* const choice = find_choice(op_type, id);
  if (choice == nullptr) {
    for (const Choice& each : choices()) {
      if (each.op_type == op_type) known.push_back(each.id);
    }
    return unknown(where, "choice", id, known);
  }
  if (find_variant(*choice, name) != nullptr) return {};
  for (const Variant& variant : choice->variants) known.push_back(variant.id);
  return unknown(json_path(where, id), "variant", name, known);
}

Result<void> check(const Pin& pin, const std::string& where) {
  if (find_operator("", pin.op_type) == nullptr)
    return unknown(json_path(where, "operator"), "operator", pin.op_type, operator_names());
  const std::string types = json_path(where, "types");
  for (const auto& [input, type] : pin.types) {
    if (!element_type_named(type)) return fail(json_path(types, input), fmt::format("no type \"{}\"", type));
  }
  for (const auto& [id, name] : pin.variants)
    QCONFORM_TRY(check_variant(pin.op_type, id, name, json_path(where, "ways")));
  return {};
}

}  // namespace

PinnedProfile pinned_profile(const Identification& identification) {
  PinnedProfile profile{identification.backend.name + " " + identification.backend.version, {}};
  for (const Operator& known : operators()) add_pins(identification, known.name, profile);
  return profile;
}

std::optional<Tensor> pinned_output(const Case& test_case, const Classification& classification,
                                    const PinnedProfile& profile) {
  const auto modelled = ModelledCase::prepare(test_case, classification);
  if (modelled == nullptr) return std::nullopt;
  const auto types = types_of(test_case, *modelled);
  const auto pin = std::find_if(profile.pins.begin(), profile.pins.end(),
                                [&](const Pin& p) { return p.op_type == modelled->op().name && speaks_of(p, types); });
  if (pin == profile.pins.end()) return std::nullopt;
  Stages stages;
  for (const Choice& choice : choices()) {
    if (choice.op_type != modelled->op().name || !choice.concerns(modelled->lowered())) continue;
    const auto variant = pin->variants.find(choice.id);
    if (variant == pin->variants.end()) return std::nullopt;
    find_variant(choice, variant->second)->replace(stages);
  }
  return modelled->run(stages);
}

Profile named_profile_like(const PinnedProfile& profile) {
  for (const Pin& pin : profile.pins) {
    const Family* family = family_of("", pin.op_type);
    if (!pin.types.empty() || family == nullptr || family->profile_of == nullptr) continue;
    if (const auto like = family->profile_of(pin)) return *like;
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

namespace qconform {
namespace {

// What cannot be the name of a profile is the path of a file.
bool is_file(const std::string& profile) {
  return profile.find_first_of("/.") != std::string::npos;
}

Result<Policy> pinned_policy(const std::string& file) {
  QCONFORM_ASSIGN(auto pinned, in_context("--profile", diagnose::load_pinned_profile(file)));
  Policy policy;
  policy.profile = diagnose::named_profile_like(pinned);
  policy.pinned = std::make_shared<const PinnedProfile>(std::move(pinned));
  return policy;
}

Result<Policy> named_policy(const std::string& name) {
  if (const auto profile = profile_named(name)) return Policy{*profile};
  std::string known;
  for (const ProfileInfo& info : profiles()) known += (known.empty() ? "" : ", ") + std::string(info.name);
  return fail("--profile", fmt::format("expected one of {}, or a file, got \"{}\"", known, name));
}

}  // namespace

Result<Policy> policy_named(const std::string& profile, const std::string& overflow) {
  QCONFORM_ASSIGN(auto policy, is_file(profile) ? pinned_policy(profile) : named_policy(profile));
  if (overflow != "wrap" && overflow != "permissive") {
    return fail("--overflow", fmt::format("expected wrap or permissive, got \"{}\"", overflow), "C17");
  }
  policy.overflow = overflow == "wrap" ? OverflowPolicy::wrap : OverflowPolicy::permissive;
  return policy;
}

}  // namespace qconform

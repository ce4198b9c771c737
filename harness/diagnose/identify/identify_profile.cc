#include "harness/diagnose/identify/identify_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/base/file.h"
#include "harness/core/profile.h"
#include "harness/describe/json_archives.h"
#include "harness/diagnose/models/modelled_case.h"
#include "harness/json/json_fields.h"

namespace qconform::diagnose {
namespace {

void add_variants(const Answer& answer, TextsByKey& variants) {
  for (std::size_t a = 0; a < answer.choices.size(); ++a) {
    const Choice& choice = *answer.choices[a];
    variants[choice.id] =
        answer.forms.empty() ? choice.variants.front().id : answer.survivors().front()->variants[a]->id;
  }
}

// What is pinned of one kind of node.
TextsByKey variants_for(const Identification& identification, std::string_view op_type, const NodeKind& kind,
                        bool with_narrowed) {
  TextsByKey variants;
  for (const Answer& answer : identification.answers) {
    const bool is_answered = !answer.survivors().empty() && (with_narrowed || answer.narrowed.empty());
    const bool is_pinned = answer.forms.empty() || is_answered;
    if (answer.op_type == op_type && is_pinned && any_matches(answer.only, kind)) add_variants(answer, variants);
  }
  return variants;
}

std::vector<NodeKind> kinds_asked(const Identification& identification, std::string_view op_type) {
  std::vector<NodeKind> kinds;
  for (const Answer& answer : identification.answers) {
    for (const Form& form : answer.forms) {
      const bool is_new =
          answer.op_type == op_type && std::find(kinds.begin(), kinds.end(), form.kind()) == kinds.end();
      if (is_new) kinds.push_back(form.kind());
    }
  }
  return kinds;
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
  const auto layouts = family_of("", pin.op_type)->layouts;
  if (!pin.layout.empty() && std::find(layouts.begin(), layouts.end(), pin.layout) == layouts.end())
    return unknown(json_path(where, "layout"), "layout", pin.layout, layouts);
  for (const auto& [id, name] : pin.variants)
    QCONFORM_TRY(check_variant(pin.op_type, id, name, json_path(where, "ways")));
  return {};
}

}  // namespace

KindPattern pattern_of(const Pin& pin) {
  KindPattern pattern = pin.types;
  if (!pin.layout.empty()) pattern["layout"] = pin.layout;
  return pattern;
}

std::vector<Pin> pins_of(const Identification& identification, std::string_view op_type, bool with_narrowed) {
  std::vector<Pin> pins;
  std::vector<TextsByKey> variants;
  std::vector<std::vector<NodeKind>> groups;
  for (const NodeKind& kind : kinds_asked(identification, op_type)) {
    TextsByKey of_kind = variants_for(identification, op_type, kind, with_narrowed);
    const auto same = std::find(variants.begin(), variants.end(), of_kind);
    if (same == variants.end()) {
      variants.push_back(std::move(of_kind));
      groups.push_back({kind});
    } else {
      groups[static_cast<std::size_t>(same - variants.begin())].push_back(kind);
    }
  }
  const auto patterns = tell_apart(groups);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const KindPattern& pattern : patterns[i]) {
      Pin pin{std::string(op_type), pattern, {}, variants[i]};
      const auto layout = pin.types.extract("layout");
      if (!layout.empty()) pin.layout = layout.mapped();
      pins.push_back(std::move(pin));
    }
  }
  return pins;
}

PinnedProfile pinned_profile(const Identification& identification) {
  PinnedProfile profile{identification.backend.name + " " + identification.backend.version, {}};
  for (const Operator& known : operators()) {
    std::vector<Pin> pins = pins_of(identification, known.name, false);
    std::move(pins.begin(), pins.end(), std::back_inserter(profile.pins));
  }
  return profile;
}

std::optional<Tensor> pinned_output(const Case& test_case, const Classification& classification,
                                    const PinnedProfile& profile) {
  const auto modelled = ModelledCase::prepare(test_case, classification);
  if (modelled == nullptr) return std::nullopt;
  const NodeKind kind = kind_of(*modelled);
  const auto pin = std::find_if(profile.pins.begin(), profile.pins.end(), [&](const Pin& p) {
    return p.op_type == modelled->op().name && matches(pattern_of(p), kind);
  });
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
    if (!pin.types.empty() || !pin.layout.empty() || family == nullptr || family->profile_of == nullptr) continue;
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

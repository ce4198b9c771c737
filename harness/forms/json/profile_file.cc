#include "harness/forms/json/profile_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "harness/base/file.h"
#include "harness/core/limits.h"
#include "harness/forms/archive/archive.h"
#include "harness/forms/json/json_text.h"
#include "harness/model/defects/arithmetic.h"

namespace qconform::diagnose {
namespace {

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
  const auto layouts = family_of("", pin.op_type)->arithmetic.layouts;
  if (!pin.layout.empty() && std::find(layouts.begin(), layouts.end(), pin.layout) == layouts.end())
    return unknown(json_path(where, "layout"), "layout", pin.layout, layouts);
  for (const auto& [id, name] : pin.variants)
    QCONFORM_TRY(check_variant(pin.op_type, id, name, json_path(where, "ways")));
  return {};
}

}  // namespace

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

// Whether `profile` is the path of a file: a text with '/' or '.' cannot be the name of a profile.
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

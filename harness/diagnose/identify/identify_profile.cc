#include "harness/diagnose/identify/identify_profile.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace qconform::diagnose {
namespace {

void add_variants(const Answer& answer, TextsByKey& variants) {
  for (std::size_t a = 0; a < answer.choices.size(); ++a) {
    const Choice& choice = *answer.choices[a];
    variants[choice.id] =
        answer.forms.empty() ? choice.variants.front().id : answer.survivors().front()->variants[a]->id;
  }
}

// Returns the variants that are pinned for one kind of node.
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

}  // namespace

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

}  // namespace qconform::diagnose

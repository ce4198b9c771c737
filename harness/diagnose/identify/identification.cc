#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "harness/diagnose/identify/identify.h"
#include "harness/forms/json/case_json.h"

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
    for (const ProbeForm& form : answer.forms) {
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

namespace {

Json variants_object(const Answer& answer, const Candidate& candidate) {
  Json variants = Json::object();
  for (std::size_t a = 0; a < answer.choices.size(); ++a) variants[answer.choices[a]->id] = candidate.variants[a]->id;
  return variants;
}

Json survivor_object(const Answer& answer, const Candidate& candidate) {
  Json formulas = Json::object();
  Json defects = Json::array();
  for (std::size_t a = 0; a < answer.choices.size(); ++a) {
    const Variant& variant = *candidate.variants[a];
    const Variant* const settling = answer.settling(candidate, a);
    formulas[answer.choices[a]->id] = settling == nullptr ? variant.formula : settling->settled_as;
    if (!variant.defect.empty()) defects.push_back(variant.defect);
  }
  return {{"ways", variants_object(answer, candidate)},
          {"formulas", std::move(formulas)},
          {"defects", std::move(defects)},
          {"confirmed_elements", candidate.confirmed_elements},
          {"confirmed_cases", candidate.confirmed_cases}};
}

Json eliminated_object(const Answer& answer, const Candidate& candidate) {
  const Refutation& by = *candidate.refutation;
  return {{"ways", variants_object(answer, candidate)},
          {"refuted_elements", candidate.refuted_elements},
          {"refuted_cases", candidate.refuted_cases},
          {"by", {{"case", by.test_case.id}, {"element", by.element}, {"got", by.got}, {"predicted", by.predicted}}}};
}

bool has_input(std::string_view op_type, std::string_view name) {
  const auto inputs = find_operator("", op_type)->inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](const InputSignature& input) { return input.name == name; });
}

Json form_object(const ProbeForm& form) {
  NodeKind types = form.kind();
  types.layout = {};
  Json object{{"types", text_of(types)}, {"opset_version", form.version}, {"rank", form.rank}};
  if (!form.layout.empty()) object["layout"] = form.layout;
  if (has_input(form.op_type, "w_scale")) object["channel_scales"] = form.channel_scales;
  if (has_input(form.op_type, "B")) object["bias"] = form.bias;
  object["x_zero_point"] = form.x_zero_point;
  object["w_zero_point"] = form.w_zero_point;
  object["y_zero_point"] = form.y_zero_point;
  return object;
}

Json answer_object(const Answer& answer) {
  Json choices = Json::array();
  for (const Choice* const choice : answer.choices) choices.push_back(choice->id);
  Json forms = Json::array();
  for (const ProbeForm& form : answer.forms) forms.push_back(form_object(form));
  Json survivors = Json::array();
  Json eliminated = Json::array();
  // Without a form nothing was asked, and nothing is left over.
  for (const Candidate& candidate : answer.candidates) {
    if (answer.forms.empty()) break;
    if (candidate.survives()) {
      survivors.push_back(survivor_object(answer, candidate));
    } else {
      eliminated.push_back(eliminated_object(answer, candidate));
    }
  }
  Json object{{"operator", answer.op_type}, {"aspects", std::move(choices)}, {"by_types", !answer.only.empty()},
              {"forms", std::move(forms)},  {"cases", answer.cases},         {"elements", answer.elements}};
  if (!answer.only.empty()) object["holds_for"] = answer.holds_for;
  if (!answer.narrowed.empty()) object["narrowed"] = answer.narrowed;
  if (!answer.declined.empty()) object["declined"] = text_json(answer.declined);
  object["survivors"] = std::move(survivors);
  object["eliminated"] = std::move(eliminated);
  return object;
}

// Each case once, in the order in which they eliminated something.
Json refuting_cases(const Identification& identification) {
  Json cases = Json::array();
  std::set<std::string> known;
  for (const Answer& answer : identification.answers) {
    for (const Candidate& candidate : answer.candidates) {
      if (!candidate.refutation || !known.insert(candidate.refutation->test_case.id).second) continue;
      cases.push_back(case_object(candidate.refutation->test_case));
    }
  }
  return cases;
}

}  // namespace

std::string identification_json(const Identification& identification) {
  Json answers = Json::array();
  for (const Answer& answer : identification.answers) answers.push_back(answer_object(answer));
  return print_json({{"format", "qconform-identification"},
                     {"version", 1},
                     {"backend",
                      {{"name", identification.backend.name},
                       {"version", identification.backend.version},
                       {"kind", identification.backend.kind}}},
                     {"seed", identification.seed},
                     {"cases", identification.cases},
                     {"answers", std::move(answers)},
                     {"refuting_cases", refuting_cases(identification)}});
}

}  // namespace qconform::diagnose

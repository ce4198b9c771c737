#include "harness/backends/libraries/onnxruntime/onnxruntime_form.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "harness/model/operator.h"

namespace qconform {
namespace {

constexpr std::size_t kDrawnForms = 5;  // of the first ones one is drawn for a case of one node

// The form of a drawn graph is a part of its id, "graphs-1-28.loop", which derived cases keep.
const OrtForm& form_in(std::string_view id) {
  if (!id.starts_with("graphs-")) return kOrtForms[0];
  const auto stands_in = [&](const OrtForm& form) { return id.find("." + std::string(form.word)) != id.npos; };
  const auto* found = std::find_if(kOrtForms.begin() + kDrawnForms, kOrtForms.end(), stands_in);
  return found == kOrtForms.end() ? kOrtForms[0] : *found;
}

// Half the cases of one node stand as in a model in use. The id draws the form: a case keeps it while it is shrunk.
// Waivers record what the drawn forms show: another draw is another record.
const OrtForm& drawn_form(const Case& test_case) {
  if (is_judged_as_graph(test_case)) return form_in(test_case.id);
  constexpr std::string_view kShrunk = ".shrunk";
  std::string_view name = test_case.id;
  if (name.ends_with(kShrunk)) name.remove_suffix(kShrunk.size());
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  hash ^= hash >> 32U;
  return hash % 2 == 0 ? kOrtForms[0] : kOrtForms[1 + hash / 2 % (kDrawnForms - 1)];
}

std::vector<std::size_t> all_inputs(const Case& test_case) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    if (test_case.inputs[i]) positions.push_back(i);
  }
  return positions;
}

}  // namespace

const OrtForm* ort_form_named(std::string_view word) {
  const auto* found =
      std::find_if(kOrtForms.begin(), kOrtForms.end(), [&](const OrtForm& form) { return form.word == word; });
  return found == kOrtForms.end() ? nullptr : found;
}

Result<FedModel> ort_graph_model(const Case& test_case, const OrtForm* form) {
  const OrtForm& used = form != nullptr ? *form : drawn_form(test_case);
  return ort_model(test_case, used.model.place == ModelForm::Place::graph ? &used : kOrtForms.data());
}

Result<FedModel> ort_model(const Case& test_case, const OrtForm* form) {
  const OrtForm& used = form != nullptr ? *form : drawn_form(test_case);
  FedModel model{{}, used.feeds_all ? all_inputs(test_case) : data_inputs(test_case)};
  QCONFORM_ASSIGN(model.bytes, case_to_fed_model(test_case, model.fed, used.model));
  return model;
}

std::string told_of_nodes(std::string message) {
  constexpr std::string_view kBeginnings[] = {
      "Non-zero status code returned while running If node. Name:'' Status Message: ",
      "Non-zero status code returned while running Loop node. Name:'' Status Message: ",
      "Node () Op (If) [TypeInferenceError] Graph attribute inferencing failed: ",
      "Node () Op (Loop) [TypeInferenceError] Graph attribute inferencing failed: "};
  for (const std::string_view beginning : kBeginnings) {
    if (message.starts_with(beginning)) message.erase(0, beginning.size());
  }
  return message;
}

}  // namespace qconform

#include "harness/backends/libraries/onnxruntime/onnxruntime_form.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "harness/model/operator.h"

namespace qconform {
namespace {

// Half the cases stand as in a model in use. By the case's name, which it keeps while it is shrunk. Waivers record what
// the drawn forms show: another draw is another record. Graphs stand as in a model in use: what a runtime fuses there
// is what they are for.
const OrtForm& drawn_form(const Case& test_case) {
  if (is_judged_as_graph(test_case)) return kOrtForms[0];
  constexpr std::string_view kShrunk = ".shrunk";
  std::string_view name = test_case.id;
  if (name.ends_with(kShrunk)) name.remove_suffix(kShrunk.size());
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  hash ^= hash >> 32U;
  return hash % 2 == 0 ? kOrtForms[0] : kOrtForms[1 + hash / 2 % (kOrtForms.size() - 1)];
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

Result<FedModel> ort_model(const Case& test_case, const OrtForm* form) {
  const OrtForm& used = form != nullptr ? *form : drawn_form(test_case);
  FedModel model{{}, used.feeds_all ? all_inputs(test_case) : data_inputs(test_case)};
  QCONFORM_ASSIGN(model.bytes, case_to_fed_model(test_case, model.fed, used.model));
  return model;
}

}  // namespace qconform

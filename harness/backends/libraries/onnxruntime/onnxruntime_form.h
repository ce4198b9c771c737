// The models that ONNX Runtime is given: how the node stands in them, and what is fed.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/onnx/case_model.h"

namespace qconform {

/// How the node stands in the model: other code of the library runs behind each form.
struct OrtForm {
  std::string_view word;
  bool feeds_all;  ///< or the data alone, as in a model in use: weights and parameters are constants that it may repack
  ModelForm model;
};
inline constexpr std::array kOrtForms{
    OrtForm{"initializers", false, {}},
    OrtForm{"constants", false, {ModelForm::Storage::constants, ModelForm::Shapes::stated}},
    OrtForm{"inputs", true, {}},
    OrtForm{"symbolic-shapes", true, {ModelForm::Storage::initializers, ModelForm::Shapes::symbolic}},
    OrtForm{"unknown-shapes", true, {ModelForm::Storage::initializers, ModelForm::Shapes::unknown}},
};
inline constexpr std::string_view kOrtFormNames = "initializers, constants, inputs, symbolic-shapes or unknown-shapes";

/// Null where none has that word.
[[nodiscard]] const OrtForm* ort_form_named(std::string_view word);

struct FedModel {
  std::string bytes;             ///< a serialized ModelProto
  std::vector<std::size_t> fed;  ///< positions of the case's inputs that are the graph's, by input_names()
};
/// Without a form, the one that is drawn for the case by its id. Fails where the case is no model: case_to_fed_model().
[[nodiscard]] Result<FedModel> ort_model(const Case& test_case, const OrtForm* form);

}  // namespace qconform

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
    OrtForm{"branches", false, {.place = ModelForm::Place::branches}},
    OrtForm{"loop", false, {.place = ModelForm::Place::loop}},
};
inline constexpr std::string_view kOrtFormNames =
    "initializers, constants, inputs, symbolic-shapes, unknown-shapes, branches or loop";

/// Null where none has that word.
[[nodiscard]] const OrtForm* ort_form_named(std::string_view word);

struct FedModel {
  std::string bytes;             ///< a serialized ModelProto
  std::vector<std::size_t> fed;  ///< positions of the case's inputs that are the graph's, by input_names()
};
/// Without a form, the one that the id of a drawn graph names, or that is drawn by the id. Fails where the case is no
/// model: case_to_fed_model().
[[nodiscard]] Result<FedModel> ort_model(const Case& test_case, const OrtForm* form);
/// As ort_model(), but the nodes stand in the graph in any form: there it shows how they are rewritten.
[[nodiscard]] Result<FedModel> ort_graph_model(const Case& test_case, const OrtForm* form);
/// The library's message without what it says first of the If or Loop that a form adds.
[[nodiscard]] std::string told_of_nodes(std::string message);

}  // namespace qconform

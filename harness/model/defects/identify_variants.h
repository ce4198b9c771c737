// Differences between implementations of an operator: choices of its arithmetic, each with the variants that are known,
// as replaced stages.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/defects/defect.h"
#include "harness/model/operator.h"

namespace qconform::diagnose {

struct Variant {
  std::string id;       ///< "ort-f32"
  std::string formula;  ///< "A * ((sx * sw) / sy)": one line for the reader
  std::function<void(Stages&)> replace;
  std::string_view defect = {};   ///< the defect model that computes the same, if there is one
  std::string_view settles = {};  ///< the later choice that it leaves nothing of: a product that is an integer,
  std::string settled_as = {};    ///< and what is said of that choice then: "Q31: the product rounds twice"
};

/// One question about an operator.
struct Choice {
  std::string id;  ///< "product": unique within the operator
  std::string_view op_type;
  std::string question;  ///< what it is about, one line
  /// Whether the choice has a say in what this node computes.
  bool (*concerns)(const Lowered& node);
  std::vector<Variant> variants;  ///< the reference's own comes first
};

/// All choices, operator by operator, in the order in which their stages are to be replaced: a later choice may look at
/// what an earlier one has set.
[[nodiscard]] std::span<const Choice> choices();
/// These return the choice or variant of that id, or null.
[[nodiscard]] const Choice* find_choice(std::string_view op_type, std::string_view id);
[[nodiscard]] const Variant* find_variant(const Choice& choice, std::string_view id);

/// How a scaled value becomes an integer: of every operator that quantizes.
[[nodiscard]] std::vector<Variant> rounding_variants();
[[nodiscard]] std::vector<Variant> conversion_variants();
/// The stages of a defect model as a variant.
[[nodiscard]] Variant variant_of_defect(std::string id, std::string formula, std::string_view defect);
/// The reference's own variant.
[[nodiscard]] Variant plain_variant(std::string id, std::string formula);

}  // namespace qconform::diagnose

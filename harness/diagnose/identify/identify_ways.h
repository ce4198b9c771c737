// What implementations of an operator do differently: aspects of its arithmetic, each with the ways that
// are known, as replaced stages.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/diagnose/models/defect.h"
#include "harness/operators/operator.h"

namespace qconform::diagnose {

struct Way {
  std::string id;       ///< "ort-f32"
  std::string formula;  ///< "A * ((sx * sw) / sy)": one line for the reader
  std::function<void(Stages&)> replace;
  std::string_view defect = {};  ///< the defect model that computes the same, if there is one
};

/// One question about an operator.
struct Aspect {
  std::string id;  ///< "product": unique within the operator
  std::string_view op_type;
  std::string question;  ///< what it is about, one line
  /// Whether it has a say in what this node computes.
  bool (*concerns)(const Lowered& node);
  std::vector<Way> ways;  ///< the reference's own comes first
};

/// All of them, operator by operator, in the order in which their stages are to be replaced: a later
/// aspect may look at what an earlier one has set.
[[nodiscard]] std::span<const Aspect> aspects();
/// Null when there is none.
[[nodiscard]] const Aspect* find_aspect(std::string_view op_type, std::string_view id);
[[nodiscard]] const Way* find_way(const Aspect& aspect, std::string_view id);

/// How a scaled value becomes an integer: of every operator that quantizes.
[[nodiscard]] std::vector<Way> rounding_ways();
[[nodiscard]] std::vector<Way> conversion_ways();
/// The stages of a defect model as a way.
[[nodiscard]] Way way_of_defect(std::string id, std::string formula, std::string_view defect);
/// The reference's own.
[[nodiscard]] Way plain_way(std::string id, std::string formula);

}  // namespace qconform::diagnose

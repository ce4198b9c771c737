// Nodes that differ in one thing: what a backend that remembers nodes by an incomplete key takes for one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/core/case.h"

namespace qconform {

/// A change of one thing of a node: a zero point, a scale, an element of the weights, their order, an attribute. The
/// result may be out of contract; a case that has not the thing stays as it is.
using NodeChange = std::function<void(Case&)>;

/// The changes that the case has something for: zero points and attributes first, values last.
[[nodiscard]] std::vector<NodeChange> node_changes(const Case& test_case);

/// Names what tells two cases apart: "x_zero_point", "the last element of w", "the order of w", "pads and y_scale",
/// "the shape of x". Empty where that is more than three things, or nothing.
[[nodiscard]] std::string difference_text(const Case& one, const Case& other);

/// Likewise, with tensors alone in the place of their elements: "w".
[[nodiscard]] std::string differing_parts(const Case& one, const Case& other);

/// Says what runs before the case: "a node that differs in x_zero_point alone", "another node", "3 other nodes", "other
/// nodes" where they are not known.
[[nodiscard]] std::string after_text(const Case& test_case);

}  // namespace qconform

// How RapidCheck prints a counterexample that is a tensor or a case.
#pragma once

#include <rapidcheck.h>

#include <optional>
#include <ostream>
#include <variant>

#include "harness/core/case.h"
#include "harness/core/tensor.h"

namespace qconform {

inline void showValue(const Tensor& tensor, std::ostream& out) {
  out << name_of(tensor.type) << shape_text(tensor.shape) << " ";
  rc::show(tensor.bytes.size(), out);
  out << " bytes";
}

inline void showValue(const Case& test_case, std::ostream& out) {
  out << "Case " << test_case.node().domain << "::" << test_case.node().op_type << "-" << test_case.node().opset_version
      << " attributes ";
  for (const Attribute& attribute : test_case.node().attributes) {
    out << attribute.name << "=";
    std::visit([&](const auto& value) { rc::show(value, out); }, attribute.value);
    out << "; ";
  }
  out << "inputs ";
  for (const std::optional<Tensor>& input : test_case.inputs) {
    if (input) {
      showValue(*input, out);
    } else {
      out << "omitted";
    }
    out << "; ";
  }
  out << name_of(test_case.expectation) << " rules " << test_case.rules.size() << " tags " << test_case.tags.size()
      << " recorded " << test_case.recorded_outputs.size();
}

}  // namespace qconform

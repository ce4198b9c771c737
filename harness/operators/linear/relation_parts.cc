#include "harness/operators/linear/relation_parts.h"

#include "harness/operators/linear/contract.h"
#include "harness/operators/linear/linear.h"

namespace qconform::relations {

const Linear* linear_of(const Subject& subject) {
  return dynamic_cast<const Linear*>(subject.parts.get());
}

std::unique_ptr<const Parts> take_linear_apart(const Case& test_case, const Lowered& lowered) {
  const bool quantizes = test_case.node().op_type == quantize_linear_operator().name;
  const Operator& known = *operator_of(test_case);
  reference::Contract contract;
  const NodeReader reader(test_case, known.inputs, contract);
  auto parameters =
      read_quantization(reader, quantizes ? "y_scale" : "x_scale", quantizes ? "y_zero_point" : "x_zero_point",
                        static_cast<int>(known.version_at(test_case.node().opset_version)), contract);
  auto result = std::make_unique<Linear>();
  result->layout = parameters->layout;
  result->scale = std::move(parameters->scale);
  result->zero_point = std::move(parameters->zero_point);
  result->y_type = lowered.output_type();
  return result;
}

}  // namespace qconform::relations

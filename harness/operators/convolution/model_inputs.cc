#include "harness/operators/convolution/suites.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/onnx/node_attributes.h"
#include "harness/onnx/shape_propagation.h"

namespace qconform {

using Shape = std::vector<std::int64_t>;

// [N, C, spatial...] for a weight [M, C/group, kernel...].
Result<InputShape> convolution_data_shape(const NodeInputs& inputs) {
  const auto unusable = fail("", "size: weights of unknown or unusable shape", "skip");
  const auto w = full_shape(inputs.facts("w").shape);
  if (!w || w->size() < 3) return unusable;
  const auto facts = inputs.facts("x");
  PartialShape known = facts.shape && facts.shape->size() == w->size() ? *facts.shape : PartialShape(w->size());
  std::int64_t channels = 0;
  const std::int64_t group = int_attribute(inputs.node, "group", 1);
  if (__builtin_mul_overflow((*w)[1], group, &channels) || channels < 0) return unusable;
  if (!known[1]) known[1] = channels;
  Shape windows(w->size(), 1);
  Shape assumed;  // the least that is assumed
  for (std::size_t i = 2; i < known.size(); ++i) {
    if (known[i]) continue;
    const auto extent = window_extent(inputs.node, (*w)[i], i - 2);
    if (!extent) return unusable;
    windows[i] = std::max<std::int64_t>(*extent, 1);
    assumed.push_back(windows[i]);
  }
  if (saturated_elements(assumed) > kAssumedElements) {
    return fail("", "size: a window larger than an input whose size the model does not tell is assumed to be", "skip");
  }
  return InputShape{assumed_shape(known, windows),
                    assumed.empty() ? "" : "spatial size of x assumed, the model does not tell it"};
}

Result<Shape> convolution_parameter_shape(const NodeInputs& inputs, std::string_view name) {
  constexpr std::int64_t kUnknown = -1;
  const PartialShape w = inputs.facts("w").shape.value_or(PartialShape{});
  const std::int64_t channels = w.empty() ? kUnknown : w.front().value_or(kUnknown);
  if (name == "B" && channels != kUnknown) return Shape{channels};
  if (name == "B" || name == "w") return fail("", fmt::format("size: input {} of unknown shape", name), "skip");
  const PartialShape known = parameter_facts(inputs, name).value_or(PartialShape{});
  Shape shape;
  const std::int64_t assumed = name.starts_with("w") && channels != kUnknown ? channels : 1;
  for (const auto& size : known) shape.push_back(size.value_or(assumed));
  return shape;
}

}  // namespace qconform

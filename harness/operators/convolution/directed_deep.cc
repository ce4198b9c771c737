#include "harness/operators/convolution/directed_deep.h"

#include <string>

#include "harness/operators/case_builder.h"
#include "harness/operators/convolution/directed_draft.h"
#include "harness/suites/random_values.h"

namespace qconform::directed {
namespace {

struct Extreme {
  ElementType type;
  std::int64_t zero_point;
  std::int64_t value;  ///< 255 away from the zero point
};

Extreme draw_extreme(Rng& rng) {
  const bool is_signed = rng.chance(1, 2);
  const bool high = rng.chance(1, 2);
  const std::int64_t lo = is_signed ? -128 : 0;
  return {is_signed ? ElementType::int8 : ElementType::uint8, high ? lo : lo + 255, high ? lo + 255 : lo};
}

// One in 20 elements is random, so that low bits vary.
Tensor draw_data(Rng& rng, const Extreme& extreme, std::vector<std::int64_t> shape) {
  Tensor tensor{extreme.type, std::move(shape), {}};
  tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()));
  rng.fill(tensor.bytes);
  sprinkle(rng, tensor, extreme.value, 19, 20);
  return tensor;
}

}  // namespace

Case deep_convolution(Rng& rng, std::string_view op_type, std::int64_t products) {
  const std::int64_t kernel = rng.chance(1, 2) ? 1 : 3;
  const std::int64_t taps = kernel * kernel;
  const std::int64_t channels = (products + taps - 1) / taps;
  const std::int64_t size = kernel - 1 + rng.between(1, 2);
  const std::int64_t outputs = rng.between(1, 3);
  const Extreme x = draw_extreme(rng);
  const Extreme w = draw_extreme(rng);
  Case result;
  result.node().op_type = std::string(op_type);
  result.node().opset_version = 10;
  Tensor x_data = draw_data(rng, x, {1, channels, size, size});
  Tensor w_data = draw_data(rng, w, {outputs, channels, kernel, kernel});
  const Tensor one = make::float32(1.0F);
  Tensor x_zero_point = tensor8(x.type, {}, {x.zero_point});
  Tensor w_zero_point = tensor8(w.type, {}, {w.zero_point});
  if (op_type == "ConvInteger") {
    result.inputs = {std::move(x_data), std::move(w_data), std::move(x_zero_point), std::move(w_zero_point)};
    return result;
  }
  const ElementType y_type = rng.chance(1, 2) ? ElementType::int8 : ElementType::uint8;
  result.inputs = {std::move(x_data),       one, std::move(x_zero_point), std::move(w_data), one,
                   std::move(w_zero_point), one, tensor8(y_type, {}, {0})};
  return result;
}

}  // namespace qconform::directed

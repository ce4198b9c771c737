// Data and parameters of a convolution from their classes.
#pragma once

#include <vector>

#include "harness/core/tensor.h"
#include "harness/operators/convolution/sweep_model.h"
#include "harness/suites/random_values.h"
#include "harness/suites/rng.h"
#include "reference/convolution/geometry.h"

namespace qconform::sweep::convolution {

struct Shape {
  std::int64_t batch = 1;
  Channels channels{};
  std::vector<reference::SpatialAxis> axes;  ///< pads as the attribute has them
};

/// Everything that goes into the node but its attributes. Parameters of w: one for each output channel.
struct Values {
  Tensor x;
  Tensor w;
  ElementType y_type = ElementType::int32;
  std::int64_t x_zero_point = 0;
  std::vector<std::int64_t> w_zero_point;
  std::int64_t y_zero_point = 0;
  float x_scale = 1;
  std::vector<float> w_scale;
  float y_scale = 1;
  std::vector<std::int32_t> bias;  ///< or empty
};

struct Drawn {
  Values values;
  bool in_class = true;      ///< scales and data have their classes; the others have them always
  bool detects_much = true;  ///< the output is neither nearly all saturated nor all alike
};

[[nodiscard]] Drawn draw_values(Rng& rng, const Row& row, const Shape& shape);

/// The classes of a valid convolution of the model.
[[nodiscard]] Row classify_convolution(const Case& test_case);

}  // namespace qconform::sweep::convolution

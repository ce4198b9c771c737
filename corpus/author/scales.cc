#include <limits>

#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

QLinearConvBuilder start(std::string id, std::string note) {
  return vector<QLinearConvBuilder>(std::move(id), std::move(note), {"C21"}, {"odd-scale"})
      .x(make::uint8({1, 1, 3}, {1, 2, 3}))
      .w(make::int8({1, 1, 1}, {10}))
      .y_zero_point(5);
}

}  // namespace

void write_scales(Topics& topics) {
  Topic& topic = topics.emplace_back("qlinear_conv/scales.json");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  topic.tolerated(start("x-scale-nan", "an error, or any bytes; no crash").x_scale(nan));
  topic.tolerated(start("w-scale-infinite", "an error, or any bytes; no crash").w_scale(inf));
  topic.tolerated(start("y-scale-nan", "an error, or any bytes; no crash").y_scale(nan));
  topic.tolerated(start("y-scale-infinite", "an error, or any bytes; no crash").y_scale(inf));
  topic.tolerated(start("y-scale-zero", "division by zero: an error, or any bytes; no crash").y_scale(0.0F));
  topic.tolerated(start("x-scale-zero", "every v is 0: the zero point, or an error").x_scale(0.0F));
  topic.tolerated(start("w-scale-zero-in-one-channel", "that channel is the zero point, or an error")
                      .w(make::int8({2, 1, 1}, {10, 10}))
                      .w_scale({1.0F, 0.0F})
                      .w_zero_point({0, 0}));
  topic.tolerated(start("x-scale-negative", "the formula holds with its sign, or an error").x_scale(-1.0F));
  topic.tolerated(start("y-scale-negative", "the formula holds with its sign, or an error").y_scale(-2.0F));
  topic.computed(
      start("scales-at-the-far-ends", "2^120 * 2^-120 / 1: a product in another order over- or underflows float32")
          .x_scale(0x1p120F)
          .w_scale(0x1p-120F));
}

}  // namespace qconform::author

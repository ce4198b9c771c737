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

struct OddScale {
  const char* name;
  float value;
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Each odd scale in each place. In a list of w scales one odd value does not spoil the other channel's
// meaning, but the case as a whole has latitude.
void write_odd(Topic& topic) {
  const char* any = "an error, or any bytes; no crash";
  const char* formula = "the formula holds with its sign, or an error";
  const char* zero = "every v is 0: the zero point, or an error";
  for (const OddScale& odd : {OddScale{"nan", std::numeric_limits<float>::quiet_NaN()}, OddScale{"infinite", kInfinity},
                              OddScale{"minus-infinite", -kInfinity}, OddScale{"zero", 0.0F},
                              OddScale{"minus-zero", -0.0F}, OddScale{"negative", -2.0F}}) {
    const std::string name = odd.name;
    const bool is_zero = odd.value == 0;
    const char* note = is_zero ? zero : odd.value == -2.0F ? formula : any;
    const auto two_channels = [&](const char* place) {
      return start("w-scale-" + name + place,
                   is_zero || odd.value == -2.0F ? "that channel follows the formula, or an error" : any)
          .w(make::int8({2, 1, 1}, {10, 10}))
          .w_zero_point({0, 0});
    };
    topic.tolerated(start("x-scale-" + name, note).x_scale(odd.value));
    topic.tolerated(start("w-scale-" + name, note).w_scale(odd.value));
    topic.tolerated(two_channels("-in-the-first-channel").w_scale({odd.value, 1.0F}));
    topic.tolerated(two_channels("-in-the-last-channel").w_scale({1.0F, odd.value}));
    topic.tolerated(start("y-scale-" + name, is_zero ? "division by zero: an error, or any bytes; no crash" : note)
                        .y_scale(odd.value));
  }
  topic.tolerated(
      start("two-negative-scales", "the signs cancel: v = 10, 20, 30, or an error").x_scale(-1.0F).y_scale(-1.0F));
  topic.tolerated(start("x-scale-zero-with-bias", "the bias is scaled by 0 too: the zero point, or an error")
                      .x_scale(0.0F)
                      .bias({70}));
}

QLinearConvBuilder ranged(std::string id, std::string note) {
  return start(std::move(id), std::move(note)).rules({"C19"}).tags({"scale-range"});
}

// Scales of [2^-30, 2^30] and beyond. Within, no float32 product in any order over- or underflows;
// beyond, an order that does is a named expression and its value admitted.
void write_range(Topic& topic) {
  topic.known(ranged("scales-at-the-ends-of-the-domain", "2^-30 * 2^30 / 1: no order of the product leaves float32")
                  .x_scale(0x1p-30F)
                  .w_scale(0x1p30F),
              {1, 1, 3}, {15, 25, 35});
  topic.known(
      ranged("ties-at-the-ends-of-the-domain", "2^-30 * 2^-1 / 2^-30 of 1, 3 and 5: ties that nothing rounds away")
          .x(make::uint8({1, 1, 3}, {1, 3, 5}))
          .w(make::int8({1, 1, 1}, {1}))
          .x_scale(0x1p-30F)
          .w_scale(0x1p-1F)
          .y_scale(0x1p-30F),
      {1, 1, 3}, {5, 7, 7});
  topic.computed(ranged("scales-at-the-far-ends",
                        "2^120 * 2^-120 / 1: beyond the domain, and yet no order of the product leaves float32")
                     .x_scale(0x1p120F)
                     .w_scale(0x1p-120F));
  topic.open(ranged("y-scale-subnormal", "2^-129 * 1 / 2^-130 = 2 for a sum of 1: flushed to zero, it divides by 0")
                 .x_scale(0x1p-129F)
                 .w(make::int8({1, 1, 1}, {1}))
                 .y_scale(0x1p-130F));
  topic.open(ranged("x-scale-subnormal", "2^-130 * 2^100 / 2^-30 = 1: flushed to zero, the scale gives 0")
                 .x_scale(0x1p-130F)
                 .w_scale(0x1p100F)
                 .y_scale(0x1p-30F));
  topic.open(ranged("product-underflows", "2^-80 * 2^-80 / 2^-160 is no float; 2^-80 * 2^-80 / 2^-149 = 2^-11")
                 .x_scale(0x1p-80F)
                 .w_scale(0x1p-80F)
                 .y_scale(0x1p-149F)
                 .bias({1 << 14}));
  topic.open(ranged("product-overflows", "2^80 * 2^80 / 2^127 = 2^33: the product of the scales is infinite")
                 .x_scale(0x1p80F)
                 .w_scale(0x1p80F)
                 .y_scale(0x1p127F));
  topic.open(ranged("product-overflows-within-range",
                    "2^70 * 2^70 / 2^127 = 2^13 for sums around 0: infinite in one order, 0 times infinity in another")
                 .x_zero_point(2)
                 .x_scale(0x1p70F)
                 .w_scale(0x1p70F)
                 .y_scale(0x1p127F));
  topic.open(ranged("largest-scales", "the largest float32 three times: v is 10, 20 and 30 times 2^128")
                 .x_scale(std::numeric_limits<float>::max())
                 .w_scale(std::numeric_limits<float>::max())
                 .y_scale(std::numeric_limits<float>::max()));
  topic.open(
      ranged("smallest-scales", "the smallest subnormal three times: v is hardly above 0, 0 * 0 / 0 when flushed")
          .x_scale(0x1p-149F)
          .w_scale(0x1p-149F)
          .y_scale(0x1p-149F));
}

}  // namespace

void write_scales(Topics& topics) {
  Topic& topic = topics.emplace_back("qlinear_conv/scales.json");
  write_odd(topic);
  write_range(topic);
}

}  // namespace qconform::author

#include <limits>

#include "corpus/author/topics.h"

namespace qconform::author {
namespace {

LinearBuilder start(std::int64_t version, std::string id, std::string note, std::vector<std::string> rules,
                    std::vector<std::string> tags = {}) {
  return LinearBuilder::dequantize()
      .version(version)
      .id(std::move(id) + "-v" + std::to_string(version))
      .note(std::move(note))
      .rules(std::move(rules))
      .tags(std::move(tags));
}

Tensor zero(ElementType type, std::int64_t value) {
  return make::integer(type, value);
}

void write_values_at(Topic& topic, std::int64_t version) {
  topic.computed(start(version, "one-rounding",
                       "(x - 3) * 0.1 rounded once; x*0.1 - 3*0.1 differs in the last place for each of these x",
                       {"D1"}, {"rounding"})
                     .x(make::uint8({8}, {1, 2, 4, 5, 7, 14, 16, 255}))
                     .scale(0.1F)
                     .zero_point(zero(ElementType::uint8, 3)));
  topic.known_floats(start(version, "widest-difference",
                           "int8 127 - -128 = 255 and -128 - 127 = -255: a difference in 8 bits wraps", {"D1"})
                         .x(make::int8({2}, {127, -128}))
                         .scale(0.5F)
                         .zero_point(zero(ElementType::int8, -128)),
                     {2}, {127.5F, 0.0F});
  topic.known_floats(start(version, "widest-difference-below", "-128 - 127 = -255", {"D1"})
                         .x(make::int8({2}, {127, -128}))
                         .scale(0.5F)
                         .zero_point(zero(ElementType::int8, 127)),
                     {2}, {0.0F, -127.5F});
  topic.known_floats(start(version, "without-zero-point", "uint8 without a zero point: 255 is 255", {"D1"})
                         .x(make::uint8({3}, {0, 128, 255}))
                         .scale(2.0F),
                     {3}, {0.0F, 256.0F, 510.0F});
  topic.known_floats(start(version, "int32-power-of-two-scale",
                           "2^24+1 rounds to even whether before or after the exact multiplication", {"D2"})
                         .x(make::int32({4}, {16777217, -16777217, 16777219, 2147483647}))
                         .scale(0.5F),
                     {4}, {8388608.0F, -8388608.0F, 8388610.0F, 1073741824.0F});
  topic.open(start(version, "int32-rounded-once-or-twice",
                   "RN(RN(x) * 0.1) = 1677721.625 and RN(x * 0.1) = 1677721.75: both are right before version 23",
                   {"D2"})
                 .x(make::int32({1}, {16777217}))
                 .scale(0.1F));
}

void write_parameters_at(Topic& topic, std::int64_t version) {
  topic.refused(start(version, "int32-zero-point-nonzero", "int32 has no zero point but 0", {"D3"}, {"refusal"})
                    .x(make::int32({2}, {1, 2}))
                    .zero_point(zero(ElementType::int32, 1)));
  topic.known_floats(start(version, "int32-zero-point-zero", "a zero point of 0 changes nothing", {"D3"})
                         .x(make::int32({2}, {1, -2}))
                         .zero_point(zero(ElementType::int32, 0)),
                     {2}, {1.0F, -2.0F});
  topic.known_floats(start(version, "zero-is-positive", "x = zero point gives +0, whatever the signs around it", {"D5"})
                         .x(make::uint8({2}, {200, 199}))
                         .scale(0.5F)
                         .zero_point(zero(ElementType::uint8, 200)),
                     {2}, {0.0F, -0.5F});
  topic.known_floats(start(version, "scalar-x", "x of rank 0", {"D8"}, {"shapes"})
                         .x(make::integer(ElementType::int8, -3))
                         .scale(0.25F),
                     {}, {-0.75F});
  topic.known_floats(start(version, "no-elements", "x of shape [0, 3]: an empty y of the same shape", {"D8"}, {"empty"})
                         .x(make::uint8({0, 3}, {})),
                     {0, 3}, {});
  topic.tolerated(start(version, "scale-of-shape-1", "shape [1] where a scalar is meant: its value, or an error",
                        {"D7"}, {"shapes"})
                      .x(make::uint8({2, 3}, {1, 2, 3, 4, 5, 6}))
                      .scale(std::vector<float>{0.5F})
                      .zero_point(make::uint8({1}, {1})));
  topic.refused(
      start(version, "zero-point-shape-differs", "a list of zero points beside a scalar scale", {"D7"}, {"refusal"})
          .x(make::uint8({2, 2}, {1, 2, 3, 4}))
          .zero_point(make::uint8({2}, {1, 2})));
}

void write_axis(Topic& topic) {
  const Tensor x = make::uint8({2, 3}, {10, 10, 10, 20, 20, 20});
  const Tensor zeros = make::uint8({3}, {0, 10, 20});
  topic.known_floats(start(13, "axis-default-1", "one scale and zero point for each column", {"D7"}, {"per-axis"})
                         .x(x)
                         .scale({1.0F, 2.0F, 4.0F})
                         .zero_point(zeros),
                     {2, 3}, {10.0F, 0.0F, -40.0F, 20.0F, 20.0F, 0.0F});
  topic.known_floats(start(13, "axis-minus-1", "the last dimension, counted from the end", {"D7"}, {"per-axis"})
                         .x(x)
                         .scale({1.0F, 2.0F, 4.0F})
                         .zero_point(zeros)
                         .axis(-1),
                     {2, 3}, {10.0F, 0.0F, -40.0F, 20.0F, 20.0F, 0.0F});
  topic.known_floats(
      start(13, "axis-0", "one scale for each row", {"D7"}, {"per-axis"}).x(x).scale({1.0F, 0.5F}).axis(0), {2, 3},
      {10.0F, 10.0F, 10.0F, 10.0F, 10.0F, 10.0F});
  topic.known_floats(start(13, "axis-0-of-rank-1", "one scale for each element", {"D7"}, {"per-axis"})
                         .x(make::uint8({2}, {10, 20}))
                         .scale({1.0F, 0.5F})
                         .axis(0),
                     {2}, {10.0F, 10.0F});
  topic.tolerated(
      start(13, "unused-axis-beyond-the-rank", "a scalar scale does not use the axis: a value, or an error", {"D7"})
          .x(x)
          .axis(5));
  topic.tolerated(start(13, "rank-1-one-scale-default-axis", "rank 1 has no axis 1, but one value is one value", {"D7"})
                      .x(make::uint8({2}, {10, 20}))
                      .scale(std::vector<float>{0.5F}));
}

void write_refusals(Topic& topic) {
  const Tensor x = make::uint8({2, 3}, {10, 10, 10, 20, 20, 20});
  const auto refusal = [&](const char* id, const char* note) { return start(13, id, note, {"D7"}, {"refusal"}).x(x); };
  topic.refused(refusal("scale-of-wrong-length", "two scales for three columns").scale({1.0F, 2.0F}));
  topic.refused(refusal("axis-beyond-the-rank", "axis 2 of a tensor of rank 2").scale({1.0F, 2.0F, 4.0F}).axis(2));
  topic.refused(refusal("axis-below-the-rank", "axis -3 of a tensor of rank 2").scale({1.0F, 2.0F, 4.0F}).axis(-3));
  topic.refused(refusal("rank-1-default-axis", "rank 1 has no axis 1: three scales fit nothing")
                    .x(make::uint8({3}, {1, 2, 3}))
                    .scale({1.0F, 2.0F, 4.0F}));
  topic.refused(refusal("scale-of-rank-two", "a scale of shape [1, 3] is neither scalar nor list")
                    .input(1, make::float32({1, 3}, {1.0F, 2.0F, 4.0F})));
  topic.refused(refusal("scale-per-axis", "version 10 knows scalar parameters only")
                    .scale({1.0F, 2.0F, 4.0F})
                    .version(10)
                    .id("scale-per-axis-v10"));
}

void write_odd_scales(Topic& topic) {
  topic.tolerated(start(13, "scale-zero", "zeros of either sign, or an error", {"D6"}, {"odd-scale"})
                      .x(make::uint8({2}, {1, 2}))
                      .scale(0.0F));
  topic.tolerated(start(13, "scale-infinite", "infinities, or an error", {"D6"}, {"odd-scale"})
                      .x(make::uint8({2}, {1, 2}))
                      .scale(std::numeric_limits<float>::infinity()));
}

}  // namespace

void write_dequantize_linear(Topics& topics) {
  Topic& values = topics.emplace_back("dequantize_linear/values.json");
  for (const std::int64_t version : {10, 13}) write_values_at(values, version);
  Topic& parameters = topics.emplace_back("dequantize_linear/parameters.json");
  for (const std::int64_t version : {10, 13}) write_parameters_at(parameters, version);
  write_odd_scales(parameters);
  Topic& axis = topics.emplace_back("dequantize_linear/axis.json");
  write_axis(axis);
  write_refusals(axis);
}

}  // namespace qconform::author

#include <limits>

#include "corpus/author/topics.h"

namespace qconform::author {
namespace {

LinearBuilder start(std::int64_t version, std::string id, std::string note, std::vector<std::string> rules,
                    std::vector<std::string> tags = {}) {
  return LinearBuilder::quantize()
      .version(version)
      .id(std::move(id) + "-v" + std::to_string(version))
      .note(std::move(note))
      .rules(std::move(rules))
      .tags(std::move(tags));
}

Tensor zero(ElementType type, std::int64_t value) {
  return make::integer(type, value);
}

void write_rounding_at(Topic& topic, std::int64_t version) {
  const std::vector<float> ties{0.5F, -0.5F, 1.5F, -1.5F, 2.5F, -2.5F};
  topic.known(start(version, "ties-without-zero-point",
                    "uint8 when no zero point says otherwise: ties to even, "
                    "negative saturates at 0",
                    {"Q1", "Q2"}, {"rounding"})
                  .x(make::float32({6}, ties)),
              {6}, {0, 0, 2, 0, 2, 0});
  topic.known(start(version, "ties-zero-point-odd", "rounding after adding 11 reverses every tie", {"Q2"}, {"rounding"})
                  .x(make::float32({6}, ties))
                  .zero_point(zero(ElementType::int8, 11)),
              {6}, {11, 11, 13, 9, 13, 9});
  topic.known(start(version, "ties-zero-point-even", "half away and half up show beside 128", {"Q2"}, {"rounding"})
                  .x(make::float32({2, 3}, ties))
                  .zero_point(zero(ElementType::uint8, 128)),
              {2, 3}, {128, 128, 130, 126, 130, 126});
  topic.known(start(version, "division-not-reciprocal",
                    "x / 7 is an exact tie; x * (1/7) in float32 lies beyond it and rounds away", {"Q1"}, {"rounding"})
                  .x(make::float32({4}, {689.5F, -689.5F, 675.5F, 661.5F}))
                  .scale(7.0F)
                  .zero_point(zero(ElementType::int8, 0)),
              {4}, {98, -98, 96, 94});
}

void write_saturation_at(Topic& topic, std::int64_t version) {
  const float inf = std::numeric_limits<float>::infinity();
  topic.known(start(version, "saturate-infinite-and-huge",
                    "infinities and quotients beyond 2^31 and 2^63: a conversion to an integer first is undefined",
                    {"Q4"}, {"saturation"})
                  .x(make::float32({8}, {inf, -inf, 0x1p31F, -0x1p31F, 3e9F, -3e9F, 1e30F, -1e30F}))
                  .zero_point(zero(ElementType::int8, 3)),
              {8}, {127, -128, 127, -128, 127, -128, 127, -128});
  topic.known(start(version, "saturate-at-the-bounds", "x + 100 at 254, 255, 256 and 0, -1: one beyond either bound",
                    {"Q4"}, {"saturation"})
                  .x(make::float32({5}, {154, 155, 156, -100, -101}))
                  .zero_point(zero(ElementType::uint8, 100)),
              {5}, {254, 255, 255, 0, 0});
  topic.known(
      start(version, "quotient-overflows", "1e30 / 1e-30 is infinite in float32: saturate", {"Q4"}, {"saturation"})
          .x(make::float32({2}, {1e30F, -1e30F}))
          .scale(1e-30F)
          .zero_point(zero(ElementType::uint8, 7)),
      {2}, {255, 0});
  topic.computed(start(version, "signed-zeros", "-0 is 0: the zero point", {"Q1"})
                     .x(make::float32({2}, {0.0F, -0.0F}))
                     .zero_point(zero(ElementType::int8, -5)));
}

void write_odd_at(Topic& topic, std::int64_t version) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  topic.tolerated(
      start(version, "scale-zero", "an error, or any bytes; no crash", {"C21", "Q5"}, {"odd-scale"}).scale(0.0F));
  topic.tolerated(
      start(version, "scale-nan", "an error, or any bytes; no crash", {"C21", "Q5"}, {"odd-scale"}).scale(nan));
  topic.refused(start(version, "zero-point-of-wrong-type", "y is int8 or uint8 before version 19", {"Q7"}, {"refusal"})
                    .zero_point(zero(ElementType::int32, 0)));
  topic.known(start(version, "scalar-x", "x of rank 0", {"D8", "Q1"}, {"shapes"}).x(make::float32(9.0F)).scale(2.0F),
              {}, {4});
  topic.known(start(version, "no-elements", "x of shape [2, 0]: an empty y of the same shape", {"D8", "Q1"}, {"empty"})
                  .x(make::float32({2, 0}, {})),
              {2, 0}, {});
}

void write_axis(Topic& topic) {
  const Tensor x = make::float32({2, 3}, {10, 10, 10, 20, 20, 20});
  topic.known(start(13, "axis-default-1", "one scale and zero point for each column", {"D7"}, {"per-axis"})
                  .x(x)
                  .scale({1.0F, 2.0F, 4.0F})
                  .zero_point(make::uint8({3}, {0, 100, 200})),
              {2, 3}, {10, 105, 202, 20, 110, 205});
  topic.known(start(13, "axis-minus-2", "counted from the end: one scale for each row", {"D7"}, {"per-axis"})
                  .x(x)
                  .scale({1.0F, 2.0F})
                  .zero_point(make::int8({2}, {-5, 7}))
                  .axis(-2),
              {2, 3}, {5, 5, 5, 17, 17, 17});
  topic.refused(start(13, "axis-beyond-the-rank", "axis 2 of a tensor of rank 2", {"D7"}, {"refusal"})
                    .x(x)
                    .scale({1.0F, 2.0F, 4.0F})
                    .zero_point(make::uint8({3}, {0, 0, 0}))
                    .axis(2));
  topic.refused(start(10, "scale-per-axis", "version 10 knows scalar parameters only", {"D7"}, {"refusal"})
                    .x(x)
                    .scale({1.0F, 2.0F, 4.0F})
                    .zero_point(make::uint8({3}, {0, 0, 0})));
}

}  // namespace

void write_quantize_linear(Topics& topics) {
  Topic& rounding = topics.emplace_back("quantize_linear/rounding.json");
  for (const std::int64_t version : {10, 13}) write_rounding_at(rounding, version);
  Topic& saturation = topics.emplace_back("quantize_linear/saturation.json");
  for (const std::int64_t version : {10, 13}) write_saturation_at(saturation, version);
  Topic& parameters = topics.emplace_back("quantize_linear/parameters.json");
  for (const std::int64_t version : {10, 13}) write_odd_at(parameters, version);
  write_axis(parameters);
}

}  // namespace qconform::author

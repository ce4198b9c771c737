// QuantizeLinear to 8-bit integers: what every version has.
#include <algorithm>
#include <cmath>

#include "corpus/author/linear_vector.h"

namespace qconform::author {
namespace {

using enum ElementType;

void write_ties_at(Topic& topic, std::int64_t version) {
  const std::vector<float> ties{0.5F, -0.5F, 1.5F, -1.5F, 2.5F, -2.5F};
  topic.known(quantize_vector(version, "ties-without-zero-point",
                              "uint8 when no zero point says otherwise: ties to even, "
                              "negative saturates at 0",
                              {"Q1", "Q2"}, {"rounding"})
                  .x(make::float32({6}, ties)),
              {6}, {0, 0, 2, 0, 2, 0});
  topic.known(quantize_vector(version, "ties-zero-point-odd", "rounding after adding 11 reverses every tie", {"Q2"},
                              {"rounding"})
                  .x(make::float32({6}, ties))
                  .zero_point(scalar(int8, 11)),
              {6}, {11, 11, 13, 9, 13, 9});
  topic.known(
      quantize_vector(version, "ties-zero-point-even", "half away and half up show beside 128", {"Q2"}, {"rounding"})
          .x(make::float32({2, 3}, ties))
          .zero_point(scalar(uint8, 128)),
      {2, 3}, {128, 128, 130, 126, 130, 126});
  topic.known(quantize_vector(version, "division-not-reciprocal",
                              "x / 7 is an exact tie; x * (1/7) in float32 lies beyond it and rounds away", {"Q1"},
                              {"rounding"})
                  .x(make::float32({4}, {689.5F, -689.5F, 675.5F, 661.5F}))
                  .scale(7.0F)
                  .zero_point(scalar(int8, 0)),
              {4}, {98, -98, 96, 94});
}

double clamped_int8(double value) {
  return std::clamp(value, -128.0, 127.0);
}

// Values found by search: next to ties, where one rounding more or less shows.
void write_quotients_at(Topic& topic, std::int64_t version) {
  constexpr float kScale = 0.1F;
  const auto start = [&](const char* id, const char* note) {
    return quantize_vector(version, id, note, {"Q1"}, {"rounding"}).scale(kScale).zero_point(scalar(int8, 0));
  };
  const std::vector<double> candidates = beside_ties(float32, static_cast<double>(kScale), 120);
  const auto reciprocal = [&](double x) {
    return clamped_int8(std::nearbyint(static_cast<double>(static_cast<float>(x) * (1 / kScale))));
  };
  const LinearBuilder no_reciprocal =
      start("no-reciprocal", "x * RN(1/0.1) rounds to another integer than x / 0.1 for each of these x");
  const std::vector<Choice> wrong =
      choose(no_reciprocal, float32, candidates, 8, [&](const Choice& c) { return !c.admits(reciprocal(c.x)); });
  topic.separates(LinearBuilder(no_reciprocal).x(x_of(float32, wrong)), answers(wrong, reciprocal));

  const LinearBuilder before = quantize_vector(13, "", "", {}).scale(kScale).zero_point(scalar(int8, 0));
  const std::vector<Choice> open =
      choose(before, float32, candidates, 8, [](const Choice& c) { return c.right.members().size() == 2; });
  if (version < 23) {
    topic.open(start("quotient-beside-a-tie",
                     "x / 0.1 is next to a tie and in float32 that tie: rounded once or twice, both are right")
                   .x(x_of(float32, open)));
    return;
  }
  std::vector<double> once;
  for (const Choice& choice : open) once.push_back(choice.answer(1));
  topic.separates(start("quotient-beside-a-tie",
                        "x / 0.1 is next to a tie and in float32 that tie: the quotient has the scale's precision")
                      .x(x_of(float32, open)),
                  once);
}

void write_saturation_at(Topic& topic, std::int64_t version) {
  topic.known(
      quantize_vector(version, "saturate-infinite-and-huge",
                      "infinities and quotients beyond 2^31 and 2^63: a conversion to an integer first is undefined",
                      {"Q4"}, {"saturation"})
          .x(make::float32({8}, {kInfinity, -kInfinity, 0x1p31F, -0x1p31F, 3e9F, -3e9F, 1e30F, -1e30F}))
          .zero_point(scalar(int8, 3)),
      {8}, {127, -128, 127, -128, 127, -128, 127, -128});
  topic.known(quantize_vector(version, "saturate-at-the-bounds",
                              "x + 100 at 254, 255, 256 and 0, -1: one beyond either bound", {"Q4"}, {"saturation"})
                  .x(make::float32({5}, {154, 155, 156, -100, -101}))
                  .zero_point(scalar(uint8, 100)),
              {5}, {254, 255, 255, 0, 0});
  topic.known(
      quantize_vector(version, "round-into-the-bounds",
                      "126.5 + 1 and -128.5 + 1: the tie decides before saturation does", {"Q2", "Q4"}, {"saturation"})
          .x(make::float32({4}, {126.5F, 125.5F, -128.5F, -129.5F}))
          .zero_point(scalar(int8, 1)),
      {4}, {127, 127, -127, -128});
  topic.known(quantize_vector(version, "quotient-overflows", "1e30 / 1e-30 is infinite in float32: saturate", {"Q4"},
                              {"saturation"})
                  .x(make::float32({2}, {1e30F, -1e30F}))
                  .scale(1e-30F)
                  .zero_point(scalar(uint8, 7)),
              {2}, {255, 0});
  topic.computed(quantize_vector(version, "signed-zeros", "-0 is 0: the zero point", {"Q1"})
                     .x(make::float32({2}, {0.0F, -0.0F}))
                     .zero_point(scalar(int8, -5)));
  topic.known(quantize_vector(version, "subnormal-scale",
                              "a scale of 2^-130 is no zero: 3 * 2^-130 / 2^-130 is 3, flushed it is 0 / 0", {"Q1"})
                  .x(make::float32({3}, {0x1.8p-129F, -0x1p-128F, 0x1.4p-128F}))
                  .scale(0x1p-130F)
                  .zero_point(scalar(int8, 0)),
              {3}, {3, -4, 5});
  topic.open(
      quantize_vector(version, "nan", "NaN gives any value in range; its neighbours are what they are", {"Q5"}, {"nan"})
          .x(make::float32({4}, {1.0F, kNan, -2.0F, -kNan}))
          .zero_point(scalar(int8, 3)));
}

void write_odd_at(Topic& topic, std::int64_t version) {
  const auto odd = [&](const char* id, const char* note, float scale) {
    topic.tolerated(quantize_vector(version, id, note, {"C21", "Q5"}, {"odd-scale"})
                        .x(make::float32({3}, {1.5F, 0.0F, -2.5F}))
                        .scale(scale)
                        .zero_point(scalar(int8, 3)));
  };
  odd("scale-zero", "an error, or any bytes; no crash", 0.0F);
  odd("scale-nan", "an error, or any bytes; no crash", kNan);
  odd("scale-infinite", "an error, or any bytes; no crash", kInfinity);
  odd("scale-negative", "the formula holds with its sign, 3 - 2 and 3 + 2, or an error", -1.0F);
  topic.known(
      quantize_vector(version, "scalar-x", "x of rank 0", {"D8", "Q1"}, {"shapes"}).x(make::float32(9.0F)).scale(2.0F),
      {}, {4});
  topic.known(quantize_vector(version, "no-elements", "x of shape [2, 0]: an empty y of the same shape", {"D8", "Q1"},
                              {"empty"})
                  .x(make::float32({2, 0}, {})),
              {2, 0}, {});
  topic.tolerated(quantize_vector(version, "scale-of-shape-1",
                                  "shape [1] where a scalar is meant: its value, or an error", {"D7"}, {"shapes"})
                      .x(make::float32({2, 3}, {1, 2, 3, 4, 5, 6}))
                      .scale(std::vector<float>{0.5F})
                      .zero_point(make::uint8({1}, {1})));
  topic.tolerated(quantize_vector(version, "zero-point-of-shape-1", "a scalar scale beside a zero point of shape [1]",
                                  {"D7"}, {"shapes"})
                      .x(make::float32({2, 3}, {1, 2, 3, 4, 5, 6}))
                      .scale(0.5F)
                      .zero_point(make::uint8({1}, {1})));
}

}  // namespace

void write_quantize_linear(Topics& topics) {
  Topic& rounding = topics.emplace_back("quantize_linear/rounding.json");
  for (const std::int64_t version : linear_versions()) {
    write_ties_at(rounding, version);
    write_quotients_at(rounding, version);
  }
  Topic& saturation = topics.emplace_back("quantize_linear/saturation.json");
  for (const std::int64_t version : linear_versions()) write_saturation_at(saturation, version);
  Topic& parameters = topics.emplace_back("quantize_linear/parameters.json");
  for (const std::int64_t version : linear_versions()) write_odd_at(parameters, version);
}

}  // namespace qconform::author

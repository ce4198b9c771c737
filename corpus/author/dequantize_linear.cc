// DequantizeLinear of 8-bit integers and int32: what every version has.
#include <cmath>

#include "corpus/author/linear_vector.h"

namespace qconform::author {
namespace {

using enum ElementType;

double product(double a, float scale) {
  return static_cast<double>(static_cast<float>(a) * scale);
}

void write_differences_at(Topic& topic, std::int64_t version) {
  const auto start = [&](const char* id, const char* note) {
    return dequantize_vector(version, id, note, {"D1"}, {"rounding"});
  };
  const auto distributed = [](double x) {
    return static_cast<double>(static_cast<float>(product(x, 0.1F)) - 3 * 0.1F);
  };
  const LinearBuilder one_rounding =
      start("one-rounding", "(x - 3) * 0.1 rounded once; x*0.1 - 3*0.1 differs in the last place for each of these x")
          .scale(0.1F)
          .zero_point(scalar(uint8, 3));
  const std::vector<Choice> chosen = choose(one_rounding, uint8, integers_between(0, 255), 10,
                                            [&](const Choice& c) { return !c.admits(distributed(c.x)); });
  topic.separates(LinearBuilder(one_rounding).x(x_of(uint8, chosen)), answers(chosen, distributed));

  // 1 / 0.3 is no number of float32, so dividing by it is no multiplication by 0.3.
  const auto divided = [](double x) { return static_cast<double>(static_cast<float>(x) / (1 / 0.3F)); };
  const LinearBuilder product_only =
      start("no-division-by-the-reciprocal", "x / RN(1/0.3) differs from x * 0.3 for each of these x").scale(0.3F);
  const std::vector<Choice> products = choose(product_only, int8, integers_between(-128, 127), 8,
                                              [&](const Choice& c) { return !c.admits(divided(c.x)); });
  topic.separates(LinearBuilder(product_only).x(x_of(int8, products)), answers(products, divided));

  topic.known_floats(
      start("widest-difference", "int8 127 - -128 = 255 and -128 - 127 = -255: a difference in 8 bits wraps")
          .x(make::int8({2}, {127, -128}))
          .scale(0.5F)
          .zero_point(scalar(int8, -128)),
      {2}, {127.5F, 0.0F});
  topic.known_floats(start("widest-difference-below", "-128 - 127 = -255")
                         .x(make::int8({2}, {127, -128}))
                         .scale(0.5F)
                         .zero_point(scalar(int8, 127)),
                     {2}, {0.0F, -127.5F});
  topic.known_floats(start("without-zero-point", "uint8 without a zero point: 255 is 255")
                         .x(make::uint8({3}, {0, 128, 255}))
                         .scale(2.0F),
                     {3}, {0.0F, 256.0F, 510.0F});
}

// Rule D2.
void write_int32_at(Topic& topic, std::int64_t version) {
  const auto start = [&](const char* id, const char* note) {
    return dequantize_vector(version, id, note, {"D2"}, {"int32"});
  };
  topic.known_floats(
      start("int32-power-of-two-scale", "2^24+1 rounds to even whether before or after the exact multiplication")
          .x(make::int32({4}, {16777217, -16777217, 16777219, 2147483647}))
          .scale(0.5F),
      {4}, {8388608.0F, -8388608.0F, 8388610.0F, 1073741824.0F});
  std::vector<double> candidates;
  for (std::int64_t i = 0; i < 200; ++i) {
    const auto x = static_cast<double>(16777217 + 2 * 7919 * i);
    candidates.insert(candidates.end(), {x, -x});
  }
  const LinearBuilder before = dequantize_vector(13, "", "", {}).scale(0.1F);
  const std::vector<Choice> chosen =
      choose(before, int32, candidates, 8, [](const Choice& c) { return c.right.members().size() == 2; });
  const Tensor x = x_of(int32, chosen);
  if (version < 23) {
    topic.open(start("int32-rounded-once-or-twice",
                     "RN(RN(x) * 0.1) and RN(x * 0.1) differ for each of these x: both are right before version 23")
                   .x(x)
                   .scale(0.1F));
    return;
  }
  std::vector<double> once;
  for (const Choice& choice : chosen) once.push_back(choice.answer(1));
  topic.separates(
      start("int32-rounded-twice", "RN(RN(x) * 0.1): the output's float32 is the precision of the multiplication")
          .x(x)
          .scale(0.1F),
      once);
}

void write_zero_points_at(Topic& topic, std::int64_t version) {
  const auto nonzero = [&](const char* id, const char* note) {
    return dequantize_vector(version, id, note, {"D3"}, {"int32"});
  };
  topic.tolerated(nonzero("int32-zero-point-nonzero", "supposed to be 0: subtracted, or refused")
                      .x(make::int32({2}, {1, 2}))
                      .zero_point(scalar(int32, 1)));
  topic.tolerated(nonzero("int32-zero-point-beyond-int32",
                          "2147483647 - -2 wraps in 32 bits and does not in more: either, or refused; the other fits")
                      .x(make::int32({2}, {2147483647, -2147483647}))
                      .zero_point(make::int32({}, {-2})));
  topic.known_floats(dequantize_vector(version, "int32-zero-point-zero", "a zero point of 0 changes nothing", {"D3"})
                         .x(make::int32({2}, {1, -2}))
                         .zero_point(scalar(int32, 0)),
                     {2}, {1.0F, -2.0F});
  if (version >= 13) {
    topic.tolerated(nonzero("int32-zero-point-nonzero-in-a-list", "one of two is not 0")
                        .x(make::int32({1, 2}, {1, 2}))
                        .scale({1.0F, 2.0F})
                        .zero_point(make::int32({2}, {0, 1})));
  }
  const auto mismatch = [&](const char* id, ElementType x, ElementType zero_point) {
    topic.refused(
        dequantize_vector(version, id, "x and its zero point have one type", {"signature"}, {"refusal", "types"})
            .x(make::integers(x, {2}, {1, 2}))
            .zero_point(scalar(zero_point, 0)));
  };
  mismatch("zero-point-int8-of-uint8", uint8, int8);
  mismatch("zero-point-uint8-of-int32", int32, uint8);
  topic.refused(dequantize_vector(version, "zero-point-shape-differs", "a list of zero points beside a scalar scale",
                                  {"D7"}, {"refusal"})
                    .x(make::uint8({2, 2}, {1, 2, 3, 4}))
                    .zero_point(make::uint8({2}, {1, 2})));
}

void write_shapes_at(Topic& topic, std::int64_t version) {
  topic.known_floats(
      dequantize_vector(version, "scalar-x", "x of rank 0", {"D8"}, {"shapes"}).x(make::integer(int8, -3)).scale(0.25F),
      {}, {-0.75F});
  topic.known_floats(
      dequantize_vector(version, "no-elements", "x of shape [0, 3]: an empty y of the same shape", {"D8"}, {"empty"})
          .x(make::uint8({0, 3}, {})),
      {0, 3}, {});
  topic.tolerated(dequantize_vector(version, "scale-of-shape-1",
                                    "shape [1] where a scalar is meant: its value, or an error", {"D7"}, {"shapes"})
                      .x(make::uint8({2, 3}, {1, 2, 3, 4, 5, 6}))
                      .scale(std::vector<float>{0.5F})
                      .zero_point(make::uint8({1}, {1})));
}

void write_odd_scales_at(Topic& topic, std::int64_t version) {
  const auto zero = [&](const char* id, const char* note, float scale) {
    return dequantize_vector(version, id, note, {"D5"}, {"zero"})
        .x(make::uint8({3}, {200, 199, 201}))
        .scale(scale)
        .zero_point(scalar(uint8, 200));
  };
  topic.known_floats(zero("zero-is-positive", "x = zero point gives +0, whatever the signs around it", 0.5F), {3},
                     {0.0F, -0.5F, 0.5F});
  topic.open(zero("zero-at-a-negative-scale", "x = zero point gives -0 or +0", -0.5F));
  const auto open = [&](const char* id, const char* note, float scale) {
    topic.open(
        dequantize_vector(version, id, note, {"D6"}, {"subnormal"}).x(make::int8({4}, {0, 1, -3, 127})).scale(scale));
  };
  open("scale-subnormal", "a scale of 2^-130: the product, or a zero of its sign", 0x1p-130F);
  open("scale-smallest", "the smallest subnormal scale", 0x1p-149F);
  topic.known_floats(dequantize_vector(version, "scale-smallest-normal", "nothing here is subnormal: no zero is right",
                                       {"D6"}, {"subnormal"})
                         .x(make::int8({3}, {1, -3, 127}))
                         .scale(0x1p-126F),
                     {3}, {0x1p-126F, -0x1.8p-125F, 0x1.FCp-120F});
  topic.known_floats(dequantize_vector(version, "overflows", "127 * 2^125 is infinite", {"D1"})
                         .x(make::int8({3}, {127, -128, 1}))
                         .scale(0x1p125F),
                     {3}, {kInfinity, -kInfinity, 0x1p125F});
  const auto odd = [&](const char* id, const char* note, float scale) {
    topic.tolerated(
        dequantize_vector(version, id, note, {"D6"}, {"odd-scale"}).x(make::int8({3}, {1, -2, 0})).scale(scale));
  };
  odd("scale-zero", "zeros of either sign, or an error", 0.0F);
  odd("scale-infinite", "infinities, and NaN for 0, or an error", kInfinity);
  odd("scale-nan", "NaN of any payload, or an error", kNan);
}

}  // namespace

void write_dequantize_linear(Topics& topics) {
  Topic& values = topics.emplace_back("dequantize_linear/values.json");
  Topic parameters("dequantize_linear/parameters.json");
  Topic scales("dequantize_linear/scales.json");
  for (const std::int64_t version : linear_versions()) {
    write_differences_at(values, version);
    write_int32_at(values, version);
    write_zero_points_at(parameters, version);
    write_shapes_at(parameters, version);
    write_odd_scales_at(scales, version);
  }
  topics.push_back(std::move(parameters));
  topics.push_back(std::move(scales));
}

}  // namespace qconform::author

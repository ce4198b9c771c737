// QuantizeLinear's division: 16-bit floats, scales of their own type, `precision`, int32.
#include <algorithm>
#include <cmath>
#include <limits>

#include "corpus/author/linear_vector.h"

namespace qconform::author {
namespace {

using enum ElementType;

// The forbidden arithmetics, into int8 about 0.
double to_int8(double quotient) {
  return std::clamp(std::nearbyint(quotient), -128.0, 127.0);
}

double by_division(ElementType precision, double x, double scale) {
  return to_int8(rounded_to_type(precision, x / scale));
}

double by_reciprocal(ElementType precision, double x, double scale) {
  return to_int8(rounded_to_type(precision, x * rounded_to_type(precision, 1 / scale)));
}

LinearBuilder scaled(LinearBuilder vector, ElementType type, double scale) {
  return vector.input(1, numbers(type, {}, {scale})).zero_point(make::integer(int8, 0));
}

// The candidates for which `wrong` is no right answer, as a vector.
void separate(Topic& topic, LinearBuilder vector, ElementType x_type, const std::vector<double>& candidates,
              const std::function<double(double)>& wrong) {
  const std::vector<Choice> chosen =
      choose(vector, x_type, candidates, 8, [&](const Choice& c) { return !c.admits(wrong(c.x)); });
  topic.separates(vector.x(x_of(x_type, chosen)), answers(chosen, wrong));
}

void write_narrow_at(Topic& topic, std::int64_t version, ElementType type) {
  const std::string name = name_of(type);
  const double scale = rounded_to_type(type, 0.3);
  const std::vector<double> candidates = beside_ties(type, scale, 120);
  const auto start = [&](const char* id, const std::string& note) {
    return scaled(quantize_vector(version, name + id, note, {"Q3"}, {name, "rounding"}), type, scale);
  };
  separate(topic, start("-no-reciprocal", "x * RN(1/s) rounds to another integer than x / s for each of these x"), type,
           candidates, [&](double x) { return by_reciprocal(type, x, scale); });
  if (version >= 23) {
    separate(topic,
             start("-quotient-in-the-scales-type",
                   "the quotient is rounded to " + name + "; divided in float32 each of these x differs"),
             type, candidates, [&](double x) { return by_division(float32, x, scale); });
    return;
  }
  const LinearBuilder open = start("-quotient-in-some-type", "rounded to " + name +
                                                                 " or float32 first, or not at all: each of these x "
                                                                 "has two right answers");
  const std::vector<Choice> chosen =
      choose(open, type, candidates, 8, [](const Choice& c) { return c.right.members().size() > 1; });
  topic.open(LinearBuilder(open).x(x_of(type, chosen)));
}

void write_specials_at(Topic& topic, std::int64_t version, ElementType type) {
  const std::string name = name_of(type);
  const double inf = std::numeric_limits<double>::infinity();
  topic.known_numbers(scaled(quantize_vector(version, name + "-infinite", "infinities and the largest numbers saturate",
                                             {"Q4"}, {name, "saturation"}),
                             type, 0.5)
                          .x(numbers(type, {5}, {inf, -inf, 65280, -65280, -0.0})),
                      {5}, {127, -128, 127, -128, 0});
  topic.open(
      scaled(quantize_vector(version, name + "-nan", "NaN gives any value in range", {"Q5"}, {name, "nan"}), type, 1)
          .x(numbers(type, {3}, {1, std::nan(""), -1})));
}

// From version 23 on the scale's type, or `precision`, is the division's.
void write_mixed_at(Topic& topic, std::int64_t version) {
  const auto start = [&](const char* id, const char* note) {
    return quantize_vector(version, id, note, {"Q3"}, {"mixed-types", "rounding"});
  };
  const double half = rounded_to_type(float16, 0.3);
  separate(
      topic,
      scaled(start("float-x-float16-scale", "the scale's type is the division's: float16, not float32"), float16, half),
      float32, beside_ties(float32, half, 120), [&](double x) { return by_division(float32, x, half); });
  const auto scale = static_cast<double>(0.1F);
  separate(topic,
           scaled(start("bfloat16-x-float-scale", "the scale's type is the division's: float32, not bfloat16"), float32,
                  scale),
           bfloat16, beside_ties(bfloat16, scale, 120), [&](double x) { return by_division(bfloat16, x, scale); });
  separate(topic,
           scaled(start("precision-float", "precision float overrides the scale's float16"), float16, half)
               .attribute("precision", type_number(float32)),
           float16, beside_ties(float16, half, 120), [&](double x) { return by_division(float16, x, half); });
  separate(topic,
           scaled(start("precision-bfloat16", "precision bfloat16 makes the division coarser than the scale's float"),
                  float32, scale)
               .attribute("precision", type_number(bfloat16)),
           float32, beside_ties(bfloat16, scale, 120), [&](double x) { return by_division(float32, x, scale); });
  topic.tolerated(
      scaled(quantize_vector(version, "precision-double", "no text allows or forbids it: the value, or an error",
                             {"signature"}, {"mixed-types"}),
             float32, 2)
          .attribute("precision", type_number(float64)));
  topic.refused(scaled(quantize_vector(version, "precision-int8", "an integer type is no precision of a division",
                                       {"signature"}, {"refusal"}),
                       float32, 2)
                    .attribute("precision", type_number(int8)));
}

void write_power_of_two_scale_at(Topic& topic, std::int64_t version) {
  const auto start = [&](const char* id, const char* note, std::vector<std::string> rules) {
    return quantize_vector(version, id, note, std::move(rules), {"float8e8m0"}).zero_point(make::integer(int8, 0));
  };
  const Tensor x = make::float32({6}, {1.0F, 0.625F, -0.625F, 0.875F, -31.0F, 40.0F});
  topic.known(start("power-of-two-scale", "float8e8m0 0x7d is 2^-2: ties stay ties", {"Q1", "Q3"})
                  .x(x)
                  .input(1, make::integer(float8e8m0, 125)),
              {6}, {4, 2, -2, 4, -124, 127});
  topic.known(start("smallest-power-of-two-scale", "0x00 is 2^-127, subnormal in float32, and no zero", {"Q3"})
                  .x(make::float32({3}, {0x1p-125F, -0x1.8p-127F, 0x1p-120F}))
                  .input(1, make::integer(float8e8m0, 0)),
              {3}, {4, -2, 127});
  topic.known(start("largest-power-of-two-scale", "0xfe is 2^127", {"Q3"})
                  .x(make::float32({3}, {0x1p127F, -0x1.8p127F, 0x1p126F}))
                  .input(1, make::integer(float8e8m0, 254)),
              {3}, {1, -2, 0});
  topic.tolerated(start("nan-power-of-two-scale", "0xff is NaN: an error, or any bytes", {"C21", "Q5"})
                      .x(x)
                      .input(1, make::integer(float8e8m0, 255)));
}

// Rule Q6: through float, through double, or exactly.
void write_int32_precision_at(Topic& topic, std::int64_t version) {
  const bool shares_type = version == 19 || version == 21;
  const auto start = [&](const char* id, const char* note) {
    return quantize_vector(version, id, note, {"Q6"}, {"int32"}).zero_point(make::integer(int8, 0));
  };
  const bool has_own_scale = version < 19 || version >= 23;
  if (shares_type || version >= 23) {
    topic.tolerated(start("int32-scale", "an int32 scale without a precision: 7 / 2 to even, or an error")
                        .x(make::int32({5}, {7, -7, 5, -5, 1000}))
                        .input(1, make::integer(int32, 2)));
  }
  if (!has_own_scale) return;
  constexpr float kScale = 200003.0F;
  std::vector<double> candidates;
  for (int k = 84; k < 127; ++k) {
    const double tie = (k + 0.5) * 200003;
    for (const double d : {-1.5, -0.5, 0.5, 1.5}) candidates.insert(candidates.end(), {tie + d, -(tie + d)});
  }
  const LinearBuilder open =
      start("int32-beyond-2-to-24", "x is odd and above 2^24, next to a tie: as float it is that tie; both are right")
          .scale(kScale);
  const std::vector<Choice> chosen =
      choose(open, int32, candidates, 8, [](const Choice& c) { return c.right.members().size() > 1; });
  topic.open(LinearBuilder(open).x(x_of(int32, chosen)));
  separate(topic,
           start("int32-no-truncation", "x / 200003 lies close below a half and above: truncation and half up differ")
               .scale(kScale),
           int32, candidates, [&](double x) { return std::trunc(x / 200003); });
  topic.known(start("int32-ends", "the smallest and largest int32 by 2^25, and ties")
                  .x(make::int32({6}, {-2147483647 - 1, 2147483647, 16777216, -16777216, 50331648, 83886080}))
                  .scale(0x1p25F),
              {6}, {-64, 64, 0, 0, 2, 2});
}

}  // namespace

void write_quantize_precision(Topics& topics) {
  Topic& narrow = topics.emplace_back("quantize_linear/precision.json");
  for (const std::int64_t version : linear_versions(19)) {
    for (const ElementType type : {float16, bfloat16}) {
      write_narrow_at(narrow, version, type);
      write_specials_at(narrow, version, type);
    }
    if (version >= 23) write_mixed_at(narrow, version);
    if (version >= 24) write_power_of_two_scale_at(narrow, version);
  }
  Topic& integers = topics.emplace_back("quantize_linear/int32.json");
  for (const std::int64_t version : linear_versions()) write_int32_precision_at(integers, version);
}

}  // namespace qconform::author

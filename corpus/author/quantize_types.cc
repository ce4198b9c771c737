// QuantizeLinear's output types: float8, float4, integers of 16, 4 and 2 bits, and what chooses them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "corpus/author/linear_vector.h"

namespace qconform::author {
namespace {

using enum ElementType;

constexpr double kNanNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfiniteNumber = std::numeric_limits<double>::infinity();

// What the vectors need to know of a float8 type.
struct Float8 {
  ElementType type;
  float largest;
  float beyond;    // the number that would follow it
  float smallest;  // positive
  int mantissa_bits;
  bool has_infinity;
  bool has_one_nan;  // and no -0
};

constexpr Float8 kFloat8[] = {
    {float8e4m3fn, 448, 480, 0x1p-9F, 3, false, false},
    {float8e4m3fnuz, 240, 256, 0x1p-10F, 3, false, true},
    {float8e5m2, 57344, 65536, 0x1p-16F, 2, true, false},
    {float8e5m2fnuz, 57344, 65536, 0x1p-17F, 2, false, true},
};

LinearBuilder to_float(std::int64_t version, ElementType type, const std::string& id, std::string note,
                       std::vector<std::string> rules, std::vector<std::string> tags = {}) {
  tags.insert(tags.begin(), name_of(type));
  return quantize_vector(version, name_of(type) + "-" + id, std::move(note), std::move(rules), std::move(tags))
      .zero_point(make::integer(type, 0));
}

void write_float8_numbers_at(Topic& topic, std::int64_t version, const Float8& f) {
  const float step = f.mantissa_bits == 3 ? 0.125F : 0.25F;  // between 1 and 2
  topic.known_numbers(
      to_float(version, f.type, "ties", "midpoints go to the even mantissa, and 1 + 3/2 steps is not 1 + 1 step",
               {"Q8"}, {"rounding"})
          .x(make::float32(
              {6}, {1 + step / 2, 1 + 3 * step / 2, -1 - step / 2, 2 - step / 2, 1 + step / 2 + 0x1p-20F, 2 - step})),
      {6}, {1, 1 + 2 * double{step}, -1, 2, 1 + double{step}, 2 - double{step}});
  const double smallest = f.smallest;
  topic.known_numbers(
      to_float(version, f.type, "subnormals", "half the smallest number is a tie with 0, three halves a tie with 2",
               {"Q8"}, {"subnormal"})
          .x(make::float32({6}, {f.smallest, f.smallest / 2, f.smallest / 2 * 1.0625F, 1.5F * f.smallest,
                                 -2.5F * f.smallest, 3 * f.smallest})),
      {6}, {smallest, 0, smallest, 2 * smallest, -2 * smallest, 3 * smallest});
  topic.known_numbers(to_float(version, f.type, "divides-first", "x / 3 is rounded, not x", {"Q1", "Q8"})
                          .x(make::float32({4}, {3, 4.5F, -6, 0.75F}))
                          .scale(3.0F),
                      {4}, {1, 1.5, -2, 0.25});
}

void write_float8_overflow_at(Topic& topic, std::int64_t version, const Float8& f) {
  const float middle = (f.largest + f.beyond) / 2;
  const double largest = f.largest;
  const double lost = f.has_infinity ? kInfiniteNumber : kNanNumber;
  // At the midpoint the even mantissa is that of the number beyond, but for e4m3fn, where NaN takes its place.
  const bool tie_overflows = f.type != float8e4m3fn;
  const std::vector<float> x{f.largest, std::nextafter(middle, 0.0F), middle, f.beyond, 1e30F};
  topic.known_numbers(to_float(version, f.type, "saturates", "beyond the largest number lies the largest number",
                               {"Q8"}, {"saturation"})
                          .x(make::float32({6}, {x[0], x[1], x[2], x[3], x[4], -x[4]})),
                      {6}, {largest, largest, largest, largest, largest, -largest});
  const auto overflowing = [&](const char* id, const char* note) {
    return to_float(version, f.type, id, note, {"Q8"}, {"saturation", "saturate-0"})
        .attribute("saturate", std::int64_t{0});
  };
  topic.known_numbers(
      overflowing("largest-without-saturate", "up to the midpoint beyond the largest number nothing is lost")
          .x(make::float32({3}, {x[0], x[1], -x[1]})),
      {3}, {largest, largest, -largest});
  const auto beyond = overflowing("overflow-without-saturate",
                                  f.has_infinity ? "beyond lies infinity, at the midpoint too" : "beyond lies NaN")
                          .x(make::float32({3}, {x[3], x[4], -kInfinity}));
  if (f.has_infinity) {
    topic.known_numbers(beyond, {3}, {lost, lost, -lost});
  } else {
    topic.separates(beyond, {largest, largest, -largest});
  }
  const auto tie = overflowing("overflow-tie", "the midpoint between the largest number and the next one is a tie")
                       .x(make::float32({1}, {x[2]}));
  if (f.has_infinity || !tie_overflows) {
    topic.known_numbers(tie, {1}, {tie_overflows ? lost : largest});
  } else {
    topic.separates(tie, {largest});
  }
}

void write_float8_specials_at(Topic& topic, std::int64_t version, const Float8& f) {
  const double largest = f.largest;
  topic.separates(to_float(version, f.type, "nan",
                           "NaN stays NaN, saturating or not; it does not become the largest number", {"Q8"}, {"nan"})
                      .x(make::float32({2}, {kNan, -kNan})),
                  {largest, -largest});
  const LinearBuilder infinite =
      to_float(version, f.type, "infinite", "an infinite quotient saturates like a large one", {"Q8"}, {"saturation"})
          .x(make::float32({2}, {kInfinity, -kInfinity}));
  if (f.has_one_nan && version < 24) {
    topic.open(infinite);
  } else {
    topic.known_numbers(infinite, {2}, {largest, -largest});
  }
  const LinearBuilder zero = to_float(version, f.type, "negative-zero",
                                      "-0 by the tables, or +0 as after adding a zero point of +0", {"Q8"}, {"zero"})
                                 .x(make::float32({2}, {-0.0F, 0.0F}));
  if (f.has_one_nan) {
    topic.known_numbers(zero, {2}, {0, 0});
  } else {
    topic.open(zero);
  }
  topic.tolerated(to_float(version, f.type, "zero-point-1", "a zero point other than 0: any value, or an error", {"Q8"})
                      .x(make::float32({2}, {1, 2}))
                      .zero_point(numbers(f.type, {}, {1})));
  topic.known_numbers(to_float(version, f.type, "float16-x", "16-bit x into 8 bits", {"Q8"}, {"float16"})
                          .x(numbers(float16, {4}, {1.5, -2, 0.5, 3}))
                          .input(1, numbers(float16, {}, {2})),
                      {4}, {0.75, -1, 0.25, 1.5});
}

void write_float4_at(Topic& topic, std::int64_t version) {
  topic.known_numbers(to_float(version, float4e2m1, "every-number",
                               "all of them, an odd count: 4 bits packed, the last byte half empty", {"Q8"}, {"packed"})
                          .x(make::float32({15}, {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.5F, -1, -1.5F, -2, -3, -4, -6})),
                      {15}, {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -1, -1.5, -2, -3, -4, -6});
  topic.known_numbers(
      to_float(version, float4e2m1, "ties", "midpoints go to the even mantissa: 0.25 to 0, 0.75 to 1, 2.5 to 2, 5 to 4",
               {"Q8"}, {"rounding"})
          .x(make::float32({8}, {0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5, -5})),
      {8}, {0, 1, 1, 2, 2, 4, 4, -4});
  topic.known_numbers(to_float(version, float4e2m1, "saturates",
                               "there is neither infinity nor NaN: everything beyond is 6", {"Q8"}, {"saturation"})
                          .x(make::float32({5}, {6.5F, 7, 1e30F, kInfinity, -kInfinity})),
                      {5}, {6, 6, 6, 6, -6});
  topic.known_numbers(to_float(version, float4e2m1, "saturates-whatever-saturate-says", "saturate is for float8 alone",
                               {"Q8"}, {"saturation", "saturate-0"})
                          .x(make::float32({3}, {8, -8, 1}))
                          .attribute("saturate", std::int64_t{0}),
                      {3}, {6, -6, 1});
  topic.open(to_float(version, float4e2m1, "nan", "a type without NaN: any value", {"Q5"}, {"nan"})
                 .x(make::float32({3}, {1, kNan, -1})));
  topic.open(to_float(version, float4e2m1, "negative-zero", "-0 by the tables, or +0", {"Q8"}, {"zero"})
                 .x(make::float32({2}, {-0.0F, 0.0F})));
  topic.tolerated(
      to_float(version, float4e2m1, "zero-point-1", "a zero point other than 0: any value, or an error", {"Q8"})
          .x(make::float32({2}, {1, 2}))
          .zero_point(numbers(float4e2m1, {}, {1})));
}

// The outputs of an integer type at both ends of it, about an odd zero point, an odd number of them.
void write_integers_at(Topic& topic, std::int64_t version, ElementType type, std::int64_t lowest,
                       std::int64_t highest) {
  const std::int64_t zero = lowest + 1;
  const auto start = [&](const char* id, const char* note, std::vector<std::string> rules) {
    return quantize_vector(version, name_of(type) + id, note, std::move(rules), {name_of(type), "packed"})
        .zero_point(make::integer(type, zero));
  };
  const auto x = [&](std::int64_t y) { return static_cast<float>(y - zero); };
  topic.known(
      start("-bounds", "one beyond either bound, and infinities; an odd number of elements", {"Q4"})
          .x(make::float32({7}, {x(lowest), x(lowest - 1), x(highest), x(highest + 1), -kInfinity, kInfinity, 1})),
      {7}, {lowest, lowest, highest, highest, lowest, highest, zero + 1});
  topic.known(start("-ties", "ties to even before the zero point, which is odd or negative", {"Q2"})
                  .x(make::float32({5}, {0.5F, 1.5F, -0.5F, 0.75F, -1.5F})),
              {5}, {zero, std::min(zero + 2, highest), zero, zero + 1, std::max(zero - 2, lowest)});
  topic.known(start("-without-elements", "an empty y has no byte", {"D8"}).x(make::float32({0, 3}, {})), {0, 3}, {});
  topic.known(start("-scalar", "one element fills part of a byte, or two bytes; the rest is zero", {"D8"})
                  .x(make::float32(1.0F)),
              {}, {zero + 1});
}

void write_integer_types_at(Topic& topic, std::int64_t version) {
  write_integers_at(topic, version, uint16, 0, 65535);
  write_integers_at(topic, version, int16, -32768, 32767);
  write_integers_at(topic, version, uint4, 0, 15);
  write_integers_at(topic, version, int4, -8, 7);
  if (version < 25) return;
  write_integers_at(topic, version, uint2, 0, 3);
  write_integers_at(topic, version, int2, -2, 1);
}

struct Introduced {
  ElementType type;
  std::int64_t version;
};

constexpr Introduced kOutputTypes[] = {
    {int8, 10},  {uint8, 10}, {float8e4m3fn, 19}, {float8e5m2fnuz, 19}, {uint16, 21},
    {int16, 21}, {int4, 21},  {float4e2m1, 23},   {uint2, 25},          {int2, 25},
};

// Rule Q7: what chooses y's type.
void write_output_types_at(Topic& topic, std::int64_t version) {
  const auto start = [&](const std::string& id, std::string note) {
    return quantize_vector(version, id, std::move(note), {"Q7"}, {"types"}).x(make::float32({3}, {1, 0.5F, 1.5F}));
  };
  const auto refused = [&](LinearBuilder vector) { topic.refused(vector.tags({"types", "refusal"})); };
  refused(start("zero-point-int32", "no version has an int32 y").zero_point(make::integer(int32, 0)));
  refused(start("zero-point-float", "nor a float one").zero_point(make::float32(0.0F)));
  for (const Introduced& known : kOutputTypes) {
    const std::string name = name_of(known.type);
    if (version < known.version) {
      refused(start("zero-point-" + name, "y is " + name + " from version " + std::to_string(known.version) + " on")
                  .zero_point(make::integer(known.type, 0)));
    } else if (version >= 21) {
      topic.computed(start("output-dtype-" + name, "output_dtype alone gives the type; without it y were uint8")
                         .attribute("output_dtype", type_number(known.type)));
    }
    if (version >= 21 && version < known.version) {
      refused(start("output-dtype-" + name, name + " is later").attribute("output_dtype", type_number(known.type)));
    }
  }
  if (version < 21) {
    topic.refused(quantize_vector(version, "output-dtype-too-early", "output_dtype comes with version 21",
                                  {"signature"}, {"types", "refusal"})
                      .attribute("output_dtype", type_number(uint8)));
    return;
  }
  refused(start("output-dtype-unlike-the-zero-point", "an int8 zero point and output_dtype uint8 contradict each other")
              .zero_point(make::integer(int8, 0))
              .attribute("output_dtype", type_number(uint8)));
  topic.computed(start("output-dtype-like-the-zero-point", "said twice, the same")
                     .zero_point(make::integer(int16, 300))
                     .attribute("output_dtype", type_number(int16)));
  refused(start("output-dtype-int32", "int32 is no type of y").attribute("output_dtype", type_number(int32)));
}

}  // namespace

void write_quantize_types(Topics& topics) {
  Topic& float8 = topics.emplace_back("quantize_linear/float8.json");
  for (const std::int64_t version : linear_versions(19)) {
    for (const Float8& format : kFloat8) {
      write_float8_numbers_at(float8, version, format);
      write_float8_overflow_at(float8, version, format);
      write_float8_specials_at(float8, version, format);
    }
  }
  Topic& float4 = topics.emplace_back("quantize_linear/float4.json");
  for (const std::int64_t version : linear_versions(23)) write_float4_at(float4, version);
  Topic& integers = topics.emplace_back("quantize_linear/types_16_4_2.json");
  for (const std::int64_t version : linear_versions(21)) write_integer_types_at(integers, version);
  Topic& output = topics.emplace_back("quantize_linear/output_types.json");
  for (const std::int64_t version : linear_versions()) write_output_types_at(output, version);
}

}  // namespace qconform::author

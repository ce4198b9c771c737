// DequantizeLinear's types: 16-bit floats as outputs, float8, float4, integers of 16, 4 and 2 bits.
#include <cmath>
#include <limits>

#include "corpus/author/linear_vector.h"
#include "harness/operators/element_text.h"

namespace qconform::author {
namespace {

using enum ElementType;

constexpr double kInfiniteNumber = std::numeric_limits<double>::infinity();

// The numbers of a float type of at most 8 bits, NaN and infinities left out.
std::vector<double> every_number(ElementType type) {
  const int count = 1 << bits_of(type);
  const Tensor all = make::integers(type, {count}, [&] {
    std::vector<std::int64_t> patterns;
    for (int i = 0; i < count; ++i) patterns.push_back(i);
    return patterns;
  }());
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    const double value = number_at(all, i);
    if (std::isfinite(value)) values.push_back(value);
  }
  return values;
}

LinearBuilder scaled(LinearBuilder vector, ElementType type, double scale) {
  return vector.input(1, numbers(type, {}, {scale}));
}

// The candidates for which `wrong` is no right answer, as a vector.
void separate(Topic& topic, LinearBuilder vector, ElementType x_type, const std::vector<double>& candidates,
              const std::function<double(double)>& wrong) {
  const std::vector<Choice> chosen =
      choose(vector, x_type, candidates, 8, [&](const Choice& c) { return !c.admits(wrong(c.x)); });
  topic.separates(vector.x(x_of(x_type, chosen)), answers(chosen, wrong));
}

// Rule D4, for y of float16 or bfloat16.
void write_narrow_at(Topic& topic, std::int64_t version, ElementType type) {
  const std::string name = name_of(type);
  const double scale = rounded_to_type(type, 0.3);
  const auto rn = [type](double value) { return rounded_to_type(type, value); };
  const auto start = [&](const std::string& id, std::string note) {
    return scaled(dequantize_vector(version, name + "-" + id, std::move(note), {"D4"}, {name, "rounding"}), type,
                  scale);
  };
  separate(topic,
           start("subtract-first", "x*s - 3*s, each product rounded, differs from (x - 3) * s")
               .zero_point(make::integer(uint8, 3)),
           uint8, integers_between(0, 255), [&](double x) { return rn(rn(x * scale) - rn(3 * scale)); });
  std::vector<double> wide;
  for (int i = 0; i < 600; ++i) wide.push_back(16777217.0 + 2.0 * 40503 * i);
  const LinearBuilder int32_x = scaled(dequantize_vector(version, name + "-int32",
                                                         "int32 x has several right answers: rounded once, "
                                                         "the difference first, or through float",
                                                         {"D4", "D2"}, {name, "int32"}),
                                       type, rn(0.0007));
  const std::vector<Choice> open =
      choose(int32_x, int32, wide, 8, [](const Choice& c) { return c.right.members().size() > 1; });
  topic.open(LinearBuilder(int32_x).x(x_of(int32, open)));
  topic.known_numbers(start("exact", "a product of few bits has one answer, whatever the arithmetic")
                          .x(make::int8({5}, {-128, 64, 2, 1, 0}))
                          .input(1, numbers(type, {}, {0.375})),
                      {5}, {-48, 24, 0.75, 0.375, 0});
  topic.open(
      scaled(dequantize_vector(version, name + "-subnormal", "a product below the smallest normal number: or a zero",
                               {"D6"}, {name, "subnormal"}),
             type, type == float16 ? 0x1p-20 : 0x1p-130)
          .x(make::int8({3}, {1, -3, 0})));
  topic.tolerated(scaled(dequantize_vector(version, name + "-scale-infinite", "infinities, or an error", {"D6"},
                                           {name, "odd-scale"}),
                         type, kInfiniteNumber)
                      .x(make::int8({2}, {1, -1})));
}

// 16-bit x shows where a float16 product was rounded; integers of 8 bits do not.
void write_wide_x_at(Topic& topic, std::int64_t version, ElementType type) {
  const std::string name = name_of(type);
  const auto rn = [type](double value) { return rounded_to_type(type, value); };
  const double scale = type == float16 ? 0x1.C18p-5 : 0x1.8Ep-5;
  const auto through_float = [&](double x) { return rn(rounded_to_type(float32, x * scale)); };
  const auto start = [&](const std::string& id, std::string note) {
    return scaled(dequantize_vector(version, name + "-" + id, std::move(note), {"D4"}, {name, "uint16", "rounding"}),
                  type, scale);
  };
  const std::vector<double> every = integers_between(0, 65535);
  const LinearBuilder twice =
      start("difference-rounded-first", "RN(RN(x) * s) and RN(x * s) differ for each of these x");
  const std::vector<Choice> open =
      choose(twice, uint16, every, 8, [&](const Choice& c) { return c.right.members().size() > 1 && rn(c.x) != c.x; });
  topic.open(LinearBuilder(twice).x(x_of(uint16, open)));
  // In float32 a float16 product of 28 bits is rounded; one of bfloat16 has 25 and is so only at ties that go to even
  // either way.
  if (type == float16) {
    if (version >= 23) {
      separate(topic,
               start("product-in-the-outputs-type",
                     "rounded to float32 first, each product becomes a tie and goes the other way"),
               uint16, every, through_float);
    } else {
      const LinearBuilder either = start("product-through-float",
                                         "rounded to float32 first, each product becomes a tie and goes "
                                         "the other way: right before version 23");
      const LinearBuilder later = scaled(dequantize_vector(23, "", "", {}), type, scale);
      const std::vector<Choice> chosen =
          choose(later, uint16, every, 8, [&](const Choice& c) { return !c.admits(through_float(c.x)); });
      topic.open(LinearBuilder(either).x(x_of(uint16, chosen)));
    }
  }
  separate(topic,
           start("zero-point-not-rounded", "x and the zero point rounded apart before they are subtracted lose bits")
               .zero_point(make::integer(uint16, 40001)),
           uint16, every, [&](double x) { return rn(rn(rn(x) - rn(40001)) * scale); });
}

void write_float8_at(Topic& topic, std::int64_t version, ElementType type) {
  const std::string name = name_of(type);
  const auto start = [&](const std::string& id, std::string note, std::vector<std::string> rules) {
    return dequantize_vector(version, name + "-" + id, std::move(note), std::move(rules), {name});
  };
  const std::vector<double> all = every_number(type);
  const auto count = static_cast<std::int64_t>(all.size());
  topic.known_numbers(
      start("every-number", "each pattern but NaN and infinity, subnormals and -0 included", {"D1", "D5"})
          .x(numbers(type, {count}, all))
          .scale(1.0F),
      {count}, all);
  separate(topic,
           start("scaled", "RN(x * 0.1); a product that was truncated differs for each of these x", {"D1"}).scale(0.1F),
           type, all, [](double x) {
             const float near = static_cast<float>(x) * 0.1F;
             const double exact = x * static_cast<double>(0.1F);
             const bool is_beyond = std::fabs(static_cast<double>(near)) > std::fabs(exact);
             return static_cast<double>(is_beyond ? std::nextafter(near, 0.0F) : near);
           });
  const std::int64_t nan = type == float8e4m3fn || type == float8e5m2 ? 0x7F : 0x80;
  topic.open(start("nan", "NaN of any payload; its neighbour is a number", {"D1", "D6"})
                 .x(make::integers(type, {2}, {nan, 1}))
                 .scale(1.0F));
  if (type == float8e5m2) {
    topic.known_numbers(
        start("infinite", "infinities stay infinite", {"D1"}).x(make::integers(type, {2}, {0x7C, 0xFC})).scale(0.5F),
        {2}, {kInfiniteNumber, -kInfiniteNumber});
    topic.open(start("infinite-subnormal-scale",
                     "infinities, or NaN of an arithmetic that takes the scale for zero; their neighbour is a normal "
                     "number, or zero",
                     {"D6"})
                   .x(make::integers(type, {3}, {0x7C, 0xFC, 0x64}))
                   .scale(0x1p-128F));
  }
  topic.computed(start("zero-point-0", "a zero point of 0 changes nothing", {"D3"})
                     .x(numbers(type, {3}, {1, -1.5, 0.25}))
                     .scale(0.5F)
                     .zero_point(make::integer(type, 0)));
  topic.tolerated(start("zero-point-1", "usually not used: subtracted, or refused", {"D3"})
                      .x(numbers(type, {2}, {1, 2}))
                      .zero_point(numbers(type, {}, {1})));
  topic.known_numbers(scaled(start("to-bfloat16", "y has the scale's type", {"D4"}), bfloat16, 0.5)
                          .x(numbers(type, {3}, {1, -1.5, 0.25})),
                      {3}, {0.5, -0.75, 0.125});
}

void write_float4_at(Topic& topic, std::int64_t version) {
  const auto start = [&](const char* id, const char* note, std::vector<std::string> rules) {
    return dequantize_vector(version, id, note, std::move(rules), {"float4e2m1", "packed"});
  };
  const std::vector<double> all = every_number(float4e2m1);
  topic.known_numbers(start("float4-every-number", "all sixteen, -0 included", {"D1", "D5"})
                          .x(numbers(float4e2m1, {16}, all))
                          .scale(1.0F),
                      {16}, all);
  topic.known_numbers(start("float4-odd-count", "three elements in two bytes", {"D1"})
                          .x(numbers(float4e2m1, {3}, {6, -0.5, 3}))
                          .scale(0.25F),
                      {3}, {1.5, -0.125, 0.75});
  topic.tolerated(start("float4-zero-point-1", "the zero point is subtracted or left out, or refused", {"D3"})
                      .x(numbers(float4e2m1, {2}, {6, 1.5}))
                      .scale(1.0F)
                      .zero_point(numbers(float4e2m1, {}, {1})));
}

struct Range {
  ElementType type;
  std::int64_t lowest, highest;
};

void write_integers_at(Topic& topic, std::int64_t version, const Range& r) {
  const auto start = [&](const char* id, const char* note, std::vector<std::string> rules) {
    return dequantize_vector(version, name_of(r.type) + id, note, std::move(rules), {name_of(r.type), "packed"});
  };
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  topic.known_numbers(
      start("-ends", "the ends less either end: a difference in the type's own bits wraps", {"D1"})
          .x(make::integers(r.type, {5}, {r.lowest, r.highest, 1, r.lowest, r.highest}))
          .scale(0.5F)
          .zero_point(make::integer(r.type, r.lowest)),
      {5}, {0, number(r.highest - r.lowest) / 2, number(1 - r.lowest) / 2, 0, number(r.highest - r.lowest) / 2});
  topic.known_numbers(start("-without-zero-point", "an odd number of elements; the sign bit is the type's own", {"D1"})
                          .x(make::integers(r.type, {3}, {r.highest, r.lowest, 1}))
                          .scale(2.0F),
                      {3}, {2 * number(r.highest), 2 * number(r.lowest), 2});
  topic.known_numbers(start("-scalar", "one element fills part of a byte, or two bytes", {"D8"})
                          .x(make::integer(r.type, r.highest))
                          .scale(1.0F),
                      {}, {number(r.highest)});
  topic.known_numbers(start("-per-axis", "parameters packed too, three of each", {"D7"})
                          .x(make::integers(r.type, {2, 3}, {0, 1, r.highest, r.lowest, 1, 0}))
                          .scale({1.0F, 2.0F, 4.0F})
                          .zero_point(make::integers(r.type, {3}, {0, 1, r.highest})),
                      {2, 3}, {0, 0, 0, number(r.lowest), 0, -4 * number(r.highest)});
}

constexpr Range kRanges[] = {{uint16, 0, 65535}, {int16, -32768, 32767}, {uint4, 0, 15},
                             {int4, -8, 7},      {uint2, 0, 3},          {int2, -2, 1}};

std::int64_t introduced(ElementType type) {
  return type == uint2 || type == int2 ? 25 : 21;
}

// What gives y its type, and which types of x a version does not have yet.
void write_output_types_at(Topic& topic, std::int64_t version) {
  const auto refused = [&](const std::string& id, std::string note, Tensor x) {
    topic.refused(dequantize_vector(version, id, std::move(note), {"signature"}, {"types", "refusal"})
                      .x(std::move(x))
                      .scale(1.0F));
  };
  for (const Range& r : kRanges) {
    if (version < introduced(r.type)) {
      refused("x-" + name_of(r.type), "comes with version " + std::to_string(introduced(r.type)),
              make::integers(r.type, {2}, {0, 1}));
    }
  }
  if (version < 19) refused("x-float8e4m3fn", "comes with version 19", numbers(float8e4m3fn, {1}, {1}));
  if (version < 23) refused("x-float4e2m1", "comes with version 23", numbers(float4e2m1, {1}, {1}));
  refused("x-float", "a float is not quantized", make::float32({1}, {1.0F}));
  const auto stated = [&](const std::string& id, std::string note, std::vector<std::string> rules, ElementType type) {
    return dequantize_vector(version, id, std::move(note), std::move(rules), {"types"})
        .x(make::uint8({3}, {1, 2, 255}))
        .scale(1.0F)
        .attribute("output_dtype", type_number(type));
  };
  if (version < 23) {
    topic.refused(stated("output-dtype-too-early", "output_dtype comes with version 23", {"signature"}, float32)
                      .tags({"types", "refusal"}));
    return;
  }
  topic.known_numbers(stated("output-dtype-float16", "y is float16 beside a float scale", {"D4"}, float16), {3},
                      {1, 2, 255});
  topic.known_numbers(scaled(stated("output-dtype-float",
                                    "y is float beside a bfloat16 scale: 255 * 1.0078125 is exact", {"D1"}, float32),
                             bfloat16, 1.0078125),
                      {3}, {1.0078125, 2.015625, 256.9921875});
  const auto fine = static_cast<double>(0.3F);
  const LinearBuilder fine_scale = scaled(stated("output-dtype-bfloat16-fine-scale",
                                                 "the scale is wider than the product: rounded to "
                                                 "bfloat16 first or not, both are right",
                                                 {"D4"}, bfloat16),
                                          float32, fine);
  const std::vector<Choice> chosen = choose(fine_scale, uint8, integers_between(0, 255), 8,
                                            [](const Choice& c) { return c.right.members().size() > 1; });
  topic.open(LinearBuilder(fine_scale).x(x_of(uint8, chosen)));
  topic.refused(
      stated("output-dtype-uint8", "an integer is no type of y", {"signature"}, uint8).tags({"types", "refusal"}));
  if (version < 24) return;
  const auto power = [&](const char* id, const char* note, std::int64_t pattern, std::vector<std::string> rules) {
    return stated(id, note, std::move(rules), float32)
        .tags({"types", "float8e8m0"})
        .input(1, make::integer(float8e8m0, pattern));
  };
  topic.known_numbers(power("power-of-two-scale", "float8e8m0 0x7d is 2^-2", 125, {"D1"}), {3}, {0.25, 0.5, 63.75});
  topic.known_numbers(power("largest-power-of-two-scale", "0xfe is 2^127; 2 * 2^127 is infinite", 254, {"D1"}), {3},
                      {0x1p127, kInfiniteNumber, kInfiniteNumber});
  topic.open(power("smallest-power-of-two-scale", "0x00 is 2^-127, subnormal in float32", 0, {"D6"}));
  topic.tolerated(power("nan-power-of-two-scale", "0xff is NaN: NaN, or an error", 255, {"D6"}));
  topic.refused(dequantize_vector(version, "power-of-two-scale-without-output-dtype", "float8e8m0 is no type of y",
                                  {"signature"}, {"types", "refusal", "float8e8m0"})
                    .x(make::uint8({1}, {1}))
                    .input(1, make::integer(float8e8m0, 127)));
}

}  // namespace

void write_dequantize_types(Topics& topics) {
  Topic half("dequantize_linear/float16.json");
  Topic float8("dequantize_linear/float8.json");
  Topic float4("dequantize_linear/float4.json");
  Topic integers("dequantize_linear/types_16_4_2.json");
  Topic output("dequantize_linear/output_types.json");
  for (const std::int64_t version : linear_versions()) {
    write_output_types_at(output, version);
    if (version < 19) continue;
    for (const ElementType type : {float16, bfloat16}) {
      write_narrow_at(half, version, type);
      if (version >= 21) write_wide_x_at(half, version, type);
    }
    for (const ElementType type : {float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz})
      write_float8_at(float8, version, type);
    if (version >= 23) write_float4_at(float4, version);
    for (const Range& r : kRanges) {
      if (version >= introduced(r.type)) write_integers_at(integers, version, r);
    }
  }
  for (Topic* topic : {&half, &float8, &float4, &integers, &output}) topics.push_back(std::move(*topic));
}

}  // namespace qconform::author

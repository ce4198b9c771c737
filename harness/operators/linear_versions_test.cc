// QuantizeLinear and DequantizeLinear, version by version: what each accepts and refuses, and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "harness/backends/kinds.h"
#include "harness/model/operator.h"
#include "harness/operators/linear/linear.h"
#include "harness/tests/linear_builder.h"
#include "reference/numerics/element.h"

namespace qconform {
namespace {

using enum ElementType;
using ::testing::HasSubstr;

constexpr std::int64_t kVersions[] = {10, 13, 19, 21, 23, 24, 25};

// Every type that qconform can hold.
std::vector<ElementType> all_types() {
  std::vector<ElementType> types;
  for (std::int32_t number = 1; number <= 26; ++number) {
    if (is_known(static_cast<ElementType>(number))) types.push_back(static_cast<ElementType>(number));
  }
  return types;
}

Tensor filled(ElementType type, make::Shape shape, std::int64_t pattern) {
  if (bits_of(type) <= 64) return make::filled(type, std::move(shape), pattern);
  const std::int64_t bytes = bytes_for(type, elements_of(shape));
  return {type, std::move(shape), std::vector<std::byte>(static_cast<std::size_t>(bytes))};
}

// A tensor of ones, as far as the type has a one.
Tensor ones(ElementType type, make::Shape shape = {}) {
  static const std::map<ElementType, std::int64_t> patterns{
      {float32, 0x3F800000}, {float16, 0x3C00},  {bfloat16, 0x3F80},     {float64, 0x3FF0000000000000},
      {float8e4m3fn, 0x38},  {float8e5m2, 0x3C}, {float8e4m3fnuz, 0x40}, {float8e5m2fnuz, 0x40},
      {float4e2m1, 2},       {float8e8m0, 127}};
  const auto known = patterns.find(type);
  return filled(type, std::move(shape), known == patterns.end() ? 1 : known->second);
}

Tensor zeros(ElementType type, make::Shape shape = {}) {
  return filled(type, std::move(shape), 0);
}

LinearBuilder quantize(std::int64_t version, ElementType x = float32, ElementType scale = float32) {
  return LinearBuilder::quantize().version(version).x(ones(x, {2})).input(1, ones(scale));
}

LinearBuilder dequantize(std::int64_t version, ElementType x = uint8, ElementType scale = float32) {
  return LinearBuilder::dequantize().version(version).x(ones(x, {2})).input(1, ones(scale));
}

std::string text_of(const Classification& result) {
  const reference::Remark* remark = result.deciding_remark();
  return remark == nullptr ? "valid" : remark->text();
}

// The types for which a case is not refused, tried one by one.
template <typename Make>
std::set<ElementType> accepted(Make make) {
  std::set<ElementType> types;
  for (const ElementType type : all_types()) {
    const Classification result = classify(make(type).build());
    if (result.contract.holds()) types.insert(type);
  }
  return types;
}

using Types = std::set<ElementType>;

Types joined(Types a, const Types& b) {
  a.insert(b.begin(), b.end());
  return a;
}

const Types kFloat8{float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz};

Types quantized_types(std::int64_t version) {
  Types types{uint8, int8};
  if (version >= 19) types = joined(types, kFloat8);
  if (version >= 21) types = joined(types, {uint16, int16, uint4, int4});
  if (version >= 23) types.insert(float4e2m1);
  if (version >= 25) types = joined(types, {uint2, int2});
  return types;
}

TEST(LinearVersions, AreKnownUpToTheNewestOpset) {
  for (const char* name : {"QuantizeLinear", "DequantizeLinear"}) {
    const Operator* known = find_operator("", name);
    ASSERT_NE(known, nullptr);
    for (const std::int64_t version : kVersions) EXPECT_EQ(known->version_at(version), version);
    EXPECT_EQ(known->version_at(18), 13);
    EXPECT_EQ(known->version_at(20), 19);
    EXPECT_EQ(known->version_at(22), 21);
    EXPECT_EQ(known->version_at(kNewestOpset), 25);
    EXPECT_EQ(known->version_at(9), 0);
    for (const std::int64_t newer : {kNewestOpset + 1, std::int64_t{40}, INT64_MAX}) {
      EXPECT_EQ(known->version_at(newer), 25) << "the newest known stands for opsets to come";
    }
    EXPECT_EQ(known->version_at(0), 0);
    EXPECT_EQ(known->version_at(-1), 0);
  }
}

// The operators last changed at 25: what version 25 takes and gives, so does every later opset.
TEST(LinearVersions, NewerOpsetsAreVersion25) {
  const std::vector<LinearBuilder> nodes{quantize(25),
                                         quantize(25).zero_point(zeros(int2)),
                                         quantize(25, uint8),
                                         dequantize(25, int2),
                                         dequantize(25).attribute("saturate", std::int64_t{1}),
                                         dequantize(25, uint8, float8e8m0)};
  for (const std::int64_t opset : {std::int64_t{27}, kNewestOpset, kNewestOpset + 1, std::int64_t{40}}) {
    for (const LinearBuilder& node : nodes) {
      const Classification known = classify(LinearBuilder(node).build());
      const Classification newer = classify(LinearBuilder(node).version(opset).build());
      EXPECT_EQ(newer.expectation(), known.expectation()) << opset << text_of(newer);
      EXPECT_EQ(newer.lowered == nullptr, known.lowered == nullptr) << opset;
    }
  }
}

TEST(QuantizeLinearVersions, TakeTheirTypes) {
  for (const std::int64_t version : kVersions) {
    const Types reals = version >= 19 ? Types{float32, float16, bfloat16, int32} : Types{float32, int32};
    EXPECT_EQ(accepted([&](ElementType type) {
                const bool is_shared = version == 19 || version == 21;
                return quantize(version, type, is_shared ? type : float32);
              }),
              reals)
        << version;
    EXPECT_EQ(accepted([&](ElementType type) { return quantize(version).zero_point(zeros(type)); }),
              quantized_types(version))
        << version;
    Types scales{float32};
    if (version >= 23) scales = reals;
    if (version >= 24) scales.insert(float8e8m0);
    EXPECT_EQ(accepted([&](ElementType type) { return quantize(version, float32, type); }), scales) << version;
  }
}

TEST(DequantizeLinearVersions, TakeTheirTypes) {
  for (const std::int64_t version : kVersions) {
    EXPECT_EQ(accepted([&](ElementType type) { return dequantize(version, type); }),
              joined(quantized_types(version), {int32}))
        << version;
    const Types scales = version >= 19 ? Types{float32, float16, bfloat16} : Types{float32};
    EXPECT_EQ(accepted([&](ElementType type) { return dequantize(version, uint8, type); }), scales) << version;
    const bool has_output_dtype = version >= 23;
    if (has_output_dtype) {
      EXPECT_EQ(accepted([&](ElementType type) {
                  return dequantize(version).attribute("output_dtype", static_cast<std::int64_t>(type));
                }),
                scales)
          << version;
    }
  }
}

TEST(LinearVersions, KnowTheirAttributes) {
  struct Known {
    const char* attribute;
    std::int64_t value;
    std::int64_t quantize_since;
    std::int64_t dequantize_since;  // 0: never
  };
  for (const Known& known : {Known{"axis", 0, 13, 13}, Known{"saturate", 1, 19, 0}, Known{"block_size", 0, 21, 21},
                             Known{"output_dtype", 0, 21, 23}, Known{"precision", 0, 23, 0}}) {
    for (const std::int64_t version : kVersions) {
      const Classification q = classify(quantize(version).attribute(known.attribute, known.value).build());
      EXPECT_EQ(q.contract.holds(), version >= known.quantize_since) << known.attribute << version << text_of(q);
      const Classification d = classify(dequantize(version).attribute(known.attribute, known.value).build());
      const bool has = known.dequantize_since != 0 && version >= known.dequantize_since;
      EXPECT_EQ(d.contract.holds(), has) << known.attribute << version << text_of(d);
    }
  }
}

TEST(LinearVersions, OutputTypesFollowTheirRules) {
  const auto output = [](const Case& test_case) {
    const Classification result = classify(test_case);
    return result.lowered ? result.lowered->output_type() : undefined;
  };
  const auto number = [](ElementType type) { return static_cast<std::int64_t>(type); };
  const Case none = quantize(25).build();
  EXPECT_EQ(output(none), uint8);
  const Case stated = quantize(21).attribute("output_dtype", number(int4)).build();
  EXPECT_EQ(output(stated), int4);
  const Case by_zero_point = quantize(25).zero_point(zeros(float8e5m2)).build();
  EXPECT_EQ(output(by_zero_point), float8e5m2);
  const Case both = quantize(25).zero_point(zeros(int2)).attribute("output_dtype", number(int2)).build();
  EXPECT_EQ(output(both), int2);
  const Case by_scale = dequantize(19, uint8, bfloat16).build();
  EXPECT_EQ(output(by_scale), bfloat16);
  const Case float_output = dequantize(23, uint8, bfloat16).attribute("output_dtype", number(float32)).build();
  EXPECT_EQ(output(float_output), float32);
  const Case from_powers = dequantize(24, int4, float8e8m0).attribute("output_dtype", number(float16)).build();
  EXPECT_EQ(output(from_powers), float16);
}

struct Refused {
  const char* name;
  Case test_case;
  const char* text;
};

void PrintTo(const Refused& refused, std::ostream* out) {
  *out << refused.name;
}

class LinearRefusal : public ::testing::TestWithParam<Refused> {};

TEST_P(LinearRefusal, SaysWhy) {
  const Classification result = classify(GetParam().test_case);
  ASSERT_EQ(result.expectation(), Expectation::invalid);
  EXPECT_EQ(result.lowered, nullptr);
  EXPECT_EQ(result.contract.violation->text(), GetParam().text);
}

LinearBuilder blocked(std::int64_t block_size, make::Shape scale_shape) {
  return LinearBuilder::dequantize()
      .version(21)
      .x(ones(int4, {2, 6}))
      .input(1, ones(float32, std::move(scale_shape)))
      .attribute("block_size", block_size);
}

const Refused kRefused[] = {
    {"x_of_version_13", quantize(13, float16).build(),
     "x: expected element type float or int32, got float16 [rule signature]"},
    {"scale_unlike_x", quantize(19, float32, float16).build(),
     "y_scale: expected the element type of x (float), got float16 [rule signature]"},
    {"int32_x_with_a_float_scale", quantize(21, int32, float32).build(),
     "y_scale: expected the element type of x (int32), got float [rule signature]"},
    {"power_of_two_scale_before_24", quantize(23, float32, float8e8m0).build(),
     "y_scale: expected element type float, int32, float16 or bfloat16, got float8e8m0 [rule signature]"},
    {"output_dtype_unlike_zero_point",
     quantize(21).zero_point(zeros(int8)).attribute("output_dtype", std::int64_t{2}).build(),
     "output_dtype: expected the element type of y_zero_point (int8), got uint8 [rule Q7]"},
    {"output_dtype_of_a_later_version", quantize(21).attribute("output_dtype", std::int64_t{23}).build(),
     "output_dtype: expected uint8, int8, uint16, int16, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, "
     "uint4 or int4, got float4e2m1 [rule Q7]"},
    {"output_dtype_no_type", quantize(25).attribute("output_dtype", std::int64_t{-7}).build(),
     "output_dtype: expected uint8, int8, uint16, int16, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, "
     "uint4, int4, float4e2m1, uint2 or int2, got type -7 [rule Q7]"},
    {"precision_integer", quantize(23).attribute("precision", std::int64_t{6}).build(),
     "precision: expected float, float16, double or bfloat16, got int32 [rule signature]"},
    {"saturate_at_13", quantize(13).attribute("saturate", std::int64_t{1}).build(),
     "saturate: QuantizeLinear has no such attribute at opset 13 [rule signature]"},
    {"dequantized_to_an_integer", dequantize(23).attribute("output_dtype", std::int64_t{2}).build(),
     "output_dtype: expected float, float16 or bfloat16, got uint8 [rule signature]"},
    {"power_of_two_scale_without_output_dtype", dequantize(24, uint8, float8e8m0).build(),
     "output_dtype: expected float, float16 or bfloat16 beside a scale of float8e8m0, got none [rule signature]"},
    {"zero_point_of_another_type", dequantize(21, int4).zero_point(zeros(uint4)).build(),
     "x_zero_point: expected the element type of x (int4), got uint4 [rule signature]"},
    {"negative_block_size", blocked(-2, {2, 3}).build(), "block_size: expected at least 0, got -2 [rule D7]"},
    {"negative_block_size_scalar", blocked(-2, {}).build(), "block_size: expected at least 0, got -2 [rule D7]"},
    {"blocked_without_block_size", blocked(0, {2, 3}).build(),
     "x_scale: expected a scalar or one dimension without a block_size, got rank 2 [rule D7]"},
    {"too_few_blocks", blocked(4, {2, 1}).build(),
     "x_scale: expected shape [2, 2] (blocks of 4 along axis 1), got [2, 1] [rule D7]"},
    {"blocks_along_another_axis", blocked(2, {1, 6}).build(),
     "x_scale: expected shape [2, 3] (blocks of 2 along axis 1), got [1, 6] [rule D7]"},
    {"blocks_per_axis", blocked(2, {6}).build(),
     "x_scale: expected shape [2, 3] (blocks of 2 along axis 1), got [6] [rule D7]"},
    {"blocked_axis_out_of_range", blocked(2, {2, 3}).axis(2).build(),
     "axis: expected a value in [-2, 1] (rank of x is 2), got 2 [rule D7]"},
    {"blocked_zero_point_shape", blocked(2, {2, 3}).zero_point(zeros(int4, {2, 1})).build(),
     "x_zero_point: expected the shape of the scale [2, 3], got [2, 1] [rule D7]"},
    {"rank_1_default_axis", LinearBuilder::quantize().version(23).scale({1.0F, 2.0F}).x(ones(float32, {2})).build(),
     "axis: expected a value in [-1, 0] (rank of x is 1), got 1 [rule D7]"},
};

INSTANTIATE_TEST_SUITE_P(Rules, LinearRefusal, ::testing::ValuesIn(kRefused),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

struct Tolerated {
  const char* name;
  Case test_case;
  const char* rule;
  bool value_is_open;
};

void PrintTo(const Tolerated& tolerated, std::ostream* out) {
  *out << tolerated.name;
}

class LinearImplementationDefined : public ::testing::TestWithParam<Tolerated> {};

TEST_P(LinearImplementationDefined, IsComputedAndExplained) {
  const Classification result = classify(GetParam().test_case);
  ASSERT_EQ(result.expectation(), Expectation::implementation_defined) << text_of(result);
  ASSERT_NE(result.lowered, nullptr);
  EXPECT_EQ(result.deciding_remark()->rule, GetParam().rule);
  EXPECT_EQ(result.value_is_open, GetParam().value_is_open);
}

const Tolerated kTolerated[] = {
    {"scalar_with_block_size", blocked(2, {}).build(), "D7", false},
    {"one_element_with_block_size", blocked(2, {1}).build(), "D7", false},
    {"scalar_with_axis_outside", quantize(21).axis(5).build(), "D7", false},
    {"int32_zero_point", dequantize(23, int32).zero_point(ones(int32)).build(), "D3", false},
    {"float8_zero_point", dequantize(19, float8e4m3fn).zero_point(ones(float8e4m3fn)).build(), "D3", false},
    {"float8_zero_point_nan", dequantize(19, float8e4m3fnuz).zero_point(make::filled(float8e4m3fnuz, {}, 0x80)).build(),
     "D3", false},
    {"float4_zero_point", dequantize(23, float4e2m1).zero_point(ones(float4e2m1)).build(), "D3", false},
    {"float8_zero_point_of_y", quantize(19).zero_point(ones(float8e5m2)).build(), "Q8", true},
    {"saturate_2", quantize(19).attribute("saturate", std::int64_t{2}).build(), "signature", false},
    {"precision_double", quantize(23).attribute("precision", std::int64_t{11}).build(), "signature", false},
    {"int32_scale", quantize(19, int32, int32).build(), "Q6", false},
    {"nan_scale_of_8_bits", quantize(24).input(1, make::filled(float8e8m0, {}, 0xFF)).build(), "C21", true},
    {"zero_scale_of_16_bits", dequantize(19).input(1, zeros(float16)).build(), "D6", false},
};

INSTANTIATE_TEST_SUITE_P(Rules, LinearImplementationDefined, ::testing::ValuesIn(kTolerated),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(LinearVersions, AcceptWhatTheyAllow) {
  for (const Case& valid :
       {blocked(2, {2, 3}).build(), blocked(4, {2, 2}).zero_point(zeros(int4, {2, 2})).build(),
        blocked(5, {1, 6}).axis(-2).build(), quantize(19, float16, float16).build(),
        quantize(23, float32, float16).attribute("precision", std::int64_t{1}).build(),
        quantize(25, int32, float8e8m0).attribute("precision", std::int64_t{1}).build(),
        quantize(19).attribute("saturate", std::int64_t{0}).zero_point(zeros(float8e4m3fn)).build(),
        dequantize(19, float8e4m3fn).zero_point(zeros(float8e4m3fn)).build(), dequantize(21, int4, float16).build()}) {
    const Classification result = classify(valid);
    EXPECT_EQ(result.expectation(), Expectation::valid) << text_of(result);
  }
}

// The set of each element begins with the answer that the whole evaluation gives, packed types included.
TEST(LinearVersions, SetsBeginWithTheReferencesAnswer) {
  for (const std::int64_t version : kVersions) {
    for (const ElementType type : quantized_types(version)) {
      const Case q =
          quantize(version).x(make::float32({5}, {0.5F, -1.5F, 2.25F, 300.0F, -0.0F})).zero_point(zeros(type)).build();
      const Case d = dequantize(version).x(make::integers(type, {5}, {0, 1, 2, 3, -1})).scale(0.75F).build();
      for (const Case* test_case : {&q, &d}) {
        const Classification result = classify(*test_case);
        ASSERT_NE(result.lowered, nullptr) << text_of(result);
        const Tensor y = result.lowered->evaluate(RoundingProfile::correctly_rounded);
        ASSERT_EQ(static_cast<std::int64_t>(y.bytes.size()), bytes_for(y.type, 5));
        for (std::int64_t i = 0; i < 5; ++i) {
          const RightValues right = result.lowered->right_values(i, Policy{});
          const std::uint64_t bits = raw_bits_at(y.bytes, bits_of(y.type), i);
          const bool is_nan = std::isnan(number_at(y, i));
          if (!is_nan) {
            EXPECT_EQ(right.ranges.front().lo, bits) << name_of(type) << " " << i;
          }
          EXPECT_TRUE(right.contains(bits)) << name_of(type) << " " << i;
        }
      }
    }
  }
}

TEST(LinearVersions, ExactValuesAreShown) {
  const Case d = dequantize(23, float8e4m3fn, float16).build();
  EXPECT_EQ(classify(d).lowered->exact_value(0), "(1 - 0) * 1");
  const Case q = quantize(23, bfloat16, bfloat16).build();
  EXPECT_EQ(classify(q).lowered->exact_value(1), "1 / 1, zero point 0");
}

// A set without a kernel for a type says so: nothing that did not run may pass.
TEST(InTreeBackend, NamesWhatItHasNoKernelFor) {
  reference::KernelSet declining = reference::kernel_sets().front();
  declining.name = "partial";
  declining.dequantize_linear = [](const reference::DequantizeLinear&) {
    return std::unique_ptr<reference::PreparedNode>();
  };
  const auto backend = backend::in_tree(declining, RoundingProfile::correctly_rounded, "partial");
  const Case test_case = blocked(2, {2, 3}).build();
  const Preparation preparation = backend->prepare(test_case);
  const auto* unsupported = std::get_if<outcome::Unsupported>(&preparation);
  ASSERT_NE(unsupported, nullptr);
  EXPECT_EQ(unsupported->reason, "partial has no kernel for DequantizeLinear: int4 to float [block_size 2]");
}

}  // namespace
}  // namespace qconform

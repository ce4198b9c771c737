// The reference against the oracle, and every kernel set against the reference, over whole cases as
// backends get them: parsed from a case, of any operator, version, type and layout.

#include <gmpxx.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "harness/model/operator.h"
#include "harness/model/reductions/reductions.h"
#include "harness/model/text.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/linear/linear.h"
#include "harness/tests/arbitrary_case.h"
#include "reference/kernels/kernels.h"
#include "reference/oracle/definitions.h"

namespace qconform {
namespace {

// Properties that are false by design: what RapidCheck would report must be a small valid case.

struct Counterexample {
  Case first;
  Case smallest;
};

// Returns the counterexample that a check would end with, of a property that is false where `fails` holds.
Counterexample counterexample_of(const std::function<bool(const Case&)>& fails) {
  const rc::Gen<Case> cases = testing::arbitrary_case();
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const rc::Shrinkable<Case> drawn = cases(rc::Random(seed), 100);
    const Case first = drawn.value();
    if (fails(first)) return {first, rc::shrinkable::findLocalMin(drawn, fails).first};
  }
  ADD_FAILURE() << "no case fails";
  return {};
}

std::int64_t elements_of_inputs(const Case& test_case) {
  std::int64_t sum = 0;
  for (const auto& input : test_case.inputs) sum += input ? input->elements() : 0;
  return sum;
}

void expect_small(const Counterexample& found, std::int64_t elements) {
  EXPECT_EQ(classify(found.smallest).expectation(), Expectation::valid);
  EXPECT_LE(elements_of_inputs(found.smallest), elements)
      << summary_of(found.smallest) << ", from " << summary_of(found.first);
  EXPECT_LT(elements_of_inputs(found.smallest), elements_of_inputs(found.first));
}

TEST(ArbitraryCase, AGroupedConvolutionShrinksToTwoGroupsOfOneChannel) {
  const auto is_grouped = [](const Case& test_case) {
    const Attribute* group = test_case.attribute("group");
    return group != nullptr && std::get<std::int64_t>(group->value) != 1;
  };
  const Counterexample found = counterexample_of(is_grouped);
  expect_small(found, 4 + 8);  // x and w of two elements each, and at most eight parameters
  EXPECT_TRUE(is_grouped(found.smallest));
  EXPECT_EQ(found.smallest.input(0)->elements(), 2) << summary_of(found.smallest);
}

TEST(ArbitraryCase, ASaturatedOutputShrinksToOneElement) {
  const auto is_saturated = [](const Case& test_case) {
    const Classification found = classify(test_case);
    if (found.lowered == nullptr || found.lowered->output_type() != ElementType::uint8) return false;
    const Tensor y = found.lowered->evaluate(RoundingProfile::correctly_rounded);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      if (integer_at(y, i) == 255) return true;
    }
    return false;
  };
  const Counterexample found = counterexample_of(is_saturated);
  expect_small(found, 9);
  EXPECT_EQ(elements_of(classify(found.smallest).lowered->output_shape()), 1) << summary_of(found.smallest);
}

TEST(ArbitraryCase, APaddedOneShrinksToOnePad) {
  const auto is_padded = [](const Case& test_case) {
    const Attribute* pads = test_case.attribute("pads");
    if (pads == nullptr) return false;
    std::int64_t sum = 0;
    for (const std::int64_t pad : std::get<std::vector<std::int64_t>>(pads->value)) sum += pad;
    return sum > 0;
  };
  const Counterexample found = counterexample_of(is_padded);
  expect_small(found, 12);
  EXPECT_TRUE(is_padded(found.smallest));
}

TEST(ArbitraryCase, ValuesOfEveryOperatorShrink) {
  for (const Operator& op : operators()) {
    if (op.usual_weight == 0) continue;  // no random case is one
    const auto has_large_value = [&](const Case& test_case) {
      if (test_case.node().op_type != op.name || !is_integer(test_case.input(0)->type))
        return test_case.node().op_type == op.name;
      for (std::int64_t i = 0; i < test_case.input(0)->elements(); ++i) {
        if (integer_at(*test_case.input(0), i) != 0) return true;
      }
      return false;
    };
    SCOPED_TRACE(std::string(op.name));
    expect_small(counterexample_of(has_large_value), 9);
  }
}

namespace oracle = reference::oracle;

using reference::kAllRoundingProfiles;

// Tensors at every distance from a 16-byte boundary, with bytes around the output that must stay.
class Memory {
 public:
  Memory(std::size_t x_size, std::size_t y_size) : x_(x_size + 64), y_(y_size + 64), y_size_(y_size) {}

  [[nodiscard]] std::span<std::byte> x(const Tensor& tensor, std::size_t offset) {
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), at(x_, offset));
    return {at(x_, offset), tensor.bytes.size()};
  }
  [[nodiscard]] std::span<std::byte> y(std::size_t offset) {
    std::fill(y_.begin(), y_.end(), kPoison);
    return {at(y_, offset), y_size_};
  }
  [[nodiscard]] bool is_intact(std::size_t offset) {
    const auto untouched = [](std::byte byte) { return byte == kPoison; };
    std::byte* const begin = at(y_, offset);
    return std::all_of(y_.data(), begin, untouched) && std::all_of(begin + y_size_, y_.data() + y_.size(), untouched);
  }

 private:
  static constexpr std::byte kPoison{0xA5};

  static std::byte* at(std::vector<std::byte>& memory, std::size_t offset) {
    const auto address = std::bit_cast<std::uintptr_t>(memory.data());
    return memory.data() + (16 - address % 16) % 16 + 16 + offset;
  }

  std::vector<std::byte> x_;
  std::vector<std::byte> y_;
  std::size_t y_size_;
};

RC_GTEST_PROP(CaseProperty, KernelsEqualTheReferenceAtEveryAlignment, ()) {
  const Case test_case = *testing::arbitrary_case();
  const auto x_offset = *rc::gen::inRange<std::size_t>(0, 16);
  const auto y_offset = *rc::gen::inRange<std::size_t>(0, 16);
  const Classification found = classify(test_case);
  RC_ASSERT(found.lowered != nullptr);
  RC_TAG(test_case.node().op_type);
  for (const RoundingProfile profile : kAllRoundingProfiles) {
    const Tensor expected = found.lowered->evaluate(profile);
    Memory memory(test_case.input(0)->bytes.size(), expected.bytes.size());
    for (const reference::KernelSet& set : reference::kernel_sets()) {
      if (!set.available()) continue;
      const auto node = found.lowered->prepare(set, profile);
      if (!node) continue;  // a vector set without a kernel for these types
      const std::span<std::byte> y = memory.y(y_offset);
      node->run(memory.x(*test_case.input(0), x_offset), y);
      if (!std::equal(y.begin(), y.end(), expected.bytes.begin())) RC_FAIL(std::string(set.name) + " differs");
      if (!memory.is_intact(y_offset)) RC_FAIL(std::string(set.name) + " writes beside its output");
    }
  }
}

oracle::IntegerTensor integers_of(const Tensor& tensor) {
  oracle::IntegerTensor result{tensor.shape, {}};
  for (std::int64_t i = 0; i < tensor.elements(); ++i) result.values.push_back(integer_at(tensor, i));
  return result;
}

// Sums by the oracle, modulo 2^32 (rule C17).
std::vector<std::int32_t> sums_of(const reference::ConvolutionOperands& o, const Tensor& x, const Tensor& w) {
  std::vector<oracle::AxisRule> axes;
  for (const reference::SpatialAxis& a : o.geometry.axes) {
    axes.push_back({a.stride, a.dilation, a.pad_begin, a.pad_end});
  }
  const std::vector<std::int64_t> zero_points(o.w_zero_point.begin(), o.w_zero_point.end());
  std::vector<std::int64_t> bias(o.bias.begin(), o.bias.end());
  if (bias.empty()) bias.assign(zero_points.size(), 0);
  const oracle::IntegerTensor sums =
      oracle::convolve(integers_of(x), integers_of(w), o.geometry.group, axes, o.x_zero_point, zero_points, bias);
  RC_ASSERT(sums.shape == o.geometry.output_shape());
  std::vector<std::int32_t> result;
  for (const std::int64_t sum : sums.values) {
    result.push_back(std::bit_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(sum))));
  }
  return result;
}

std::optional<long> requantized(RoundingProfile profile, std::int32_t sum, const oracle::ChannelParameters& p) {
  switch (profile) {
    case RoundingProfile::ort_f32: return oracle::requantize_ort_f32(sum, p);
    case RoundingProfile::onnx_reference: return oracle::requantize_onnx_reference(sum, p);
    case RoundingProfile::tflite: return oracle::requantize_tflite(sum, p);
    case RoundingProfile::tflite_single_rounding: return oracle::requantize_tflite_single_rounding(sum, p);
    case RoundingProfile::correctly_rounded: break;
  }
  return oracle::requantize(sum, p);
}

// Whether every answer of the reference is the oracle's.
class OracleCheck {
 public:
  explicit OracleCheck(const Case& test_case, const Lowered& lowered) : case_(test_case), lowered_(lowered) {}

  void operator()(const reference::QLinearConv* node) const {
    const std::vector<std::int32_t> sums = sums_of(node->operands, *case_.input(0), *case_.input(3));
    const reference::ConvolutionGeometry& g = node->operands.geometry;
    const reference::IntegerRange range = reference::range_of(node->y_type);
    for (const RoundingProfile profile : kAllRoundingProfiles) {
      const Tensor y = lowered_.evaluate(profile);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::size_t channel =
            i / static_cast<std::size_t>(g.output_positions()) % static_cast<std::size_t>(g.output_channels);
        const std::optional<long> expected =
            requantized(profile, sums[i],
                        {node->x_scale, node->w_scale[channel], node->y_scale, node->y_zero_point, range.lo, range.hi});
        if (expected) RC_ASSERT(integer_at(y, static_cast<std::int64_t>(i)) == *expected);
      }
    }
  }

  void operator()(const reference::ConvInteger* node) const {
    const std::vector<std::int32_t> sums = sums_of(node->operands, *case_.input(0), *case_.input(1));
    RC_ASSERT(lowered_.evaluate(RoundingProfile::correctly_rounded).values<std::int32_t>() == sums);
  }

  // Division in float32 of values that a float32 holds; the other types have properties of their own
  // beside the reference.
  void operator()(const reference::QuantizeLinear* node) const {
    if (!is_integer(node->y_type) || division_type(*node) != ElementType::float32) return;
    const Tensor y = lowered_.evaluate(RoundingProfile::correctly_rounded);
    const reference::IntegerRange range = reference::range_of(node->y_type);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const std::optional<float> x = float_value(*case_.input(0), i);
      if (!x || !std::isfinite(*x)) continue;
      const std::size_t parameter = node->layout.parameter_of(i);
      const long expected = oracle::quantize(oracle::exact(*x), static_cast<float>(node->y_scale[parameter]),
                                             node->y_zero_point[parameter], range.lo, range.hi);
      RC_ASSERT(integer_at(y, i) == expected);
    }
  }

  void operator()(const reference::DequantizeLinear* node) const {
    const bool is_plain =
        is_integer(node->x_type) && node->x_type != ElementType::int32 && node->y_type == ElementType::float32;
    if (!is_plain) return;
    const Tensor y = lowered_.evaluate(RoundingProfile::correctly_rounded);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const std::size_t parameter = node->layout.parameter_of(i);
      const auto scale = static_cast<float>(node->x_scale[parameter]);
      if (!std::isfinite(scale)) continue;
      const std::int64_t difference =
          integer_at(*case_.input(0), i) - static_cast<std::int64_t>(node->x_zero_point[parameter]);
      RC_ASSERT(std::bit_cast<std::uint32_t>(float_at(y, i)) ==
                std::bit_cast<std::uint32_t>(oracle::dequantize(difference, scale)));
    }
  }

 private:
  // Returns an element of a float32 tensor, or the float32 that one of an int32 tensor is rounded to (rule Q6).
  static std::optional<float> float_value(const Tensor& tensor, std::int64_t index) {
    if (tensor.type == ElementType::float32) return float_at(tensor, index);
    if (tensor.type == ElementType::int32) return oracle::rn32(mpq_class(integer_at(tensor, index)));
    return std::nullopt;
  }

  const Case& case_;
  const Lowered& lowered_;
};

RC_GTEST_PROP(CaseProperty, TheReferenceEqualsTheOracle, ()) {
  const Case test_case = *testing::arbitrary_case();
  const Classification found = classify(test_case);
  RC_ASSERT(found.lowered != nullptr);
  RC_TAG(test_case.node().op_type);
  const Lowered& lowered = *found.lowered;
  const OracleCheck check(test_case, lowered);
  if (const auto* node = qlinear_conv_of(lowered)) check(node);
  if (const auto* node = conv_integer_of(lowered)) check(node);
  if (const auto* node = quantize_linear_of(lowered)) check(node);
  if (const auto* node = dequantize_linear_of(lowered)) check(node);
}

}  // namespace
}  // namespace qconform

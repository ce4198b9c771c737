// Every kernel set against the reference, bit for bit, on random and directed nodes. The sets come from kernel_sets():
// a new one is tested without a line here.
//
// x, w and y lie against inaccessible pages, alternately at their front and at their back, so a
// read or write outside them ends the program; the weights are overwritten after preparation.

#include "reference/kernels/kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <iostream>
#include <set>

#include "reference/kernels/micro_kernels.h"
#include "reference/numerics/element.h"
#include "reference/tests/kernel_cases.h"

namespace qconform::reference {
namespace {

using testing::ExpectedOutput;
using testing::FencedMemory;
using testing::kCapacity;
using testing::SplitMixRandom;

// Between inaccessible pages.
class KernelSets : public testing::KernelSetTest {
 protected:
  // Prepares a node from w with `prepare(w)`, runs it on x and compares.
  template <typename Prepare>
  void check(const std::vector<std::byte>& x, const std::vector<std::byte>& w, const ExpectedOutput& expected,
             bool at_front, Prepare prepare) {
    const std::span<std::byte> x_memory = x_.bytes(x.size(), at_front);
    const std::span<std::byte> w_memory = w_.bytes(w.size(), at_front);
    const std::span<std::byte> y_memory = y_.bytes(expected.bytes.size(), at_front);
    std::copy(x.begin(), x.end(), x_memory.begin());
    std::copy(w.begin(), w.end(), w_memory.begin());
    const std::unique_ptr<PreparedNode> node = prepare(std::span<const std::byte>(w_memory));
    if (!node) {
      ++declined_;
      return;
    }
    std::fill(w_memory.begin(), w_memory.end(), std::byte{0xAA});
    // Twice: a prepared node keeps nothing from one run to the next.
    for (const std::byte poison : {std::byte{0xAA}, std::byte{0x55}}) {
      std::fill(y_memory.begin(), y_memory.end(), poison);
      node->run(x_memory, y_memory);
      ASSERT_TRUE(testing::equal(y_memory, expected));
    }
    computed_ += expected.bytes.size();
  }

  // Prepares a node, runs it and compares, with x, w and y each beginning `offset` bytes, and a different number of
  // them, behind a 16-byte boundary.
  template <typename Prepare>
  void check_at(std::size_t offset, const std::vector<std::byte>& x, const std::vector<std::byte>& w,
                const ExpectedOutput& expected, Prepare prepare) {
    const auto shifted = [](FencedMemory& memory, std::size_t size, std::size_t at) {
      return memory.bytes(size + at, true).subspan(at);  // the front is the begin of a page
    };
    const std::span<std::byte> x_memory = shifted(x_, x.size(), offset);
    const std::span<std::byte> w_memory = shifted(w_, w.size(), offset * 7 % 16);
    const std::span<std::byte> y_memory = shifted(y_, expected.bytes.size(), offset * 3 % 16);
    std::copy(x.begin(), x.end(), x_memory.begin());
    std::copy(w.begin(), w.end(), w_memory.begin());
    const std::unique_ptr<PreparedNode> node = prepare(std::span<const std::byte>(w_memory));
    if (!node) return;
    std::fill(y_memory.begin(), y_memory.end(), std::byte{0xAA});
    node->run(x_memory, y_memory);
    ASSERT_TRUE(testing::equal(y_memory, expected)) << "at offset " << offset;
    computed_ += expected.bytes.size();
  }

  void check_qlinear_conv(const QLinearConv& node, const std::vector<std::byte>& x, const std::vector<std::byte>& w,
                          bool at_front) {
    const std::vector<std::int64_t> sums = testing::exact_sums(node.operands, x, w);
    for (const RoundingProfile profile : kAllRoundingProfiles) {
      SCOPED_TRACE("profile " + std::to_string(static_cast<int>(profile)));
      check(x, w, testing::expected_bytes(node, profile, sums), at_front,
            [&](std::span<const std::byte> weights) { return GetParam().qlinear_conv(node, profile, weights); });
    }
  }

  void check_conv_integer(const ConvolutionOperands& operands, const std::vector<std::byte>& x,
                          const std::vector<std::byte>& w, bool at_front) {
    const ConvInteger node{operands};
    check(x, w, testing::expected_sums(node, x, w), at_front,
          [&](std::span<const std::byte> weights) { return GetParam().conv_integer(node, weights); });
  }

  // Both convolutions on random data of one geometry.
  void check_convolutions(SplitMixRandom& random, const ConvolutionOperands& operands) {
    SCOPED_TRACE(testing::describe(operands));
    const ConvolutionGeometry& g = operands.geometry;
    const auto x =
        testing::random_bytes(random, g.batch * g.input_channels * g.input_positions(), operands.x_zero_point);
    const auto w = testing::random_bytes(random, g.output_channels * g.depth(),
                                         operands.w_zero_point.empty() ? 0 : operands.w_zero_point[0]);
    const std::vector<std::int64_t> sums = testing::exact_sums(operands, x, w);
    const bool at_front = random.one_in(2);
    ASSERT_NO_FATAL_FAILURE(check_conv_integer(operands, x, w, at_front));
    ASSERT_NO_FATAL_FAILURE(check_qlinear_conv(testing::random_requantization(random, operands, sums), x, w, at_front));
  }

  // Case number i of QuantizeLinear or DequantizeLinear, in aligned memory and elsewhere.
  template <typename Node, typename Prepare>
  void check_linear(int i, const Node& node, const std::vector<std::byte>& x, bool at_front, Prepare prepare_node) {
    SCOPED_TRACE(testing::describe(node.layout));
    const ExpectedOutput expected = testing::expected_of(node, x);
    const auto prepare = [&](std::span<const std::byte>) { return prepare_node(node); };
    ASSERT_NO_FATAL_FAILURE(check(x, {}, expected, at_front, prepare));
    ASSERT_NO_FATAL_FAILURE(check_at(static_cast<std::size_t>(i % 15) + 1, x, {}, expected, prepare));
  }

  void TearDown() override {
    if (IsSkipped() || HasFailure()) return;
    std::cout << computed_ << " bytes equal\n";
    EXPECT_GT(computed_, 0U) << "kernel set " << GetParam().name << " computed nothing";
  }

  [[nodiscard]] bool is_reference() const { return std::string_view(GetParam().name) == "scalar"; }

  int declined_ = 0;  // nodes that the set has no kernel for

 private:
  testing::FencedMemory x_{kCapacity};
  testing::FencedMemory w_{kCapacity};
  testing::FencedMemory y_{kCapacity};
  std::size_t computed_ = 0;
};

INSTANTIATE_FOR_KERNEL_SETS(KernelSets);

// A one-dimensional convolution without padding.
ConvolutionOperands plain_operands(std::int64_t channels, std::int64_t outputs, std::int64_t input,
                                   std::int64_t kernel) {
  ConvolutionOperands o;
  o.geometry = {.batch = 1,
                .input_channels = channels,
                .output_channels = outputs,
                .group = 1,
                .axes = {{.input = input,
                          .kernel = kernel,
                          .stride = 1,
                          .dilation = 1,
                          .pad_begin = 0,
                          .pad_end = 0,
                          .output = input - kernel + 1}}};
  o.w_zero_point.assign(static_cast<std::size_t>(outputs), 0);
  return o;
}

TEST(KernelSetList, BeginsWithTheReferenceAndNamesNoSetTwice) {
  ASSERT_FALSE(kernel_sets().empty());
  EXPECT_STREQ(kernel_sets().front().name, "scalar");
  EXPECT_TRUE(kernel_sets().front().available());
  std::set<std::string> names;
  for (const KernelSet& set : kernel_sets()) EXPECT_TRUE(names.insert(set.name).second) << set.name;
}

TEST_P(KernelSets, EqualTheReferenceOnRandomConvolutions) {
  const int cases = scaled_for_set(1500);
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    SplitMixRandom random(static_cast<std::uint64_t>(i));
    ASSERT_NO_FATAL_FAILURE(check_convolutions(random, testing::random_operands(random)));
  }
}

// Rows and images longer than a vector of bytes has positions.
TEST_P(KernelSets, EqualTheReferenceOnLongRows) {
  const int cases = scaled_for_set(300);
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    SplitMixRandom random(static_cast<std::uint64_t>(i) + 11'000'000);
    ASSERT_NO_FATAL_FAILURE(check_convolutions(random, testing::random_long_rows(random)));
  }
}

// x, w and y at every distance from a 16-byte boundary: no kernel may rely on alignment.
TEST_P(KernelSets, EqualTheReferenceInUnalignedMemory) {
  const int cases = scaled_for_set(20);
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    SplitMixRandom random(static_cast<std::uint64_t>(i) + 6'000'000);
    const ConvInteger node{testing::random_operands(random)};
    const ConvolutionGeometry& g = node.operands.geometry;
    const auto x = testing::random_bytes(random, g.batch * g.input_channels * g.input_positions(), 0);
    const auto w = testing::random_bytes(random, g.output_channels * g.depth(), 0);
    const ExpectedOutput sums = testing::expected_sums(node, x, w);
    for (std::size_t offset = 1; offset <= 15; ++offset) {
      ASSERT_NO_FATAL_FAILURE(check_at(offset, x, w, sums, [&](std::span<const std::byte> weights) {
        return GetParam().conv_integer(node, weights);
      }));
    }
    const std::vector<std::int64_t> wide = testing::exact_sums(node.operands, x, w);
    const QLinearConv quantized = testing::random_requantization(random, node.operands, wide);
    const ExpectedOutput bytes = testing::expected_bytes(quantized, RoundingProfile::correctly_rounded,
                                                         testing::exact_sums(quantized.operands, x, w));
    for (std::size_t offset = 1; offset <= 15; ++offset) {
      ASSERT_NO_FATAL_FAILURE(check_at(offset, x, w, bytes, [&](std::span<const std::byte> weights) {
        return GetParam().qlinear_conv(quantized, RoundingProfile::correctly_rounded, weights);
      }));
    }
  }
}

// One case on either side of every tile border: channels, positions and depth.
TEST_P(KernelSets, EqualTheReferenceAroundTileBorders) {
  SplitMixRandom random(1);
  for (const std::int64_t channels : {1, 2, 7}) {
    for (std::int64_t outputs = 1; outputs <= 18; ++outputs) {
      for (const std::int64_t input : {1, 4, 5, 8, 9, 15, 16, 17, 32, 33, 63, 64, 65, 79, 128, 129}) {
        ConvolutionOperands o = plain_operands(channels, outputs, input, 1);
        o.x_zero_point = 77;
        if (outputs % 4 == 1 || testing::scaled(100) >= 100) {
          ASSERT_NO_FATAL_FAILURE(check_convolutions(random, o));
        }
      }
    }
  }
}

TEST_P(KernelSets, EqualTheReferenceBeyondEveryBlockSize) {
  SplitMixRandom random(2);
  struct ConvolutionSize {
    std::int64_t channels, outputs, input, kernel;
  };
  for (const ConvolutionSize& s :
       {ConvolutionSize{511, 5, 3, 1}, ConvolutionSize{512, 5, 3, 1}, ConvolutionSize{513, 5, 3, 1},
        ConvolutionSize{1100, 3, 17, 1}, ConvolutionSize{1, 3, 700, 601}, ConvolutionSize{2, 3, 560, 513},
        ConvolutionSize{3, 2, 1100, 1030}, ConvolutionSize{3, 255, 5, 1}, ConvolutionSize{3, 256, 5, 1},
        ConvolutionSize{3, 257, 66, 1}, ConvolutionSize{2, 530, 3, 2}}) {
    ASSERT_NO_FATAL_FAILURE(check_convolutions(random, plain_operands(s.channels, s.outputs, s.input, s.kernel)));
  }
}

// The largest products, deep enough to leave 32 bits: sums wrap, they do not saturate (rule C17).
TEST_P(KernelSets, WrapSumsAsTheReferenceDoes) {
  struct ExtremeOperands {
    ElementType x_type, w_type;
    std::int32_t x, x_zero_point, w, w_zero_point;
  };
  for (const ExtremeOperands& e : {ExtremeOperands{ElementType::uint8, ElementType::uint8, 255, 0, 255, 0},
                                   ExtremeOperands{ElementType::uint8, ElementType::int8, 255, 0, -128, 127},
                                   ExtremeOperands{ElementType::int8, ElementType::int8, -128, 127, -128, 127},
                                   ExtremeOperands{ElementType::int8, ElementType::uint8, 127, -128, 0, 255}}) {
    ConvolutionOperands o = plain_operands(33030, 2, 9, 1);
    o.x_type = e.x_type;
    o.w_type = e.w_type;
    o.x_zero_point = e.x_zero_point;
    o.w_zero_point = {e.w_zero_point, e.w_zero_point};
    const std::vector<std::byte> x(33030 * 9, store8(e.x));
    const std::vector<std::byte> w(33030 * 2, store8(e.w));
    ASSERT_NO_FATAL_FAILURE(check_conv_integer(o, x, w, true));
    QLinearConv node;
    node.operands = o;
    node.w_scale = {1, 0x1p-24F};
    node.y_scale = 0x1p+5F;
    ASSERT_NO_FATAL_FAILURE(check_qlinear_conv(node, x, w, false));
  }
}

// A weight of a channel whose pairs lie around the limit beyond which sums of two products of bytes leave 16 bits.
std::int32_t weight_near_limit(SplitMixRandom& random, std::int64_t channel_kind) {
  const std::int32_t sign = channel_kind % 2 == 0 ? 1 : -1;
  switch (channel_kind / 2) {
    case 0: return static_cast<std::int32_t>(random.between(-20, 20));
    case 1: return 64 * sign;                             // every pair is at the limit
    case 2: return (random.one_in(40) ? 65 : 64) * sign;  // some exceed it by 1 or 2
    case 3: return random.one_in(30) ? (sign > 0 ? 127 : -128) : sign * 2;
    case 4: return random.one_in(2) ? 127 : -128;  // only opposite signs fit each other
    case 5: return random.one_in(12) ? -128 : static_cast<std::int32_t>(random.between(-1, 1));
    default: return static_cast<std::int32_t>(random.between(-128, 127));
  }
}

// Weights of all kinds beside each other, so that most pairs of a panel fit and some do not; x with many extreme bytes.
TEST_P(KernelSets, EqualTheReferenceAroundTheLimitOfPairs) {
  const int cases = scaled_for_set(400);
  int paired = 0;
  for (int i = 0; i < cases; ++i) {
    SplitMixRandom random(static_cast<std::uint64_t>(i) + 12'000'000);
    ConvolutionOperands o = testing::random_operands(random);
    if (random.one_in(2)) {
      o.geometry = plain_operands(random.between(1, 100), random.between(1, 40), random.between(3, 60), 3).geometry;
      o.bias.clear();
      o.w_zero_point.assign(static_cast<std::size_t>(o.geometry.output_channels),
                            o.w_type == ElementType::int8 ? 0 : 128);
    }
    SCOPED_TRACE("case " + std::to_string(i) + ": " + testing::describe(o));
    const ConvolutionGeometry& g = o.geometry;
    auto x = testing::random_bytes(random, g.batch * g.input_channels * g.input_positions(), o.x_zero_point);
    if (random.one_in(2)) std::fill(x.begin(), x.end(), store8(range_of(o.x_type).hi));
    std::vector<std::byte> w;
    const std::int64_t kinds = random.pick({6, 10, 12, 14});
    for (std::int64_t m = 0; m < g.output_channels; ++m) {
      const std::int64_t kind = random.between(0, kinds - 1);
      for (std::int64_t k = 0; k < g.depth(); ++k) {
        w.push_back(store8(weight_near_limit(random, kind) + (o.w_type == ElementType::uint8 ? 128 : 0)));
      }
    }
    const std::string name(GetParam().conv_integer({o}, w)->implementation());
    paired += name.ends_with(" pairs") && name != "dense, 0% pairs" ? 1 : 0;
    const QLinearConv node = testing::random_requantization(random, o, testing::exact_sums(o, x, w));
    const bool at_front = random.one_in(2);
    ASSERT_NO_FATAL_FAILURE(check_conv_integer(o, x, w, at_front));
    ASSERT_NO_FATAL_FAILURE(check_qlinear_conv(node, x, w, at_front));
  }
  const bool has_pairs = GetParam().micro_kernels != nullptr && GetParam().micro_kernels->convolution.pairs != nullptr;
  EXPECT_TRUE(!has_pairs || paired > cases / 10) << paired << " of " << cases << " nodes in pairs";
}

// Without input channels every output is its bias: any accumulator can be put to requantization.
TEST_P(KernelSets, RequantizeAnyAccumulatorAsTheReferenceDoes) {
  const int cases = scaled_for_set(1500);
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    SplitMixRandom random(static_cast<std::uint64_t>(i) + 1'000'000);
    const ConvolutionOperands o = plain_operands(0, 150, random.between(1, 3), 1);
    const auto positions = static_cast<std::size_t>(o.geometry.output_positions());
    const std::vector<std::int64_t> sums(150 * positions, 0);
    QLinearConv node = testing::random_requantization(random, o, sums);
    ASSERT_NO_FATAL_FAILURE(check_qlinear_conv(node, {}, {}, random.one_in(2)));
  }
}

// Exact ties whose multiplier is not a double: y_scale has an odd factor that divides the
// accumulator. Only integer arithmetic sees that they are ties (rule C19).
TEST_P(KernelSets, RoundExactTiesToEven) {
  SplitMixRandom random(4);
  const int cases = scaled_for_set(400);
  for (int i = 0; i < cases; ++i) {
    const std::int64_t factor = 2 * random.between(1, 1 << 20) + 1;
    QLinearConv node;
    node.operands = plain_operands(0, 64, 1, 1);
    for (int m = 0; m < 64; ++m) {
      const std::int64_t odd = 2 * random.between(-200, 199) + 1;
      node.operands.bias.push_back(static_cast<std::int32_t>(odd * factor));
    }
    node.w_scale.assign(64, 0x1p-40F);
    node.y_scale = static_cast<float>(factor) * 0x1p-39F;
    node.y_zero_point = static_cast<std::int32_t>(random.between(0, 255));
    SCOPED_TRACE("factor " + std::to_string(factor));
    ASSERT_NO_FATAL_FAILURE(check_qlinear_conv(node, {}, {}, true));
  }
}

// Closer to a tie than a double can tell: accumulator * x_scale * w_scale is 2^57 + 1 or 2^60 - 1
// (both have factors that fit), times a power of two.
TEST_P(KernelSets, DecideNearTiesBeyondDoublePrecision) {
  struct NearTie {
    std::int32_t accumulator;
    float x_scale, w_scale, y_scale;
    std::int32_t expected;
  };
  for (const NearTie& t : {NearTie{160465489, 5139, 174763, 0x1p+58F, 1},      // 1/2 + 2^-58
                           NearTie{-160465489, 5139, 174763, 0x1p+58F, -1},    // and its negative
                           NearTie{(1 << 30) - 1, 39975, 80581, 0x1p+61F, 1},  // 3/2 - 3 * 2^-61
                           NearTie{(1 << 30) + 1, 98301, 32769, 0x1p+61F, 1},  // 3/2 - 3 * 2^-61 by other factors
                           NearTie{-(1 << 30) + 1, 39975, 80581, 0x1p+61F, -1}}) {
    QLinearConv node;
    node.operands = plain_operands(0, 8, 3, 1);
    node.operands.bias.assign(8, t.accumulator);
    node.x_scale = t.x_scale;
    node.w_scale.assign(8, t.w_scale);
    node.y_scale = t.y_scale;
    node.y_zero_point = 100;
    const std::vector<std::byte> expected(24, store8(100 + t.expected));
    std::vector<std::byte> y(24);
    qlinear_conv(node, RoundingProfile::correctly_rounded, {}, {}, y);
    ASSERT_EQ(y, expected);
    ASSERT_NO_FATAL_FAILURE(check_qlinear_conv(node, {}, {}, true));
  }
}

QuantizationLayout random_layout(SplitMixRandom& random) {
  QuantizationLayout layout;
  if (random.one_in(2)) {
    layout.outer = random.between(1, 3);
    layout.channels = random.between(random.one_in(20) ? 0 : 1, 5);
  }
  layout.inner = random.one_in(20) ? 0 : random.between(1, random.one_in(2) ? 20 : 100);
  return layout;
}

// A float that quantizes to anything: ordinary, next to a tie, special, or any bits at all.
float random_float(SplitMixRandom& random, float scale) {
  const float near = (static_cast<float>(random.between(-300, 300)) + 0.5F) * scale;
  switch (random.between(0, 3)) {
    case 0: return static_cast<float>(random.between(-4000, 4000)) * scale / 16;
    case 1: return near;
    case 2: return std::bit_cast<float>(std::bit_cast<std::uint32_t>(near) + (random.one_in(2) ? 1U : ~0U));
    default: return std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
  }
}

QuantizeLinear random_quantize_linear(SplitMixRandom& random) {
  QuantizeLinear node;
  node.layout = random_layout(random);
  node.x_type = random.one_in(3) ? ElementType::int32 : ElementType::float32;
  node.y_type = random.one_in(2) ? ElementType::uint8 : ElementType::int8;
  const IntegerRange range = range_of(node.y_type);
  for (std::int64_t c = 0; c < node.layout.channels; ++c) {
    const auto ordinary = static_cast<float>(random.between(1, 1000)) / 256;
    node.y_scale.push_back(random.one_in(4) ? testing::random_scale(random) : ordinary);
    node.y_zero_point.push_back(static_cast<std::int32_t>(random.between(range.lo, range.hi)));
  }
  return node;
}

std::vector<std::byte> random_x(SplitMixRandom& random, const QuantizeLinear& node) {
  const auto elements = static_cast<std::size_t>(node.layout.elements());
  std::vector<std::byte> x(4 * elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const auto channel = static_cast<std::int64_t>(i) / node.layout.inner % node.layout.channels;
    auto bits = std::bit_cast<std::uint32_t>(
        random_float(random, static_cast<float>(node.y_scale[static_cast<std::size_t>(channel)])));
    if (node.x_type == ElementType::int32) {
      bits = static_cast<std::uint32_t>(random.one_in(4) ? random.bits()
                                                         : static_cast<std::uint64_t>(random.between(-2000, 2000)));
    }
    std::memcpy(x.data() + 4 * i, &bits, sizeof bits);
  }
  return x;
}

TEST_P(KernelSets, EqualTheReferenceOnRandomQuantizeLinear) {
  const int cases = scaled_for_set(8000);
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    SplitMixRandom random(static_cast<std::uint64_t>(i) + 2'000'000);
    const QuantizeLinear node = random_quantize_linear(random);
    const std::vector<std::byte> x = random_x(random, node);
    ASSERT_NO_FATAL_FAILURE(check_linear(i, node, x, random.one_in(2), GetParam().quantize_linear));
  }
}

DequantizeLinear random_dequantize_linear(SplitMixRandom& random) {
  DequantizeLinear node;
  node.layout = random_layout(random);
  node.x_type = random.pick({ElementType::uint8, ElementType::int8, ElementType::int32});
  for (std::int64_t c = 0; c < node.layout.channels; ++c) {
    // Any bits: zero, subnormal, infinite and NaN scales follow IEEE arithmetic too (rule D6).
    const auto any = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
    const auto special = std::bit_cast<float>(random.pick({0U, 0x80000000U, 1U, 0x7F800000U, 0x7FC00000U}));
    node.x_scale.push_back(random.one_in(8) ? special : any);
    const auto zero_point = static_cast<std::int32_t>(random.between(0, 127));
    node.x_zero_point.push_back(node.x_type == ElementType::int32   ? 0
                                : node.x_type == ElementType::uint8 ? 2 * zero_point
                                                                    : zero_point - 64);
  }
  return node;
}

TEST_P(KernelSets, EqualTheReferenceOnRandomDequantizeLinear) {
  const int cases = scaled_for_set(8000);
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    SplitMixRandom random(static_cast<std::uint64_t>(i) + 3'000'000);
    const DequantizeLinear node = random_dequantize_linear(random);
    const std::int64_t size = node.x_type == ElementType::int32 ? 4 : 1;
    const auto x = testing::random_bytes(random, size * node.layout.elements(), 0);
    ASSERT_NO_FATAL_FAILURE(check_linear(i, node, x, random.one_in(2), GetParam().dequantize_linear));
  }
}

constexpr ElementType kDataTypes[] = {ElementType::uint8,      ElementType::int8,           ElementType::uint16,
                                      ElementType::int16,      ElementType::float8e4m3fn,   ElementType::float8e4m3fnuz,
                                      ElementType::float8e5m2, ElementType::float8e5m2fnuz, ElementType::uint4,
                                      ElementType::int4,       ElementType::float4e2m1,     ElementType::uint2,
                                      ElementType::int2,       ElementType::int32};
constexpr ElementType kRealTypes[] = {ElementType::float32, ElementType::float16, ElementType::bfloat16,
                                      ElementType::int32};

QuantizationLayout random_blocked_layout(SplitMixRandom& random) {
  QuantizationLayout layout = random_layout(random);
  if (random.one_in(2)) layout.block = random.between(1, 4);
  return layout;
}

std::vector<std::byte> random_elements(SplitMixRandom& random, const QuantizationLayout& layout, ElementType type) {
  return testing::random_bytes(random, bytes_for(layout.elements(), bits_of(type)), 0);
}

// Every type and layout of every version: a set computes what the reference computes, or declines. What
// it computed before these types existed it must not decline.
TEST_P(KernelSets, QuantizeLinearOfAnyTypeEqualsTheReferenceOrIsDeclined) {
  const int cases = scaled_for_set(4000);
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    SplitMixRandom random(static_cast<std::uint64_t>(i) + 4'000'000);
    QuantizeLinear node;
    node.layout = random_blocked_layout(random);
    node.x_type = kRealTypes[random.between(0, 3)];
    node.scale_type = kRealTypes[random.between(0, 2)];
    node.precision = random.one_in(4) ? kRealTypes[random.between(0, 2)] : ElementType::undefined;
    node.y_type = kDataTypes[random.between(0, 12)];
    node.version = static_cast<int>(random.pick({10, 19, 23, 25}));
    for (std::int64_t p = 0; p < node.layout.parameters(); ++p) {
      node.y_scale.push_back(static_cast<double>(random.between(1, 255)) / 64);
      node.y_zero_point.push_back(is_integer(node.y_type) && random.one_in(2) ? range_of(node.y_type).hi : 0);
    }
    const auto x = random_elements(random, node.layout, node.x_type);
    ASSERT_NO_FATAL_FAILURE(check_linear(i, node, x, random.one_in(2), GetParam().quantize_linear));
  }
  EXPECT_TRUE(!is_reference() || declined_ == 0);
}

TEST_P(KernelSets, DequantizeLinearOfAnyTypeEqualsTheReferenceOrIsDeclined) {
  const int cases = scaled_for_set(4000);
  for (int i = 0; i < cases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    SplitMixRandom random(static_cast<std::uint64_t>(i) + 5'000'000);
    DequantizeLinear node;
    node.layout = random_blocked_layout(random);
    node.x_type = kDataTypes[random.between(0, 13)];
    node.scale_type = kRealTypes[random.between(0, 2)];
    node.y_type = kRealTypes[random.between(0, 2)];
    node.version = static_cast<int>(random.pick({10, 19, 23, 25}));
    const bool has_zero_point = is_integer(node.x_type) && node.x_type != ElementType::int32;
    for (std::int64_t p = 0; p < node.layout.parameters(); ++p) {
      node.x_scale.push_back(static_cast<double>(random.between(1, 255)) / 64);
      node.x_zero_point.push_back(has_zero_point ? range_of(node.x_type).lo : 0);
    }
    const auto x = random_elements(random, node.layout, node.x_type);
    ASSERT_NO_FATAL_FAILURE(check_linear(i, node, x, random.one_in(2), GetParam().dequantize_linear));
  }
  EXPECT_TRUE(!is_reference() || declined_ == 0);
}

class KernelSetCoverage : public testing::KernelSetTest {};
INSTANTIATE_FOR_KERNEL_SETS(KernelSetCoverage);

TEST_P(KernelSetCoverage, ThePlainTypesAreNotDeclined) {
  QuantizeLinear quantize;
  quantize.y_scale = {1};
  quantize.y_zero_point = {0};
  for (const ElementType x : {ElementType::float32, ElementType::int32}) {
    for (const ElementType y : {ElementType::uint8, ElementType::int8}) {
      quantize.x_type = x;
      quantize.y_type = y;
      EXPECT_NE(GetParam().quantize_linear(quantize), nullptr);
    }
  }
  DequantizeLinear dequantize;
  dequantize.x_scale = {1};
  dequantize.x_zero_point = {0};
  for (const ElementType x : {ElementType::uint8, ElementType::int8, ElementType::int32}) {
    dequantize.x_type = x;
    EXPECT_NE(GetParam().dequantize_linear(dequantize), nullptr);
  }
}

}  // namespace
}  // namespace qconform::reference

// Channels-last entries and threads of the kernel sets: the same bytes as the reference, whatever
// the layout and the number of threads. Memory lies against inaccessible pages, as in kernels_test.
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/kernels/kernels.h"
#include "reference/tests/kernel_cases.h"

namespace qconform::reference {
namespace {

using testing::ExpectedOutput;
using testing::FencedMemory;
using testing::kCapacity;
using testing::SplitMixRandom;

// From [batch, channels, positions] to [batch, positions, channels].
std::vector<std::byte> channels_last(const std::vector<std::byte>& from, std::int64_t channels,
                                     std::int64_t positions) {
  std::vector<std::byte> to(from.size());
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(from.size()); ++i) {
    const std::int64_t position = i % positions;
    const std::int64_t channel = i / positions % channels;
    const std::int64_t image = i / positions / channels;
    to[static_cast<std::size_t>((image * positions + position) * channels + channel)] =
        from[static_cast<std::size_t>(i)];
  }
  return to;
}

struct RandomNode {
  QLinearConv node;
  RoundingProfile profile;
  std::vector<std::byte> x;
  std::vector<std::byte> w;
  ExpectedOutput y;
};

RandomNode random_node(SplitMixRandom& random, const ConvolutionOperands& operands) {
  const ConvolutionGeometry& g = operands.geometry;
  const auto x = testing::random_bytes(random, g.batch * g.input_channels * g.input_positions(), operands.x_zero_point);
  const auto w = testing::random_bytes(random, g.output_channels * g.depth(), 0);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(g.batch * g.output_channels * g.output_positions()));
  accumulate(operands, x, w, sums);
  const QLinearConv node = testing::random_requantization(random, operands, sums);
  const RoundingProfile profile = kAllRoundingProfiles[random.between(0, kRoundingProfiles - 1)];
  return {node, profile, x, w, testing::expected_bytes(node, profile, testing::exact_sums(node.operands, x, w))};
}

std::vector<std::byte> x_channels_last(const RandomNode& r) {
  const ConvolutionGeometry& g = r.node.operands.geometry;
  return channels_last(r.x, g.input_channels, g.input_positions());
}

ExpectedOutput y_channels_last(const RandomNode& r) {
  const ConvolutionGeometry& g = r.node.operands.geometry;
  ExpectedOutput y{channels_last(r.y.bytes, g.output_channels, g.output_positions()), r.y.type, r.y.shape};
  std::rotate(y.shape.begin() + 1, y.shape.begin() + 2, y.shape.end());
  return y;
}

std::string describe(int index, const RandomNode& r) {
  return "case " + std::to_string(index) + ": " + testing::describe(r.node.operands);
}

class KernelSetLayouts : public testing::KernelSetTest {};
INSTANTIATE_FOR_KERNEL_SETS(KernelSetLayouts);

TEST_P(KernelSetLayouts, ChannelsLastEqualsTheReference) {
  const auto prepare = GetParam().qlinear_conv_channels_last;
  if (prepare == nullptr) return;  // the set has none
  const FencedMemory x_memory(kCapacity);
  const FencedMemory y_memory(kCapacity);
  const int cases = scaled_for_set(1500);
  for (int i = 0; i < cases; ++i) {
    SplitMixRandom random(static_cast<std::uint64_t>(i) + 7'000'000);
    const RandomNode r = random_node(random, testing::random_operands(random));
    SCOPED_TRACE(describe(i, r));
    const auto x_last = x_channels_last(r);
    const ExpectedOutput expected = y_channels_last(r);
    const bool at_front = random.one_in(2);
    const std::span<std::byte> x = x_memory.bytes(x_last.size(), at_front);
    const std::span<std::byte> y = y_memory.bytes(expected.bytes.size(), at_front);
    std::copy(x_last.begin(), x_last.end(), x.begin());
    std::fill(y.begin(), y.end(), std::byte{0xAA});
    prepare(r.node, r.profile, r.w)->run(x, y);
    ASSERT_TRUE(testing::equal(y, expected));
  }
}

// Layers whose windows reach into the padding, deep enough for kernels to leave those taps out.
ConvolutionOperands padded_operands(SplitMixRandom& random) {
  ConvolutionOperands o;
  o.x_type = random.pick({ElementType::uint8, ElementType::int8});
  o.w_type = random.pick({ElementType::uint8, ElementType::int8});
  // In half of the cases, x is packed to 0 in the padding, which kernels may skip.
  const std::int32_t zero = o.x_type == ElementType::int8 ? random.pick({-128, 0}) : 0;
  o.x_zero_point = random.one_in(4) ? 5 : zero;
  ConvolutionGeometry& g = o.geometry;
  g = {.batch = 1,
       .input_channels = random.pick({32, 36, 64}),
       .output_channels = random.between(1, 9) * random.pick({7, 8}),
       .group = 1,
       .axes = {}};
  for (int i = 0; i < 2; ++i) {
    const SpatialAxis axis{.input = random.between(1, 9),
                           .kernel = random.between(1, 4),
                           .stride = random.between(1, 2),
                           .dilation = random.one_in(4) ? 2 : 1,
                           .pad_begin = random.between(0, 3),
                           .pad_end = random.between(0, 3),
                           .output = 0};
    g.axes.push_back(testing::with_output(axis));
  }
  const std::int32_t w_zero_point = random.one_in(4) ? 3 : o.w_type == ElementType::uint8 ? 128 : 0;
  o.w_zero_point.assign(static_cast<std::size_t>(g.output_channels), w_zero_point);
  return o;
}

class KernelSetPadding : public testing::KernelSetTest {};
INSTANTIATE_FOR_KERNEL_SETS(KernelSetPadding);

TEST_P(KernelSetPadding, EqualsTheReferenceInBothLayouts) {
  const int cases = scaled_for_set(300);
  for (int i = 0; i < cases; ++i) {
    SplitMixRandom random(static_cast<std::uint64_t>(i) + 9'000'000);
    const RandomNode r = random_node(random, padded_operands(random));
    SCOPED_TRACE(describe(i, r));
    std::vector<std::byte> y(r.y.bytes.size());
    GetParam().qlinear_conv(r.node, r.profile, r.w)->run(r.x, y);
    ASSERT_TRUE(testing::equal(y, r.y));
    if (GetParam().qlinear_conv_channels_last == nullptr) continue;
    GetParam().qlinear_conv_channels_last(r.node, r.profile, r.w)->run(x_channels_last(r), y);
    ASSERT_TRUE(testing::equal(y, y_channels_last(r))) << "with channels last";
  }
}

class KernelSetStreams : public testing::KernelSetTest {};
INSTANTIATE_FOR_KERNEL_SETS(KernelSetStreams);

// So many elements that kernels store them past the caches.
TEST_P(KernelSetStreams, LargeDequantizeLinearEqualsTheReference) {
  constexpr std::size_t kElements = (std::size_t{1} << 22) + 13;
  constexpr std::size_t kMargin = 64;
  SplitMixRandom random(10'000'000);
  const auto x = testing::random_bytes(random, kElements, 0);
  for (const ElementType type : {ElementType::uint8, ElementType::int8}) {
    DequantizeLinear node;
    node.layout = {.outer = 1, .channels = 1, .inner = kElements};
    node.x_type = type;
    node.x_scale = {0.03125};
    node.x_zero_point = {7};
    const ExpectedOutput expected = testing::expected_of(node, x);
    for (const std::size_t offset : {std::size_t{4}, std::size_t{7}}) {
      std::vector<std::byte> memory(expected.bytes.size() + 2 * kMargin, std::byte{0xAA});
      const auto y = std::span(memory).subspan(offset, expected.bytes.size());
      GetParam().dequantize_linear(node)->run(x, y);
      ASSERT_TRUE(testing::equal(y, expected)) << "at offset " << offset;
      ASSERT_EQ(memory[offset - 1], std::byte{0xAA});
      ASSERT_EQ(memory[offset + expected.bytes.size()], std::byte{0xAA});
    }
  }
}

class KernelSetThreads : public testing::KernelSetTest {};
INSTANTIATE_FOR_KERNEL_SETS(KernelSetThreads);

TEST_P(KernelSetThreads, DoNotChangeTheResult) {
  const int cases = scaled_for_set(150);
  for (int i = 0; i < cases; ++i) {
    SplitMixRandom random(static_cast<std::uint64_t>(i) + 8'000'000);
    const RandomNode r =
        random_node(random, i % 3 == 0 ? testing::random_long_rows(random) : testing::random_operands(random));
    SCOPED_TRACE(describe(i, r));
    const auto node = GetParam().qlinear_conv(r.node, r.profile, r.w);
    for (const int threads : {-1, 1, 2, 3, 7}) {
      std::vector<std::byte> y(r.y.bytes.size(), std::byte{0xAA});
      node->run_on(threads, r.x, y);
      ASSERT_TRUE(testing::equal(y, r.y)) << "on " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace qconform::reference

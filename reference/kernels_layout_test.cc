// Channels-last entries and threads of the kernel sets: the same bytes as the reference, whatever
// the layout and the number of threads. Memory lies against inaccessible pages, as in kernels_test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>

#include "reference/kernels.h"
#include "reference/kernels_test_support.h"

namespace qconform::reference {
namespace {

using testing::GuardedMemory;
using testing::kCapacity;
using testing::kProfiles;
using testing::Random;

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
  std::vector<std::byte> y;  // what the reference computes
};

RandomNode random_node(Random& random) {
  const ConvolutionOperands operands = testing::random_operands(random);
  const ConvolutionGeometry& g = operands.geometry;
  RandomNode r;
  r.x = testing::random_bytes(random, g.batch * g.input_channels * g.input_positions(), operands.x_zero_point);
  r.w = testing::random_bytes(random, g.output_channels * g.depth(), 0);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(g.batch * g.output_channels * g.output_positions()));
  accumulate(operands, r.x, r.w, sums);
  r.node = testing::random_requantization(random, operands, sums);
  r.profile = kProfiles[random.between(0, 2)];
  r.y.resize(sums.size());
  qlinear_conv(r.node, r.profile, r.x, r.w, r.y);
  return r;
}

TEST(KernelSetLayouts, ChannelsLastEqualsTheReference) {
  const GuardedMemory x_memory(kCapacity);
  const GuardedMemory y_memory(kCapacity);
  std::size_t computed = 0;
  const int cases = testing::scaled(1500);
  for (int i = 0; i < cases; ++i) {
    Random random(static_cast<std::uint64_t>(i) + 7'000'000);
    const RandomNode r = random_node(random);
    const ConvolutionGeometry& g = r.node.operands.geometry;
    SCOPED_TRACE("case " + std::to_string(i) + ": " + testing::describe(r.node.operands));
    const auto x_last = channels_last(r.x, g.input_channels, g.input_positions());
    const auto expected = channels_last(r.y, g.output_channels, g.output_positions());
    const bool at_front = random.one_in(2);
    const std::span<std::byte> x = x_memory.bytes(x_last.size(), at_front);
    const std::span<std::byte> y = y_memory.bytes(expected.size(), at_front);
    std::copy(x_last.begin(), x_last.end(), x.begin());
    for (const KernelSet& set : kernel_sets()) {
      if (!set.available() || set.qlinear_conv_channels_last == nullptr) continue;
      std::fill(y.begin(), y.end(), std::byte{0xAA});
      set.qlinear_conv_channels_last(r.node, r.profile, r.w)->run(x, y);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), y.begin(), y.end())) << set.name;
      computed += expected.size();
    }
  }
  std::cout << computed << " bytes equal\n";
  if (computed == 0) GTEST_SKIP() << "no kernel set of this CPU takes channels last";
}

TEST(KernelSetThreads, DoNotChangeTheResult) {
  const int cases = testing::scaled(150);
  for (int i = 0; i < cases; ++i) {
    Random random(static_cast<std::uint64_t>(i) + 8'000'000);
    const RandomNode r = random_node(random);
    SCOPED_TRACE("case " + std::to_string(i) + ": " + testing::describe(r.node.operands));
    for (const KernelSet& set : kernel_sets()) {
      if (!set.available()) continue;
      const auto node = set.qlinear_conv(r.node, r.profile, r.w);
      for (const int threads : {-1, 1, 2, 3, 7}) {
        std::vector<std::byte> y(r.y.size(), std::byte{0xAA});
        node->run_on(threads, r.x, y);
        ASSERT_EQ(y, r.y) << set.name << " on " << threads << " threads";
      }
    }
  }
}

}  // namespace
}  // namespace qconform::reference

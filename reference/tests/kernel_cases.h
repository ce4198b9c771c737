// The differential tests of the kernel sets share reproducible random nodes, and memory that ends where it says.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/base/rng.h"
#include "harness/tests/test_scale.h"
#include "reference/kernels/kernels.h"

namespace qconform::reference {

/// The set's name, for GoogleTest.
void PrintTo(const KernelSet& set, std::ostream* out);

namespace testing {

using qconform::testing::scaled;

/// A test of every kernel set; skipped for those that this CPU lacks. INSTANTIATE_FOR_KERNEL_SETS(suite) names its
/// tests after them: `--gtest_filter='*/avx2'`.
class KernelSetTest : public ::testing::TestWithParam<KernelSet> {
 protected:
  void SetUp() override {
    if (!GetParam().available()) GTEST_SKIP() << "kernel set " << GetParam().name << ": this CPU lacks it";
  }

  /// scaled(cases); fewer for the reference, which is compared with itself: only its memory and its preparing are
  /// tested.
  [[nodiscard]] static int scaled_for_set(int cases);
};

[[nodiscard]] std::string kernel_set_name(const ::testing::TestParamInfo<KernelSet>& set);

#define INSTANTIATE_FOR_KERNEL_SETS(suite) \
  INSTANTIATE_TEST_SUITE_P(, suite, ::testing::ValuesIn(kernel_sets()), testing::kernel_set_name)

/// Bytes of the largest tensor of a random node.
inline constexpr std::size_t kCapacity = std::size_t{1} << 20;

/// The output that a node must have.
struct ExpectedOutput {
  std::vector<std::byte> bytes;
  ElementType type;
  std::vector<std::int64_t> shape;
};

[[nodiscard]] ExpectedOutput expected_sums(const ConvInteger& node, std::span<const std::byte> x,
                                           std::span<const std::byte> w);
/// The sums of products of both convolutions, without wrapping.
[[nodiscard]] std::vector<std::int64_t> exact_sums(const ConvolutionOperands& operands, std::span<const std::byte> x,
                                                   std::span<const std::byte> w);
/// From these sums, which are those of every profile.
[[nodiscard]] ExpectedOutput expected_bytes(const QLinearConv& node, RoundingProfile profile,
                                            std::span<const std::int64_t> sums);
[[nodiscard]] ExpectedOutput expected_of(const QuantizeLinear& node, std::span<const std::byte> x);
[[nodiscard]] ExpectedOutput expected_of(const DequantizeLinear& node, std::span<const std::byte> x);

/// Bit for bit; a failure tells the first element that differs by its coordinate.
[[nodiscard]] ::testing::AssertionResult equal(std::span<const std::byte> got, const ExpectedOutput& expected);

/// Draws from ranges of any width, for which Rng::between() is too narrow.
class SplitMixRandom {
 public:
  explicit SplitMixRandom(std::uint64_t seed) : rng_(seed) {}

  std::uint64_t bits() { return rng_.next(); }
  /// In [lo, hi], both included.
  std::int64_t between(std::int64_t lo, std::int64_t hi);
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <typename T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<std::int64_t>(values.size()) - 1)];
  }

 private:
  Rng rng_;
};

/// Memory between two inaccessible pages: an access beyond it is a SIGSEGV.
class FencedMemory {
 public:
  explicit FencedMemory(std::size_t capacity);
  FencedMemory(const FencedMemory&) = delete;
  FencedMemory& operator=(const FencedMemory&) = delete;
  ~FencedMemory();

  /// `size` bytes that begin right behind the front guard or end right before the back guard.
  [[nodiscard]] std::span<std::byte> bytes(std::size_t size, bool at_front) const;

 private:
  std::size_t page_;
  std::size_t accessible_;
  std::byte* mapping_;
};

/// A convolution within the contract whose reference costs at most a few hundred thousand products.
[[nodiscard]] ConvolutionOperands random_operands(SplitMixRandom& random);

/// Layers that kernels compute with positions as lanes: a single tap and at least 64 positions, or one input channel in
/// each group and long rows.
[[nodiscard]] ConvolutionOperands random_long_rows(SplitMixRandom& random);

/// The axis with its output; pad_end grows where no window would fit.
[[nodiscard]] SpatialAxis with_output(SpatialAxis axis);

/// Bytes that are uniform, or extreme, or mostly the zero point.
[[nodiscard]] std::vector<std::byte> random_bytes(SplitMixRandom& random, std::int64_t count, std::int32_t zero_point);

/// Completes a QLinearConv: scales that put some results of the given sums next to ties, or exactly
/// there, or far outside what hardware multiplies without underflow.
[[nodiscard]] QLinearConv random_requantization(SplitMixRandom& random, const ConvolutionOperands& operands,
                                                std::span<const std::int64_t> sums);

/// A finite float32 that is not zero.
[[nodiscard]] float random_scale(SplitMixRandom& random);

[[nodiscard]] std::string describe(const ConvolutionOperands& operands);
[[nodiscard]] std::string describe(const QuantizationLayout& layout);

}  // namespace testing
}  // namespace qconform::reference

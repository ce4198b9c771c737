#include "reference/qlinear_conv/blocked.h"

#include <bit>
#include <cstring>
#include <vector>

#include "reference/convolution/blocked.h"

namespace qconform::reference {
namespace {

// One output channel: exact parameters for what the fast ones leave in doubt.
struct Channel {
  Requantization exact;
  FastRequantization fast;
};

class RequantizingWriter final : public RowWriter {
 public:
  RequantizingWriter(const std::vector<Channel>& channels, RoundingProfile profile, RequantizeRow row, std::byte* y)
      : channels_(channels), profile_(profile), row_(row), y_(y) {}

  void write(std::size_t channel, const std::int32_t* sums, int count, std::int64_t element) const override {
    const Channel& c = channels_[channel];
    std::uint8_t bytes[kTilePositions];
    const int padded_count = (count + 7) / 8 * 8;
    std::uint64_t doubtful = row_(sums, padded_count, &c.fast, bytes);
    for (; doubtful != 0; doubtful &= doubtful - 1) {
      const int i = std::countr_zero(doubtful);
      bytes[i] = std::to_integer<std::uint8_t>(store8(requantize(profile_, sums[i], c.exact)));
    }
    std::memcpy(y_ + element, bytes, static_cast<std::size_t>(count));
  }

 private:
  const std::vector<Channel>& channels_;
  RoundingProfile profile_;
  RequantizeRow row_;
  std::byte* y_;
};

class BlockedQLinearConv final : public PreparedNode {
 public:
  BlockedQLinearConv(const QLinearConv& node, RoundingProfile profile, std::span<const std::byte> w,
                     const ConvolutionLeaves& convolution, const RequantizeLeaves& requantize)
      : convolution_(node.operands, w, convolution),
        profile_(profile),
        row_(requantize.row[static_cast<std::size_t>(profile)]) {
    const auto channels = static_cast<std::size_t>(node.operands.geometry.output_channels);
    channels_.reserve(channels);
    for (std::size_t m = 0; m < channels; ++m) {
      const Requantization exact = node.requantization(m);
      channels_.push_back({.exact = exact, .fast = fast_requantization(exact)});
    }
  }

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override {
    convolution_.run(x.data(), RequantizingWriter(channels_, profile_, row_, y.data()));
  }

 private:
  BlockedConvolution convolution_;
  RoundingProfile profile_;
  RequantizeRow row_;
  std::vector<Channel> channels_;
};

}  // namespace

std::unique_ptr<PreparedNode> prepare_blocked_qlinear_conv(const QLinearConv& node, RoundingProfile profile,
                                                           std::span<const std::byte> w,
                                                           const ConvolutionLeaves& convolution,
                                                           const RequantizeLeaves& requantize) {
  return std::make_unique<BlockedQLinearConv>(node, profile, w, convolution, requantize);
}

}  // namespace qconform::reference

#include "reference/conv_integer/blocked.h"

#include <cstring>

#include "reference/convolution/blocked.h"

namespace qconform::reference {
namespace {

class CopyingWriter final : public RowWriter {
 public:
  explicit CopyingWriter(std::byte* y) : y_(y) {}

  void write(std::size_t /*channel*/, const std::int32_t* sums, int count, std::int64_t element) const override {
    constexpr std::size_t kSize = sizeof(std::int32_t);
    std::memcpy(y_ + static_cast<std::size_t>(element) * kSize, sums, static_cast<std::size_t>(count) * kSize);
  }

 private:
  std::byte* y_;
};

class BlockedConvInteger final : public PreparedNode {
 public:
  BlockedConvInteger(const ConvInteger& node, std::span<const std::byte> w, const ConvolutionLeaves& convolution)
      : convolution_(node.operands, w, convolution) {}

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override {
    convolution_.run(x.data(), CopyingWriter(y.data()));
  }

 private:
  BlockedConvolution convolution_;
};

}  // namespace

std::unique_ptr<PreparedNode> prepare_blocked_conv_integer(const ConvInteger& node, std::span<const std::byte> w,
                                                           const ConvolutionLeaves& convolution) {
  return std::make_unique<BlockedConvInteger>(node, w, convolution);
}

}  // namespace qconform::reference

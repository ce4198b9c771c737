#include "reference/kernels/kernels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "reference/numerics/integers.h"

namespace qconform::reference {
namespace {

// Stores where y may have any alignment.
void store(const std::vector<std::int32_t>& values, std::span<std::byte> y) {
  if (!values.empty()) std::memcpy(y.data(), values.data(), y.size());
}

class ScalarQLinearConv final : public PreparedNode {
 public:
  ScalarQLinearConv(const QLinearConv& node, RoundingProfile profile, std::span<const std::byte> w)
      : node_(node), profile_(profile), w_(w.begin(), w.end()) {}

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override {
    std::vector<std::int64_t> sums(y.size());
    fast_sums(node_.operands, x, w_, sums);
    requantize_sums(node_, profile_, sums, y);
  }

 private:
  QLinearConv node_;
  RoundingProfile profile_;
  std::vector<std::byte> w_;
};

class ScalarConvInteger final : public PreparedNode {
 public:
  ScalarConvInteger(const ConvInteger& node, std::span<const std::byte> w) : node_(node), w_(w.begin(), w.end()) {}

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override {
    std::vector<std::int64_t> sums(y.size() / sizeof(std::int32_t));
    fast_sums(node_.operands, x, w_, sums);
    std::vector<std::int32_t> wrapped(sums.size());
    std::transform(sums.begin(), sums.end(), wrapped.begin(), wrap_to_int32);
    store(wrapped, y);
  }

 private:
  ConvInteger node_;
  std::vector<std::byte> w_;
};

class ScalarQuantizeLinear final : public PreparedNode {
 public:
  explicit ScalarQuantizeLinear(const QuantizeLinear& node) : node_(node) {}

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override { quantize_linear(node_, x, y); }

 private:
  QuantizeLinear node_;
};

class ScalarDequantizeLinear final : public PreparedNode {
 public:
  explicit ScalarDequantizeLinear(const DequantizeLinear& node) : node_(node) {}

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override { dequantize_linear(node_, x, y); }

 private:
  DequantizeLinear node_;
};

}  // namespace

std::unique_ptr<PreparedNode> prepare_scalar_qlinear_conv(const QLinearConv& node, RoundingProfile profile,
                                                          std::span<const std::byte> w) {
  return std::make_unique<ScalarQLinearConv>(node, profile, w);
}

std::unique_ptr<PreparedNode> prepare_scalar_conv_integer(const ConvInteger& node, std::span<const std::byte> w) {
  return std::make_unique<ScalarConvInteger>(node, w);
}

std::unique_ptr<PreparedNode> prepare_scalar_quantize_linear(const QuantizeLinear& node) {
  return std::make_unique<ScalarQuantizeLinear>(node);
}

std::unique_ptr<PreparedNode> prepare_scalar_dequantize_linear(const DequantizeLinear& node) {
  return std::make_unique<ScalarDequantizeLinear>(node);
}

}  // namespace qconform::reference

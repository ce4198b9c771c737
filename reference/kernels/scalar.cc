#include "reference/kernels/scalar.h"

#include <cstring>
#include <vector>

namespace qconform::reference {
namespace {

// The typed results of the reference, stored where y may have any alignment.
template <typename Element>
void store(const std::vector<Element>& values, std::span<std::byte> y) {
  if (!values.empty()) std::memcpy(y.data(), values.data(), values.size() * sizeof(Element));
}

class ScalarQLinearConv final : public PreparedNode {
 public:
  ScalarQLinearConv(const QLinearConv& node, RoundingProfile profile, std::span<const std::byte> w)
      : node_(node), profile_(profile), w_(w.begin(), w.end()) {}

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override {
    qlinear_conv(node_, profile_, x, w_, y);
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
    std::vector<std::int32_t> sums(y.size() / sizeof(std::int32_t));
    conv_integer(node_, x, w_, sums);
    store(sums, y);
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

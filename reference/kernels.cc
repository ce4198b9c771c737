#include "reference/kernels.h"

#include <array>

namespace qconform::reference {
namespace {

// The scalar reference as a kernel set: it prepares nothing but copies.
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

}  // namespace

std::span<const KernelSet> kernel_sets() {
  return {};
}

}  // namespace qconform::reference

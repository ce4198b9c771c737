// The in-tree kernel sets: the scalar reference, and the optimized variants that must equal it.
//
// A set covers all operators for one instruction set. Preparing a node packs its weights once;
// running it is then repeatable, and thread-safe for distinct y.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "reference/conv_integer/conv_integer.h"
#include "reference/dequantize_linear/dequantize_linear.h"
#include "reference/qlinear_conv/qlinear_conv.h"
#include "reference/quantize_linear/quantize_linear.h"

namespace qconform::reference {

struct MicroKernels;

/// A node ready to run. Keeps what it needs of the description and the weights.
class PreparedNode {
 public:
  PreparedNode() = default;
  PreparedNode(const PreparedNode&) = delete;
  PreparedNode& operator=(const PreparedNode&) = delete;
  virtual ~PreparedNode() = default;

  /// Computes y from x. Both have exactly the sizes of the described tensors and may have any alignment; nothing
  /// outside them is read or written.
  virtual void run(std::span<const std::byte> x, std::span<std::byte> y) const = 0;

  /// Computes y from x on at most `threads` threads, of which the caller is one. The result does not depend on their
  /// number; nodes that cannot divide their work use one.
  virtual void run_on(int /*threads*/, std::span<const std::byte> x, std::span<std::byte> y) const { run(x, y); }
};

/// One implementation of all operators. quantize_linear and dequantize_linear return null for element
/// types and blocked layouts that the set has no kernel for; the scalar reference has all. The
/// convolutions are never null.
struct KernelSet {
  const char* name;         ///< the backend's name on the command line
  const char* description;  ///< instruction set and method, one line
  bool (*available)();      ///< whether this CPU runs it
  std::unique_ptr<PreparedNode> (*qlinear_conv)(const QLinearConv&, RoundingProfile, std::span<const std::byte> w);
  std::unique_ptr<PreparedNode> (*conv_integer)(const ConvInteger&, std::span<const std::byte> w);
  std::unique_ptr<PreparedNode> (*quantize_linear)(const QuantizeLinear&);
  std::unique_ptr<PreparedNode> (*dequantize_linear)(const DequantizeLinear&);
  /// QLinearConv with x and y channels last, [batch, spatial..., channels]; w as ever. Null: the set
  /// has none.
  std::unique_ptr<PreparedNode> (*qlinear_conv_channels_last)(const QLinearConv&, RoundingProfile,
                                                              std::span<const std::byte> w) = nullptr;
  const MicroKernels* micro_kernels = nullptr;  ///< null: none, as the scalar reference
  const char* peak = nullptr;                   ///< the instruction of micro_kernels->peak_loop: "vpdpbusd zmm"
};

/// Every set compiled into this build, the scalar reference first, then those of kernels.json.
[[nodiscard]] std::span<const KernelSet> kernel_sets();

}  // namespace qconform::reference

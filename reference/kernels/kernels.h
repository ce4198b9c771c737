// The in-tree kernel sets: the scalar reference, and the optimized variants that must equal it.
//
// A set covers all operators for one instruction set. Preparing a node packs its weights once;
// running it is then repeatable, and thread-safe for distinct y.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "reference/convolution/convolution.h"
#include "reference/linear_quantization/dequantize_linear.h"
#include "reference/linear_quantization/quantize_linear.h"

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

  /// The name of the way in which it computes, of those that its kernel set chooses from: "pointwise". Empty where
  /// there is one way only.
  [[nodiscard]] virtual std::string_view implementation() const { return {}; }
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

namespace qconform::reference::cpu {

// The instructions that the processor at hand can run, asked at run time: the build says nothing about the machine. A
// feature of another architecture is never available.

/// AVX2, and an operating system that saves the 256-bit registers.
[[nodiscard]] bool has_avx2();

/// AVX2 and AVX-VNNI, the VEX encoding of VPDPBUSD.
[[nodiscard]] bool has_avxvnni();

/// AVX-512 F, BW, DQ, VL and VNNI, and an operating system that saves the 512-bit registers.
[[nodiscard]] bool has_avx512vnni();

/// AMX tiles with 8-bit products beside AVX-512 VNNI, and a kernel that grants this process the use of the
/// tiles. The first call asks it for that.
[[nodiscard]] bool has_amx();

/// Advanced SIMD (NEON) as every ARMv8-A processor of an application profile has it.
[[nodiscard]] bool has_neon();

/// The instructions of FEAT_DotProd: SDOT and UDOT.
[[nodiscard]] bool has_dotprod();

/// The instructions of FEAT_I8MM: SMMLA, UMMLA and USMMLA, and USDOT.
[[nodiscard]] bool has_i8mm();

}  // namespace qconform::reference::cpu

namespace qconform::reference {

// The scalar reference in the form of a kernel set. Preparing copies the description and the weights; nothing is
// packed.

[[nodiscard]] std::unique_ptr<PreparedNode> prepare_scalar_qlinear_conv(const QLinearConv& node,
                                                                        RoundingProfile profile,
                                                                        std::span<const std::byte> w);
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_scalar_conv_integer(const ConvInteger& node,
                                                                        std::span<const std::byte> w);
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_scalar_quantize_linear(const QuantizeLinear& node);
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_scalar_dequantize_linear(const DequantizeLinear& node);

// The sums of accumulate() (reference/convolution/convolution.h), several products at a time: equal to them, and many
// times as fast.

/// Equals accumulate().
void fast_sums(const ConvolutionOperands& operands, std::span<const std::byte> x, std::span<const std::byte> w,
               std::span<std::int64_t> sums);

/// Equals accumulate_magnitudes().
void fast_sums_of_magnitudes(const ConvolutionOperands& operands, std::span<const std::byte> x,
                             std::span<const std::byte> w, std::span<std::int64_t> sums);

}  // namespace qconform::reference

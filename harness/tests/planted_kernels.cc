#include "harness/tests/planted_kernels.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

#include "reference/kernels/kernels.h"
#include "reference/numerics/integers.h"

namespace qconform::testing {
namespace {

using namespace reference;

bool always() {
  return true;
}

// A node whose run is any function.
class PlantedNode final : public PreparedNode {
 public:
  using Run = std::function<void(std::span<const std::byte> x, std::span<std::byte> y)>;
  explicit PlantedNode(Run run) : run_(std::move(run)) {}
  void run(std::span<const std::byte> x, std::span<std::byte> y) const override { run_(x, y); }

 private:
  Run run_;
};

std::unique_ptr<PreparedNode> planted(PlantedNode::Run run) {
  return std::make_unique<PlantedNode>(std::move(run));
}

// x with its padding written out as raw zero bytes, and the geometry that then needs none.
std::vector<std::byte> pad_with_raw_zero(ConvolutionGeometry& geometry, std::span<const std::byte> x) {
  const std::vector<SpatialAxis> before = geometry.axes;
  for (SpatialAxis& axis : geometry.axes) {
    axis.input += axis.pad_begin + axis.pad_end;
    axis.pad_begin = axis.pad_end = 0;
  }
  const auto planes = geometry.batch * geometry.input_channels;
  std::vector<std::byte> padded(static_cast<std::size_t>(planes * geometry.input_positions()));
  for (std::size_t from = 0; from < x.size(); ++from) {
    // The element's index in the unpadded tensor, carried over to the padded one.
    auto rest = static_cast<std::int64_t>(from);
    std::int64_t to = 0;
    std::int64_t stride = 1;
    for (std::size_t a = before.size(); a-- > 0;) {
      to += (rest % before[a].input + before[a].pad_begin) * stride;
      rest /= before[a].input;
      stride *= geometry.axes[a].input;
    }
    padded[static_cast<std::size_t>(to + rest * stride)] = x[from];
  }
  return padded;
}

std::unique_ptr<PreparedNode> raw_zero_qlinear_conv(const QLinearConv& node, RoundingProfile profile,
                                                    std::span<const std::byte> w) {
  return planted([node, profile, w](std::span<const std::byte> x, std::span<std::byte> y) {
    QLinearConv unpadded = node;
    const std::vector<std::byte> padded = pad_with_raw_zero(unpadded.operands.geometry, x);
    prepare_scalar_qlinear_conv(unpadded, profile, w)->run(padded, y);
  });
}

std::unique_ptr<PreparedNode> raw_zero_conv_integer(const ConvInteger& node, std::span<const std::byte> w) {
  return planted([node, w](std::span<const std::byte> x, std::span<std::byte> y) {
    ConvInteger unpadded = node;
    const std::vector<std::byte> padded = pad_with_raw_zero(unpadded.operands.geometry, x);
    prepare_scalar_conv_integer(unpadded, w)->run(padded, y);
  });
}

// The raw x values under one window, channel by channel; padding holds the zero point.
std::vector<std::int32_t> raw_window(const ConvolutionOperands& o, const std::byte* x, std::int64_t position) {
  const ConvolutionGeometry& g = o.geometry;
  std::vector<std::int32_t> window;
  for (std::int64_t k = 0; k < g.depth(); ++k) {
    std::int64_t tap = k % g.kernel_taps();
    std::int64_t output = position;
    std::int64_t offset = 0;
    std::int64_t stride = 1;
    bool inside = true;
    for (std::size_t a = g.axes.size(); a-- > 0;) {
      const SpatialAxis& axis = g.axes[a];
      const std::int64_t at = output % axis.output * axis.stride - axis.pad_begin + tap % axis.kernel * axis.dilation;
      inside = inside && at >= 0 && at < axis.input;
      offset += at * stride;
      stride *= axis.input;
      output /= axis.output;
      tap /= axis.kernel;
    }
    window.push_back(inside ? load8(o.x_type, x[k / g.kernel_taps() * g.input_positions() + offset]) : o.x_zero_point);
  }
  return window;
}

// Returns the loss of a VPMADDUBSW kernel: it adds raw products of neighbouring taps in pairs that saturate to int16.
// The zero-point terms are right.
std::int64_t saturation_loss(const ConvolutionOperands& o, const std::vector<std::int32_t>& window,
                             const std::byte* w) {
  std::int64_t loss = 0;
  for (std::size_t k = 0; k + 1 < window.size(); k += 2) {
    const std::int64_t pair =
        std::int64_t{window[k]} * load8(o.w_type, w[k]) + std::int64_t{window[k + 1]} * load8(o.w_type, w[k + 1]);
    loss += pair - saturate(pair, {INT16_MIN, INT16_MAX});
  }
  return loss;
}

std::unique_ptr<PreparedNode> pair_saturating_qlinear_conv(const QLinearConv& node, RoundingProfile profile,
                                                           std::span<const std::byte> w) {
  return planted([node, profile, w](std::span<const std::byte> x, std::span<std::byte> y) {
    const ConvolutionOperands& o = node.operands;
    const ConvolutionGeometry& g = o.geometry;
    if (o.x_type != ElementType::uint8 || o.w_type != ElementType::int8)
      return prepare_scalar_qlinear_conv(node, profile, w)->run(x, y);
    std::vector<std::int64_t> sums(y.size());
    fast_sums(o, x, w, sums);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto position = static_cast<std::int64_t>(i) % g.output_positions();
      const auto plane = static_cast<std::int64_t>(i) / g.output_positions();
      const std::int64_t channel = plane % g.output_channels;
      const std::int64_t first_input =
          plane / g.output_channels * g.input_channels + channel / g.group_output_channels() * g.group_input_channels();
      const auto window = raw_window(o, x.data() + first_input * g.input_positions(), position);
      const std::int64_t loss = saturation_loss(o, window, w.data() + channel * g.depth());
      y[i] = store8(requantize(profile, sums[i] - loss, node.requantization(static_cast<std::size_t>(channel))));
    }
  });
}

template <std::ptrdiff_t offset_from_start, bool at_end>
std::unique_ptr<PreparedNode> stray_qlinear_conv(const QLinearConv& node, RoundingProfile profile,
                                                 std::span<const std::byte> w) {
  return planted([node, profile, w](std::span<const std::byte> x, std::span<std::byte> y) {
    prepare_scalar_qlinear_conv(node, profile, w)->run(x, y);
    std::byte* stray = at_end ? y.data() + y.size() : y.data() + offset_from_start;
    *stray = std::byte{0x5A};
  });
}

KernelSet planted_set(const char* name, const char* description) {
  return {.name = name,
          .description = description,
          .available = always,
          .qlinear_conv = prepare_scalar_qlinear_conv,
          .conv_integer = prepare_scalar_conv_integer,
          .quantize_linear = prepare_scalar_quantize_linear,
          .dequantize_linear = prepare_scalar_dequantize_linear};
}

std::vector<KernelSet> make_sets() {
  std::vector<KernelSet> sets{planted_set("scalar", "the reference, nothing planted")};
  KernelSet pads = planted_set("pad-raw-zero", "a padded tap is raw 0 instead of the zero point");
  pads.qlinear_conv = raw_zero_qlinear_conv;
  pads.conv_integer = raw_zero_conv_integer;
  KernelSet pairs = planted_set("pair-sat-i16", "pairs of products saturate to int16");
  pairs.qlinear_conv = pair_saturating_qlinear_conv;
  KernelSet past = planted_set("past-end", "writes one byte behind the output");
  past.qlinear_conv = stray_qlinear_conv<0, true>;
  KernelSet before = planted_set("before-start", "writes one byte before the output");
  before.qlinear_conv = stray_qlinear_conv<-1, false>;
  sets.insert(sets.end(), {pads, pairs, past, before});
  return sets;
}

}  // namespace

std::span<const KernelSet> planted_kernel_sets() {
  static const std::vector<KernelSet> sets = make_sets();
  return sets;
}

const KernelSet& planted_kernel_set(std::string_view name) {
  for (const KernelSet& set : planted_kernel_sets()) {
    if (name == set.name) return set;
  }
  throw std::logic_error("no planted kernel " + std::string(name));
}

}  // namespace qconform::testing

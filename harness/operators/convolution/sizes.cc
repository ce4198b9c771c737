// Sizes at which kernels change their way: each extent alone crosses the widths of registers, blocks and index types,
// while the others stay small.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/model/draws/draws.h"
#include "harness/operators/convolution/hooks.h"
#include "harness/operators/convolution/sweep_model.h"

namespace qconform::sweep::convolution {
namespace {

using reference::ConvolutionGeometry;
using reference::SpatialAxis;

enum class SweptExtent : std::uint8_t {
  input_channels,
  output_channels,
  depthwise_channels,
  depth_multiplier,
  width,
  height,
  batch,
  whole_windows,     ///< images of which each is one window: a fully connected layer
  pointwise_pixels,  ///< pixels of a 1x1 convolution
  kernel_width,
  kernel_height,
  dilation,
  stride,
  pads,            ///< pads of a 3x3 kernel: left + 3 * right + 9 * top + 27 * bottom, each 0 to 2
  depthwise_pads,  ///< as `pads`, with one group for each channel
  pointwise_pads,  ///< pads of a 1x1 kernel: left + 2 * right + 4 * top + 8 * bottom, each 0 or 1
  wide_pad,        ///< before the last axis
  depthwise_kernel_width,
  depthwise_kernel_height,  ///< both beside a kernel of 3 along the other axes
  edge,                     ///< edges of a small x under a kernel of 3: see set_edge()
  depthwise_edge,           ///< as `edge`, with one group for each channel
  groups,                   ///< of two channels each
  tiles,                    ///< height and width under a kernel of 3 in single steps, as Winograd's algorithm takes
  line,                     ///< outputs of one axis under several taps
  row,                      ///< width of images that are one row high
  weights,                  ///< elements of w
};

struct SweptSize {
  SweptExtent extent;
  std::int64_t value;
};

constexpr std::array kNames{"input channels",
                            "output channels",
                            "depthwise channels",
                            "depth multiplier",
                            "width",
                            "height",
                            "batch",
                            "whole windows",
                            "1x1 pixels",
                            "kernel width",
                            "kernel height",
                            "dilation",
                            "stride",
                            "pads",
                            "depthwise pads",
                            "1x1 pads",
                            "wide pad",
                            "depthwise kernel width",
                            "depthwise kernel height",
                            "edge",
                            "depthwise edge",
                            "groups",
                            "tiles",
                            "line",
                            "row",
                            "weights"};

// One below, at and beyond each power of two to 512; 127 to 129 and 255 to 257, where 8-bit indices end, are among
// them.
std::vector<std::int64_t> around_powers() {
  std::vector<std::int64_t> values{1, 2, 3, 4, 5, 6};
  for (std::int64_t power = 8; power <= 512; power *= 2) values.insert(values.end(), {power - 1, power, power + 1});
  return values;
}

// Sizes around the ends of signed and unsigned bytes.
const std::vector<std::int64_t> kAroundBytes{127, 128, 129, 255, 256, 257};

std::vector<std::int64_t> up_to(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = first; value <= last; ++value) values.push_back(value);
  return values;
}

constexpr std::int64_t kEdges = 32;
// The largest size of which there is more than one case.
constexpr std::int64_t kLargestOfSmall = 513;

const std::vector<SweptSize>& all_sizes() {
  static const std::vector<SweptSize> all = [] {
    std::vector<SweptSize> list;
    const auto add = [&](SweptExtent extent, const std::vector<std::int64_t>& values) {
      for (const std::int64_t value : values) list.push_back({extent, value});
    };
    for (const SweptExtent extent :
         {SweptExtent::input_channels, SweptExtent::output_channels, SweptExtent::depthwise_channels,
          SweptExtent::width, SweptExtent::height, SweptExtent::whole_windows, SweptExtent::pointwise_pixels}) {
      add(extent, around_powers());
    }
    add(SweptExtent::depth_multiplier, up_to(1, 8));
    add(SweptExtent::batch, up_to(1, 9));
    for (const SweptExtent extent : {SweptExtent::batch, SweptExtent::stride, SweptExtent::wide_pad})
      add(extent, kAroundBytes);
    add(SweptExtent::kernel_width, up_to(1, 16));
    add(SweptExtent::kernel_width, {25});
    add(SweptExtent::depthwise_kernel_width, {1, 2, 3, 4, 5, 9, 16, 25});
    add(SweptExtent::depthwise_kernel_height, {1, 2, 3, 4, 5, 9, 16, 25});
    add(SweptExtent::kernel_height, up_to(1, 16));
    add(SweptExtent::dilation, up_to(1, 24));
    add(SweptExtent::stride, up_to(1, 9));
    add(SweptExtent::pads, up_to(0, 80));
    add(SweptExtent::depthwise_pads, up_to(0, 80));
    add(SweptExtent::pointwise_pads, up_to(0, 15));
    for (const SweptExtent extent : {SweptExtent::edge, SweptExtent::depthwise_edge}) add(extent, up_to(0, kEdges - 1));
    add(SweptExtent::batch, {16, 32, 33});
    add(SweptExtent::groups, {16, 17, 32, 33, 64, 65, 129, 257});
    add(SweptExtent::tiles, {15, 16, 17, 31, 32, 33, 34, 65});
    add(SweptExtent::pointwise_pixels, {1023, 1025, 2049, 4097});
    add(SweptExtent::line, {1023, 1025, 2049, 4097, 8193});
    add(SweptExtent::row, {1025, 4095, 4097, 5000});
    add(SweptExtent::weights, {1 << 15, (1 << 15) + 1, 1 << 16, (1 << 16) + 1, 1 << 18, (1 << 18) + 1, (1 << 20) + 1});
    return list;
  }();
  return all;
}

// Sets the pads of the last two axes by four digits, each below `base`, and the kernel of all axes.
void set_pads(ConvolutionGeometry& sizes, std::int64_t kernel, std::int64_t digits, std::int64_t base) {
  for (SpatialAxis& axis : sizes.axes) axis.kernel = kernel;
  sizes.axes.back().pad_begin = digits % base;
  sizes.axes.back().pad_end = digits / base % base;
  sizes.axes[sizes.axes.size() - 2].pad_begin = digits / (base * base) % base;
  sizes.axes[sizes.axes.size() - 2].pad_end = digits / (base * base * base) % base;
}

// x as small as it can be, and how much of it the last window sees: nothing, one element, all but one of its extent, or
// all of it. Where the interior of an axis ends, and the taps inside x, is computed by divisions, and is wrong by one
// where they round another way. Digits: 4 of those, 2 begin pads, 2 strides, 2 dilations.
void set_edge(ConvolutionGeometry& sizes, std::int64_t digits) {
  for (SpatialAxis& axis : sizes.axes) {
    axis.kernel = 3;
    axis.pad_begin = digits / 4 % 2;
    axis.stride = 1 + digits / 8 % 2;
    axis.dilation = 1 + digits / 16 % 2;
    const std::int64_t extent = axis.kernel_extent();
    const std::int64_t seen =
        std::array{std::int64_t{0}, std::int64_t{1}, extent - 1, extent}[static_cast<std::size_t>(digits % 4)];
    axis.pad_end = extent - seen;
    const std::int64_t lacking = std::max<std::int64_t>(0, 1 + axis.pad_begin - seen);  // until x has an element
    axis.output = 1 + (lacking + axis.stride - 1) / axis.stride;
  }
}

void make_depthwise(ConvolutionGeometry& sizes) {
  set_channels(sizes, {sizes.input_channels, sizes.input_channels, sizes.input_channels});
}

bool needs_height(SweptExtent extent) {
  switch (extent) {
    case SweptExtent::height:
    case SweptExtent::kernel_height:
    case SweptExtent::depthwise_pads:
    case SweptExtent::pads:
    case SweptExtent::pointwise_pads:
    case SweptExtent::depthwise_kernel_width:
    case SweptExtent::depthwise_kernel_height: return true;
    default: return false;
  }
}

void make_windows_whole(ConvolutionGeometry& sizes) {
  sizes.group = 1;
  for (SpatialAxis& axis : sizes.axes) {
    axis.kernel = std::max<std::int64_t>(axis.kernel, 2);
    axis.dilation = axis.output = 1;
    axis.pad_begin = axis.pad_end = 0;
  }
}

void make_pointwise(ConvolutionGeometry& sizes) {
  for (SpatialAxis& axis : sizes.axes) {
    axis.kernel = axis.stride = axis.dilation = axis.output = 1;
    axis.pad_begin = axis.pad_end = 0;
  }
}

// Channels for so many weights: in whole vectors, and odd numbers of them for odd numbers of weights.
void set_weights(std::int64_t weights, ConvolutionGeometry& sizes) {
  std::int64_t taps = 1;
  for (const SpatialAxis& axis : sizes.axes) taps *= axis.kernel;
  const bool is_odd = weights % 2 != 0;
  const auto at_least = [&](std::int64_t count) { return is_odd ? count | 1 : (count + 31) / 32 * 32; };
  const std::int64_t inputs = at_least(static_cast<std::int64_t>(std::sqrt(static_cast<double>(weights / taps))));
  set_channels(sizes, {1, inputs, at_least(weights / (inputs * taps) + 1)});
}

// False where the shape has no such extent.
bool resize(const SweptSize& size, ConvolutionGeometry& sizes) {
  if (needs_height(size.extent) && sizes.axes.size() < 2) return false;
  switch (size.extent) {
    case SweptExtent::input_channels:
      set_channels(sizes, {1, size.value, std::min<std::int64_t>(sizes.output_channels, 5)});
      break;
    case SweptExtent::output_channels:
      set_channels(sizes, {1, std::min<std::int64_t>(sizes.input_channels, 5), size.value});
      break;
    case SweptExtent::depthwise_channels: set_channels(sizes, {size.value, size.value, size.value}); break;
    case SweptExtent::depth_multiplier: set_channels(sizes, {3, 3, 3 * size.value}); break;
    case SweptExtent::width: sizes.axes.back().output = size.value; break;
    case SweptExtent::height: sizes.axes.front().output = size.value; break;
    case SweptExtent::batch: sizes.batch = size.value; break;
    case SweptExtent::whole_windows:
      sizes.batch = size.value;
      make_windows_whole(sizes);
      break;
    case SweptExtent::pointwise_pixels:
      make_pointwise(sizes);
      sizes.axes.back().output = size.value;
      break;
    case SweptExtent::kernel_width: sizes.axes.back().kernel = size.value; break;
    case SweptExtent::kernel_height: sizes.axes.front().kernel = size.value; break;
    case SweptExtent::dilation:
      for (SpatialAxis& axis : sizes.axes) axis.dilation = size.value;
      break;
    case SweptExtent::stride:
      // Far along one axis only, so that x stays small.
      for (SpatialAxis& axis : sizes.axes) axis.stride = std::min<std::int64_t>(size.value, 9);
      sizes.axes.back().stride = size.value;
      break;
    case SweptExtent::depthwise_pads: make_depthwise(sizes); [[fallthrough]];
    case SweptExtent::pads: set_pads(sizes, 3, size.value, 3); break;
    case SweptExtent::pointwise_pads: set_pads(sizes, 1, size.value, 2); break;
    case SweptExtent::wide_pad:
      sizes.axes.back().pad_begin = size.value;
      sizes.axes.back().output = size.value + 2;
      break;
    case SweptExtent::depthwise_edge: make_depthwise(sizes); [[fallthrough]];
    case SweptExtent::edge: set_edge(sizes, size.value); break;
    case SweptExtent::depthwise_kernel_width:
    case SweptExtent::depthwise_kernel_height:
      make_depthwise(sizes);
      for (SpatialAxis& axis : sizes.axes) axis.kernel = 3;
      (size.extent == SweptExtent::depthwise_kernel_width ? sizes.axes.back() : sizes.axes.front()).kernel = size.value;
      break;
    case SweptExtent::line:
      sizes.axes.back().kernel = std::max<std::int64_t>(sizes.axes.back().kernel, 3);
      sizes.axes.back().output = size.value;
      return sizes.axes.size() == 1;
    case SweptExtent::row:
      for (SpatialAxis& axis : sizes.axes) axis.output = 1;
      sizes.axes.back().output = size.value;
      return sizes.axes.size() > 1;
    case SweptExtent::groups: set_channels(sizes, {size.value, 2 * size.value, 2 * size.value}); break;
    case SweptExtent::tiles:
      for (SpatialAxis& axis : sizes.axes) {
        axis.kernel = 3;
        axis.stride = axis.dilation = 1;
        axis.output = size.value;
      }
      set_channels(sizes, {1, std::min<std::int64_t>(sizes.input_channels, 5),
                           std::min<std::int64_t>(sizes.output_channels, 5)});
      return sizes.axes.size() == 2;
    case SweptExtent::weights: set_weights(size.value, sizes); break;
  }
  return true;
}

// Gives each axis the input that its output needs; false where that is none.
bool place(const Row& row, ConvolutionGeometry& sizes) {
  if (row[kAutoPad] != kNotSet) return false;
  return std::all_of(sizes.axes.begin(), sizes.axes.end(), [](SpatialAxis& axis) {
    axis.input = (axis.output - 1) * axis.stride + axis.kernel_extent() - axis.pad_begin - axis.pad_end;
    return axis.input >= 1;
  });
}

// The classes of the row that the shape has; a width that the model does not have keeps the row's.
Row classes_of(Row row, const ConvolutionGeometry& sizes) {
  const std::uint8_t width = row[kWidth];
  classify_axes(sizes.axes, row);
  if (row[kWidth] >= std::size(kWidths)) row[kWidth] = width;
  row[kGroup] = group_class({sizes.group, sizes.input_channels, sizes.output_channels});
  row[kInputChannels] = channel_class(sizes.input_channels);
  row[kOutputChannels] = channel_class(sizes.output_channels);
  row[kBatch] = static_cast<std::uint8_t>(std::min<std::int64_t>(sizes.batch, 3) - 1);
  return row;
}

bool is_large(const SweptSize& size) {
  return size.value > kLargestOfSmall;
}

// Elements of x: one extent alone is large, and not what follows from it on three axes.
constexpr std::int64_t kMostInput = 1 << 16;

std::int64_t input_elements(const ConvolutionGeometry& sizes) {
  std::int64_t elements = sizes.batch * sizes.input_channels;
  for (const SpatialAxis& axis : sizes.axes) elements *= axis.input;
  return elements;
}

std::optional<Case> realise_size(const Row& drawn_row, std::size_t size, std::uint64_t seed, std::uint64_t index,
                                 const std::function<bool(const Row&)>& takes) {
  constexpr int kAttempts = 8;
  Rng rng(seed, index);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Rng own(rng.next());
    ConvolutionGeometry sizes = draw_sizes(own, drawn_row, 1);
    const SweptSize& wanted = all_sizes()[size];
    const std::int64_t most = is_large(wanted) ? 4 * kMostInput : kMostInput;
    if (!resize(wanted, sizes) || !place(drawn_row, sizes) || input_elements(sizes) > most) continue;
    Row row = classes_of(drawn_row, sizes);
    // What the zero point of x adds to each output is a sum over the weights.
    Row shifted = row;
    shifted[kXZeroPoint] = kOther;
    if (wanted.extent == SweptExtent::weights && takes(shifted)) row = std::move(shifted);
    if (!takes(row)) continue;
    DrawnConvolution drawn = draw_values(own, row, sizes);
    // One of many outputs is often near a tie.
    row[kScales] = drawn.scales;
    if (!drawn.data_in_class || !takes(row) || (!drawn.detects_much && attempt + 1 < kAttempts)) continue;
    return finished(row, std::move(drawn.convolution));
  }
  return std::nullopt;
}

std::string size_name(std::size_t size) {
  const SweptSize& one = all_sizes()[size];
  return fmt::format("{} {}", kNames[static_cast<std::size_t>(one.extent)], one.value);
}

}  // namespace
}  // namespace qconform::sweep::convolution

namespace qconform::sweep {

SizedModel sized_convolutions() {
  const auto& all = convolution::all_sizes();
  const auto large = std::find_if(all.begin(), all.end(), convolution::is_large);
  return {all.size(), convolution::size_name, convolution::realise_size, static_cast<std::size_t>(large - all.begin())};
}

}  // namespace qconform::sweep

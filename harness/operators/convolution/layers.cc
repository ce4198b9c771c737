// Layers of convolutions to time: the sets by name, and one layer as text.
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/number.h"
#include "harness/base/text.h"
#include "harness/model/draws/draws.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/description.h"
#include "harness/operators/convolution/hooks.h"

namespace qconform::bench {

namespace {

using reference::ConvolutionGeometry;
using reference::SpatialAxis;

// Standard deviation of a uniform byte.
constexpr double kByteDeviation = 73.9;
// The largest standard deviation of an output, in steps of its scale; the mean lies kOutputMean deviations above the
// range's lower end.
constexpr double kOutputDeviation = 30;
constexpr double kOutputMean = 3.5;

// Sums of x - x_zero_point over a window have this mean for each unit of summed weights.
double mean_of_x(const LayerOptions& options) {
  const double middle = options.types == LayerTypes::s8s8 ? -0.5 : 127.5;
  return middle - static_cast<double>(options.x_zero_point);
}

// One bias for each channel: what puts the mean of its outputs where it is wanted.
std::vector<std::int32_t> biases(const Convolution& c, const LayerOptions& options, double deviation) {
  const std::int64_t depth = c.w.elements() / c.output_channels();
  std::vector<std::int32_t> values;
  for (std::int64_t channel = 0; channel < c.output_channels(); ++channel) {
    double sum = 0;
    for (std::int64_t i = 0; i < depth; ++i) {
      sum += static_cast<double>(integer_at(c.w, channel * depth + i) - c.w_zero(channel));
    }
    const double bias = kOutputMean * deviation / c.w_scale_of(channel) - sum * mean_of_x(options);
    values.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(bias)));
  }
  return values;
}

// QLinearConv with a bias. Uniform data; the output's scale and the bias put most outputs well inside the
// output's range, so that few saturate and a wrong sum shows. Scales are powers of two, because some libraries take a
// bias only where its product with the other scales is a float32 (oneDNN 3).
Case convolution_case(const ConvolutionGeometry& sizes, const LayerOptions& options, bool is_quantized = true) {
  Rng rng(options.seed);
  const bool x_signed = options.types == LayerTypes::s8s8;
  const bool w_signed = options.types != LayerTypes::u8u8;
  Convolution c;
  c.is_quantized = is_quantized;
  set_sizes(c, sizes);
  c.w = uniform_bytes(w_signed ? ElementType::int8 : ElementType::uint8, std::move(c.w.shape), rng);
  c.w_zero_point = w_signed ? 0 : 128;
  if (w_signed) {
    std::vector<float> scales(static_cast<std::size_t>(sizes.output_channels));
    for (float& scale : scales) scale = rng.chance(1, 2) ? 0.5F : 1.0F;
    c.w_zero_point = ParameterValues(std::vector<std::int64_t>(scales.size(), 0));
    c.w_scale = ParameterValues(std::move(scales));
  }
  const double deviation = kByteDeviation * kByteDeviation * std::sqrt(static_cast<double>(sizes.depth()));
  c.bias = biases(c, options, deviation);
  c.x = uniform_bytes(x_signed ? ElementType::int8 : ElementType::uint8, std::move(c.x.shape), rng);
  c.x_zero_point = options.x_zero_point;
  c.y_type = c.x.type;
  c.y_scale = static_cast<float>(std::exp2(std::ceil(std::log2(deviation / kOutputDeviation))));
  c.y_zero_point = x_signed ? -128 : 0;
  Case result = build_convolution(std::move(c));
  result.id = text_of(sizes);
  return result;
}

Layer layer_of(std::string_view set, const CountedLayer& counted, const LayerOptions& options) {
  Layer layer;
  layer.test_case = convolution_case(counted.sizes, options);
  layer.name = layer.test_case.id;
  layer.set = set;
  layer.count = counted.count;
  return layer;
}

}  // namespace

std::vector<LayerSet> convolution_layer_sets() {
  std::vector<LayerSet> sets;
  for (const LayerSetInfo& info : convolution_sets()) {
    sets.push_back({info.name, info.description, info.is_network, [name = info.name](const LayerOptions& options) {
                      std::vector<Layer> layers;
                      const auto shapes = convolution_set(name);
                      for (const CountedLayer& counted : *shapes) layers.push_back(layer_of(name, counted, options));
                      return layers;
                    }});
  }
  return sets;
}

Result<Layer> convolution_layer(std::string_view text, const LayerOptions& options) {
  QCONFORM_ASSIGN(const auto sizes, parse_layer(text));
  return layer_of("layer", {sizes, 1}, options);
}

namespace {

constexpr std::array kSets{
    LayerSetInfo{"yardstick", "17 layers of ResNet-50 and MobileNetV2, from large dense to small depthwise ones",
                 false},
    LayerSetInfo{"resnet50", "ResNet-50 v1.5 at 224: 53 convolutions (stride in the 3x3)", true},
    LayerSetInfo{"mobilenetv2", "MobileNetV2 1.0 at 224: 52 convolutions", true},
    LayerSetInfo{"efficientnet-lite", "EfficientNet-Lite0 at 224: 49 convolutions", true},
    LayerSetInfo{"conformer-1d", "the convolution modules of Conformer S, M and L, 10 s of audio: 1-D", false},
};

// Pads that keep the size at stride 1.
ConvolutionGeometry padded(ConvolutionGeometry sizes) {
  for (SpatialAxis& axis : sizes.axes) {
    const std::int64_t total = axis.kernel_extent() - 1;
    axis.pad_begin = total / 2;
    axis.pad_end = total - axis.pad_begin;
    axis.output = (axis.input - 1) / axis.stride + 1;
  }
  return sizes;
}

struct LayerChannels {
  std::int64_t in, out, group;
};

ConvolutionGeometry layer_of_axes(const LayerChannels& channels, std::size_t rank, std::int64_t kernel,
                                  std::int64_t stride, std::int64_t size) {
  const SpatialAxis axis{size, kernel, stride, 1, 0, 0, 0};
  return padded({1, channels.in, channels.out, channels.group, std::vector<SpatialAxis>(rank, axis)});
}

// Layers in their order; one that comes again is counted where it came first.
class LayerCounts {
 public:
  void add(const ConvolutionGeometry& sizes) {
    const auto known = std::find_if(layers_.begin(), layers_.end(),
                                    [&](const CountedLayer& layer) { return text_of(layer.sizes) == text_of(sizes); });
    if (known != layers_.end()) {
      ++known->count;
    } else {
      layers_.push_back({sizes, 1});
    }
  }
  void convolution(std::int64_t kernel, std::int64_t stride, std::int64_t in, std::int64_t out, std::int64_t size) {
    add(layer_of_axes({in, out, 1}, 2, kernel, stride, size));
  }
  void depthwise(std::int64_t kernel, std::int64_t stride, std::int64_t channels, std::int64_t size) {
    add(layer_of_axes({channels, channels, channels}, 2, kernel, stride, size));
  }
  [[nodiscard]] std::vector<CountedLayer> layers() && { return std::move(layers_); }

 private:
  std::vector<CountedLayer> layers_;
};

// He et al., Deep Residual Learning for Image Recognition, 2015, table 1; v1.5 has the stride in the 3x3.
std::vector<CountedLayer> resnet50() {
  struct ResidualStage {
    std::int64_t blocks, width, size;  // size: of the stage's input
  };
  LayerCounts network;
  network.convolution(7, 2, 3, 64, 224);
  std::int64_t in = 64;
  for (const auto& [blocks, width, first_size] : {ResidualStage{3, 64, 56}, {4, 128, 56}, {6, 256, 28}, {3, 512, 14}}) {
    std::int64_t size = first_size;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t stride = block == 0 && width > 64 ? 2 : 1;
      network.convolution(1, 1, in, width, size);
      network.convolution(3, stride, width, width, size);
      network.convolution(1, 1, width, 4 * width, size / stride);
      if (block == 0) network.convolution(1, stride, in, 4 * width, size);
      in = 4 * width;
      size /= stride;
    }
  }
  return std::move(network).layers();
}

struct BlockGroup {
  std::int64_t expansion, kernel, stride, out, blocks;
};

// Blocks of 1x1 expansion, depthwise, 1x1 projection between a stem and a head.
std::vector<CountedLayer> inverted_residuals(std::span<const BlockGroup> groups) {
  LayerCounts network;
  network.convolution(3, 2, 3, 32, 224);
  std::int64_t in = 32;
  std::int64_t size = 112;
  for (const BlockGroup& group : groups) {
    for (std::int64_t block = 0; block < group.blocks; ++block) {
      const std::int64_t stride = block == 0 ? group.stride : 1;
      const std::int64_t wide = in * group.expansion;
      if (group.expansion != 1) network.convolution(1, 1, in, wide, size);
      network.depthwise(group.kernel, stride, wide, size);
      size /= stride;
      network.convolution(1, 1, wide, group.out, size);
      in = group.out;
    }
  }
  network.convolution(1, 1, in, 1280, size);
  return std::move(network).layers();
}

// Sandler et al., MobileNetV2, 2018, table 2.
std::vector<CountedLayer> mobilenetv2() {
  static constexpr BlockGroup kGroups[] = {{1, 3, 1, 16, 1}, {6, 3, 2, 24, 2},  {6, 3, 2, 32, 3}, {6, 3, 2, 64, 4},
                                           {6, 3, 1, 96, 3}, {6, 3, 2, 160, 3}, {6, 3, 1, 320, 1}};
  return inverted_residuals(kGroups);
}

// Tan and Le, EfficientNet, 2019, table 1, without squeeze-and-excitation, as EfficientNet-Lite has it.
std::vector<CountedLayer> efficientnet_lite() {
  static constexpr BlockGroup kGroups[] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                                           {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
  return inverted_residuals(kGroups);
}

// Gulati et al., Conformer, 2020, table 1: dimensions and blocks; the kernel of 32 as 31, which has a middle. A
// pointwise convolution to twice the width (for the gated linear unit), a depthwise one, a pointwise one.
std::vector<CountedLayer> conformer() {
  struct ConformerSize {
    std::int64_t width, blocks;
  };
  constexpr std::int64_t kFrames = 250;  // 10 s at 40 ms
  std::vector<CountedLayer> layers;
  for (const auto& [width, blocks] : {ConformerSize{144, 16}, {256, 16}, {512, 17}}) {
    layers.push_back({layer_of_axes({width, 2 * width, 1}, 1, 1, 1, kFrames), blocks});
    layers.push_back({layer_of_axes({width, width, width}, 1, 31, 1, kFrames), blocks});
    layers.push_back({layer_of_axes({width, width, 1}, 1, 1, 1, kFrames), blocks});
  }
  return layers;
}

std::vector<CountedLayer> yardstick() {
  static constexpr std::array kLayers{"7x7/2 3->64 @224",        "1x1 64->64 @56",        "3x3 64->64 @56",
                                      "1x1 256->64 @56",         "3x3 128->128 @28",      "3x3 256->256 @14",
                                      "1x1 1024->256 @14",       "3x3 512->512 @7",       "1x1 2048->512 @7",
                                      "3x3/2 96 @112 depthwise", "3x3 144 @56 depthwise", "3x3 384 @14 depthwise",
                                      "3x3 960 @7 depthwise",    "1x1 32->16 @112",       "1x1 96->24 @56",
                                      "1x1 384->64 @14",         "1x1 960->160 @7"};
  std::vector<CountedLayer> layers;
  for (const char* text : kLayers) layers.push_back({*parse_layer(text), 1});
  return layers;
}

}  // namespace

std::span<const LayerSetInfo> convolution_sets() {
  return kSets;
}

std::optional<std::vector<CountedLayer>> convolution_set(std::string_view name) {
  if (name == "yardstick") return yardstick();
  if (name == "resnet50") return resnet50();
  if (name == "mobilenetv2") return mobilenetv2();
  if (name == "efficientnet-lite") return efficientnet_lite();
  if (name == "conformer-1d") return conformer();
  return std::nullopt;
}

namespace {

constexpr std::int64_t kLargest = 1 << 20;

std::optional<std::int64_t> number(std::string_view text) {
  const auto value = number_in<std::int64_t>(text);
  return value && *value >= 1 && *value <= kLargest ? value : std::nullopt;
}

// "3x5": nothing where a part is no number.
std::optional<std::vector<std::int64_t>> extents(std::string_view text) {
  std::vector<std::int64_t> values;
  for (const std::string_view part : split(text, "x")) {
    const auto value = number(part);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

// Takes a layer's words one by one.
class Reader {
 public:
  explicit Reader(std::string_view text) : words_(split(text, " ")) {
    words_.erase(std::remove(words_.begin(), words_.end(), ""), words_.end());
  }

  [[nodiscard]] Result<ConvolutionGeometry> read() {
    ConvolutionGeometry layer;
    layer.batch = 1;
    if (words_.size() < 3) return wrong("a layer");
    if (!read_kernel(words_[0], layer)) return wrong(words_[0]);
    if (!read_channels(words_[1], layer)) return wrong(words_[1]);
    if (!read_input(words_[2], layer)) return wrong(words_[2]);
    for (next_ = 3; next_ < words_.size();) {
      const std::string_view word = words_[next_];
      if (!read_option(layer)) return wrong(word);
    }
    if (layer.input_channels % layer.group != 0 || layer.output_channels % layer.group != 0) {
      return fail("--layers", fmt::format("group {} does not divide the channels {}->{}", layer.group,
                                          layer.input_channels, layer.output_channels));
    }
    return padded(std::move(layer));
  }

 private:
  static tl::unexpected<Error> wrong(std::string_view part) {
    return fail("--layers", fmt::format("cannot read {} of a layer; expected KERNEL[/STRIDE] IN[->OUT] @SIZE [group N] "
                                        "[dilation N] [depthwise], as in \"3x3/2 64->128 @56\"",
                                        part == "a layer" ? std::string("the text") : fmt::format("\"{}\"", part)));
  }

  static bool read_kernel(std::string_view word, ConvolutionGeometry& layer) {
    const auto parts = split(word, "/");
    const auto kernel = extents(parts[0]);
    const auto stride = parts.size() == 2 ? number(parts[1]) : std::optional<std::int64_t>(1);
    if (!kernel || !stride || parts.size() > 2) return false;
    for (const std::int64_t taps : *kernel) layer.axes.push_back({0, taps, *stride, 1, 0, 0, 0});
    return true;
  }

  static bool read_channels(std::string_view word, ConvolutionGeometry& layer) {
    const auto parts = split(word, "->");
    const auto in = number(parts.front());
    const auto out = number(parts.back());
    if (!in || !out || parts.size() > 2) return false;
    layer.input_channels = *in;
    layer.output_channels = *out;
    return true;
  }

  static bool read_input(std::string_view word, ConvolutionGeometry& layer) {
    if (!word.starts_with('@')) return false;
    const auto input = extents(word.substr(1));
    if (!input || (input->size() != 1 && input->size() != layer.axes.size())) return false;
    for (std::size_t i = 0; i < layer.axes.size(); ++i) layer.axes[i].input = (*input)[input->size() == 1 ? 0 : i];
    return true;
  }

  bool read_option(ConvolutionGeometry& layer) {
    const std::string_view name = words_[next_++];
    if (name == "depthwise") {
      layer.group = layer.input_channels;
      return true;
    }
    const auto value = next_ < words_.size() ? number(words_[next_++]) : std::nullopt;
    if (!value || (name != "group" && name != "dilation")) return false;
    if (name == "group") layer.group = *value;
    for (SpatialAxis& axis : layer.axes) axis.dilation = name == "dilation" ? *value : axis.dilation;
    return true;
  }

  std::vector<std::string_view> words_;
  std::size_t next_ = 0;
};

}  // namespace

Result<ConvolutionGeometry> parse_layer(std::string_view text) {
  return Reader(text).read();
}

std::string text_of(const ConvolutionGeometry& layer) {
  const auto joined = [&](std::int64_t SpatialAxis::*member) {
    std::string text;
    for (const SpatialAxis& axis : layer.axes) text += fmt::format("{}{}", text.empty() ? "" : "x", axis.*member);
    return text;
  };
  const SpatialAxis& first = layer.axes.front();
  std::string text = joined(&SpatialAxis::kernel);
  if (first.stride != 1) text += fmt::format("/{}", first.stride);
  text += fmt::format(" {}", layer.input_channels);
  if (layer.output_channels != layer.input_channels || layer.group == 1)
    text += fmt::format("->{}", layer.output_channels);
  const bool square = std::all_of(layer.axes.begin(), layer.axes.end(),
                                  [&](const SpatialAxis& axis) { return axis.input == first.input; });
  text += square ? fmt::format(" @{}", first.input) : " @" + joined(&SpatialAxis::input);
  const bool depthwise = layer.group > 1 && layer.group == layer.input_channels;
  if (depthwise) text += " depthwise";
  if (layer.group > 1 && !depthwise) text += fmt::format(" group {}", layer.group);
  if (first.dilation != 1) text += fmt::format(" dilation {}", first.dilation);
  return text;
}

namespace {

// Takes "ic64ih56" apart: {"ic", 64}, {"ih", 56}; nothing where it is no such word.
std::optional<std::vector<std::pair<std::string, std::int64_t>>> parts_of(std::string_view text) {
  std::vector<std::pair<std::string, std::int64_t>> parts;
  while (!text.empty()) {
    const std::size_t digits = text.find_first_of("0123456789");
    if (digits == 0 || digits > 2) return std::nullopt;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", digits), text.size());
    const auto value = digits < end ? number_in<std::int64_t>(text.substr(digits, end - digits)) : std::nullopt;
    if (!value || *value > kLargest) return std::nullopt;
    parts.emplace_back(text.substr(0, digits), *value);
    text.remove_prefix(end);
  }
  return parts;
}

// The axes that have an input, from the outermost; what one does not state is as in the one before it.
Result<std::vector<SpatialAxis>> axes_of(const std::map<std::string, std::int64_t>& stated) {
  std::vector<SpatialAxis> axes;
  for (const char* axis : {"d", "h", "w"}) {
    const auto value = [&, name = std::string(axis)](const char* what, std::int64_t absent) {
      const auto found = stated.find(what + name);
      return found == stated.end() ? absent : found->second;
    };
    const bool is_stated = stated.contains(std::string("i") + axis);
    if (!is_stated && (axes.empty() || std::string_view(axis) == "d")) continue;
    const SpatialAxis before = axes.empty() ? SpatialAxis{0, 1, 1, 1, 0, 0, 0} : axes.back();
    SpatialAxis now{value("i", before.input),
                    value("k", before.kernel),
                    value("s", before.stride),
                    value("d", before.dilation - 1) + 1,
                    value("p", before.pad_begin),
                    0,
                    0};
    const std::int64_t room = now.input + 2 * now.pad_begin - now.kernel_extent();
    now.output = value("o", stated.contains(std::string("o") + axis) || axes.empty() || before.input != now.input
                                ? room / std::max<std::int64_t>(now.stride, 1) + 1
                                : before.output);
    now.pad_end = (now.output - 1) * now.stride + now.kernel_extent() - now.input - now.pad_begin;
    if (now.kernel < 1 || now.stride < 1 || now.input < 1 || now.output < 1 || now.pad_end < 0) {
      return fail("--case",
                  fmt::format("axis {}: input {}, kernel {}, stride {}, dilation {}, pad {} do not give {} "
                              "outputs",
                              axis, now.input, now.kernel, now.stride, now.dilation - 1, now.pad_begin, now.output));
    }
    axes.push_back(now);
  }
  if (axes.empty()) return fail("--case", "expected the size of the input, iw or more");
  return axes;
}

Result<ConvolutionGeometry> geometry_of_parts(const std::map<std::string, std::int64_t>& stated) {
  const auto value = [&](const char* name, std::int64_t absent) {
    const auto found = stated.find(name);
    return found == stated.end() ? absent : found->second;
  };
  ConvolutionGeometry sizes;
  sizes.batch = value("mb", 1);
  sizes.group = value("g", 1);
  sizes.input_channels = value("ic", 0);
  sizes.output_channels = value("oc", sizes.input_channels);
  QCONFORM_ASSIGN(sizes.axes, axes_of(stated));
  const bool divides = sizes.group > 0 && sizes.input_channels % sizes.group == 0 &&
                       sizes.output_channels % sizes.group == 0 && sizes.input_channels > 0;
  if (!divides) {
    return fail("--case", fmt::format("group {} does not divide the channels {}->{}", sizes.group, sizes.input_channels,
                                      sizes.output_channels));
  }
  return sizes;
}

}  // namespace

std::optional<Result<Case>> convolution_of_descriptor(std::string_view op_type, std::string_view text) {
  const bool is_quantized = op_type == "QLinearConv";
  if (!is_quantized && op_type != "ConvInteger") return std::nullopt;
  const auto parts = parts_of(text);
  if (!parts) return std::nullopt;
  constexpr std::array<std::string_view, 4> kSizes{"mb", "g", "ic", "oc"};
  std::map<std::string, std::int64_t> stated;
  for (const auto& [name, value] : *parts) {
    const bool is_of_axis = name.size() == 2 && std::string_view("iokspd").find(name[0]) != std::string_view::npos &&
                            std::string_view("dhw").find(name[1]) != std::string_view::npos;
    if (!is_of_axis && std::find(kSizes.begin(), kSizes.end(), name) == kSizes.end()) {
      return fail("--case", fmt::format("\"{}\": no size {}; there are mb, g, ic, oc, and i, o, k, s, d, p of d, h, w",
                                        text, name));
    }
    stated[name] = value;
  }
  const auto sizes = geometry_of_parts(stated);
  if (!sizes) return tl::unexpected(sizes.error());
  return convolution_case(*sizes, LayerOptions{}, is_quantized);
}

}  // namespace qconform::bench

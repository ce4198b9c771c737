#include "harness/operators/convolution/layer_sets.h"
#include "harness/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace qconform::bench {
namespace {

constexpr std::array kSets{
    LayerSetInfo{"yardstick", "17 layers of ResNet-50 and MobileNetV2, from large dense to small depthwise ones",
                 false},
    LayerSetInfo{"resnet50", "ResNet-50 v1.5 at 224: 53 convolutions (stride in the 3x3)", true},
    LayerSetInfo{"mobilenetv2", "MobileNetV2 1.0 at 224: 52 convolutions", true},
    LayerSetInfo{"efficientnet-lite", "EfficientNet-Lite0 at 224: 49 convolutions", true},
    LayerSetInfo{"conformer-1d", "the convolution modules of Conformer S, M and L, 10 s of audio: 1-D", false},
};

// Layers in their order; a shape that comes again is counted where it came first.
class Network {
 public:
  void add(const LayerShape& shape) {
    const auto known = std::find_if(layers_.begin(), layers_.end(),
                                    [&](const CountedShape& layer) { return text_of(layer.shape) == text_of(shape); });
    if (known != layers_.end()) {
      ++known->count;
    } else {
      layers_.push_back({shape, 1});
    }
  }
  void convolution(std::int64_t kernel, std::int64_t stride, std::int64_t in, std::int64_t out, std::int64_t size) {
    add({{kernel, kernel}, {size, size}, stride, 1, in, out, 1});
  }
  void depthwise(std::int64_t kernel, std::int64_t stride, std::int64_t channels, std::int64_t size) {
    add({{kernel, kernel}, {size, size}, stride, 1, channels, channels, channels});
  }
  [[nodiscard]] std::vector<CountedShape> layers() && { return std::move(layers_); }

 private:
  std::vector<CountedShape> layers_;
};

// He et al., Deep Residual Learning for Image Recognition, 2015, table 1; v1.5 has the stride in the 3x3.
std::vector<CountedShape> resnet50() {
  struct Stage {
    std::int64_t blocks, width, size;  // size: of the stage's input
  };
  Network network;
  network.convolution(7, 2, 3, 64, 224);
  std::int64_t in = 64;
  for (const auto& [blocks, width, first_size] : {Stage{3, 64, 56}, {4, 128, 56}, {6, 256, 28}, {3, 512, 14}}) {
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
std::vector<CountedShape> inverted_residuals(std::span<const BlockGroup> groups) {
  Network network;
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
std::vector<CountedShape> mobilenetv2() {
  static constexpr BlockGroup kGroups[] = {{1, 3, 1, 16, 1}, {6, 3, 2, 24, 2},  {6, 3, 2, 32, 3}, {6, 3, 2, 64, 4},
                                           {6, 3, 1, 96, 3}, {6, 3, 2, 160, 3}, {6, 3, 1, 320, 1}};
  return inverted_residuals(kGroups);
}

// Tan and Le, EfficientNet, 2019, table 1, without squeeze-and-excitation, as EfficientNet-Lite has it.
std::vector<CountedShape> efficientnet_lite() {
  static constexpr BlockGroup kGroups[] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                                           {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
  return inverted_residuals(kGroups);
}

// Gulati et al., Conformer, 2020, table 1: dimensions and blocks; the kernel of 32 as 31, which has a middle. A
// pointwise convolution to twice the width (for the gated linear unit), a depthwise one, a pointwise one.
std::vector<CountedShape> conformer() {
  struct Size {
    std::int64_t width, blocks;
  };
  constexpr std::int64_t kFrames = 250;  // 10 s at 40 ms
  std::vector<CountedShape> layers;
  for (const auto& [width, blocks] : {Size{144, 16}, {256, 16}, {512, 17}}) {
    layers.push_back({{{1}, {kFrames}, 1, 1, width, 2 * width, 1}, blocks});
    layers.push_back({{{31}, {kFrames}, 1, 1, width, width, width}, blocks});
    layers.push_back({{{1}, {kFrames}, 1, 1, width, width, 1}, blocks});
  }
  return layers;
}

std::vector<CountedShape> yardstick() {
  static constexpr std::array kLayers{"7x7/2 3->64 @224",        "1x1 64->64 @56",        "3x3 64->64 @56",
                                      "1x1 256->64 @56",         "3x3 128->128 @28",      "3x3 256->256 @14",
                                      "1x1 1024->256 @14",       "3x3 512->512 @7",       "1x1 2048->512 @7",
                                      "3x3/2 96 @112 depthwise", "3x3 144 @56 depthwise", "3x3 384 @14 depthwise",
                                      "3x3 960 @7 depthwise",    "1x1 32->16 @112",       "1x1 96->24 @56",
                                      "1x1 384->64 @14",         "1x1 960->160 @7"};
  std::vector<CountedShape> layers;
  for (const char* text : kLayers) layers.push_back({*parse_layer(text), 1});
  return layers;
}

}  // namespace

std::span<const LayerSetInfo> convolution_sets() {
  return kSets;
}

std::optional<std::vector<CountedShape>> convolution_set(std::string_view name) {
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
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kLargest) return std::nullopt;
  return value;
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

  [[nodiscard]] Result<LayerShape> read() {
    LayerShape shape;
    if (words_.size() < 3) return wrong("a layer");
    if (!read_kernel(words_[0], shape)) return wrong(words_[0]);
    if (!read_channels(words_[1], shape)) return wrong(words_[1]);
    if (!read_input(words_[2], shape)) return wrong(words_[2]);
    for (next_ = 3; next_ < words_.size();) {
      const std::string_view word = words_[next_];
      if (!read_option(shape)) return wrong(word);
    }
    if (shape.input_channels % shape.group != 0 || shape.output_channels % shape.group != 0) {
      return fail("--layers", fmt::format("group {} does not divide the channels {}->{}", shape.group,
                                          shape.input_channels, shape.output_channels));
    }
    return shape;
  }

 private:
  static tl::unexpected<Error> wrong(std::string_view part) {
    return fail("--layers", fmt::format("cannot read {} of a layer; expected KERNEL[/STRIDE] IN[->OUT] @SIZE [group N] "
                                        "[dilation N] [depthwise], as in \"3x3/2 64->128 @56\"",
                                        part == "a layer" ? std::string("the text") : fmt::format("\"{}\"", part)));
  }

  static bool read_kernel(std::string_view word, LayerShape& shape) {
    const auto parts = split(word, "/");
    const auto kernel = extents(parts[0]);
    const auto stride = parts.size() == 2 ? number(parts[1]) : std::optional<std::int64_t>(1);
    if (!kernel || !stride || parts.size() > 2) return false;
    shape.kernel = *kernel;
    shape.stride = *stride;
    return true;
  }

  static bool read_channels(std::string_view word, LayerShape& shape) {
    const auto parts = split(word, "->");
    const auto in = number(parts.front());
    const auto out = number(parts.back());
    if (!in || !out || parts.size() > 2) return false;
    shape.input_channels = *in;
    shape.output_channels = *out;
    return true;
  }

  static bool read_input(std::string_view word, LayerShape& shape) {
    if (!word.starts_with('@')) return false;
    const auto input = extents(word.substr(1));
    if (!input || (input->size() != 1 && input->size() != shape.kernel.size())) return false;
    shape.input = *input;
    shape.input.resize(shape.kernel.size(), input->front());
    return true;
  }

  bool read_option(LayerShape& shape) {
    const std::string_view name = words_[next_++];
    if (name == "depthwise") {
      shape.group = shape.input_channels;
      return true;
    }
    const auto value = next_ < words_.size() ? number(words_[next_++]) : std::nullopt;
    if (!value || (name != "group" && name != "dilation")) return false;
    (name == "group" ? shape.group : shape.dilation) = *value;
    return true;
  }

  std::vector<std::string_view> words_;
  std::size_t next_ = 0;
};

}  // namespace

Result<LayerShape> parse_layer(std::string_view text) {
  return Reader(text).read();
}

std::string text_of(const LayerShape& shape) {
  std::string text = fmt::format("{}", fmt::join(shape.kernel, "x"));
  if (shape.stride != 1) text += fmt::format("/{}", shape.stride);
  text += fmt::format(" {}", shape.input_channels);
  if (shape.output_channels != shape.input_channels || shape.group == 1)
    text += fmt::format("->{}", shape.output_channels);
  const bool square = std::all_of(shape.input.begin(), shape.input.end(), [&](auto n) { return n == shape.input[0]; });
  text += square ? fmt::format(" @{}", shape.input[0]) : fmt::format(" @{}", fmt::join(shape.input, "x"));
  const bool depthwise = shape.group > 1 && shape.group == shape.input_channels;
  if (depthwise) text += " depthwise";
  if (shape.group > 1 && !depthwise) text += fmt::format(" group {}", shape.group);
  if (shape.dilation != 1) text += fmt::format(" dilation {}", shape.dilation);
  return text;
}

}  // namespace qconform::bench

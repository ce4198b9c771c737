#include "harness/operators/convolution/layer_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace qconform::bench {
namespace {

constexpr std::int64_t kLargest = 1 << 20;

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kLargest) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0;;) {
    const std::size_t next = text.find(separator, at);
    parts.push_back(text.substr(at, next - at));
    if (next == std::string_view::npos) return parts;
    at = next + separator.size();
  }
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

#include "reference/tests/kernel_cases.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "reference/numerics/element.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"

namespace qconform::reference {

void PrintTo(const KernelSet& set, std::ostream* out) {
  *out << set.name;
}

namespace testing {
namespace {

constexpr std::int64_t kMaxProducts = 200'000;

std::vector<std::int64_t> shape_with(std::int64_t first, std::int64_t second, const std::vector<std::int64_t>& rest) {
  std::vector<std::int64_t> shape{first, second};
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}

// Around the vector widths and tile sizes, and now and then nothing at all.
std::int64_t random_channels(SplitMixRandom& random) {
  if (random.one_in(40)) return 0;
  return random.pick<std::int64_t>({1, 1, 1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 32, 33});
}

std::int64_t random_input(SplitMixRandom& random, std::size_t rank) {
  if (random.one_in(40)) return 0;
  if (rank > 1) return random.between(1, rank == 2 ? 20 : 7);
  return random.pick<std::int64_t>({1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 130});
}

// One attempt; empty when it leaves the contract or costs too much.
std::optional<ConvolutionGeometry> attempt_geometry(SplitMixRandom& random) {
  const auto rank = static_cast<std::size_t>(random.pick({1, 1, 2, 2, 2, 3, 4}));
  const std::int64_t group = random.pick<std::int64_t>({1, 1, 1, 2, 3, 8, 16});
  const bool depthwise = random.one_in(6);
  const std::int64_t channels = depthwise ? 1 : random_channels(random);
  const std::int64_t outputs = group * (depthwise ? random.between(1, 2) : random_channels(random));
  std::vector<std::int64_t> inputs;
  std::vector<std::int64_t> kernel;
  ConvolutionAttributes attributes;
  attributes.group = group;
  attributes.strides.emplace();
  attributes.dilations.emplace();
  attributes.pads.emplace();
  for (std::size_t i = 0; i < rank; ++i) {
    inputs.push_back(random_input(random, rank));
    kernel.push_back(random.one_in(50) ? 0 : random.pick<std::int64_t>({1, 1, 2, 3, 3, 5, 7}));
    attributes.strides->push_back(random.pick<std::int64_t>({1, 1, 1, 2, 3, 5}));
    attributes.dilations->push_back(random.pick<std::int64_t>({1, 1, 1, 2, 3}));
  }
  // Pads beyond the kernel's extent give windows wholly in padding (rule C9).
  for (std::size_t i = 0; i < 2 * rank; ++i) {
    attributes.pads->push_back(random.one_in(8) ? random.between(3, 12) : random.between(0, 2));
  }
  if (random.one_in(4)) {
    attributes.auto_pad = random.pick({"SAME_UPPER", "SAME_LOWER", "VALID"});
    attributes.pads.reset();
  }
  Contract contract;
  const auto geometry =
      resolve_geometry(shape_with(random.one_in(40) ? 0 : random.between(1, 3), channels * group, inputs),
                       shape_with(outputs, channels, kernel), attributes, contract);
  if (!geometry) return std::nullopt;
  const std::int64_t sums = geometry->batch * geometry->output_channels * geometry->output_positions();
  return sums * (geometry->depth() + 4) <= kMaxProducts ? geometry : std::nullopt;
}

std::int32_t random_zero_point(SplitMixRandom& random, ElementType type) {
  const IntegerRange range = range_of(type);
  return static_cast<std::int32_t>(
      random.pick<std::int64_t>({0, range.lo, range.hi, random.between(range.lo, range.hi)}));
}

std::vector<std::int32_t> random_bias(SplitMixRandom& random, std::int64_t channels) {
  if (random.one_in(3)) return {};
  const std::int64_t limit = random.pick<std::int64_t>({100, 1 << 20, std::int64_t{1} << 30, 2147483647});
  std::vector<std::int32_t> bias;
  for (std::int64_t m = 0; m < channels; ++m) bias.push_back(static_cast<std::int32_t>(random.between(-limit, limit)));
  return bias;
}

ElementType random_type(SplitMixRandom& random) {
  return random.one_in(2) ? ElementType::uint8 : ElementType::int8;
}

// A scale around one: 2^-8 to 2^8.
float moderate_scale(SplitMixRandom& random) {
  const auto mantissa = static_cast<std::uint32_t>(random.bits() & 0x7FFFFFU);
  const auto exponent = static_cast<std::uint32_t>(random.between(127 - 8, 127 + 7));
  return std::bit_cast<float>(exponent << 23 | mantissa);
}

float power_of_two(SplitMixRandom& random) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(random.between(127 - 10, 127 + 10)) << 23);
}

// The y_scale that takes `sum` next to a tie, one unit in the last place off it half of the time.
float tie_scale(SplitMixRandom& random, std::int64_t sum, float x_scale, float w_scale) {
  const double tie = static_cast<double>(random.between(0, 120)) + 0.5;
  const double magnitude = static_cast<double>(sum < 0 ? -sum : sum) * static_cast<double>(x_scale);
  const auto scale = static_cast<float>(magnitude * static_cast<double>(w_scale) / tie);
  if (!is_finite(scale) || !(scale > 0)) return 1;
  const auto nudge = static_cast<std::uint32_t>(random.pick<std::int64_t>({0, 0, 1, -1}));
  const auto nudged = std::bit_cast<float>(std::bit_cast<std::uint32_t>(scale) + nudge);
  return is_finite(nudged) && nudged > 0 ? nudged : scale;
}

std::vector<std::int64_t> output_shape(const ConvolutionGeometry& g) {
  std::vector<std::int64_t> outputs;
  for (const SpatialAxis& axis : g.axes) outputs.push_back(axis.output);
  return shape_with(g.batch, g.output_channels, outputs);
}

template <typename T>
T loaded(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The element of which `at` is a byte, and those that share it; y has whole elements from `y` on.
std::string text_of(ElementType type, const std::byte* y, std::size_t at) {
  switch (type) {
    case ElementType::uint8: return std::to_string(loaded<std::uint8_t>(y + at));
    case ElementType::int8: return std::to_string(loaded<std::int8_t>(y + at));
    case ElementType::int32: return std::to_string(loaded<std::int32_t>(y + at / 4 * 4));
    case ElementType::float32: {
      std::ostringstream text;
      text << std::hexfloat << loaded<float>(y + at / 4 * 4) << " (bits " << std::hex
           << loaded<std::uint32_t>(y + at / 4 * 4) << ')';
      return text.str();
    }
    default: return "byte " + std::to_string(std::to_integer<int>(y[at]));
  }
}

std::string coordinate(std::int64_t element, const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::size_t axis = shape.size(); axis-- > 0; element /= shape[axis]) {
    text = std::to_string(element % shape[axis]) + (text.empty() ? "" : ", ") + text;
  }
  return '[' + text + ']';
}

}  // namespace

int KernelSetTest::scaled_for_set(int cases) {
  return scaled(GetParam().micro_kernels == nullptr ? cases / 4 : cases);
}

std::string kernel_set_name(const ::testing::TestParamInfo<KernelSet>& set) {
  return set.param.name;
}

ExpectedOutput expected_sums(const ConvInteger& node, std::span<const std::byte> x, std::span<const std::byte> w) {
  const ConvolutionGeometry& g = node.operands.geometry;
  std::vector<std::int32_t> sums(static_cast<std::size_t>(g.batch * g.output_channels * g.output_positions()));
  conv_integer(node, x, w, sums);
  const auto bytes = std::as_bytes(std::span(sums));
  return {{bytes.begin(), bytes.end()}, ElementType::int32, output_shape(g)};
}

std::vector<std::int64_t> exact_sums(const ConvolutionOperands& operands, std::span<const std::byte> x,
                                     std::span<const std::byte> w) {
  const ConvolutionGeometry& g = operands.geometry;
  std::vector<std::int64_t> sums(static_cast<std::size_t>(g.batch * g.output_channels * g.output_positions()));
  accumulate(operands, x, w, sums);
  return sums;
}

ExpectedOutput expected_bytes(const QLinearConv& node, RoundingProfile profile, std::span<const std::int64_t> sums) {
  const ConvolutionGeometry& g = node.operands.geometry;
  ExpectedOutput y{{}, node.y_type == ElementType::int8 ? ElementType::int8 : ElementType::uint8, output_shape(g)};
  y.bytes.resize(sums.size());
  requantize_sums(node, profile, sums, y.bytes);
  return y;
}

ExpectedOutput expected_of(const QuantizeLinear& node, std::span<const std::byte> x) {
  const QuantizationLayout& layout = node.layout;
  ExpectedOutput y{{}, node.y_type, {layout.outer, layout.channels, layout.inner}};
  y.bytes.resize(static_cast<std::size_t>(bytes_for(layout.elements(), bits_of(node.y_type))));
  quantize_linear(node, x, y.bytes);
  return y;
}

ExpectedOutput expected_of(const DequantizeLinear& node, std::span<const std::byte> x) {
  const QuantizationLayout& layout = node.layout;
  ExpectedOutput y{{}, node.y_type, {layout.outer, layout.channels, layout.inner}};
  y.bytes.resize(static_cast<std::size_t>(bytes_for(layout.elements(), bits_of(node.y_type))));
  dequantize_linear(node, x, y.bytes);
  return y;
}

::testing::AssertionResult equal(std::span<const std::byte> got, const ExpectedOutput& expected) {
  const std::vector<std::byte>& bytes = expected.bytes;
  if (got.size() != bytes.size()) return ::testing::AssertionFailure() << got.size() << " bytes, not " << bytes.size();
  if (got.empty() || std::memcmp(got.data(), bytes.data(), got.size()) == 0) return ::testing::AssertionSuccess();
  std::size_t first = 0;
  while (got[first] == bytes[first]) ++first;
  const std::int64_t element = static_cast<std::int64_t>(first) * 8 / bits_of(expected.type);
  return ::testing::AssertionFailure() << "y" << coordinate(element, expected.shape) << ": got "
                                       << text_of(expected.type, got.data(), first) << ", expected "
                                       << text_of(expected.type, bytes.data(), first);
}

std::int64_t SplitMixRandom::between(std::int64_t lo, std::int64_t hi) {
  const auto width = static_cast<std::uint64_t>(hi - lo) + 1;
  return lo + static_cast<std::int64_t>(bits() % width);
}

FencedMemory::FencedMemory(std::size_t capacity) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
  accessible_ = (capacity + page_ - 1) / page_ * page_;
  void* const mapping = mmap(nullptr, accessible_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::runtime_error("mmap failed");
  mapping_ = static_cast<std::byte*>(mapping);
  if (accessible_ > 0 && mprotect(mapping_ + page_, accessible_, PROT_READ | PROT_WRITE) != 0) {
    throw std::runtime_error("mprotect failed");
  }
}

FencedMemory::~FencedMemory() {
  munmap(mapping_, accessible_ + 2 * page_);
}

std::span<std::byte> FencedMemory::bytes(std::size_t size, bool at_front) const {
  if (size > accessible_) throw std::runtime_error("guarded memory is too small");
  return {mapping_ + page_ + (at_front ? 0 : accessible_ - size), size};
}

ConvolutionOperands random_operands(SplitMixRandom& random) {
  std::optional<ConvolutionGeometry> geometry;
  while (!geometry) geometry = attempt_geometry(random);
  ConvolutionOperands o;
  o.geometry = *geometry;
  o.x_type = random_type(random);
  o.w_type = random_type(random);
  o.x_zero_point = random_zero_point(random, o.x_type);
  const bool per_channel = random.one_in(2);
  const std::int32_t common = random_zero_point(random, o.w_type);
  for (std::int64_t m = 0; m < o.geometry.output_channels; ++m) {
    o.w_zero_point.push_back(per_channel ? random_zero_point(random, o.w_type) : common);
  }
  return o;
}

SpatialAxis with_output(SpatialAxis axis) {
  axis.pad_end += std::max<std::int64_t>(0, axis.kernel_extent() - axis.input - axis.pad_begin - axis.pad_end);
  axis.output = (axis.input + axis.pad_begin + axis.pad_end - axis.kernel_extent()) / axis.stride + 1;
  return axis;
}

ConvolutionOperands random_long_rows(SplitMixRandom& random) {
  ConvolutionOperands o;
  ConvolutionGeometry& g = o.geometry;
  const SpatialAxis plain{
      .input = 1, .kernel = 1, .stride = 1, .dilation = 1, .pad_begin = 0, .pad_end = 0, .output = 1};
  SpatialAxis rows = plain;
  SpatialAxis columns = plain;
  g.batch = random.between(1, 2);
  if (random.one_in(2)) {
    g.input_channels = random.pick<std::int64_t>({1, 2, 3, 4, 5, 8, 15, 21});
    g.output_channels = random.pick<std::int64_t>({1, 2, 5, 6, 7, 12, 17, 63, 64, 65});
    columns.input = random.pick<std::int64_t>({63, 64, 65, 100, 127, 128, 129, 192, 196});
  } else {
    g.group = random.between(2, 5);
    g.input_channels = g.group;
    g.output_channels = g.group * random.pick<std::int64_t>({1, 1, 2});
    columns.input = random.between(24, 150);
    columns.kernel = random.pick<std::int64_t>({1, 2, 3, 3, 3, 4, 5, 9});
    columns.stride = random.between(1, 2);
    columns.pad_begin = random.between(0, 3);
    columns.pad_end = random.between(0, 3);
    rows.input = random.between(1, random.one_in(6) ? 70 : 9);
    rows.kernel = random.pick<std::int64_t>({1, 2, 3, 3, 3, 3, 5});
    rows.stride = random.one_in(2) ? columns.stride : random.between(1, 3);
    rows.dilation = random.one_in(4) ? 2 : 1;
    rows.pad_begin = random.between(0, 3);
    rows.pad_end = random.between(0, 3);
  }
  if (g.group > 1 || random.one_in(2)) g.axes.push_back(with_output(rows));
  g.axes.push_back(with_output(columns));
  o.x_type = random_type(random);
  o.w_type = random_type(random);
  o.x_zero_point = random_zero_point(random, o.x_type);
  const std::int32_t middle = o.w_type == ElementType::uint8 ? 128 : 0;
  const std::int32_t w_zero_point = random.one_in(8) ? random_zero_point(random, o.w_type) : middle;
  o.w_zero_point.assign(static_cast<std::size_t>(g.output_channels), w_zero_point);
  return o;
}

std::vector<std::byte> random_bytes(SplitMixRandom& random, std::int64_t count, std::int32_t zero_point) {
  const std::int64_t kind = random.between(0, 3);
  const auto constant = static_cast<std::int32_t>(random.pick({0, 255, 127, 128}));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::byte& byte : bytes) {
    const auto uniform = static_cast<std::int32_t>(random.bits() & 0xFFU);
    switch (kind) {
      case 0: byte = store8(uniform); break;
      case 1: byte = store8(random.pick({0, 255, 127, 128})); break;
      case 2: byte = store8(random.one_in(4) ? uniform : zero_point); break;
      default: byte = store8(random.one_in(16) ? uniform : constant); break;
    }
  }
  return bytes;
}

QLinearConv random_requantization(SplitMixRandom& random, const ConvolutionOperands& operands,
                                  std::span<const std::int64_t> sums) {
  QLinearConv node;
  node.operands = operands;
  node.operands.bias = random_bias(random, operands.geometry.output_channels);
  node.y_type = random_type(random);
  node.y_zero_point = random_zero_point(random, node.y_type);
  const std::int64_t kind = random.between(0, 4);
  const auto scale = [&] {
    return kind == 0 ? power_of_two(random) : (kind == 1 ? random_scale(random) : moderate_scale(random));
  };
  node.x_scale = scale();
  const bool per_channel = random.one_in(2);
  const float common = scale();
  for (std::int64_t m = 0; m < operands.geometry.output_channels; ++m) {
    node.w_scale.push_back(per_channel ? scale() : common);
  }
  node.y_scale = scale();
  if (random.one_in(50)) node.x_scale = 0;
  if (kind >= 2 && !sums.empty()) {
    const auto chosen = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(sums.size()) - 1));
    const auto positions = static_cast<std::size_t>(operands.geometry.output_positions());
    const std::size_t channel = chosen / positions % static_cast<std::size_t>(operands.geometry.output_channels);
    const std::int64_t bias = node.operands.bias.empty() ? 0 : node.operands.bias[channel];
    const std::int32_t sum = wrap_to_int32(sums[chosen] + bias);
    node.y_scale = tie_scale(random, sum, node.x_scale, node.w_scale[channel]);
  }
  return node;
}

float random_scale(SplitMixRandom& random) {
  for (;;) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
    if (is_finite(value) && value != 0) return value;
  }
}

std::string describe(const ConvolutionOperands& o) {
  const ConvolutionGeometry& g = o.geometry;
  std::string text = "batch " + std::to_string(g.batch) + ", channels " + std::to_string(g.input_channels) + " to " +
                     std::to_string(g.output_channels) + ", group " + std::to_string(g.group);
  for (const SpatialAxis& a : g.axes) {
    text += "; input " + std::to_string(a.input) + " kernel " + std::to_string(a.kernel) + " stride " +
            std::to_string(a.stride) + " dilation " + std::to_string(a.dilation) + " pads " +
            std::to_string(a.pad_begin) + "," + std::to_string(a.pad_end);
  }
  return text + "; x " + (o.x_type == ElementType::int8 ? "int8" : "uint8") + ", w " +
         (o.w_type == ElementType::int8 ? "int8" : "uint8");
}

std::string describe(const QuantizationLayout& layout) {
  return "layout [" + std::to_string(layout.outer) + ", " + std::to_string(layout.channels) + ", " +
         std::to_string(layout.inner) + "]" +
         (layout.is_blocked() ? ", blocks of " + std::to_string(layout.block) : "");
}

}  // namespace testing
}  // namespace qconform::reference

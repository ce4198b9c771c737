#include "reference/tests/quantize_sweep.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

#include "reference/linear_quantization/dequantize_linear.h"
#include "reference/numerics/element.h"
#include "reference/oracle/definitions.h"
#include "reference/oracle/random_convolution.h"
#include "reference/tests/small_float.h"

namespace qconform::reference::oracle {

namespace {

constexpr std::uint32_t kChunk = 1U << 12;
constexpr std::uint32_t kInfinity = 0x7F800000U;

// Consecutive patterns with one answer: from `first` to the next segment's.
struct InputSegment {
  std::uint32_t first;
  std::byte expected;
};

float float_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

std::uint8_t integer_code(const SweepScale& p, std::int32_t value) {
  return static_cast<std::uint8_t>(static_cast<std::uint32_t>(value) & ((1U << bits_of(p.y_type)) - 1));
}

// The outputs by definition, as codes: the low bits of an element.
class QuantizeDefinition {
 public:
  explicit QuantizeDefinition(const SweepScale& p) : p_(p) {
    if (is_integer(p.y_type)) return;
    const auto& formats = small_formats();
    format_ = &*std::find_if(formats.begin(), formats.end(), [&](const auto& f) { return f.type == p.y_type; });
    line_.emplace(*format_);
  }

  [[nodiscard]] std::byte of(std::uint32_t bits) const {
    const float x = float_of(bits);
    return std::byte{is_integer(p_.y_type) ? integer(x) : number(x)};
  }

  // One code for all patterns of NaN.
  [[nodiscard]] std::byte canonical(std::byte code) const {
    if (format_ == nullptr || format_->nans.empty()) return code;
    const int sign = format_->has_negative_zero ? 0x80 : 0;
    const bool is_nan = std::count(format_->nans.begin(), format_->nans.end(), std::to_integer<int>(code) & ~sign) != 0;
    return is_nan ? static_cast<std::byte>(format_->nans.front()) : code;
  }

 private:
  [[nodiscard]] std::uint8_t integer(float x) const {
    const IntegerRange range = range_of(p_.y_type);
    if (std::isnan(x)) return integer_code(p_, p_.zero_point);  // all sets return it
    if (std::isinf(x)) return integer_code(p_, std::signbit(x) != std::signbit(p_.scale) ? range.lo : range.hi);
    const mpq_class value = oracle::exact(static_cast<double>(x));
    return integer_code(
        p_, static_cast<std::int32_t>(oracle::quantize(value, p_.scale, p_.zero_point, range.lo, range.hi)));
  }

  [[nodiscard]] std::uint8_t number(float x) const {
    float quotient = x;
    if (std::isfinite(x)) {
      const mpq_class exact = oracle::exact(static_cast<double>(x)) / oracle::exact(static_cast<double>(p_.scale));
      quotient = std::fabs(rn32(exact));
    }
    if (!std::isnan(x)) quotient = std::copysign(quotient, std::signbit(x) != std::signbit(p_.scale) ? -1.0F : 1.0F);
    return static_cast<std::uint8_t>(expected_pattern(*format_, *line_, static_cast<double>(quotient), p_.saturate));
  }

  SweepScale p_;
  const FormatFacts* format_ = nullptr;
  std::optional<NumberLine> line_;
};

class Steps {
 public:
  explicit Steps(const QuantizeDefinition& definition) : definition_(definition) {
    for (const std::uint32_t sign : {0U, 0x80000000U}) {
      add_finite(sign);
      for (const std::uint32_t special : {kInfinity, kInfinity + 1}) add(sign | special, definition.of(sign | special));
    }
  }

  [[nodiscard]] const std::vector<InputSegment>& segments() const { return segments_; }

 private:
  void add(std::uint32_t first, std::byte expected) { segments_.push_back({first, definition_.canonical(expected)}); }

  // The output is monotone in the magnitude: each step is found by bisection.
  void add_finite(std::uint32_t sign) {
    std::uint32_t first = 0;
    while (first < kInfinity) {
      const std::byte here = definition_.of(sign | first);
      add(sign | first, here);
      std::uint32_t lo = first;
      std::uint32_t hi = kInfinity;
      while (hi - lo > 1) {
        const std::uint32_t middle = lo + (hi - lo) / 2;
        (definition_.of(sign | middle) == here ? lo : hi) = middle;
      }
      first = hi;
    }
  }

  const QuantizeDefinition& definition_;
  std::vector<InputSegment> segments_;
};

// The expected outputs of one chunk. `at` is the last segment that begins no later than it.
bool fill_expected(const std::vector<InputSegment>& segments, std::size_t& at, std::uint32_t begin,
                   std::vector<std::byte>& expected) {
  const std::uint64_t end = std::uint64_t{begin} + kChunk;
  while (at + 1 < segments.size() && segments[at + 1].first <= begin) ++at;
  bool has_step = false;
  std::uint64_t from = begin;
  for (std::size_t s = at; from < end; ++s) {
    const std::uint64_t next = s + 1 < segments.size() ? segments[s + 1].first : end;
    const std::uint64_t to = std::min(next, end);
    std::memset(expected.data() + (from - begin), std::to_integer<int>(segments[s].expected), to - from);
    has_step = has_step || to < end;
    from = to;
  }
  return has_step;
}

std::string difference(const std::vector<std::byte>& got, const std::vector<std::byte>& expected, std::uint32_t begin) {
  const auto at = std::mismatch(got.begin(), got.end(), expected.begin()).first - got.begin();
  const auto i = static_cast<std::size_t>(at);
  std::ostringstream text;
  text << std::hexfloat << float_of(begin + static_cast<std::uint32_t>(i)) << ": got " << std::to_integer<int>(got[i])
       << ", expected " << std::to_integer<int>(expected[i]);
  return text.str();
}

}  // namespace

std::string sweep(const KernelSet& set, const SweepScale& p, std::int64_t stride) {
  QuantizeLinear node;
  node.layout.inner = kChunk;
  node.y_type = p.y_type;
  node.saturate = p.saturate;
  node.version = 25;
  node.y_scale = {static_cast<double>(p.scale)};
  node.y_zero_point = {p.zero_point};
  const auto kernel = set.quantize_linear(node);
  // The scalar set is the reference: it has a kernel for everything.
  if (kernel == nullptr) return &set == kernel_sets().data() ? "no kernel" : std::string();
  const QuantizeDefinition definition(p);
  const Steps steps(definition);
  const int bits = bits_of(p.y_type);
  std::vector<std::uint32_t> x(kChunk);
  std::vector<std::byte> expected(kChunk);
  std::vector<std::byte> y(static_cast<std::size_t>(bytes_for(kChunk, bits)));
  std::vector<std::byte> codes(kChunk);
  std::size_t at = 0;
  for (std::uint32_t chunk = 0; chunk < (std::uint64_t{1} << 32) / kChunk; ++chunk) {
    const std::uint32_t begin = chunk * kChunk;
    const bool has_step = fill_expected(steps.segments(), at, begin, expected);
    if (!has_step && chunk % stride != 0) continue;
    for (std::uint32_t i = 0; i < kChunk; ++i) x[i] = begin + i;
    kernel->run(std::as_bytes(std::span(x)), y);
    if (bits == 8 && y == expected) continue;
    for (std::uint32_t i = 0; i < kChunk; ++i) {
      codes[i] = definition.canonical(static_cast<std::byte>(load_bits(y, bits, i)));
    }
    if (codes != expected) return difference(codes, expected, begin);
  }
  return {};
}

namespace {

float random_scale(Random& random, int index) {
  constexpr std::array kBorders{std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(),
                                std::numeric_limits<float>::max(), -1.0F, 0.0F};
  if (index < static_cast<int>(kBorders.size())) return kBorders[static_cast<std::size_t>(index)];
  if (index % 5 == 0) return std::ldexp(1.0F, static_cast<int>(random.between(-149, 127)));
  if (index % 5 == 1) return std::ldexp(random.positive_float(0, 0), static_cast<int>(random.between(-149, -120)));
  if (index % 5 == 2) return random.any_float();
  return random.one_in(8) ? -random.positive_float(-30, 10) : random.positive_float(-30, 10);
}

// Zero points are the channels of one tensor.
void expect_dequantized(float scale, ElementType type) {
  const IntegerRange range = range_of(type);
  std::array<float, 511> expected;  // by the difference, from -255
  for (int d = -255; d <= 255; ++d) expected[static_cast<std::size_t>(d + 255)] = oracle::dequantize(d, scale);
  DequantizeLinear node;
  node.layout = {.outer = 1, .channels = 256, .inner = 256};
  node.x_type = type;
  node.x_scale.assign(256, static_cast<double>(scale));
  std::vector<std::byte> x;
  for (int zero_point = range.lo; zero_point <= range.hi; ++zero_point) {
    node.x_zero_point.push_back(zero_point);
    for (int raw = 0; raw < 256; ++raw) x.push_back(static_cast<std::byte>(raw));
  }
  std::vector<float> y(x.size());
  dequantize_linear(node, x, std::as_writable_bytes(std::span(y)));
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto raw = static_cast<int>(i % 256);
    const int value = raw > range.hi ? raw - 256 : raw;
    const int difference = value - (range.lo + static_cast<int>(i / 256));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]),
              std::bit_cast<std::uint32_t>(expected[static_cast<std::size_t>(difference + 255)]))
        << difference << " * " << ::testing::PrintToString(scale);
  }
}

}  // namespace

void expect_every_8_bit_value_dequantized(int scales) {
  Random random(37);
  for (int i = 0; i < scales; ++i) {
    const float scale = random_scale(random, i);
    ASSERT_NO_FATAL_FAILURE(expect_dequantized(scale, ElementType::uint8));
    ASSERT_NO_FATAL_FAILURE(expect_dequantized(scale, ElementType::int8));
  }
}

}  // namespace qconform::reference::oracle

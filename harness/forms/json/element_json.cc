#include "harness/forms/json/element_json.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace qconform {
namespace {

// The type that stores the bits of a float or a double.
template <typename Float>
struct Storage;
template <>
struct Storage<float> {
  using Bits = std::uint32_t;
};
template <>
struct Storage<double> {
  using Bits = std::uint64_t;
};

template <typename Float>
std::uint64_t stored(Float value) {
  return std::bit_cast<typename Storage<Float>::Bits>(value);
}

template <typename Float>
constexpr int kWidth = static_cast<int>(sizeof(Float) * 8);

// numeric_limits' quiet NaN is the canonical one on every target; its sign is stated here.
template <typename Float>
std::uint64_t canonical_nan() {
  return stored(std::numeric_limits<Float>::quiet_NaN());
}

// The double whose shortest decimal is that of `value`. For a float the digits would otherwise be
// those of the exact value: 0.1F is 0.10000000149011612.
double shortest(float value) {
  std::array<char, 64> text;
  const std::to_chars_result end = std::to_chars(text.data(), text.data() + text.size(), value);
  double result = 0;
  (void)std::from_chars(text.data(), end.ptr, result);
  return result;
}
double shortest(double value) {
  return value;
}

template <typename Float>
Json float_json(std::uint64_t bits) {
  const auto value = std::bit_cast<Float>(static_cast<typename Storage<Float>::Bits>(bits));
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (std::isnan(value)) return bits == canonical_nan<Float>() ? "nan" : bit_pattern(bits, kWidth<Float>);
  const double decimal = shortest(value);
  if (stored(static_cast<Float>(decimal)) != bits) return bit_pattern(bits, kWidth<Float>);
  return decimal;
}

template <typename Float>
std::optional<std::uint64_t> float_bits(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text == "nan") return canonical_nan<Float>();
    if (text == "inf") return stored(std::numeric_limits<Float>::infinity());
    if (text == "-inf") return stored(-std::numeric_limits<Float>::infinity());
    return bits_of_pattern(text, kWidth<Float>);
  }
  if (value.is_number_unsigned()) return stored(static_cast<Float>(value.get<std::uint64_t>()));
  if (value.is_number_integer()) return stored(static_cast<Float>(value.get<std::int64_t>()));
  if (!value.is_number_float()) return std::nullopt;
  // Judged after rounding: the shortest decimal of the largest float lies above it.
  const auto number = static_cast<Float>(value.get<double>());
  return std::isinf(number) ? std::nullopt : std::optional(stored(number));
}

std::optional<std::uint64_t> integer_bits(bool is_signed, int width, const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number <= (is_signed ? mask >> 1 : mask) ? std::optional(number) : std::nullopt;
  }
  const auto number = value.get<std::int64_t>();
  const auto lowest = -static_cast<std::int64_t>(mask >> 1) - 1;
  if (number >= 0 || !is_signed || number < lowest) return std::nullopt;
  return static_cast<std::uint64_t>(number) & mask;
}

Json integer_json(bool is_signed, int width, std::uint64_t bits) {
  const bool negative = is_signed && (bits >> (width - 1) & 1U) != 0;
  if (!negative) return bits;
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  return static_cast<std::int64_t>(bits | ~mask);
}

bool is_number_like_integer(ElementType type) {
  return is_integer(type) || type == ElementType::boolean;
}

}  // namespace

std::string bit_pattern(std::uint64_t bits, int width) {
  std::string text = "0x";
  for (int shift = width - 4; shift >= 0; shift -= 4) text += "0123456789abcdef"[bits >> shift & 0xFU];
  return text;
}

std::optional<std::uint64_t> bits_of_pattern(std::string_view text, int width) {
  if (!text.starts_with("0x") || text.size() != 2 + static_cast<std::size_t>(width / 4)) return std::nullopt;
  std::uint64_t bits = 0;
  for (const char digit : text.substr(2)) {
    const std::size_t value = std::string_view("0123456789abcdef").find(digit);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 4 | value;
  }
  return bits;
}

Json element_json(ElementType type, std::uint64_t bits) {
  if (type == ElementType::float32) return float_json<float>(bits);
  if (type == ElementType::float64) return float_json<double>(bits);
  if (is_number_like_integer(type)) return integer_json(is_signed_integer(type), bits_of(type), bits);
  return bit_pattern(bits, bits_of(type));
}

std::optional<std::uint64_t> element_bits(ElementType type, const Json& value) {
  if (type == ElementType::float32) return float_bits<float>(value);
  if (type == ElementType::float64) return float_bits<double>(value);
  if (is_number_like_integer(type)) return integer_bits(is_signed_integer(type), bits_of(type), value);
  if (!value.is_string()) return std::nullopt;
  return bits_of_pattern(value.get_ref<const std::string&>(), bits_of(type));
}

}  // namespace qconform

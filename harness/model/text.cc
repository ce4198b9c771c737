#include "harness/model/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "harness/core/tensor.h"
#include "harness/model/operator.h"
#include "reference/numerics/integers.h"

namespace qconform {
namespace {

// The reference has no such numbers.
bool is_complex(ElementType type) {
  return type == ElementType::complex64 || type == ElementType::complex128;
}

// The real and the imaginary part, one behind the other.
std::string complex_text(const Tensor& tensor, std::int64_t index) {
  const bool is_narrow = tensor.type == ElementType::complex64;
  const auto part = [&](std::int64_t at) {
    return reference::value_at(is_narrow ? ElementType::float32 : ElementType::float64, tensor.bytes, at);
  };
  return fmt::format("{}{:+}i", part(2 * index), part(2 * index + 1));
}

}  // namespace

double number_at(const Tensor& tensor, std::int64_t index) {
  if (is_integer_or_boolean(tensor.type)) return static_cast<double>(integer_at(tensor, index));
  if (is_complex(tensor.type)) return std::numeric_limits<double>::quiet_NaN();
  return reference::value_at(tensor.type, tensor.bytes, index);
}

std::string element_text(const Tensor& tensor, std::int64_t index) {
  if (tensor.type == ElementType::float32) return fmt::format("{}", float_at(tensor, index));
  if (is_complex(tensor.type)) return complex_text(tensor, index);
  return is_integer_or_boolean(tensor.type) ? fmt::format("{}", integer_at(tensor, index))
                                            : fmt::format("{}", number_at(tensor, index));
}

namespace {

using reference::bit_length;
using reference::uint128;

constexpr std::uint64_t kReadableDenominator = 1'000'000;

std::string fraction_text(std::uint64_t whole, std::uint64_t remainder, std::uint64_t divisor, bool negative) {
  const char* sign = negative ? "-" : "";
  if (remainder == 0) return fmt::format("{}{}", sign, whole);
  const std::uint64_t common = std::gcd(remainder, divisor);
  if (divisor / common <= kReadableDenominator) {
    const std::string fraction = fmt::format("{}/{}", remainder / common, divisor / common);
    if (whole == 0) return sign + fraction;
    return negative ? fmt::format("-({} + {})", whole, fraction) : fmt::format("{} + {}", whole, fraction);
  }
  const double decimal = static_cast<double>(remainder) / static_cast<double>(divisor);
  // Shown as the integer part and the fraction separately, so that a fraction near one half keeps its digits.
  return fmt::format("{}{} + {:.12f}", negative ? "-(" : "", whole, decimal) + (negative ? ")" : "");
}

}  // namespace

std::string scaled_value_text(std::int64_t accumulator, float x_scale, float w_scale, float y_scale) {
  const auto sx = reference::parts_of(x_scale);
  const auto sw = reference::parts_of(w_scale);
  const auto sy = reference::parts_of(y_scale);
  const bool negative = ((accumulator < 0) != sx.negative) != (sw.negative != sy.negative);
  uint128 numerator =
      uint128{static_cast<std::uint64_t>(std::abs(accumulator))} * (std::uint64_t{sx.mantissa} * sw.mantissa);
  uint128 divisor = sy.mantissa;
  int exponent = sx.exponent + sw.exponent - sy.exponent;
  // Common powers of two leave the numerator, so that ordinary scales end in short fractions.
  while (exponent < 0 && numerator != 0 && (numerator & 1U) == 0) {
    numerator >>= 1;
    ++exponent;
  }
  const int divisor_bits = bit_length(divisor) + std::max(0, -exponent);
  const int numerator_bits = bit_length(numerator) + std::max(0, exponent);
  if (divisor_bits > 63 || numerator_bits > 120 || numerator_bits - divisor_bits > 62) {
    return fmt::format("about {:.17g}", static_cast<double>(accumulator) * x_scale * w_scale / y_scale);
  }
  if (exponent >= 0) {
    numerator <<= exponent;
  } else {
    divisor <<= -exponent;
  }
  return fraction_text(static_cast<std::uint64_t>(numerator / divisor), static_cast<std::uint64_t>(numerator % divisor),
                       static_cast<std::uint64_t>(divisor), negative);
}

std::string kind_text(const Case& test_case) {
  return test_case.nodes.size() == 1 ? operator_name(test_case) : "graphs of several nodes";
}

std::string attribute_text(const Attribute::Value& value) {
  return std::visit(
      [](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_arithmetic_v<Held> || std::is_same_v<Held, std::string>) {
          return fmt::format("{}", held);
        } else {
          return fmt::format("[{}]", fmt::join(held, ","));
        }
      },
      value);
}

namespace {

bool multiplies_weights(const Operator* known, std::size_t position) {
  return known != nullptr && position < known->inputs.size() && known->inputs[position].role == InputRole::weight;
}

std::string name_of_input(const Case& test_case, std::size_t position) {
  const std::string_view given = input_name(test_case, position);
  return given.empty() ? fmt::format("input {}", position) : std::string(given);
}

}  // namespace

std::string summary_of(const Case& test_case) {
  const Operator* known = operator_of(test_case);
  const bool has_weights = multiplies_weights(known, 1) || multiplies_weights(known, 3);
  std::string text;
  std::string parameters;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    const Tensor* tensor = test_case.input(i);
    if (tensor == nullptr || (tensor->shape.empty() && i != 0)) continue;
    const std::string name = name_of_input(test_case, i);
    const std::string type = has_weights ? "" : name_of(tensor->type) + " ";
    const std::string piece = fmt::format("{} {}[{}]", name, type, fmt::join(tensor->shape, ","));
    const bool is_weight = multiplies_weights(known, i);
    if (i == 0 || is_weight) {
      text += (is_weight && !text.empty() ? " * " : "") + piece;
    } else {
      parameters += (text.empty() && parameters.empty() ? "" : ", ") + piece;
    }
  }
  if (test_case.nodes.size() > 1) return text + parameters;
  for (const Attribute& attribute : test_case.node().attributes) {
    if (attribute.name != "kernel_shape") parameters += ", " + attribute.name + " " + attribute_text(attribute.value);
  }
  return text + parameters;
}

std::string values_text(const Case& test_case) {
  constexpr std::int64_t kMostElements = 16;
  std::string text;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    const Tensor* tensor = test_case.input(i);
    if (tensor == nullptr) continue;
    text += (text.empty() ? "" : ", ") + name_of_input(test_case, i);
    if (tensor->elements() > kMostElements) {
      text += fmt::format(" [{}]", fmt::join(tensor->shape, ","));
      continue;
    }
    std::vector<std::string> values;
    for (std::int64_t k = 0; k < tensor->elements(); ++k) values.push_back(element_text(*tensor, k));
    text += fmt::format(" {{{}}}", fmt::join(values, ", "));
  }
  return text;
}

namespace {

std::string number_text(ElementType type, std::uint64_t bits) {
  Tensor tensor = Tensor::zeros(type, {});
  set_bits_at(tensor, 0, bits);
  return element_text(tensor, 0);
}

std::string range_text(const RightValues::Range& range, ElementType type) {
  const std::string lo = number_text(type, range.lo);
  if (range.lo == range.hi) return lo;
  const bool are_neighbours = reference::integer_of(type, range.hi) - reference::integer_of(type, range.lo) == 1;
  return lo + (are_neighbours ? ", " : "..") + number_text(type, range.hi);
}

}  // namespace

std::string text_of(const RightValues& right) {
  if (right.any_value) return "any value";
  const ElementType type = right.type;
  const std::vector<RightValues::Range>& ranges = right.ranges;
  if (!is_integer_or_boolean(type) && ranges.size() == 1 && ranges.front().lo != ranges.front().hi) {
    return "[" + number_text(type, ranges.front().lo) + ", " + number_text(type, ranges.front().hi) + "]";
  }
  std::string text;
  for (const RightValues::Range& range : ranges) text += (text.empty() ? "" : ", ") + range_text(range, type);
  if (right.any_nan) text += ", any NaN";
  if (right.either_zero) text += ", zero of either sign";
  return "{" + text + "}";
}

}  // namespace qconform

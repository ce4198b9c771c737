#include "harness/judge/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "reference/linear_quantization/value.h"

namespace qconform {
namespace {

bool same_bits(const Tensor& a, const Tensor& b, std::int64_t index) {
  const int bits = bits_of(a.type);
  return raw_bits_at(a.bytes, bits, index) == raw_bits_at(b.bytes, bits, index);
}

bool is_float(const Tensor& tensor) {
  return !is_integer(tensor.type);
}

double number_at(const Tensor& tensor, std::int64_t index) {
  if (!is_float(tensor)) return static_cast<double>(integer_at(tensor, index));
  return reference::value_at(static_cast<reference::Element>(tensor.type), tensor.bytes, index);
}

bool admissible(const Tensor& got, const Tensor& right, std::int64_t index) {
  if (same_bits(got, right, index)) return true;
  return is_float(right) && std::isnan(number_at(right, index)) && std::isnan(number_at(got, index));
}

double distance(const Tensor& got, const Tensor& right, std::int64_t index) {
  const double difference = std::fabs(number_at(got, index) - number_at(right, index));
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

}  // namespace

Comparison compare(const Tensor& got, const Tensor& right, const Tensor* alternative) {
  Comparison result;
  if (got.bytes == right.bytes) return result;
  const std::int64_t elements = right.elements();
  for (std::int64_t i = 0; i < elements; ++i) {
    if (admissible(got, right, i)) continue;
    if (alternative != nullptr && admissible(got, *alternative, i)) continue;
    ++result.wrong;
    const double off = distance(got, right, i);
    if (result.worst < 0 || off > result.worst_distance) {
      result.worst = i;
      result.worst_distance = off;
    }
  }
  return result;
}

std::string element_text(const Tensor& tensor, std::int64_t index) {
  if (tensor.type == ElementType::float32) return fmt::format("{}", float_at(tensor, index));
  return is_float(tensor) ? fmt::format("{}", number_at(tensor, index)) : fmt::format("{}", integer_at(tensor, index));
}

}  // namespace qconform

#include "harness/judge/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace qconform {
namespace {

bool same_bits(const Tensor& a, const Tensor& b, std::int64_t index) {
  const auto size = static_cast<std::size_t>(bits_of(a.type) / 8);
  const std::size_t offset = static_cast<std::size_t>(index) * size;
  return std::memcmp(a.bytes.data() + offset, b.bytes.data() + offset, size) == 0;
}

double number_at(const Tensor& tensor, std::int64_t index) {
  return tensor.type == ElementType::float32 ? static_cast<double>(float_at(tensor, index))
                                             : static_cast<double>(integer_at(tensor, index));
}

bool admissible(const Tensor& got, const Tensor& right, std::int64_t index) {
  if (same_bits(got, right, index)) return true;
  return right.type == ElementType::float32 && std::isnan(float_at(right, index)) && std::isnan(float_at(got, index));
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
  return tensor.type == ElementType::float32 ? fmt::format("{}", float_at(tensor, index))
                                             : fmt::format("{}", integer_at(tensor, index));
}

}  // namespace qconform

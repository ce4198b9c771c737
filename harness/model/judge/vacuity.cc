#include "harness/model/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>

namespace qconform {
namespace {

// The judge calls an output vacuous with a greater share of elements at an end of their 8-bit type's range, or of
// elements with more than two right values.
constexpr double kNearlyAll = 0.95;

bool all_alike(const Tensor& tensor) {
  const auto size = static_cast<std::size_t>(bits_of(tensor.type) / 8);
  if (size == 0)
    return std::adjacent_find(tensor.bytes.begin(), tensor.bytes.end(), std::not_equal_to<>()) == tensor.bytes.end();
  // Shifted by one element, an output of equal elements overlaps itself.
  return std::equal(tensor.bytes.begin() + static_cast<std::ptrdiff_t>(size), tensor.bytes.end(), tensor.bytes.begin());
}

std::int64_t saturated(const Tensor& tensor) {
  const bool is_signed = tensor.type == ElementType::int8;
  if (!is_signed && tensor.type != ElementType::uint8) return 0;
  const std::byte lo{static_cast<unsigned char>(is_signed ? 0x80 : 0x00)};
  const std::byte hi{static_cast<unsigned char>(is_signed ? 0x7F : 0xFF)};
  return std::count_if(tensor.bytes.begin(), tensor.bytes.end(), [&](std::byte b) { return b == lo || b == hi; });
}

}  // namespace

std::string why_vacuous(const Tensor& right, const TieCounts& ties) {
  const std::int64_t elements = right.elements();
  if (elements < kFewElements) return {};
  if (all_alike(right)) return "all elements are equal, so that a wrong index would not show";
  const auto nearly_all = static_cast<std::int64_t>(kNearlyAll * static_cast<double>(elements));
  if (saturated(right) > nearly_all) return "nearly all elements saturate";
  if (static_cast<std::int64_t>(ties.open) > nearly_all) return "nearly all elements have several right values";
  return {};
}

}  // namespace qconform

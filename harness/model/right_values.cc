#include "harness/model/right_values.h"

#include <algorithm>

#include "harness/core/tensor.h"
#include "harness/model/text.h"
#include "reference/numerics/small_float.h"

namespace qconform {
namespace {

// A pattern as a tensor of one element.
Tensor element_with(ElementType type, std::uint64_t bits) {
  Tensor tensor = Tensor::zeros(type, {});
  set_raw_bits_at(tensor.bytes, bits_of(type), 0, bits);
  return tensor;
}

bool has_integers(ElementType type) {
  return is_integer(type) || type == ElementType::boolean;
}

std::int64_t integer_of(ElementType type, std::uint64_t bits) {
  return integer_at(element_with(type, bits), 0);
}

std::string number_text(ElementType type, std::uint64_t bits) {
  return element_text(element_with(type, bits), 0);
}

bool lies_in(const RightValues::Range& range, ElementType type, std::uint64_t bits) {
  if (range.lo == range.hi) return bits == range.lo;
  if (has_integers(type)) {
    const std::int64_t value = integer_of(type, bits);
    return integer_of(type, range.lo) <= value && value <= integer_of(type, range.hi);
  }
  const double value = number_at(element_with(type, bits), 0);
  return number_at(element_with(type, range.lo), 0) <= value && value <= number_at(element_with(type, range.hi), 0);
}

std::string range_text(const RightValues::Range& range, ElementType type) {
  const std::string lo = number_text(type, range.lo);
  if (range.lo == range.hi) return lo;
  const bool are_neighbours = integer_of(type, range.hi) - integer_of(type, range.lo) == 1;
  return lo + (are_neighbours ? ", " : "..") + number_text(type, range.hi);
}

}  // namespace

bool RightValues::holds(std::uint64_t bits) const {
  if (any_value) return true;
  if (std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) { return lies_in(range, type, bits); })) {
    return true;
  }
  if (has_integers(type) || (!any_nan && !either_zero)) return false;
  const reference::FloatFormat& format = reference::float_format(type);
  return (any_nan && is_nan(format, bits)) || (either_zero && is_zero(format, bits));
}

std::string RightValues::text() const {
  if (any_value) return "any value";
  if (!has_integers(type) && ranges.size() == 1 && ranges.front().lo != ranges.front().hi) {
    return "[" + number_text(type, ranges.front().lo) + ", " + number_text(type, ranges.front().hi) + "]";
  }
  std::string text;
  for (const Range& range : ranges) text += (text.empty() ? "" : ", ") + range_text(range, type);
  if (any_nan) text += ", any NaN";
  if (either_zero) text += ", zero of either sign";
  return "{" + text + "}";
}

RightValues right_values_of(const reference::AdmissibleSet& set, ElementType type) {
  RightValues right{.type = type};
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits_of(type));
  const auto pattern = [&](std::int32_t value) { return static_cast<std::uint64_t>(std::int64_t{value}) & mask; };
  for (const auto& [lo, hi] : set.intervals()) right.ranges.push_back({pattern(lo), pattern(hi)});
  return right;
}

RightValues right_values_of(const reference::AdmissibleBits& set) {
  RightValues right{.type = set.type(), .any_value = set.any_value()};
  if (set.any_value()) return right;
  for (const std::uint32_t bits : set.members()) right.ranges.push_back({bits, bits});
  right.any_nan = set.any_nan();
  right.either_zero = set.either_zero();
  return right;
}

}  // namespace qconform

#include "harness/operators/element_text.h"

#include <fmt/format.h>

#include "reference/linear_quantization/value.h"

namespace qconform {
namespace {

constexpr bool agrees(ElementType type, reference::Element element) {
  return static_cast<int>(type) == static_cast<int>(element);
}

// reference/ names the types for itself, since it depends on nothing of the harness.
static_assert(agrees(ElementType::float32, reference::Element::float32));
static_assert(agrees(ElementType::uint8, reference::Element::uint8));
static_assert(agrees(ElementType::int8, reference::Element::int8));
static_assert(agrees(ElementType::uint16, reference::Element::uint16));
static_assert(agrees(ElementType::int16, reference::Element::int16));
static_assert(agrees(ElementType::int32, reference::Element::int32));
static_assert(agrees(ElementType::float16, reference::Element::float16));
static_assert(agrees(ElementType::float64, reference::Element::float64));
static_assert(agrees(ElementType::bfloat16, reference::Element::bfloat16));
static_assert(agrees(ElementType::float8e4m3fn, reference::Element::float8e4m3fn));
static_assert(agrees(ElementType::float8e4m3fnuz, reference::Element::float8e4m3fnuz));
static_assert(agrees(ElementType::float8e5m2, reference::Element::float8e5m2));
static_assert(agrees(ElementType::float8e5m2fnuz, reference::Element::float8e5m2fnuz));
static_assert(agrees(ElementType::uint4, reference::Element::uint4));
static_assert(agrees(ElementType::int4, reference::Element::int4));
static_assert(agrees(ElementType::float4e2m1, reference::Element::float4e2m1));
static_assert(agrees(ElementType::float8e8m0, reference::Element::float8e8m0));
static_assert(agrees(ElementType::uint2, reference::Element::uint2));
static_assert(agrees(ElementType::int2, reference::Element::int2));

}  // namespace

reference::Element element_of(ElementType type) {
  return static_cast<reference::Element>(type);
}

double number_at(const Tensor& tensor, std::int64_t index) {
  if (is_integer(tensor.type)) return static_cast<double>(integer_at(tensor, index));
  return reference::value_at(element_of(tensor.type), tensor.bytes, index);
}

std::string element_text(const Tensor& tensor, std::int64_t index) {
  if (tensor.type == ElementType::float32) return fmt::format("{}", float_at(tensor, index));
  return is_integer(tensor.type) ? fmt::format("{}", integer_at(tensor, index))
                                 : fmt::format("{}", number_at(tensor, index));
}

}  // namespace qconform

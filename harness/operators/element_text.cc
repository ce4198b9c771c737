#include "harness/operators/element_text.h"

#include <fmt/format.h>

#include "reference/linear_quantization/value.h"

namespace qconform {

double element_number(const Tensor& tensor, std::int64_t index) {
  if (is_integer(tensor.type)) return static_cast<double>(integer_at(tensor, index));
  return reference::value_at(static_cast<reference::Element>(tensor.type), tensor.bytes, index);
}

std::string element_text(const Tensor& tensor, std::int64_t index) {
  if (tensor.type == ElementType::float32) return fmt::format("{}", float_at(tensor, index));
  return is_integer(tensor.type) ? fmt::format("{}", integer_at(tensor, index))
                                 : fmt::format("{}", element_number(tensor, index));
}

}  // namespace qconform

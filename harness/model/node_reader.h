// Reads the attributes and inputs of a case against an operator's signature. Every complaint goes
// into a Contract; the checks return false on the first violation.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/core/case.h"
#include "harness/model/operator.h"
#include "reference/contract/remark.h"
#include "reference/numerics/element.h"

namespace qconform {

struct AttributeSignature {
  std::string_view name;
  std::size_t value_index;  ///< index into Attribute::Value
};

inline constexpr std::size_t kIntAttribute = 0;
inline constexpr std::size_t kStringAttribute = 2;
inline constexpr std::size_t kIntsAttribute = 3;

class NodeReader {
 public:
  NodeReader(const Case& test_case, std::span<const InputSignature> inputs, reference::Contract& contract)
      : case_(test_case), inputs_(inputs), contract_(contract) {}

  /// Number of inputs, omitted inputs (rule C15), attribute names and types (rule "signature").
  bool check_signature(std::span<const AttributeSignature> attributes);

  [[nodiscard]] std::int64_t int_attribute(std::string_view name, std::int64_t absent) const;
  [[nodiscard]] std::string string_attribute(std::string_view name, std::string_view absent) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> ints_attribute(std::string_view name) const;

  /// The named input; null when it is optional and omitted.
  [[nodiscard]] const Tensor* input(std::string_view name) const;

  /// The input's type must be one of `types`; an omitted input passes.
  bool check_type(std::string_view name, std::initializer_list<ElementType> types, const char* rule);
  /// Two inputs have the same element type (rule given); an omitted one passes.
  bool check_same_type(std::string_view name, std::string_view other, const char* rule);
  /// The input has one element, in whatever shape (rule C11).
  bool check_scalar(std::string_view name);

 private:
  const Case& case_;
  std::span<const InputSignature> inputs_;
  reference::Contract& contract_;
};

/// All elements of an integer tensor as 32-bit values, of a float32 tensor as floats.
[[nodiscard]] std::vector<std::int32_t> int32_values(const Tensor& tensor);
[[nodiscard]] std::vector<float> float_values(const Tensor& tensor);

/// A tensor's bytes as 32-bit elements may be unaligned; this reads one scalar integer, or `absent`
/// for an omitted input.
[[nodiscard]] std::int32_t scalar_or(const Tensor* tensor, std::int32_t absent);

}  // namespace qconform

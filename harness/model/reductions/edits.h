// Small changes to cases: tensors of any type, packed ones too, and attributes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/tensor.h"

namespace qconform::shrink {

/// The tensor with only the positions `keep` of `axis` (below its rank), in that order.
[[nodiscard]] Tensor with_positions(const Tensor& tensor, std::size_t axis, std::span<const std::int64_t> keep);

/// Element `index` as a scalar.
[[nodiscard]] Tensor element_as_scalar(const Tensor& tensor, std::int64_t index);

/// 0, 1, ..., count - 1.
[[nodiscard]] std::vector<std::int64_t> positions(std::int64_t count);

/// The stored bits of one element of up to 64 bits.
[[nodiscard]] std::uint64_t bits_at(const Tensor& tensor, std::int64_t index);
void set_bits_at(Tensor& tensor, std::int64_t index, std::uint64_t bits);

/// Whether the type's elements are numbers that can be made simpler: integers and floats of up to 64 bits.
[[nodiscard]] bool is_number(ElementType type);

/// An integer's bit pattern in its type, clamped to the type's range.
[[nodiscard]] std::uint64_t integer_bits(ElementType type, std::int64_t value);

/// The bits of the type's 1.
[[nodiscard]] std::uint64_t one_bits(ElementType type);

/// How far a number is from the plainest one. Integers: the distance to `neutral`. Floats: 0 for zero,
/// 1 for 1.0, more for other exponents, longer mantissas and a sign; `neutral` is not used.
[[nodiscard]] std::uint64_t complexity(ElementType type, std::uint64_t bits, std::int64_t neutral);

/// The attribute's list of integers; null when it is absent or of another type.
[[nodiscard]] std::vector<std::int64_t>* integers_of(Case& test_case, std::string_view name);
[[nodiscard]] const std::vector<std::int64_t>* integers_of(const Case& test_case, std::string_view name);
/// The attribute's integer, or `absent`.
[[nodiscard]] std::int64_t integer_of(const Case& test_case, std::string_view name, std::int64_t absent);

}  // namespace qconform::shrink

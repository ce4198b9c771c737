#include "harness/backends/sandbox/neighbour.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "harness/core/element_type.h"
#include "harness/model/operator.h"

namespace qconform {
namespace {

constexpr std::byte kEverySecondBit{0x55};

// One less in the exponent, where the number stays normal.
template <typename Bits>
void halve(std::span<std::byte> bytes, int mantissa_bits, Bits exponent_mask) {
  for (std::size_t i = 0; i + sizeof(Bits) <= bytes.size(); i += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, &bytes[i], sizeof bits);
    const auto lowest = static_cast<Bits>(Bits{1} << mantissa_bits);
    const auto exponent = static_cast<Bits>(bits & exponent_mask);
    if (exponent <= lowest || exponent == exponent_mask) continue;
    bits = static_cast<Bits>(bits - lowest);
    std::memcpy(&bytes[i], &bits, sizeof bits);
  }
}

void invert(Tensor& tensor) {
  const int bits = bits_of(tensor.type);
  const auto step = static_cast<std::size_t>(std::max(bits / 8, 1));
  for (std::size_t i = 0; i < tensor.bytes.size(); i += step) tensor.bytes[i] ^= kEverySecondBit;
  // Bits behind the last element stay 0.
  if (const std::int64_t used = tensor.elements() * bits % 8; used != 0) {
    tensor.bytes.back() &= static_cast<std::byte>((1U << used) - 1);
  }
}

void change(Tensor& tensor) {
  switch (tensor.type) {
    case ElementType::float32: return halve<std::uint32_t>(tensor.bytes, 23, 0x7f800000);
    case ElementType::float16: return halve<std::uint16_t>(tensor.bytes, 10, 0x7c00);
    case ElementType::bfloat16: return halve<std::uint16_t>(tensor.bytes, 7, 0x7f80);
    case ElementType::float8e8m0: return halve<std::uint8_t>(tensor.bytes, 0, 0xff);
    default:
      if (is_integer(tensor.type)) invert(tensor);
  }
}

}  // namespace

void make_neighbour(const Case& test_case, Case& neighbour) {
  neighbour = test_case;
  for (auto& input : neighbour.inputs) {
    // Shapes and axes stay, or the node would be no neighbour but nonsense.
    if (input && input->type != ElementType::int64) change(*input);
  }
}

std::optional<std::size_t> make_other_input(const Case& test_case, Case& other) {
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    if (!test_case.inputs[i] || role_of(test_case, i) != InputRole::data) continue;
    other = test_case;
    change(*other.inputs[i]);
    if (other.inputs[i] == test_case.inputs[i]) return std::nullopt;
    return i;
  }
  return std::nullopt;
}

}  // namespace qconform

// The arithmetics in which DequantizeLinear may form (x - x_zero_point) * x_scale.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "reference/dequantize_linear/dequantize_linear.h"

namespace qconform::reference {

/// x - zero point: exact, but for int32, where it wraps.
[[nodiscard]] double difference_of(ElementType type, double x, double zero_point);

enum class MultiplicationMethod : std::uint8_t {
  once,                ///< RN(d * s)
  difference_rounded,  ///< RN(RN(d) * s)
  operands_rounded,    ///< RN(RN(d) * RN(s))
  through_float32,     ///< RN(RN32(RN32(d) * s))
};

struct Multiplication {
  MultiplicationMethod method;
  const char* rule;  ///< rule that allows it
};

/// The multiplications that rules D1, D2 and D4 allow a node; the first is the reference's.
class Multiplications {
 public:
  explicit Multiplications(const DequantizeLinear& node);
  [[nodiscard]] std::span<const Multiplication> list() const& { return {multiplications_.data(), count_}; }
  void list() const&& = delete;  // the list would outlive its elements
  [[nodiscard]] Multiplication first() const { return multiplications_[0]; }

 private:
  void add(MultiplicationMethod method, const char* rule) { multiplications_[count_++] = {method, rule}; }

  std::array<Multiplication, 4> multiplications_{};
  std::size_t count_ = 0;
};

/// The product as a pattern of `type`, RN being the rounding to that type.
[[nodiscard]] std::uint64_t multiply(const Multiplication& multiplication, ElementType type, double difference,
                                     double scale);

}  // namespace qconform::reference

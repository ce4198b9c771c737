// The arithmetics in which QuantizeLinear may form x / y_scale.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "reference/numerics/ratio.h"
#include "reference/quantize_linear/quantize_linear.h"

namespace qconform::reference {

enum class DivisionMethod : std::uint8_t {
  exact,             ///< the rational x / s
  once,              ///< RN(x / s)
  operands_rounded,  ///< RN(RN(x) / RN(s))
  reciprocal,        ///< RN(RN(x) * RN(1 / RN(s)))
};

struct Division {
  DivisionMethod method;
  ElementType type;  ///< type that RN rounds to; meaningless for `exact`
  const char* rule;  ///< rule that allows it
};

/// A result of a division, before it is rounded to y's type.
struct Quotient {
  enum class Kind : std::uint8_t { finite, infinite, nan };
  Kind kind;
  Ratio value;  ///< finite: the value; infinite: the sign alone

  [[nodiscard]] bool is_zero() const { return kind == Kind::finite && value.is_zero(); }
};

[[nodiscard]] Quotient divide(const Division& division, double x, double scale);

/// The divisions that rules Q1, Q3 and Q6 allow a node; the first is the reference's.
class Divisions {
 public:
  Divisions(const QuantizeLinear& node, Wording wording);
  [[nodiscard]] std::span<const Division> list() const& { return {divisions_.data(), count_}; }
  void list() const&& = delete;  // the list would outlive its elements
  [[nodiscard]] Division first() const { return divisions_[0]; }

 private:
  void add(DivisionMethod method, ElementType type, const char* rule) { divisions_[count_++] = {method, type, rule}; }

  std::array<Division, 8> divisions_{};
  std::size_t count_ = 0;
};

}  // namespace qconform::reference

// The admissible outputs of one element of QuantizeLinear or DequantizeLinear, as bit patterns.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "reference/numerics/element.h"
#include "reference/numerics/small_float.h"

namespace qconform::reference {

/// Says which wording decides what the specification leaves open.
enum class Wording : std::uint8_t {
  onnx,      ///< the rules Q1..Q8 and D1..D8
  directml,  ///< also: a reciprocal for the division, either neighbour of a tie, either sign of zero
};

/// A short list of patterns, and classes of patterns, that are all right. Never empty.
class AdmissibleBits {
 public:
  /// More than the arithmetics that any rule allows, twice: either neighbour of a tie.
  static constexpr std::size_t kCapacity = 16;

  explicit AdmissibleBits(ElementType type) : type_(type) {}

  /// Adds a pattern. `rule` is what allows it; it counts when the pattern is not the first one.
  void admit(std::uint64_t bits, const char* rule) {
    const auto known = members();
    if (std::find(known.begin(), known.end(), bits) != known.end()) return;
    assert(count_ < kCapacity);
    if (count_ > 0) opened_by(rule);
    members_[count_++] = static_cast<std::uint32_t>(bits);
  }
  void admit_any_value(const char* rule) {
    any_value_ = true;
    opened_by(rule);
  }
  void admit_any_nan(const char* rule) {
    if (has_one_nan_and_zero()) return admit(float_format(type_).sign_bit(), rule);
    any_nan_ = true;
    opened_by(rule);
  }
  void admit_either_zero(const char* rule) {
    if (has_one_nan_and_zero()) return admit(0, rule);
    either_zero_ = true;
    opened_by(rule);
  }

  [[nodiscard]] bool contains(std::uint64_t bits) const {
    const auto known = members();
    if (any_value_ || std::find(known.begin(), known.end(), bits) != known.end()) return true;
    if (is_integer(type_)) return false;
    const FloatFormat& format = float_format(type_);
    return (any_nan_ && is_nan(format, bits)) || (either_zero_ && is_zero(format, bits));
  }

  /// The listed patterns; the first is the answer of the scalar reference.
  [[nodiscard]] std::span<const std::uint32_t> members() const& { return {members_.data(), count_}; }
  void members() const&& = delete;  // the list would outlive its elements
  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] bool any_value() const { return any_value_; }      ///< every pattern of the type
  [[nodiscard]] bool any_nan() const { return any_nan_; }          ///< NaN with any payload and sign
  [[nodiscard]] bool either_zero() const { return either_zero_; }  ///< +0 and -0
  [[nodiscard]] bool is_open() const { return rule_[0] != '\0'; }
  /// The first rule that leaves the answer open; empty when there is one answer.
  [[nodiscard]] const char* rule() const { return rule_; }

 private:
  // The formats whose NaN is the pattern of -0.
  [[nodiscard]] bool has_one_nan_and_zero() const {
    return !is_integer(type_) && float_format(type_).specials == Specials::unsigned_zero_nan;
  }
  void opened_by(const char* rule) {
    if (!is_open()) rule_ = rule;
  }

  ElementType type_;
  std::array<std::uint32_t, kCapacity> members_{};
  std::size_t count_ = 0;
  bool any_value_ = false;
  bool any_nan_ = false;
  bool either_zero_ = false;
  const char* rule_ = "";
};

}  // namespace qconform::reference

// QuantizeLinear and DequantizeLinear share the layout of their parameters and sets of right bits.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "reference/contract/remark.h"
#include "reference/numerics/element.h"
#include "reference/numerics/floats.h"

namespace qconform::reference {

// The scale and zero point of each element, for QuantizeLinear and DequantizeLinear (rule D7).

/// The tensor seen as [outer, channels, inner] in row-major order.
///
/// Per tensor: outer = channels = 1, inner is the element count, and there is one parameter. Per
/// axis: parameter c belongs to channel c. Blocked: `channels` is the length of the axis, and the
/// parameters form a tensor [outer, blocks(), inner], each for `block` neighbours along the axis; the
/// last block may be shorter.
struct QuantizationLayout {
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t inner = 1;
  std::int64_t block = 0;  ///< elements along the axis that share a parameter; 0: not blocked

  [[nodiscard]] std::int64_t elements() const { return outer * channels * inner; }
  [[nodiscard]] bool is_blocked() const { return block > 0; }
  /// Blocks along the axis; the layout is blocked.
  [[nodiscard]] std::int64_t blocks() const { return channels / block + (channels % block != 0 ? 1 : 0); }
  [[nodiscard]] std::int64_t parameters() const { return is_blocked() ? outer * blocks() * inner : channels; }
  /// The parameter of element `index`, in [0, parameters()).
  [[nodiscard]] std::size_t parameter_of(std::int64_t index) const {
    const std::int64_t channel = index / inner % channels;
    if (!is_blocked()) return static_cast<std::size_t>(channel);
    const std::int64_t row = index / inner / channels * blocks() + channel / block;
    return static_cast<std::size_t>(row * inner + index % inner);
  }
};

/// The attributes of a node that place its parameters, and which of them its version knows.
struct PlacementAttributes {
  bool has_axis = true;
  std::int64_t axis = 1;
  bool has_block_size = false;
  std::int64_t block_size = 0;
};

/// Decides the layout from the shapes of x and of its scale: one element, of any rank; [x.shape[axis]]; or, with a
/// block size, the shape of x but for ceil(x.shape[axis] / block_size). axis in [-rank, rank-1].
/// `scale_field` names the scale input in messages.
[[nodiscard]] std::optional<QuantizationLayout> resolve_layout(std::span<const std::int64_t> x_shape,
                                                               std::span<const std::int64_t> scale_shape,
                                                               const char* scale_field,
                                                               const PlacementAttributes& attributes,
                                                               Contract& contract);

// Sets of right bits.

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

// Exact integers: wide ones, and rounding, saturation and wrapping to them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "reference/numerics/element.h"

namespace qconform::reference {

// Unsigned integers wider than a machine word, for exact requantization and its intervals. WideUnsigned<n> has n 32-bit
// limbs and is plain C++. uint128 is the compiler's own type where it has one, and WideUnsigned<4> elsewhere; both
// behave alike (integers_test.cc).

/// An unsigned integer of 32 * kLimbs bits with the operators of the built-in types: arithmetic is
/// modulo 2^(32 * kLimbs), a shift by the width or more gives 0, the divisor must not be 0.
template <int kLimbs>
class WideUnsigned {
 public:
  static constexpr int kBits = 32 * kLimbs;

  constexpr WideUnsigned() = default;
  /// Implicit, as between built-in integers: constants and 64-bit factors mix with wide values.
  constexpr WideUnsigned(std::uint64_t value)  // NOLINT(google-explicit-constructor)
      : limbs_{static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)} {}

  /// The low bits, as between built-in integers.
  template <std::integral Integer>
  constexpr explicit operator Integer() const {
    return static_cast<Integer>(std::uint64_t{limbs_[1]} << 32 | limbs_[0]);
  }

  /// 0 for 0, otherwise 1 + floor(log2(value)).
  [[nodiscard]] constexpr int bit_length() const {
    for (std::size_t i = limbs_.size(); i-- > 0;) {
      if (limbs_[i] != 0) return static_cast<int>(32 * i) + static_cast<int>(std::bit_width(limbs_[i]));
    }
    return 0;
  }

  constexpr WideUnsigned& operator+=(const WideUnsigned& other) {
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < limbs_.size(); ++i) {
      carry += std::uint64_t{limbs_[i]} + other.limbs_[i];
      limbs_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    return *this;
  }

  constexpr WideUnsigned& operator-=(const WideUnsigned& other) {
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < limbs_.size(); ++i) {
      const std::uint64_t difference = std::uint64_t{limbs_[i]} - other.limbs_[i] - borrow;
      limbs_[i] = static_cast<std::uint32_t>(difference);
      borrow = difference >> 63;
    }
    return *this;
  }

  constexpr WideUnsigned& operator*=(const WideUnsigned& other) {
    WideUnsigned product;
    for (std::size_t i = 0; i < limbs_.size(); ++i) {
      std::uint64_t carry = 0;
      for (std::size_t j = 0; i + j < limbs_.size(); ++j) {
        // At most (2^32-1)^2 + 2 * (2^32-1) = 2^64 - 1.
        carry += std::uint64_t{limbs_[i]} * other.limbs_[j] + product.limbs_[i + j];
        product.limbs_[i + j] = static_cast<std::uint32_t>(carry);
        carry >>= 32;
      }
    }
    return *this = product;
  }

  constexpr WideUnsigned& operator<<=(int count) {
    const auto whole = static_cast<std::size_t>(count / 32);
    const int part = count % 32;
    for (std::size_t i = limbs_.size(); i-- > 0;) {
      const std::uint64_t high = i >= whole ? limbs_[i - whole] : 0;
      const std::uint64_t low = i >= whole + 1 ? limbs_[i - whole - 1] : 0;
      limbs_[i] = static_cast<std::uint32_t>((high << 32 | low) << part >> 32);
    }
    return *this;
  }

  constexpr WideUnsigned& operator>>=(int count) {
    const auto whole = static_cast<std::size_t>(count / 32);
    const int part = count % 32;
    for (std::size_t i = 0; i < limbs_.size(); ++i) {
      const std::uint64_t low = i + whole < limbs_.size() ? limbs_[i + whole] : 0;
      const std::uint64_t high = i + whole + 1 < limbs_.size() ? limbs_[i + whole + 1] : 0;
      limbs_[i] = static_cast<std::uint32_t>((high << 32 | low) >> part);
    }
    return *this;
  }

  constexpr WideUnsigned& operator/=(const WideUnsigned& divisor) { return *this = divide(*this, divisor).quotient; }
  constexpr WideUnsigned& operator%=(const WideUnsigned& divisor) { return *this = divide(*this, divisor).remainder; }

  constexpr WideUnsigned& operator&=(const WideUnsigned& other) {
    for (std::size_t i = 0; i < limbs_.size(); ++i) limbs_[i] &= other.limbs_[i];
    return *this;
  }

  constexpr WideUnsigned& operator++() { return *this += WideUnsigned(1); }

  friend constexpr WideUnsigned operator+(WideUnsigned a, const WideUnsigned& b) { return a += b; }
  friend constexpr WideUnsigned operator-(WideUnsigned a, const WideUnsigned& b) { return a -= b; }
  friend constexpr WideUnsigned operator*(WideUnsigned a, const WideUnsigned& b) { return a *= b; }
  friend constexpr WideUnsigned operator/(WideUnsigned a, const WideUnsigned& b) { return a /= b; }
  friend constexpr WideUnsigned operator%(WideUnsigned a, const WideUnsigned& b) { return a %= b; }
  friend constexpr WideUnsigned operator&(WideUnsigned a, const WideUnsigned& b) { return a &= b; }
  friend constexpr WideUnsigned operator<<(WideUnsigned a, int count) { return a <<= count; }
  friend constexpr WideUnsigned operator>>(WideUnsigned a, int count) { return a >>= count; }

  friend constexpr bool operator==(const WideUnsigned& a, const WideUnsigned& b) { return a.limbs_ == b.limbs_; }
  friend constexpr std::strong_ordering operator<=>(const WideUnsigned& a, const WideUnsigned& b) {
    for (std::size_t i = a.limbs_.size(); i-- > 0;) {
      if (a.limbs_[i] != b.limbs_[i]) return a.limbs_[i] <=> b.limbs_[i];
    }
    return std::strong_ordering::equal;
  }

 private:
  struct Division;

  // Bit by bit, from the quotient's highest: quotients are short where this is used.
  static constexpr Division divide(const WideUnsigned& dividend, const WideUnsigned& divisor) {
    Division result{WideUnsigned(), dividend};
    for (int bit = dividend.bit_length() - divisor.bit_length(); bit >= 0; --bit) {
      const WideUnsigned part = divisor << bit;
      if (part > result.remainder) continue;
      result.remainder -= part;
      result.quotient.limbs_[static_cast<std::size_t>(bit / 32)] |= std::uint32_t{1} << (bit % 32);
    }
    return result;
  }

  std::array<std::uint32_t, kLimbs> limbs_{};  // the lowest first
};

template <int kLimbs>
struct WideUnsigned<kLimbs>::Division {
  WideUnsigned quotient;
  WideUnsigned remainder;
};

using Wide128 = WideUnsigned<4>;
using Wide256 = WideUnsigned<8>;

#if defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 uint128;  // NOLINT(modernize-use-using): no alias takes __extension__

/// Number of bits of `value`: 0 for 0, otherwise 1 + floor(log2(value)).
[[nodiscard]] constexpr int bit_length(uint128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  const auto low = static_cast<std::uint64_t>(value);
  return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(low));
}
#else
using uint128 = Wide128;
#endif

template <int kLimbs>
[[nodiscard]] constexpr int bit_length(const WideUnsigned<kLimbs>& value) {
  return value.bit_length();
}

// Rounding, saturation and wrapping to integers, independent of the processor's rounding mode.

/// rne(value). NaN and infinities come back as they are; the sign of zero is not kept.
/// Works for float and double: the value less what is behind its point is exact in binary floating point.
template <typename Float>
[[nodiscard]] Float round_half_even(Float value) {
  // Larger numbers are integers.
  if (!(std::fabs(value) < 1 / std::numeric_limits<Float>::epsilon())) return value;
  const auto whole = static_cast<std::int64_t>(value);
  const Float fraction = std::fabs(value - static_cast<Float>(whole));
  const bool goes_away = fraction > Float{0.5} || (fraction == Float{0.5} && whole % 2 != 0);
  return static_cast<Float>(whole + (!goes_away ? 0 : value < 0 ? -1 : 1));
}

// Rounding a quotient of integers times a power of two, without floats.

/// Says which integer a magnitude goes to that lies exactly between two.
enum class Ties : std::uint8_t { to_even, away_from_zero, toward_zero };

/// Beyond 2^kSaturatingBits every 8-bit output is saturated, whatever its zero point.
inline constexpr int kSaturatingBits = 13;
inline constexpr std::int32_t kSaturatedMagnitude = std::int32_t{1} << kSaturatingBits;

/// numerator / divisor * 2^exponent rounded to the nearest integer, or kSaturatedMagnitude where it
/// is at least that large. divisor > 0.
///
/// Wide, uint128 or a WideUnsigned, holds every intermediate when numerator has at least one bit
/// less than Wide, and divisor at least fifteen less: what is neither below one half nor saturated
/// is shifted up to at most bits(divisor) + 14 (numerator) or bits(numerator) + 1 (divisor).
template <typename Wide>
[[nodiscard]] constexpr std::int32_t round_quotient(Wide numerator, Wide divisor, int exponent, Ties ties) {
  if (numerator == 0) return 0;
  // numerator/divisor lies in (2^(length-1), 2^(length+1)).
  const int length = bit_length(numerator) - bit_length(divisor);
  if (length + 1 + exponent <= -1) return 0;  // below one half
  if (length - 1 + exponent >= kSaturatingBits) return kSaturatedMagnitude;
  if (exponent >= 0) {
    numerator <<= exponent;
  } else {
    divisor <<= -exponent;
  }
  const Wide quotient = numerator / divisor;
  const Wide remainder = numerator - quotient * divisor;
  const Wide complement = divisor - remainder;
  const bool tie_goes_up = ties == Ties::away_from_zero || (ties == Ties::to_even && (quotient & 1U) != 0);
  const bool up = remainder > complement || (remainder == complement && tie_goes_up);
  const std::int32_t rounded = static_cast<std::int32_t>(quotient) + (up ? 1 : 0);
  return rounded < kSaturatedMagnitude ? rounded : kSaturatedMagnitude;
}

// Saturation and two's-complement wrap.

/// clamp(value, lo, hi)
[[nodiscard]] constexpr std::int32_t saturate(std::int64_t value, IntegerRange range) {
  return static_cast<std::int32_t>(
      std::clamp(value, static_cast<std::int64_t>(range.lo), static_cast<std::int64_t>(range.hi)));
}

/// The value modulo 2^32, in [-2^31, 2^31): what a 32-bit accumulator holds (rule C17).
[[nodiscard]] constexpr std::int32_t wrap_to_int32(std::int64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value & 0xFFFFFFFF));
}

// Division that rounds up, and doubles that are integers.

/// Returns the quotient of any numerator and a positive divisor, rounded up; nothing overflows.
constexpr std::int64_t ceil_div(std::int64_t numerator, std::int64_t positive) {
  return numerator / positive + (numerator % positive > 0 ? 1 : 0);
}

/// The integer that `value` is; 0 of NaN and of a value that 64 bits do not hold, which a graph out of contract may
/// hand to an integer tensor.
[[nodiscard]] constexpr std::int64_t integer_or_zero(double value) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  return value >= -kEnd && value < kEnd ? static_cast<std::int64_t>(value) : 0;
}

}  // namespace qconform::reference

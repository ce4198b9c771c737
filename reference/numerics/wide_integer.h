// Unsigned integers wider than a machine word, for exact requantization and its intervals.
//
// WideUnsigned<n> has n 32-bit limbs and is plain C++. uint128 is the compiler's own type where it
// has one, and WideUnsigned<4> elsewhere; both behave alike (wide_integer_test.cc).
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace qconform::reference {

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

}  // namespace qconform::reference

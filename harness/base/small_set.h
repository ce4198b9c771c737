// A set of a few values, in the order in which they were added, that a constant can hold.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <initializer_list>

namespace qconform {

template <typename T>
class SmallSet {
 public:
  static constexpr std::size_t kMost = 16;  ///< members

  constexpr SmallSet() = default;
  constexpr SmallSet(std::initializer_list<T> members) {
    for (const T& member : members) add(member);
  }

  constexpr void add(const T& member) {
    if (contains(member)) return;
    assert(size_ < kMost);
    members_[size_++] = member;
  }
  constexpr void add(const SmallSet& other) {
    for (const T& member : other) add(member);
  }

  [[nodiscard]] constexpr const T* begin() const { return members_.data(); }
  [[nodiscard]] constexpr const T* end() const { return members_.data() + size_; }
  [[nodiscard]] constexpr bool is_empty() const { return size_ == 0; }
  [[nodiscard]] constexpr bool contains(const T& member) const { return std::find(begin(), end(), member) != end(); }
  [[nodiscard]] constexpr bool contains(const SmallSet& other) const {
    return std::all_of(other.begin(), other.end(), [&](const T& member) { return contains(member); });
  }

 private:
  std::array<T, kMost> members_{};
  std::size_t size_ = 0;
};

}  // namespace qconform

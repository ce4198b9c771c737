// A set of integers that are all right answers for one output element.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/numerics/element.h"

namespace qconform::reference {

/// A union of closed integer intervals, never empty. One interval in nearly every case; two where a
/// sum overflows 32 bits (rule C17); more only where extreme scales leave a list of isolated values.
class AdmissibleSet {
 public:
  explicit AdmissibleSet(std::int32_t value) : intervals_{{value, value}} {}
  /// interval.lo <= interval.hi
  explicit AdmissibleSet(IntegerRange interval) : intervals_{interval} {}

  void include(IntegerRange interval);
  void include(const AdmissibleSet& other);

  [[nodiscard]] bool contains(std::int32_t value) const;
  /// Whether every member of `other` is a member.
  [[nodiscard]] bool contains(const AdmissibleSet& other) const;
  [[nodiscard]] bool is_singleton() const { return smallest() == largest(); }
  /// How many members there are.
  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] std::int32_t smallest() const { return intervals_.front().lo; }
  [[nodiscard]] std::int32_t largest() const { return intervals_.back().hi; }
  /// The member with the least distance from `value`; of two, the smaller.
  [[nodiscard]] std::int32_t nearest(std::int32_t value) const;

  /// In ascending order, with at least one integer missing between neighbours.
  [[nodiscard]] std::span<const IntegerRange> intervals() const { return intervals_; }

  /// "{213}", "{213, 214}", "{-3..5}", "{0, 200..255}"
  [[nodiscard]] std::string text() const;

  friend bool operator==(const AdmissibleSet& a, const AdmissibleSet& b);

 private:
  std::vector<IntegerRange> intervals_;
};

}  // namespace qconform::reference

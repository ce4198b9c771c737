#include "reference/numerics/admissible_set.h"

#include <algorithm>

namespace qconform::reference {
namespace {

std::int64_t distance(std::int32_t a, std::int32_t b) {
  const std::int64_t difference = std::int64_t{a} - b;
  return difference < 0 ? -difference : difference;
}

std::string interval_text(IntegerRange interval) {
  std::string lo = std::to_string(interval.lo);
  if (interval.lo == interval.hi) return lo;
  const bool neighbours = std::int64_t{interval.hi} - interval.lo == 1;
  return lo + (neighbours ? ", " : "..") + std::to_string(interval.hi);
}

}  // namespace

void AdmissibleSet::include(IntegerRange interval) {
  // Neighbours that overlap the interval or touch it become part of it.
  const auto first = std::find_if(intervals_.begin(), intervals_.end(),
                                  [&](const IntegerRange& other) { return std::int64_t{other.hi} + 1 >= interval.lo; });
  const auto last = std::find_if(first, intervals_.end(),
                                 [&](const IntegerRange& other) { return other.lo > std::int64_t{interval.hi} + 1; });
  if (first != last) {
    interval.lo = std::min(interval.lo, first->lo);
    interval.hi = std::max(interval.hi, (last - 1)->hi);
  }
  intervals_.insert(intervals_.erase(first, last), interval);
}

void AdmissibleSet::include(const AdmissibleSet& other) {
  for (const IntegerRange& interval : other.intervals_) include(interval);
}

bool AdmissibleSet::contains(std::int32_t value) const {
  return std::any_of(intervals_.begin(), intervals_.end(),
                     [&](const IntegerRange& interval) { return interval.lo <= value && value <= interval.hi; });
}

bool AdmissibleSet::contains(const AdmissibleSet& other) const {
  return std::all_of(other.intervals_.begin(), other.intervals_.end(), [&](const IntegerRange& inner) {
    return std::any_of(intervals_.begin(), intervals_.end(),
                       [&](const IntegerRange& outer) { return outer.lo <= inner.lo && inner.hi <= outer.hi; });
  });
}

std::int64_t AdmissibleSet::count() const {
  std::int64_t members = 0;
  for (const IntegerRange& interval : intervals_) members += std::int64_t{interval.hi} - interval.lo + 1;
  return members;
}

std::int32_t AdmissibleSet::nearest(std::int32_t value) const {
  std::int32_t best = smallest();
  for (const IntegerRange& interval : intervals_) {
    const std::int32_t candidate = std::clamp(value, interval.lo, interval.hi);
    if (distance(candidate, value) < distance(best, value)) best = candidate;
  }
  return best;
}

std::string AdmissibleSet::text() const {
  std::string text = "{";
  for (const IntegerRange& interval : intervals_) {
    if (text.size() > 1) text += ", ";
    text += interval_text(interval);
  }
  return text + "}";
}

bool operator==(const AdmissibleSet& a, const AdmissibleSet& b) {
  return std::equal(a.intervals_.begin(), a.intervals_.end(), b.intervals_.begin(), b.intervals_.end(),
                    [](const IntegerRange& x, const IntegerRange& y) { return x.lo == y.lo && x.hi == y.hi; });
}

}  // namespace qconform::reference

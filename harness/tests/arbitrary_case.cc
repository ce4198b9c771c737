#include "harness/tests/arbitrary_case.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "harness/model/reductions/reductions.h"
#include "harness/suites/drawn.h"

namespace qconform::testing {
namespace {

// The simpler cases of one case, a few at a time: most are never asked for.
class SimplerCases {
 public:
  explicit SimplerCases(Case from) : from_(std::move(from)) {}

  rc::Maybe<Case> operator()() {
    if (next_ == found_.size()) {
      if (found_.size() < limit_ || limit_ >= kMost) return rc::Nothing;
      limit_ = limit_ == 0 ? kFirst : kMost;
      found_ = shrink::simpler(from_, limit_);
      if (next_ == found_.size()) return rc::Nothing;
    }
    return found_[next_++];
  }

 private:
  static constexpr std::size_t kFirst = 16;
  static constexpr std::size_t kMost = 500;

  Case from_;
  std::vector<Case> found_;
  std::size_t limit_ = 0;
  std::size_t next_ = 0;
};

// A case, its simpler ones, theirs, and so on; all as valid as the first.
rc::Shrinkable<Case> shrinkable_case(Case test_case) {
  return rc::shrinkable::shrinkRecur(std::move(test_case),
                                     [](const Case& from) { return rc::makeSeq<SimplerCases>(from); });
}

}  // namespace

rc::Gen<Case> arbitrary_case() {
  return [](const rc::Random& random, int) {
    rc::Random draw = random;
    const std::uint64_t seed = draw.next();
    const std::uint64_t index = draw.next() % 4096;
    return shrinkable_case(draw.next() % 3 == 0 ? directed_case(seed, index) : random_case(seed, index));
  };
}

}  // namespace qconform::testing

// Arbitrary valid cases for property tests: random ones of every operator, and ones directed at a
// corner case. They shrink as failing cases of backends do, by the reductions of harness/engine/shrink, so that a
// counterexample is a small valid case too.
#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/case.h"
#include "harness/model/draws/draws.h"
#include "harness/model/reductions/reductions.h"
#include "harness/suites/drawn.h"
#include "harness/tests/arbitrary_any_case.h"

namespace qconform::testing {

/// The simpler cases of one case, a few at a time: most are never asked for.
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

/// A case, its simpler ones, theirs, and so on; all as valid as the first.
inline rc::Shrinkable<Case> shrinkable_case(Case test_case) {
  return rc::shrinkable::shrinkRecur(std::move(test_case),
                                     [](const Case& from) { return rc::makeSeq<SimplerCases>(from); });
}

/// Every third one is a directed case. A case is of any operator, version and type that the suites
/// `random` and `directed` hold.
inline rc::Gen<Case> arbitrary_case() {
  return [](const rc::Random& random, int) {
    rc::Random draw = random;
    const std::uint64_t seed = draw.next();
    const std::uint64_t index = draw.next() % 4096;
    return shrinkable_case(draw.next() % 3 == 0 ? directed_case(seed, index) : random_case(seed, index));
  };
}

// Random nodes of the operators that graphs may have, for tests.

/// A graph of that operator alone, followed by an Identity for each output; mostly within the contract. Data are small
/// multiples of 1/4. Null shapes and attributes are as the opset has them.
[[nodiscard]] Case arbitrary_node(Rng& rng, std::string_view op_type, std::int64_t opset_version);

}  // namespace qconform::testing

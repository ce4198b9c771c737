// Cases that go where random data does not: each aims for one corner case of one operator.
//
// A case is drawn like a random one, then retouched: an output scale solved for a tie, a bias of odd
// bits, data of extremes. The corner cases' own detectors tell whether it got there, and the judge whether
// its output proves anything; if not, it is drawn again, a bounded number of times.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "harness/model/operator.h"
#include "harness/suites/random.h"

namespace qconform {

/// Case `index` of `seed`: depends on nothing else, and is the same on every machine and compiler.
/// Aims take turns, so that any long enough run of indices has all of them.
[[nodiscard]] Case directed_case(std::uint64_t seed, std::uint64_t index);

/// The first draw of that case, whether or not it got where it aims: many times cheaper.
[[nodiscard]] Case directed_attempt(std::uint64_t seed, std::uint64_t index);

/// The length of one turn: a place for each pair of operator and corner case, three for some ties and near ties.
[[nodiscard]] std::uint64_t directed_aims();

/// The operator that case `index` is of.
[[nodiscard]] const Operator& directed_operator(std::uint64_t index);

/// Case `index`, drawn with the features of `swarm` until `accepts` takes it and it gets where it aims: nothing where
/// no one of `attempts` draws does.
[[nodiscard]] std::optional<Case> directed_case_where(std::uint64_t seed, std::uint64_t index, const Swarm& swarm,
                                                      const std::function<bool(const Case&)>& accepts, int attempts);

/// The first of `attempts` draws of that case that `accepts` takes, whether or not it gets where it aims.
[[nodiscard]] std::optional<Case> directed_attempt_where(std::uint64_t seed, std::uint64_t index, const Swarm& swarm,
                                                         const std::function<bool(const Case&)>& accepts, int attempts);

/// The cases of a seed.
class DirectedSuite final : public DrawnSuite {
 public:
  static constexpr std::uint64_t kDefaultCases = 4000;

  DirectedSuite(std::uint64_t seed, std::uint64_t count) : DrawnSuite("directed", directed_case, seed, count) {}
};

}  // namespace qconform

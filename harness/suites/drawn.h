// Suites whose cases are drawn one by one from a seed: `random`, and what `qconform fuzz` draws.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "harness/core/suite.h"
#include "harness/model/draws/draws.h"
#include "harness/model/operator.h"

namespace qconform {

/// The first `count` cases of a seed; without a count there is no end.
class DrawnSuite : public Suite {
 public:
  /// Case `index` of `seed`: depends on nothing else.
  using Draw = Case (*)(std::uint64_t seed, std::uint64_t index);

  DrawnSuite(std::string name, Draw draw, std::uint64_t seed, std::optional<std::uint64_t> count)
      : name_(std::move(name)), draw_(draw), seed_(seed), count_(count) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (index_ == count_) return std::nullopt;
    return draw_(seed_, index_++);
  }
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return count_; }

 private:
  std::string name_;
  Draw draw_;
  std::uint64_t seed_;
  std::optional<std::uint64_t> count_;
  std::uint64_t index_ = 0;
};

/// Case `index` of `seed`: depends on nothing else, and is the same on every machine and compiler.
[[nodiscard]] Case random_case(std::uint64_t seed, std::uint64_t index);

/// The cases of a seed.
class RandomSuite final : public DrawnSuite {
 public:
  static constexpr std::uint64_t kDefaultCases = 10000;

  RandomSuite(std::uint64_t seed, std::uint64_t count) : DrawnSuite("random", random_case, seed, count) {}
};

/// One large case costs as much as some hundred others.
inline constexpr std::uint64_t kFuzzSizes = 256;

/// Case `index` of `seed`: depends on nothing else, and is the same on every machine and compiler.
/// Blocks of random cases, each with its own mix of features, and between them blocks of directed ones. Every
/// kFuzzSizes-th case is of a size at which kernels change their way.
[[nodiscard]] Case fuzz_case(std::uint64_t seed, std::uint64_t index);

/// fuzz_case(), or random_case() in the place of a graph: for backends that take none, to whom a graph says nothing and
/// is the dearest of all cases to draw.
[[nodiscard]] Case fuzz_case_without_graphs(std::uint64_t seed, std::uint64_t index);

/// The cases of a seed; without a count there is no end.
class FuzzSuite final : public DrawnSuite {
 public:
  FuzzSuite(std::uint64_t seed, std::optional<std::uint64_t> count) : DrawnSuite("fuzz", fuzz_case, seed, count) {}
};

// Cases that go where random data does not: each aims for one corner case of one operator.
//
// A case is drawn like a random one, then retouched: an output scale solved for a tie, a bias of odd
// bits, data of extremes. The corner cases' own detectors tell whether it got there, and the judge whether
// its output proves anything; if not, it is drawn again, a bounded number of times.

/// Case `index` of `seed`: depends on nothing else, and is the same on every machine and compiler.
/// Aims take turns, so that any long enough run of indices has all of them.
[[nodiscard]] Case directed_case(std::uint64_t seed, std::uint64_t index);

/// The first draw of that case, whether or not it got where it aims: many times cheaper.
[[nodiscard]] Case directed_attempt(std::uint64_t seed, std::uint64_t index);

/// The length of one turn: a place for each pair of operator and corner case, three for some ties and near ties.
[[nodiscard]] std::uint64_t directed_aims();

/// The operator that case `index` is of.
[[nodiscard]] const Operator& directed_operator(std::uint64_t index);

/// A draw of case `index` with the features of `swarm`, before it is known whether it gets where it aims.
[[nodiscard]] Case directed_draw(Rng& rng, std::uint64_t index, const Swarm& swarm);

/// Case `index`, drawn by `draw` until `accepts` takes it and it gets where it aims: nothing where no one of `attempts`
/// draws does.
[[nodiscard]] std::optional<Case> directed_case_where(std::uint64_t seed, std::uint64_t index,
                                                      const std::function<Case(Rng&)>& draw,
                                                      const std::function<bool(const Case&)>& accepts, int attempts);

/// The first of `attempts` draws of that case that `accepts` takes, whether or not it gets where it aims.
[[nodiscard]] std::optional<Case> directed_attempt_where(std::uint64_t seed, std::uint64_t index,
                                                         const std::function<Case(Rng&)>& draw,
                                                         const std::function<bool(const Case&)>& accepts, int attempts);

/// The cases of a seed.
class DirectedSuite final : public DrawnSuite {
 public:
  static constexpr std::uint64_t kDefaultCases = 4000;

  DirectedSuite(std::uint64_t seed, std::uint64_t count) : DrawnSuite("directed", directed_case, seed, count) {}
};

}  // namespace qconform

// Cases inside of what a backend takes, for backends that take less than everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/suite.h"
#include "harness/model/draws/draws.h"
#include "harness/model/family.h"
#include "harness/model/sweep/model.h"
#include "harness/suites/sweep/suite.h"

namespace qconform {

/// Rows of one plan that lie inside a contract. Stays where it is: the solver refers to the model.
struct RowsWithin {
  RowsWithin(const sweep::Plan& of, const sweep::SweepContract& contract);
  [[nodiscard]] Case draw(Rng& rng) const;
  const sweep::SweptModel& swept;
  sweep::Model model;
  sweep::ConstraintSolver solver;
};

/// Draws cases that lie inside what one backend takes.
class DrawsWithin {
 public:
  /// An operator of which something is taken, and the features by which its cases come to lie there; nothing where
  /// hardly any draw does: its cases are those of rows.
  struct Drawn {
    const Operator* known;
    std::optional<Swarm> swarm;
  };

  /// `contracts`: what is taken of each of sweep::plans(), in their order. Draws some hundreds of cases to see which
  /// features lead there.
  explicit DrawsWithin(std::vector<sweep::SweepContract> contracts);

  /// Operators of which something is taken.
  [[nodiscard]] const std::vector<Drawn>& drawn() const { return drawn_; }
  /// Null where nothing of the operator is taken.
  [[nodiscard]] const Drawn* of(const Operator& known) const;
  [[nodiscard]] bool takes(const Case& test_case) const { return nearness_of(test_case) == 0; }

  /// A random case of the operator, with its features over those of `mix`. Where it lies is the caller's question.
  [[nodiscard]] Case draw(const Drawn& drawn, Rng& rng, const Swarm& mix = Swarm()) const;

  /// A case of a size at which kernels change their way; nothing where no model that is taken has some.
  [[nodiscard]] std::optional<Case> draw_size(Rng& rng) const;
  /// The case in other words, by relations, that lies inside; nothing where none is found.
  [[nodiscard]] std::optional<Case> recast(Case test_case) const;

  /// Whether any row is taken.
  [[nodiscard]] bool takes_anything() const { return !rows_.empty(); }
  /// The case of a row that is taken, the model and the row at random; where takes_anything().
  [[nodiscard]] Case draw_row(Rng& rng) const;

  /// Tells the cases of one contract from those of another.
  [[nodiscard]] std::string digest() const { return sweep::digest_of(contracts_); }

 private:
  [[nodiscard]] std::optional<int> nearness_of(const Case& test_case) const;
  [[nodiscard]] double mean_nearness(const Operator& known, const Swarm& swarm) const;
  [[nodiscard]] std::optional<Swarm> fitted(const Family& family, const Operator& known) const;
  [[nodiscard]] bool reaches(const Operator& known, const Swarm& swarm) const;
  /// The case of a row of that operator; nothing where hardly any row is of it.
  [[nodiscard]] std::optional<Case> draw_row_of(const Operator& known, Rng& rng) const;

  std::vector<sweep::SweepContract> contracts_;
  std::vector<Drawn> drawn_;
  std::vector<std::unique_ptr<RowsWithin>> rows_;
};

// Cases of campaigns, inside what each of several backends takes.

/// Cases that follow each other and lie inside one contract, or are fuzz_case()'s: a turn of its directed and random
/// blocks.
inline constexpr std::uint64_t kFuzzTurn = 512;

class FuzzWithin {
 public:
  /// `contracts`: for each backend, what it takes of each of sweep::plans(), in their order. Contracts that take
  /// nothing or everything add nothing, and equal ones count once.
  explicit FuzzWithin(const std::vector<std::vector<sweep::SweepContract>>& contracts);

  /// Case `index` of `seed`: depends on nothing else but the contracts. Of four turns three lie inside the contracts,
  /// one after the other; the fourth is fuzz_case()'s, for what the contracts may be wrong about and what the models
  /// lack.
  [[nodiscard]] Case at(std::uint64_t seed, std::uint64_t index) const;

 private:
  std::vector<std::unique_ptr<DrawsWithin>> contracts_;
};

// Random and directed cases inside what a backend takes: drawn with the features that its contract wants, and dropped
// where they lie outside all the same.

/// Most cases of each of the suites `directed within` and `random within`.
inline constexpr std::uint64_t kDirectedWithin = 1000;
inline constexpr std::uint64_t kRandomWithin = 1000;

/// `contracts`: what is taken of each of sweep::plans(), in their order. Cases that aim for corner cases in turn; a
/// corner case that no draw gets to is given up after a few turns. Depends on seed and contracts alone; names of cases
/// have a digest of the contracts.
[[nodiscard]] std::unique_ptr<Suite> directed_within(std::string name, std::vector<sweep::SweepContract> contracts,
                                                     std::uint64_t seed);

/// The reviewed cases that lie outside, said in other words that lie inside: x of the other sign, one more axis, pads
/// written out.
[[nodiscard]] std::unique_ptr<Suite> corpus_within(std::string name, std::vector<sweep::SweepContract> contracts);

/// Random cases. Ends early where hardly any draw is taken.
[[nodiscard]] std::unique_ptr<Suite> random_within(std::string name, std::vector<sweep::SweepContract> contracts,
                                                   std::uint64_t seed);

/// Most cases of the suite `qdq within`.
inline constexpr std::uint64_t kUnitsWithin = 1500;

/// Quantized units. `contracts`: what is taken of each of sweep::unit_plans(), in their order.
[[nodiscard]] std::unique_ptr<Suite> units_within(std::string name, std::vector<sweep::SweepContract> contracts,
                                                  std::uint64_t seed);

}  // namespace qconform

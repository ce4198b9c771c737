#include "harness/suites/drawn_within.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "harness/operators/family.h"
#include "harness/suites/directed/directed.h"
#include "harness/suites/swarm.h"
#include "harness/suites/sweep/suite.h"

namespace qconform {
namespace {

using sweep::Contract;
using sweep::Row;

// How far a row lies inside: 0 within, less for each class and combination that is not taken.
int nearness(const Row& row, const Contract& contract) {
  int nearness = 0;
  for (std::size_t p = 0; p < row.size(); ++p) nearness -= (contract.taken[p] >> row[p] & 1U) == 0 ? 1 : 0;
  for (const sweep::Combination& combination : contract.declined) nearness -= has(row, combination) ? 1 : 0;
  return nearness;
}

// An operator of which something is taken, and the features by which its cases come to lie there.
struct Drawn {
  const Operator* known;
  Swarm swarm;
};

class Inside {
 public:
  explicit Inside(std::vector<Contract> contracts) : contracts_(std::move(contracts)) {
    for (const Family* family : families()) {
      for (const Operator& known : family->operators) {
        const auto plan = plan_of(known.name);
        if (known.draw == nullptr || !plan || !contracts_[*plan].takes_anything()) continue;
        if (auto swarm = steered(*family, known)) drawn_.push_back({&known, *swarm});
      }
    }
  }

  [[nodiscard]] const std::vector<Drawn>& drawn() const { return drawn_; }
  [[nodiscard]] const Drawn* of(const Operator& known) const {
    const auto found =
        std::find_if(drawn_.begin(), drawn_.end(), [&](const Drawn& drawn) { return drawn.known == &known; });
    return found == drawn_.end() ? nullptr : &*found;
  }

  [[nodiscard]] bool takes(const Case& test_case) const { return nearness_of(test_case) == 0; }

  // Tells the cases of one contract from those of another.
  [[nodiscard]] std::string digest() const { return sweep::digest_of(contracts_); }

 private:
  static std::optional<std::size_t> plan_of(std::string_view op_type) {
    const auto& plans = sweep::plans();
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const auto operators = plans[i].swept.operators;
      if (std::find(operators.begin(), operators.end(), op_type) != operators.end()) return i;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<int> nearness_of(const Case& test_case) const {
    if (classify(test_case).expectation() != Expectation::valid) return std::nullopt;
    const auto place = sweep::place_of(test_case);
    if (!place) return std::nullopt;
    return nearness(place->row, contracts_[place->plan]);
  }

  // The mean over some draws: of those that the model has no classes for as if ten classes were not taken.
  [[nodiscard]] double mean_nearness(const Operator& known, const Swarm& swarm) const {
    constexpr int kDraws = 40;
    int sum = 0;
    for (int i = 0; i < kDraws; ++i) {
      Rng rng(0x57EE, static_cast<std::uint64_t>(i));
      sum += nearness_of(known.draw(rng, swarm)).value_or(-10);
    }
    return static_cast<double>(sum) / kDraws;
  }

  // Feature by feature, what brings the draws nearest; as usual unless another weight brings them nearer by more than
  // chance. Nothing where the operator is not taken.
  [[nodiscard]] std::optional<Swarm> steered(const Family& family, const Operator& known) const {
    constexpr double kClearly = 0.08;
    Swarm swarm;
    double best = mean_nearness(known, swarm);
    for (const auto& features : {family.steered, family.features}) {
      for (const Feature feature : features) {
        Swarm chosen = swarm;
        for (const Swarm::Weight weight : {Swarm::Weight::none, Swarm::Weight::always}) {
          Swarm other = swarm;
          other.set(feature, weight);
          const double nearness = mean_nearness(known, other);
          if (nearness <= best + kClearly) continue;
          best = nearness;
          chosen = other;
        }
        swarm = chosen;
      }
    }
    return reaches(known, swarm) ? std::optional(swarm) : std::nullopt;
  }

  [[nodiscard]] bool reaches(const Operator& known, const Swarm& swarm) const {
    constexpr std::uint64_t kDraws = 1000;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      Rng rng(0x4EAC, i);
      if (takes(known.draw(rng, swarm))) return true;
    }
    return false;
  }

  std::vector<Contract> contracts_;
  std::vector<Drawn> drawn_;
};

class DrawnWithin : public Suite {
 public:
  DrawnWithin(std::string name, std::vector<Contract> contracts, std::uint64_t seed)
      : name_(std::move(name)), contracts_(std::move(contracts)), seed_(seed) {}
  [[nodiscard]] std::string name() const override { return name_; }

 protected:
  // Made at the first case: it draws some hundreds.
  const Inside& inside() {
    if (!inside_) inside_.emplace(contracts_);
    return *inside_;
  }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  Case named(Case drawn, std::string_view kind, std::uint64_t index) {
    drawn.id = fmt::format("{}-within-{}-{}-{}", kind, inside().digest(), seed_, index);
    drawn.expectation = Expectation::valid;
    drawn.provenance = {name_, seed_, index};
    return drawn;
  }

 private:
  std::string name_;
  std::vector<Contract> contracts_;
  std::uint64_t seed_;
  std::optional<Inside> inside_;
};

class RandomWithin final : public DrawnWithin {
 public:
  using DrawnWithin::DrawnWithin;

  [[nodiscard]] Result<std::optional<Case>> next() override {
    constexpr std::uint64_t kMostDraws = 60 * kRandomWithin;
    const auto& drawn = inside().drawn();
    while (!drawn.empty() && cases_ < kRandomWithin && index_ < kMostDraws) {
      const std::uint64_t index = index_++;
      Rng rng(seed() ^ 0x117715U, index);
      const Drawn& one = drawn[rng.below(static_cast<std::uint32_t>(drawn.size()))];
      Case result = one.known->draw(rng, one.swarm);
      if (!inside().takes(result)) continue;
      ++cases_;
      return named(std::move(result), "random", index);
    }
    return std::nullopt;
  }

 private:
  std::uint64_t index_ = 0;
  std::uint64_t cases_ = 0;
};

class DirectedWithin final : public DrawnWithin {
 public:
  using DrawnWithin::DrawnWithin;

  [[nodiscard]] Result<std::optional<Case>> next() override {
    const auto takes = [&](const Case& drawn) { return inside().takes(drawn); };
    const std::uint64_t targets = directed_aims();
    misses_.resize(targets);
    for (std::uint64_t idle = 0; cases_ < kDirectedWithin && idle < targets;) {
      const std::uint64_t index = index_++;
      ++idle;
      const Drawn* const drawn = inside().of(directed_operator(index));
      int& misses = misses_[index % targets];
      if (drawn == nullptr || misses == kMostMisses) continue;
      auto result = directed_case_where(seed(), index, drawn->swarm, takes, kAttempts);
      misses = result ? 0 : misses + 1;
      if (!result) {
        idle = 0;
        continue;
      }
      ++cases_;
      return named(std::move(*result), "directed", index);
    }
    return std::nullopt;
  }

 private:
  static constexpr int kAttempts = 60;
  static constexpr int kMostMisses = 2;

  std::uint64_t index_ = 0;
  std::uint64_t cases_ = 0;
  std::vector<int> misses_;  ///< by target, in a row
};

}  // namespace

std::unique_ptr<Suite> directed_within(std::string name, std::vector<Contract> contracts, std::uint64_t seed) {
  return std::make_unique<DirectedWithin>(std::move(name), std::move(contracts), seed);
}

std::unique_ptr<Suite> random_within(std::string name, std::vector<Contract> contracts, std::uint64_t seed) {
  return std::make_unique<RandomWithin>(std::move(name), std::move(contracts), seed);
}

}  // namespace qconform

#include "harness/suites/fuzz_within.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "harness/model/draws/draws.h"
#include "harness/model/family.h"
#include "harness/model/relations/relation.h"
#include "harness/suites/drawn.h"
#include "harness/suites/select.h"
#include "harness/suites/stored_cases.h"
#include "harness/suites/sweep/suite.h"

namespace qconform {
namespace {

using sweep::Row;
using sweep::SweepContract;

// How far a row lies inside: 0 within, less for each class and combination that is not taken.
int nearness(const Row& row, const SweepContract& contract) {
  int nearness = 0;
  for (std::size_t p = 0; p < row.size(); ++p) nearness -= (contract.taken[p] >> row[p] & 1U) == 0 ? 1 : 0;
  for (const sweep::Combination& combination : contract.declined) nearness -= has(row, combination) ? 1 : 0;
  return nearness;
}

std::optional<std::size_t> plan_of(std::string_view op_type) {
  const auto& plans = sweep::plans();
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto operators = plans[i].swept.operators;
    if (std::find(operators.begin(), operators.end(), op_type) != operators.end()) return i;
  }
  return std::nullopt;
}

// Those of plans of which something is taken.
std::vector<std::unique_ptr<RowsWithin>> rows_within(const std::vector<sweep::Plan>& plans,
                                                     const std::vector<SweepContract>& contracts) {
  std::vector<std::unique_ptr<RowsWithin>> all;
  for (std::size_t i = 0; i < contracts.size(); ++i) {
    if (!contracts[i].takes_anything()) continue;
    auto rows = std::make_unique<RowsWithin>(plans[i], contracts[i]);
    if (rows->solver.complete(rows->solver.start())) all.push_back(std::move(rows));
  }
  return all;
}

}  // namespace

RowsWithin::RowsWithin(const sweep::Plan& of, const SweepContract& contract)
    : swept(of.swept), model(sweep::restricted(of.swept.model(), contract)), solver(model) {}

DrawsWithin::DrawsWithin(std::vector<SweepContract> contracts)
    : contracts_(std::move(contracts)), rows_(rows_within(sweep::plans(), contracts_)) {
  for (const Family* family : families()) {
    for (const Operator& known : family->operators) {
      const auto plan = plan_of(known.name);
      if (known.draw == nullptr || !plan || !contracts_[*plan].takes_anything()) continue;
      auto swarm = fitted(*family, known);
      if (Rng rng(0x40F5, 0); swarm || draw_row_of(known, rng)) drawn_.push_back({&known, swarm});
    }
  }
}

const DrawsWithin::Drawn* DrawsWithin::of(const Operator& known) const {
  const auto found =
      std::find_if(drawn_.begin(), drawn_.end(), [&](const Drawn& drawn) { return drawn.known == &known; });
  return found == drawn_.end() ? nullptr : &*found;
}

Case RowsWithin::draw(Rng& rng) const {
  return swept.realise(*solver.draw(solver.start(), rng), rng.next(), 0);
}

Case DrawsWithin::draw_row(Rng& rng) const {
  return rows_[rng.below(static_cast<std::uint32_t>(rows_.size()))]->draw(rng);
}

Case DrawsWithin::draw(const Drawn& drawn, Rng& rng, const Swarm& mix) const {
  if (drawn.swarm) return drawn.known->draw(rng, drawn.swarm->over(mix));
  auto row = draw_row_of(*drawn.known, rng);
  return row ? std::move(*row) : drawn.known->draw(rng, mix);
}

std::optional<Case> DrawsWithin::draw_row_of(const Operator& known, Rng& rng) const {
  constexpr int kTries = 20;
  for (const auto& rows : rows_) {
    const auto operators = rows->swept.operators;
    if (std::find(operators.begin(), operators.end(), known.name) == operators.end()) continue;
    for (int i = 0; i < kTries; ++i) {
      if (Case drawn = rows->draw(rng); drawn.node().op_type == known.name) return drawn;
    }
  }
  return std::nullopt;
}

std::optional<Case> DrawsWithin::draw_size(Rng& rng) const {
  const RowsWithin& rows = *rows_[rng.below(static_cast<std::uint32_t>(rows_.size()))];
  return rows.swept.sized.sizes == 0 ? std::nullopt : sweep::draw_sized(rows.swept, rows.model, rows.solver, rng);
}

namespace {

// Relations that leave the values of a case as they are, and change what contracts ask for.
bool restates(const relations::Relation& relation) {
  using enum relations::RelationTopic;
  return relation.topic == signedness || relation.topic == padding || relation.topic == axes ||
         relation.topic == channels;
}

// The cases that follow from this one; none where it is not one that relations speak of.
std::vector<Case> restated(const Case& test_case) {
  std::vector<Case> all;
  const auto subject = relations::subject_of(test_case);
  if (!subject) return all;
  const Tensor output = classify(test_case).lowered->evaluate(RoundingProfile::correctly_rounded);
  for (const relations::Relation& relation : relations::relations()) {
    if (!restates(relation)) continue;
    const auto applied = relation.apply(*subject);
    if (const auto* derivation = std::get_if<relations::Derivation>(&applied)) {
      auto derived = (*derivation)(output).derived;
      std::move(derived.begin(), derived.end(), std::back_inserter(all));
    }
  }
  return all;
}

}  // namespace

std::optional<Case> DrawsWithin::recast(Case test_case) const {
  std::optional<int> nearest = nearness_of(test_case);
  while (nearest && *nearest < 0) {
    std::optional<Case> better;
    for (Case& other : restated(test_case)) {
      const std::optional<int> nearness = nearness_of(other);
      if (!nearness || *nearness <= *nearest) continue;
      nearest = nearness;
      better = std::move(other);
    }
    if (!better) return std::nullopt;
    test_case = std::move(*better);
  }
  return nearest ? std::optional(std::move(test_case)) : std::nullopt;
}

std::optional<int> DrawsWithin::nearness_of(const Case& test_case) const {
  const Classification classification = classify(test_case);
  if (classification.expectation() != Expectation::valid) return std::nullopt;
  const auto place = sweep::place_of(test_case, classification, std::span(&contracts_, 1));
  if (!place) return std::nullopt;
  return nearness(place->row, contracts_[place->plan]);
}

// The mean over some draws: of those that the model has no classes for as if ten classes were not taken.
double DrawsWithin::mean_nearness(const Operator& known, const Swarm& swarm) const {
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
std::optional<Swarm> DrawsWithin::fitted(const Family& family, const Operator& known) const {
  constexpr double kClearly = 0.08;
  Swarm swarm;
  double best = mean_nearness(known, swarm);
  for (const Feature feature : family.draws.features) {
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
  return reaches(known, swarm) ? std::optional(swarm) : std::nullopt;
}

bool DrawsWithin::reaches(const Operator& known, const Swarm& swarm) const {
  constexpr std::uint64_t kDraws = 1000;
  constexpr int kInside = 3;
  int inside = 0;
  for (std::uint64_t i = 0; i < kDraws && inside < kInside; ++i) {
    Rng rng(0x4EAC, i);
    inside += takes(known.draw(rng, swarm)) ? 1 : 0;
  }
  return inside == kInside;
}

namespace {

constexpr std::uint64_t kTurnsInside = 3;
constexpr std::uint64_t kTurns = kTurnsInside + 1;
// A draw outside costs little; one that is inside is worth some of them.
constexpr int kDraws = 20;

// Keeps the streams of these cases apart from those of fuzz_case().
constexpr std::uint64_t kInsideStream = 0x1251'DE00'0000'0000U;

// Draws directed case `index`, or rows in the hope that some get there.
std::function<Case(Rng&)> aimed(const DrawsWithin& inside, const DrawsWithin::Drawn& drawn, std::uint64_t index) {
  return [&inside, &drawn, index](Rng& rng) {
    return drawn.swarm ? directed_draw(rng, index, *drawn.swarm) : inside.draw(drawn, rng);
  };
}

std::optional<Case> directed(const DrawsWithin& inside, std::uint64_t seed, std::uint64_t index) {
  const DrawsWithin::Drawn* const drawn = inside.of(directed_operator(index));
  if (drawn == nullptr) return std::nullopt;
  const auto takes = [&](const Case& test_case) { return inside.takes(test_case); };
  return directed_attempt_where(seed, index, aimed(inside, *drawn, index), takes, kDraws);
}

// First with the mix of features of its block, as far as the contract leaves them open.
std::optional<Case> random(const DrawsWithin& inside, std::uint64_t seed, std::uint64_t index) {
  if (inside.drawn().empty()) return std::nullopt;
  Rng rng(seed ^ kInsideStream, index);
  const DrawsWithin::Drawn& drawn = inside.drawn()[rng.below(static_cast<std::uint32_t>(inside.drawn().size()))];
  Swarm mixed = Swarm::of_case(seed, index);
  mixed.keep_small();
  for (const Swarm& swarm : {mixed, Swarm()}) {
    for (int i = 0; i < kDraws; ++i) {
      Case result = inside.draw(drawn, rng, swarm);
      if (inside.takes(result)) return result;
    }
  }
  return std::nullopt;
}

// One block of a turn aims for corner cases, as in fuzz_case(). Of the others every second one is drawn from the rows
// of the models, which are the sizes and positions that random draws seldom combine; so is every case that no draw gets
// to.
Case draw(const DrawsWithin& inside, std::uint64_t seed, std::uint64_t turn, std::uint64_t place) {
  const std::uint64_t block = place / kSwarmBlock;
  const std::uint64_t index = turn * kFuzzTurn + place;
  std::optional<Case> drawn;
  Rng sizes(seed ^ kInsideStream, ~index);
  if (index % kFuzzSizes == kFuzzSizes - 1) {
    drawn = inside.draw_size(sizes);
  } else if (block == 0) {
    drawn = directed(inside, seed, turn * kSwarmBlock + place);
  } else if (block % 2 == 1) {
    drawn = random(inside, seed, index);
  }
  if (drawn) return std::move(*drawn);
  Rng rng(~seed ^ kInsideStream, index);
  return inside.draw_row(rng);
}

}  // namespace

FuzzWithin::FuzzWithin(const std::vector<std::vector<sweep::SweepContract>>& contracts) {
  std::vector<std::vector<sweep::SweepContract>> known;
  for (const auto& contract : contracts) {
    if (std::find(known.begin(), known.end(), contract) != known.end()) continue;
    known.push_back(contract);
    auto inside = std::make_unique<DrawsWithin>(sweep::narrow_ones(contract));
    if (inside->takes_anything()) contracts_.push_back(std::move(inside));
  }
}

Case FuzzWithin::at(std::uint64_t seed, std::uint64_t index) const {
  const std::uint64_t turn = index / kFuzzTurn;
  if (contracts_.empty() || turn % kTurns == kTurnsInside) return fuzz_case(seed, index);
  const std::uint64_t number = turn / kTurns * kTurnsInside + turn % kTurns;
  const DrawsWithin& inside = *contracts_[number % contracts_.size()];
  Case result = draw(inside, seed, number / contracts_.size(), index % kFuzzTurn);
  result.id = fmt::format("fuzz-within-{}-{}-{}", inside.digest(), seed, index);
  result.expectation = Expectation::valid;
  result.provenance = {"fuzz within", seed, index};
  return result;
}

namespace {

// A suite that is made for what a backend takes.
class ContractSuite : public Suite {
 public:
  ContractSuite(std::string name, std::vector<SweepContract> contracts, std::uint64_t seed)
      : name_(std::move(name)), contracts_(std::move(contracts)), seed_(seed) {}
  [[nodiscard]] std::string name() const override { return name_; }

 protected:
  [[nodiscard]] const std::vector<SweepContract>& contracts() const { return contracts_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  Case named(Case drawn, std::string_view kind, std::uint64_t index) const {
    drawn.id = fmt::format("{}-within-{}-{}-{}", kind, sweep::digest_of(contracts_), seed_, index);
    drawn.expectation = Expectation::valid;
    drawn.provenance = {name_, seed_, index};
    return drawn;
  }

 private:
  std::string name_;
  std::vector<SweepContract> contracts_;
  std::uint64_t seed_;
};

class DrawnWithin : public ContractSuite {
 public:
  using ContractSuite::ContractSuite;

 protected:
  // Made at the first case: it draws some hundreds.
  const DrawsWithin& inside() {
    if (!inside_) inside_.emplace(contracts());
    return *inside_;
  }

 private:
  std::optional<DrawsWithin> inside_;
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
      const DrawsWithin::Drawn& one = drawn[rng.below(static_cast<std::uint32_t>(drawn.size()))];
      Case result = inside().draw(one, rng);
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
      const DrawsWithin::Drawn* const drawn = inside().of(directed_operator(index));
      int& misses = misses_[index % targets];
      if (drawn == nullptr || misses == kMostMisses) continue;
      const auto draw = aimed(inside(), *drawn, index);
      auto result = directed_case_where(seed(), index, draw, takes, kAttempts);
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

namespace {

class CorpusWithin final : public DrawnWithin {
 public:
  using DrawnWithin::DrawnWithin;

  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (!corpus_) {
      QCONFORM_ASSIGN(corpus_, CorpusSuite::open("corpus", corpus_folder(), "killers"));
    }
    for (;;) {
      QCONFORM_ASSIGN(auto test_case, corpus_->next());
      if (!test_case) return std::nullopt;
      if (test_case->nodes.size() != 1 || inside().takes(*test_case)) continue;
      const std::string id = test_case->id;
      auto recast = inside().recast(std::move(*test_case));
      if (!recast) continue;
      recast->recorded_outputs.clear();
      return named(*std::move(recast), "corpus-" + id, number_++);
    }
  }

 private:
  std::unique_ptr<CorpusSuite> corpus_;
  std::uint64_t number_ = 0;
};

class UnitsWithin final : public ContractSuite {
 public:
  using ContractSuite::ContractSuite;
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return kUnitsWithin; }

  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (rows_.empty()) rows_ = rows_within(sweep::unit_plans(), contracts());
    if (rows_.empty() || index_ == kUnitsWithin) return std::nullopt;
    const std::uint64_t index = index_++;
    Rng rng(seed() ^ 0x0117'15DEU, index);
    return named(rows_[rng.below(static_cast<std::uint32_t>(rows_.size()))]->draw(rng), "qdq", index);
  }

 private:
  std::vector<std::unique_ptr<RowsWithin>> rows_;
  std::uint64_t index_ = 0;
};

}  // namespace

std::unique_ptr<Suite> units_within(std::string name, std::vector<SweepContract> contracts, std::uint64_t seed) {
  return std::make_unique<UnitsWithin>(std::move(name), std::move(contracts), seed);
}

std::unique_ptr<Suite> corpus_within(std::string name, std::vector<SweepContract> contracts) {
  return std::make_unique<CorpusWithin>(std::move(name), std::move(contracts), 1);
}

std::unique_ptr<Suite> directed_within(std::string name, std::vector<SweepContract> contracts, std::uint64_t seed) {
  return std::make_unique<DirectedWithin>(std::move(name), std::move(contracts), seed);
}

std::unique_ptr<Suite> random_within(std::string name, std::vector<SweepContract> contracts, std::uint64_t seed) {
  return std::make_unique<RandomWithin>(std::move(name), std::move(contracts), seed);
}

}  // namespace qconform

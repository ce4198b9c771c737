#include "harness/suites/sweep/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/base/bytes.h"
#include "harness/model/draws/draws.h"
#include "harness/model/family.h"
#include "harness/model/sweep/model.h"
#include "harness/operators/graph/sweep_units.h"
#include "harness/suites/sweep/covering_array.h"

namespace qconform::sweep {
namespace {

std::vector<SweptModel> swept_models() {
  std::vector<SweptModel> all;
  for (const Family* family : families()) {
    if (family->swept_models == nullptr) continue;
    for (const SweptModel& swept : family->swept_models()) all.push_back(swept);
  }
  return all;
}

std::vector<Plan> solved_plans(std::span<const SweptModel> models, const std::string& name) {
  std::vector<Plan> list;
  for (const SweptModel& swept : models) {
    SolvedArray solved = solved_array(swept.model());
    list.push_back({swept, std::move(solved.rows), std::move(solved.proof), name});
  }
  return list;
}

}  // namespace

const std::vector<Plan>& plans() {
  static const std::vector<Plan> all = solved_plans(swept_models(), "sweep");
  return all;
}

const std::vector<Plan>& unit_plans() {
  static const std::vector<Plan> all = solved_plans(unit::swept_units(), "qdq");
  return all;
}

namespace {

// Tells the cases of one contract from those of another.
std::string name_of(std::string_view kind, const SweepContract& contract, const Model& model) {
  Digest digest;
  for (const std::string& line : lines_of(contract, model)) digest.add(line);
  return fmt::format("{}-{:08x}", kind, static_cast<std::uint32_t>(digest.value()));
}

}  // namespace

std::optional<Place> place_of(const Case& test_case, const Classification& classification,
                              std::span<const std::vector<SweepContract>> contracts) {
  const Operator* known = operator_of(test_case);
  if (known == nullptr || classification.lowered == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < plans().size(); ++i) {
    const SweptModel& swept = plans()[i].swept;
    if (std::find(swept.operators.begin(), swept.operators.end(), known->name) == swept.operators.end()) continue;
    const auto matters = [&](std::size_t parameter, ClassSet classes) {
      return std::any_of(contracts.begin(), contracts.end(),
                         [&](const auto& contract) { return contract[i].tells_apart(parameter, classes); });
    };
    if (auto row = row_of(swept, test_case, contracts.empty() ? Asked(ask_all) : Asked(matters)))
      return Place{i, std::move(*row)};
  }
  return std::nullopt;
}

std::string digest_of(const std::vector<SweepContract>& contracts) {
  Digest digest;
  for (const SweepContract& contract : contracts) {
    digest.add(std::uint64_t{contract.taken.size()});
    for (const ClassSet classes : contract.taken) digest.add(classes);
    for (const Combination& combination : contract.declined) {
      digest.add(std::uint64_t{combination.size()});
      for (const Term& term : combination) {
        digest.add(std::uint64_t{term.parameter});
        digest.add(std::uint64_t{term.classes});
      }
    }
  }
  return fmt::format("{:08x}", static_cast<std::uint32_t>(digest.value()));
}

std::vector<SweepContract> narrow_ones(std::vector<SweepContract> contracts) {
  for (std::size_t i = 0; i < contracts.size(); ++i) {
    std::vector<ClassSet>& taken = contracts[i].taken;
    if (is_whole(contracts[i], plans()[i].swept.model())) taken.assign(taken.size(), 0);
  }
  return contracts;
}

Plan plan_within(const Plan& plan, const SweepContract& contract) {
  const Model& whole = plan.swept.model();
  SolvedArray solved = solved_array(restricted(whole, contract));
  return {plan.swept, std::move(solved.rows), std::move(solved.proof), name_of("within", contract, whole)};
}

std::optional<Plan> plan_thoroughly(const Plan& plan, const SweepContract& contract) {
  constexpr std::size_t kStrength = 4;
  const Model& whole = plan.swept.model();
  if (!contract.takes_anything() || shape_parameters(whole).size() < kStrength) return std::nullopt;
  SolvedArray solved = solved_array(restricted(whole, contract), kStrength);
  return Plan{plan.swept, std::move(solved.rows), std::move(solved.proof), name_of("thorough", contract, whole)};
}

void draw_rows(Plan& plan, const SweepContract& contract, std::size_t more, std::uint64_t seed) {
  const Model inside = restricted(plan.swept.model(), contract);
  const ConstraintSolver solver(inside);
  Rng rng(seed, 0x1415);
  for (std::size_t i = 0; i < more; ++i) {
    if (auto row = solver.draw(solver.start(), rng)) plan.rows.push_back(std::move(*row));
  }
  plan.proof.coverage.cases = plan.rows.size();
}

Case sweep_case(const Plan& plan, std::size_t index, std::uint64_t seed) {
  const Row& row = plan.rows[index];
  const Model& model = plan.swept.model();
  Case result = plan.swept.realise(row, seed, index);
  const std::string of = plan.swept.operators.empty() ? model.name : result.subject();
  result.id = plan.name + "-" + of + "-" + std::to_string(seed) + "-" + std::to_string(index);
  result.expectation = Expectation::valid;
  result.provenance = {plan.name, seed, index};
  for (std::size_t p = 0; p < row.size(); ++p) {
    result.tags.push_back(model.parameters[p].name + "=" + model.parameters[p].classes[row[p]]);
  }
  return result;
}

Result<std::optional<Case>> SweepSuite::next() {
  while (plan_ < all().size() && index_ == all()[plan_].rows.size()) {
    ++plan_;
    index_ = 0;
  }
  if (plan_ == all().size()) return std::nullopt;
  return sweep_case(all()[plan_], index_++, seed_);
}

std::optional<std::uint64_t> SweepSuite::size() const {
  std::uint64_t cases = 0;
  for (const Plan& plan : all()) cases += plan.rows.size();
  return cases;
}

std::vector<CombinationCoverage> SweepSuite::coverage() const {
  std::vector<CombinationCoverage> list;
  for (const Plan& plan : all()) list.push_back(plan.proof.coverage);
  return list;
}

std::vector<CombinationCoverage> SweepSuite::coverage_of(const std::vector<bool>& chosen) const {
  std::vector<CombinationCoverage> list;
  std::size_t position = 0;
  for (const Plan& plan : all()) {
    std::vector<Row> rows;
    for (const Row& row : plan.rows) {
      if (position < chosen.size() && chosen[position++]) rows.push_back(row);
    }
    const Model& model = plan.swept.model();
    list.push_back(plan.proof.coverage);
    list.back().cases = rows.size();
    list.back().covered = sweep::coverage_of(model, combinations_of(model, plan.proof.coverage.strength), rows).covered;
  }
  return list;
}

namespace {

// Rows tried for a case of a size.
constexpr std::uint64_t kRows = 24;

// Adds those of the classes, in their order, that a row may have.
PartialRow with_classes(PartialRow row, const ConstraintSolver& solver, std::span<const ParameterClass> classes) {
  for (const auto& [parameter, wanted] : classes) {
    PartialRow deeper = row;
    if (solver.decide(deeper, parameter, wanted)) row = std::move(deeper);
  }
  return row;
}

// A plain row is as plain as it can be but for the parameters by which backends choose; others are small only.
PartialRow begun(const Model& inside, const ConstraintSolver& solver, bool is_plain) {
  std::vector<ParameterClass> plain;
  for (std::size_t p = 0; p < inside.parameters.size(); ++p) {
    const Parameter& parameter = inside.parameters[p];
    const bool stays_plain =
        parameter.role == ParameterRole::extent || (is_plain && parameter.role == ParameterRole::geometry);
    if (stays_plain) plain.emplace_back(p, parameter.plain);
  }
  return with_classes(solver.start(), solver, plain);
}

// A model and what is taken of it.
struct TakenModel {
  const SweptModel* swept;
  Model inside;
  std::optional<ConstraintSolver> solver = std::nullopt;
};

// The models that `has` accepts, of which something is taken.
template <typename Has>
std::vector<TakenModel> taken_models(const std::vector<SweepContract>& contracts, Has has) {
  std::vector<TakenModel> taken;
  for (std::size_t i = 0; i < plans().size(); ++i) {
    const SweptModel& swept = plans()[i].swept;
    const SweepContract contract = contracts.empty() ? whole_contract(swept.model()) : contracts[i];
    if (has(swept) && contract.takes_anything()) taken.push_back({&swept, restricted(swept.model(), contract)});
  }
  return taken;
}

std::string prefix_of(const std::string& kind, const std::vector<SweepContract>& contracts) {
  return contracts.empty() ? kind : kind + "-within-" + digest_of(contracts);
}

class SizesSuite final : public Suite {
 public:
  SizesSuite(std::string name, const std::vector<SweepContract>& contracts, std::uint64_t seed)
      : name_(std::move(name)),
        prefix_(prefix_of("sizes", contracts)),
        seed_(seed),
        parts_(taken_models(contracts, [](const SweptModel& swept) { return swept.sized.sizes > 0; })) {}

  [[nodiscard]] std::string name() const override { return name_; }

  [[nodiscard]] Result<std::optional<Case>> next() override {
    for (; part_ < parts_.size(); ++part_, size_ = 0) {
      const SizedModel& sized = parts_[part_].swept->sized;
      for (; size_ < sized.sizes; ++size_, context_ = 0) {
        while (context_ < (size_ < sized.small ? kCasesOfSize : kCasesOfLargeSize)) {
          if (auto test_case = draw(parts_[part_])) return test_case;
        }
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<Case> draw(TakenModel& part) {
    const std::uint64_t context = context_++;
    if (!part.solver) part.solver.emplace(part.inside);
    const SizedModel& sized = part.swept->sized;
    const auto takes = [&](const Row& row) { return part.inside.allows(row); };
    for (std::uint64_t i = 0; i < kRows; ++i) {
      Rng rng(seed_, (size_ * kCasesOfSize + context) * kRows + i);
      const auto row = part.solver->draw(begun(part.inside, *part.solver, context == 0), rng);
      if (!row) continue;
      auto test_case = sized.realise(*row, size_, seed_, (size_ * kCasesOfSize + context) * kRows + i, takes);
      if (!test_case) continue;
      test_case->id =
          fmt::format("{}-{}-{}-{}-{}", prefix_, test_case->node().op_type, sized.name(size_), seed_, context);
      test_case->expectation = Expectation::valid;
      test_case->provenance = {name_, seed_, size_ * kCasesOfSize + context};
      test_case->tags = {"size=" + sized.name(size_)};
      return test_case;
    }
    return std::nullopt;
  }

  std::string name_;
  std::string prefix_;  ///< prefix of its cases' names
  std::uint64_t seed_;
  std::vector<TakenModel> parts_;
  std::size_t part_ = 0;
  std::size_t size_ = 0;
  std::uint64_t context_ = 0;
};

}  // namespace

std::unique_ptr<Suite> sizes_suite(std::string name, const std::vector<SweepContract>& contracts, std::uint64_t seed) {
  return std::make_unique<SizesSuite>(std::move(name), contracts, seed);
}

std::optional<Case> draw_sized(const SweptModel& swept, const Model& inside, const ConstraintSolver& solver, Rng& rng) {
  const auto takes = [&](const Row& row) { return inside.allows(row); };
  // Few of the sizes are large, and what shows at one of them alone would hardly ever be met.
  const std::size_t first = swept.sized.small < swept.sized.sizes && rng.chance(1, 16) ? swept.sized.small : 0;
  const std::size_t size = first + rng.below(static_cast<std::uint32_t>(swept.sized.sizes - first));
  for (std::uint64_t i = 0; i < kRows; ++i) {
    const auto row = solver.draw(begun(inside, solver, rng.chance(1, 3)), rng);
    auto test_case = row ? swept.sized.realise(*row, size, rng.next(), i, takes) : std::nullopt;
    if (!test_case) continue;
    test_case->tags = {"size=" + swept.sized.name(size)};
    return test_case;
  }
  return std::nullopt;
}

std::optional<Case> draw_sized(std::uint64_t seed, std::uint64_t index) {
  struct SolvedModel {
    SweptModel swept;
    ConstraintSolver solver;
  };
  static const std::vector<SolvedModel> all = [] {
    std::vector<SolvedModel> list;
    for (const SweptModel& swept : swept_models()) {
      if (swept.sized.sizes > 0) list.push_back({swept, ConstraintSolver(swept.model())});
    }
    return list;
  }();
  Rng rng(seed ^ 0x512E5U, index);
  // Convolutions come first, and have most sizes.
  const SolvedModel& one = all[rng.chance(1, 2) ? 0 : rng.below(static_cast<std::uint32_t>(all.size()))];
  return draw_sized(one.swept, one.swept.model(), one.solver, rng);
}

namespace {

constexpr std::size_t kSequences = 16;  ///< of each model

class NeighboursSuite final : public Suite {
 public:
  NeighboursSuite(std::string name, std::vector<SweepContract> contracts, std::uint64_t seed)
      : name_(std::move(name)),
        contracts_(std::move(contracts)),
        prefix_(prefix_of("neighbours", contracts_)),
        seed_(seed),
        parts_(taken_models(contracts_, [](const SweptModel& swept) { return !swept.neighbours.changes.empty(); })) {}

  [[nodiscard]] std::string name() const override { return name_; }

  [[nodiscard]] Result<std::optional<Case>> next() override {
    for (; part_ < parts_.size(); ++part_, sequence_ = 0) {
      for (; sequence_ < kSequences; ++sequence_, change_ = 0, before_.reset()) {
        while (change_ <= parts_[part_].swept->neighbours.changes.size()) {
          if (auto test_case = draw(parts_[part_])) return test_case;
        }
      }
    }
    return std::nullopt;
  }

 private:
  // The first of a sequence, or the case before with one change; what is not taken is left out.
  std::optional<Case> draw(TakenModel& part) {
    const std::size_t change = change_++;
    const std::uint64_t place = (part_ * kSequences + sequence_) * 32 + change;
    Rng rng(seed_ ^ 0x4E16U, place);
    const auto& changes = part.swept->neighbours.changes;
    std::optional<Case> next = change == 0 ? first_of(part, rng)
                               : before_   ? part.swept->neighbours.changed(*before_, change - 1, rng)
                                           : std::nullopt;
    if (!next || !is_taken(*next)) return std::nullopt;
    next->id = fmt::format("{}-{}-{}-{}-{}", prefix_, next->node().op_type, seed_, sequence_, change);
    next->expectation = Expectation::valid;
    next->provenance = {name_, seed_, place};
    next->tags = {change == 0 ? std::string("first of a sequence") : fmt::format("change={}", changes[change - 1])};
    before_ = next;
    return next;
  }

  std::optional<Case> first_of(TakenModel& part, Rng& rng) const {
    if (!part.solver) part.solver.emplace(part.inside);
    PartialRow start = begun(part.inside, *part.solver, sequence_ % 4 == 0);
    if (sequence_ % 4 == 1) start = with_classes(std::move(start), *part.solver, part.swept->neighbours.special);
    const auto row = part.solver->draw(std::move(start), rng);
    return row ? std::optional(part.swept->realise(*row, rng.next(), 0)) : std::nullopt;
  }

  [[nodiscard]] bool is_taken(const Case& test_case) const {
    const Classification classification = classify(test_case);
    if (classification.expectation() != Expectation::valid) return false;
    if (contracts_.empty()) return true;
    const auto place = place_of(test_case, classification, std::span(&contracts_, 1));
    return place && contracts_[place->plan].takes(place->row);
  }

  std::string name_;
  std::vector<SweepContract> contracts_;
  std::string prefix_;  ///< prefix of its cases' names
  std::uint64_t seed_;
  std::vector<TakenModel> parts_;
  std::size_t part_ = 0;
  std::size_t sequence_ = 0;
  std::size_t change_ = 0;
  std::optional<Case> before_;
};

}  // namespace

std::unique_ptr<Suite> neighbours_suite(std::string name, const std::vector<SweepContract>& contracts,
                                        std::uint64_t seed) {
  return std::make_unique<NeighboursSuite>(std::move(name), contracts, seed);
}

}  // namespace qconform::sweep

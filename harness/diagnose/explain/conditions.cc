#include "harness/diagnose/explain/conditions.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "harness/base/rng.h"
#include "harness/base/stopwatch.h"
#include "harness/model/text.h"
#include "reference/numerics/floats.h"

namespace qconform::diagnose {
namespace {

constexpr std::uint64_t kMostKeptBytes = std::uint64_t{1} << 14;
constexpr std::size_t kMostTried = 300;
constexpr std::uint64_t kValuesOfTrial = 32;  // with which each case is run
constexpr double kSecondsOfTrial = 1;
constexpr int kRoundsOfTrial = 2;

// Integers, and floats of which any bits are a number.
void redraw_bits(Tensor& x, Rng& rng) {
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits_of(x.type));
  const std::uint64_t half = all / 2;
  const std::uint64_t ends[] = {0, 1, half, half + 1, all - 1, all};
  const auto kind = rng.below(3);
  const std::uint64_t around = rng.next();
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const std::uint64_t any = rng.next();
    set_bits_at(x, i, (kind == 0 ? any : kind == 1 ? rng.pick(ends) : around + any % 8) & all);
  }
}

// Multiples of a scale, and what lies half a step and little beside them.
void redraw_floats(Tensor& x, const Tensor& scale, Rng& rng) {
  const reference::FloatFormat& format = reference::float_format(x.type);
  const double steps = rng.chance(1, 4) ? 70'000 : rng.chance(1, 3) ? 20 : 300;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const double unit =
        number_at(scale, static_cast<std::int64_t>(
                             rng.next() % static_cast<std::uint64_t>(std::max<std::int64_t>(scale.elements(), 1))));
    const double whole = std::floor((static_cast<double>(rng.below(1U << 16)) / (1U << 15) - 1) * steps);
    const double part = rng.chance(1, 2) ? 0.5 : static_cast<double>(rng.below(1000)) / 1000;
    set_bits_at(x, i, encode(format, (whole + part) * unit, reference::Overflow::special));
  }
}

// The case with other data: what is fed to a graph, x of an operator. Everything else decides what the conditions say.
std::optional<Case> with_other_data(const Case& test_case, Rng& rng) {
  Case other = computation_of(test_case);
  const std::size_t fed = other.input_names.empty() ? 1 : other.fed_inputs;
  bool is_other = false;
  for (std::size_t i = 0; i < fed && i < other.inputs.size(); ++i) {
    if (!other.inputs[i]) continue;
    Tensor& x = *other.inputs[i];
    if (is_integer(x.type) || (is_numeric(x.type) && bits_of(x.type) <= 8)) {
      redraw_bits(x, rng);
      is_other = true;
    } else if (x.type == ElementType::float32 || is_16bit_float(x.type)) {
      const Tensor* scale =
          other.node().op_type == "QuantizeLinear" && other.nodes.size() == 1 ? other.input(1) : nullptr;
      if (scale == nullptr || scale->elements() == 0) continue;
      redraw_floats(x, *scale, rng);
      is_other = true;
    }
  }
  return is_other ? std::optional(std::move(other)) : std::nullopt;
}

class ConditionTrial {
 public:
  ConditionTrial(const PassedCases& passed, const Runner& run, const Policy& policy)
      : passed_(passed), run_(run), policy_(policy), is_left_(passed.traits().size(), true) {}

  std::optional<TriedConditions> run(const std::vector<CaseTraits>& failing) {
    for (int round = 0; round < kRoundsOfTrial; ++round) {
      std::vector<CaseTraits> all = failing;
      all.insert(all.end(), result_.failing.begin(), result_.failing.end());
      const Region believed = common_region(all, passing());
      if (believed.conditions.empty() || !try_inside(believed)) break;
    }
    if (result_.failing.empty()) return std::nullopt;
    result_.passing = passing();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::vector<CaseTraits> passing() const {
    std::vector<CaseTraits> left;
    for (std::size_t i = 0; i < is_left_.size(); ++i) {
      if (is_left_[i]) left.push_back(passed_.traits()[i]);
    }
    return left;
  }

  // Returns whether some fail. Those that are not tried, for their number or their size, count neither way.
  bool try_inside(const Region& believed) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < is_left_.size(); ++i) {
      if (!is_left_[i] || tried_[i] || !believed.contains(passed_.traits()[i])) continue;
      const Case* const test_case = passed_.test_case(i);
      const bool may_run = test_case != nullptr && runs_ < kMostTried && seconds_since(start_) < kSecondsOfTrial;
      tried_[i] = may_run;
      is_left_[i] = may_run;
      if (!may_run) continue;
      ++runs_;
      if (auto traits = failing_with_other_data(*test_case)) {
        result_.failing.push_back(*traits);
        is_left_[i] = false;
        ++found;
      }
    }
    return found > 0;
  }

  // Returns the features of the case with other data that it fails with; nothing where it fails with none.
  [[nodiscard]] std::optional<CaseTraits> failing_with_other_data(const Case& test_case) const {
    for (std::uint64_t draw = 0; draw < kValuesOfTrial; ++draw) {
      Rng rng(0x7E57'DA7AU, draw);
      auto other = with_other_data(test_case, rng);
      if (!other) return std::nullopt;
      const Outcome outcome = run_(*other);
      const auto observation = Observation::of(std::move(*other), outcome, policy_);
      if (observation != nullptr && observation->is_failure())
        return features_of(observation->test_case(), observation->expected());
    }
    return std::nullopt;
  }

  const PassedCases& passed_;
  const Runner& run_;
  const Policy& policy_;
  std::vector<bool> is_left_;  // among the passing ones
  std::vector<bool> tried_ = std::vector<bool>(is_left_.size());
  std::size_t runs_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  TriedConditions result_;
};

}  // namespace

void PassedCases::add(const Case& test_case, const CaseTraits& traits) {
  const std::uint64_t number = passed_++;
  std::optional<Case> own;
  if (input_bytes(test_case) <= kMostKeptBytes) own = computation_of(test_case);
  if (traits_.size() < kKept) {
    traits_.push_back(traits);
    cases_.push_back(std::move(own));
  } else {
    traits_[number / kTurn % kKept] = traits;
    cases_[number / kTurn % kKept] = std::move(own);
  }
}

void PassedCases::replace(std::vector<CaseTraits> traits) {
  traits_ = std::move(traits);
  cases_.clear();
}

const Case* PassedCases::test_case(std::size_t i) const {
  return i < cases_.size() && cases_[i] ? &*cases_[i] : nullptr;
}

std::optional<TriedConditions> try_conditions(const std::vector<CaseTraits>& failing, const PassedCases& passed,
                                              const Runner& run, const Policy& policy) {
  if (!learn_region(failing, passed.traits()).conditions.empty()) return std::nullopt;
  return ConditionTrial(passed, run, policy).run(failing);
}

}  // namespace qconform::diagnose

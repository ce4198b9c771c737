#include "harness/diagnose/explain/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "harness/base/text.h"
#include "harness/diagnose/explain/explain.h"

namespace qconform::diagnose {
namespace {

constexpr std::size_t kMostRules = 3;
constexpr std::size_t kMostElementsOfCase = 4096;
constexpr std::size_t kMostElements = 200'000;
constexpr std::uint64_t kFewestWrong = 8;
// A further rule leaves at most this share of the right elements: others fit by chance.
constexpr double kOfFurtherRules = 0.5;

enum Number : std::uint8_t {
  kOutput,
  kRounded,
  kMagnitude,
  kOwnZeroPoint,
  kTie,  ///< 2: an exact tie, 1: nearer than 2^-20 to one, else 0
  // 1 where the value is no integer, and is rounded that way; else 0:
  kTowardZero,
  kAwayFromZero,
  kDown,
  kUp,
  kNumbers
};
constexpr std::array<const char*, kTie> kNumberNames{"y", "the rounded value", "|the rounded value|", "the zero point"};

struct ElementValues {
  std::array<std::int64_t, kNumbers> numbers;
  std::size_t observation;
  bool is_wrong;
};

struct RoundedValue {
  Neighbours value;
  std::int32_t zero_point;
  bool is_near_tie;
};

bool is_near_tie(const Quotient& value) {
  constexpr double kNextToTie = 0x1p-20;
  const double magnitude = std::fabs(float64_of(value));
  return std::fabs(magnitude - std::floor(magnitude) - 0.5) < kNextToTie;
}

// A stage is a plain function: it notes the values that a case rounds, in the order of its elements, where it finds a
// list for them.
thread_local std::vector<RoundedValue>* rounded_values = nullptr;

std::int64_t note_value(const Quotient& value, std::int32_t zero_point) {
  rounded_values->push_back({neighbours_of(value), zero_point, is_near_tie(value)});
  return rounded_values->back().value.even();
}

// Empty where the elements are not rounded one by one.
std::vector<RoundedValue> values_of(const Observation& observation) {
  Stages stages;
  stages.set(stage::round, note_value);
  std::vector<RoundedValue> values;
  rounded_values = &values;
  (void)observation.modelled().run(stages);
  rounded_values = nullptr;
  if (values.size() != observation.states().size()) values.clear();
  return values;
}

bool has_values(const Observation& observation) {
  const ElementType type = observation.right().type;
  return is_integer(type) && bits_of(type) <= 16 && !observation.has_wrong_shape() &&
         observation.states().size() <= kMostElementsOfCase;
}

// Bounds on a number, or a feature of the case.
struct ValueRule {
  Number number = kOutput;
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::optional<std::size_t> feature = {};

  [[nodiscard]] std::string text() const {
    if (feature) return case_features()[*feature].text;
    switch (number) {
      case kTie: return least == 2 ? "an exact tie" : "a tie, or nearer than 2^-20 to one";
      case kTowardZero: return "to be rounded toward zero";
      case kAwayFromZero: return "to be rounded away from zero";
      case kDown: return "to be rounded down";
      case kUp: return "to be rounded up";
      default: break;
    }
    const auto told = [](std::int64_t value) {
      return (value < 0 ? "-" : "") + with_thousands(static_cast<std::uint64_t>(std::abs(value)));
    };
    if (least == most) return fmt::format("{} = {}", kNumberNames[number], told(least));
    if (most == std::numeric_limits<std::int64_t>::max())
      return fmt::format("{} >= {}", kNumberNames[number], told(least));
    if (least == std::numeric_limits<std::int64_t>::min())
      return fmt::format("{} <= {}", kNumberNames[number], told(most));
    return fmt::format("{} from {} to {}", kNumberNames[number], told(least), told(most));
  }
};

class ValueSearch {
 public:
  ValueSearch(std::span<const Observation* const> failing, std::span<const Observation* const> passing) {
    common_.set();
    for (const Observation* observation : failing) add(*observation);
    for (const Observation* observation : passing) add(*observation);
  }

  std::optional<WrongPlace> run() {
    if (wrong_ < kFewestWrong) return std::nullopt;
    std::vector<ValueRule> rules = learn();
    const auto speaks_of_elements = [](const ValueRule& rule) { return !rule.feature; };
    if (std::none_of(rules.begin(), rules.end(), speaks_of_elements)) return std::nullopt;
    const WrongPlace held_back = counted(rules, [](std::size_t i) { return is_held_back(i); });
    if (!holds(held_back)) return std::nullopt;
    for (ValueRule& rule : rules) widen(rule);
    WrongPlace all = counted(rules, [](std::size_t) { return true; });
    if (!holds(all) || all.wrong_there != wrong_) return std::nullopt;
    for (const ValueRule& rule : rules) all.place += (all.place.empty() ? "" : ", ") + rule.text();
    return all;
  }

 private:
  static bool is_held_back(std::size_t observation) { return observation % 3 == 2; }

  void add(const Observation& observation) {
    if (!has_values(observation) || elements_.size() + observation.states().size() > kMostElements) return;
    const std::vector<RoundedValue> values = values_of(observation);
    if (values.empty()) return;
    const std::size_t number = features_.size();
    features_.push_back(features_of(observation.test_case(), observation.expected()).features);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Neighbours& value = values[i].value;
      const std::int64_t rounded = value.even();
      const bool is_toward_zero = !value.is_whole && value.nearest == value.lower;
      const bool is_away = !value.is_whole && !is_toward_zero;
      const bool is_down = value.sign > 0 ? is_toward_zero : is_away;
      const bool is_up = value.sign > 0 ? is_away : is_toward_zero;
      const bool is_wrong = observation.states()[i] == ElementState::wrong;
      const std::int64_t y = integer_at(observation.right(), static_cast<std::int64_t>(i));
      const std::int64_t tie = value.is_tie ? 2 : values[i].is_near_tie ? 1 : 0;
      elements_.push_back(
          {{y, rounded, std::abs(rounded), values[i].zero_point, tie, is_toward_zero, is_away, is_down, is_up},
           number,
           is_wrong});
      wrong_ += is_wrong ? 1 : 0;
    }
    if (observation.is_failure()) common_ &= features_.back();
  }

  [[nodiscard]] bool keeps(const ElementValues& element, const ValueRule& rule) const {
    if (rule.feature) return features_[element.observation][*rule.feature];
    const std::int64_t value = element.numbers[rule.number];
    return value >= rule.least && value <= rule.most;
  }

  // The rules that all wrong elements of `among` keep.
  [[nodiscard]] std::vector<ValueRule> offers(const std::vector<const ElementValues*>& among) const {
    std::vector<ValueRule> offered;
    for (std::uint8_t number = 0; number < kNumbers; ++number) {
      ValueRule both{.number = static_cast<Number>(number),
                     .least = std::numeric_limits<std::int64_t>::max(),
                     .most = std::numeric_limits<std::int64_t>::min()};
      for (const ElementValues* element : among) {
        if (!element->is_wrong) continue;
        both.least = std::min(both.least, element->numbers[number]);
        both.most = std::max(both.most, element->numbers[number]);
      }
      if (number >= kTie) {
        if (both.least > 0) offered.push_back({.number = both.number, .least = both.least});
        continue;
      }
      if (both.least == both.most) offered.push_back(both);
      offered.push_back({.number = both.number, .least = both.least});
      offered.push_back({.number = both.number, .most = both.most});
    }
    for (std::size_t i = 0; i < case_features().size(); ++i) {
      if (common_[i]) offered.push_back({.feature = i});
    }
    return offered;
  }

  // The plainest rule comes first; another one replaces it where it leaves fewer right elements.
  [[nodiscard]] std::vector<ValueRule> learn() const {
    std::vector<const ElementValues*> inside;
    for (const ElementValues& element : elements_) {
      if (!is_held_back(element.observation)) inside.push_back(&element);
    }
    const std::vector<ValueRule> offered = offers(inside);
    std::vector<ValueRule> chosen;
    while (chosen.size() < kMostRules) {
      const auto right_after = [&](const ValueRule& rule) {
        return std::count_if(inside.begin(), inside.end(),
                             [&](const ElementValues* element) { return !element->is_wrong && keeps(*element, rule); });
      };
      const auto right =
          std::count_if(inside.begin(), inside.end(), [](const ElementValues* element) { return !element->is_wrong; });
      const ValueRule* best = nullptr;
      auto fewest = static_cast<std::ptrdiff_t>(kOfFurtherRules * static_cast<double>(right)) + (right > 0 ? 1 : 0);
      for (const ValueRule& rule : offered) {
        const std::ptrdiff_t left = right_after(rule);
        if (left >= fewest) continue;
        fewest = left;
        best = &rule;
      }
      if (best == nullptr) break;
      chosen.push_back(*best);
      std::erase_if(inside, [&](const ElementValues* element) { return !keeps(*element, *best); });
    }
    return chosen;
  }

  // A bound of wrong elements that were held back too.
  void widen(ValueRule& rule) const {
    if (rule.feature || rule.number >= kTie) return;
    for (const ElementValues& element : elements_) {
      if (!element.is_wrong) continue;
      rule.least = std::min(rule.least, element.numbers[rule.number]);
      rule.most = std::max(rule.most, element.numbers[rule.number]);
    }
  }

  template <typename Counts>
  [[nodiscard]] WrongPlace counted(const std::vector<ValueRule>& rules, const Counts& counts) const {
    WrongPlace result;
    for (const ElementValues& element : elements_) {
      if (!counts(element.observation)) continue;
      const bool is_there =
          std::all_of(rules.begin(), rules.end(), [&](const ValueRule& rule) { return keeps(element, rule); });
      if (is_there) ++(element.is_wrong ? result.wrong_there : result.right_there);
      if (!is_there && !element.is_wrong) ++result.right_elsewhere;
    }
    return result;
  }

  [[nodiscard]] bool holds(const WrongPlace& found) const {
    const auto there = static_cast<double>(found.wrong_there + found.right_there);
    return found.wrong_there > 0 && static_cast<double>(found.wrong_there) >= kFewestPrecise * there;
  }

  std::vector<ElementValues> elements_;
  std::vector<FeatureSet> features_;  // by observation
  FeatureSet common_;                 // of the failing ones
  std::uint64_t wrong_ = 0;
};

}  // namespace

std::optional<WrongPlace> wrong_values(std::span<const Observation* const> failing,
                                       std::span<const Observation* const> passing) {
  return ValueSearch(failing, passing).run();
}

}  // namespace qconform::diagnose

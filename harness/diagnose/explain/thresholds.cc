// From which sizes on cases fail: each size is changed while the others stay, and the rule that fits is tried on
// further values.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "harness/base/text.h"
#include "harness/diagnose/explain/like_cases.h"

namespace qconform::diagnose {
namespace {

// Which values of a size fail.
struct SizeRule {
  enum class Kind : std::uint8_t { at_least, at_most, equal, remainder_is, remainder_is_not, remainder_at_least };
  Kind kind;
  std::int64_t bound;
  std::int64_t modulus = 1;
  std::int64_t passes = 0;  ///< beside a bound, the next value that passes

  [[nodiscard]] bool is_bound() const { return kind == Kind::at_least || kind == Kind::at_most; }
  [[nodiscard]] bool fails(std::int64_t value) const {
    const std::int64_t remainder = value % modulus;
    switch (kind) {
      case Kind::at_least: return value >= bound;
      case Kind::at_most: return value <= bound;
      case Kind::equal: return value == bound;
      case Kind::remainder_is: return remainder == bound;
      case Kind::remainder_is_not: return remainder != bound;
      case Kind::remainder_at_least: break;
    }
    return remainder >= bound;
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    const std::string number = with_thousands(static_cast<std::uint64_t>(bound));
    const std::string remainder = fmt::format("{} % {}", name, modulus);
    switch (kind) {
      case Kind::at_least:
        return fmt::format("{} >= {} ({} passes)", name, number, with_thousands(static_cast<std::uint64_t>(passes)));
      case Kind::at_most:
        return fmt::format("{} <= {} ({} passes)", name, number, with_thousands(static_cast<std::uint64_t>(passes)));
      case Kind::equal: return fmt::format("{} = {}", name, number);
      case Kind::remainder_is: return fmt::format("{} = {}", remainder, number);
      case Kind::remainder_is_not: return fmt::format("{} != {}", remainder, number);
      case Kind::remainder_at_least: break;
    }
    return fmt::format("{} >= {}", remainder, number);
  }
};

class ThresholdSearch {
 public:
  explicit ThresholdSearch(LikeCases& cases) : cases_(cases) {}

  std::vector<std::string> run() {
    for (std::size_t i = 0; i < cases_.sizes().size(); ++i) glance_at(i);
    for (std::size_t i = 0; i < cases_.sizes().size(); ++i) {
      const Scanned& values = scanned_[i];
      const bool passes = std::any_of(values.begin(), values.end(), [](const auto& value) { return !value.second; });
      if (!passes || !cases_.is_left()) continue;
      scan(i);
      if (auto rule = rule_of(i)) rules_.emplace_back(i, *rule);
    }
    for (const auto& [size, rule] : rules_) {
      if (rule.is_bound()) cross(size, rule);
    }
    std::vector<std::string> texts;
    for (const auto& [size, rule] : rules_) {
      const std::string text = general_text(rule).value_or(rule.text(cases_.sizes()[size].name));
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
    }
    return texts;
  }

 private:
  using Scanned = std::map<std::int64_t, bool>;  ///< whether the value fails

  void look_at(std::size_t size, std::int64_t value) {
    if (value < cases_.sizes()[size].least) return;
    if (const auto& runs = cases_.with(size, value)) scanned_[size][value] = runs->fails;
  }

  // Sizes of which no other value passes are left at that.
  void glance_at(std::size_t size) {
    const std::int64_t own = cases_.base()[size];
    for (const std::int64_t value : {own, own - 1, own + 1, 2 * own, 2 * own + 1}) look_at(size, value);
    for (const std::int64_t value : {0, 1, 2, 3, 8, 16, 17, 33, 64}) look_at(size, value);
  }

  void scan(std::size_t size) {
    const std::int64_t own = cases_.base()[size];
    for (std::int64_t value = 0; value <= 17; ++value) look_at(size, value);
    for (std::int64_t power = 32; power <= 32768; power *= 2) {
      for (std::int64_t value = power - 1; value <= power + 1; ++value) look_at(size, value);
    }
    for (std::int64_t value = own - 2; value <= own + 2; ++value) look_at(size, value);
  }

  [[nodiscard]] bool agrees(std::size_t size, const SizeRule& rule) const {
    return std::all_of(scanned_.at(size).begin(), scanned_.at(size).end(),
                       [&](const auto& value) { return rule.fails(value.first) == value.second; });
  }

  [[nodiscard]] std::optional<SizeRule> rule_of(std::size_t size) {
    Scanned& values = scanned_[size];
    std::int64_t passing[] = {INT64_MAX, INT64_MIN};
    std::int64_t failing[] = {INT64_MAX, INT64_MIN};
    for (const auto& [value, fails] : values) {
      auto& ends = fails ? failing : passing;
      ends[0] = std::min(ends[0], value);
      ends[1] = std::max(ends[1], value);
    }
    if (passing[1] < failing[0]) return bound_between(size, passing[1], failing[0], SizeRule::Kind::at_least);
    if (failing[1] < passing[0]) return bound_between(size, passing[0], failing[1], SizeRule::Kind::at_most);
    const SizeRule one{SizeRule::Kind::equal, failing[0]};
    if (failing[0] == failing[1] && values.contains(failing[0] - 1) && values.contains(failing[0] + 1)) return one;
    return remainder_of(size);
  }

  // The bound itself by bisection, and one value more on either side.
  [[nodiscard]] std::optional<SizeRule> bound_between(std::size_t size, std::int64_t passes, std::int64_t fails,
                                                      SizeRule::Kind kind) {
    while (std::abs(fails - passes) > 1) {
      const std::int64_t middle = passes + (fails - passes) / 2;
      look_at(size, middle);
      const auto found = scanned_[size].find(middle);
      if (found == scanned_[size].end()) return std::nullopt;
      (found->second ? fails : passes) = middle;
    }
    look_at(size, 2 * fails - passes);
    look_at(size, 2 * passes - fails);
    const SizeRule rule{kind, fails, 1, passes};
    return agrees(size, rule) ? std::optional(rule) : std::nullopt;
  }

  // Each rule that fits is tried on values that it was not learnt from: as many that fail as such that pass.
  [[nodiscard]] std::optional<SizeRule> remainder_of(std::size_t size) {
    using enum SizeRule::Kind;
    constexpr std::int64_t kLargest = 64;
    for (std::int64_t modulus = 2; modulus <= kLargest; ++modulus) {
      for (const SizeRule::Kind kind : {remainder_is_not, remainder_is, remainder_at_least}) {
        for (std::int64_t bound = 0; bound < modulus; ++bound) {
          const SizeRule rule{kind, bound, modulus};
          if (agrees(size, rule) && holds_further(size, rule)) return rule;
        }
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool holds_further(std::size_t size, const SizeRule& rule) {
    constexpr int kOfEach = 5;
    int failing = 0;
    int passing = 0;
    for (std::int64_t value = 18; value < 18 + 8 * rule.modulus; value += 1 + value % 3) {
      int& count = rule.fails(value) ? failing : passing;
      if (scanned_[size].contains(value) || count >= kOfEach) continue;
      look_at(size, value);
      if (!scanned_[size].contains(value)) break;
      if (scanned_[size][value] != rule.fails(value)) return false;
      ++count;
    }
    return failing >= 3 && passing >= 3;
  }

  // The bound may lie elsewhere where another size is changed too; where it lies then tells what it is a bound of.
  void cross(std::size_t size, const SizeRule& rule) {
    for (std::size_t other = 0; other < cases_.sizes().size() && cases_.is_left(); ++other) {
      if (other == size) continue;
      SizeList sizes = cases_.base();
      sizes[other] = std::max<std::int64_t>(2 * sizes[other], 2);
      const auto fails = [&](std::int64_t value) -> std::optional<bool> {
        sizes[size] = value;
        const auto& runs = cases_.at(sizes);
        return runs ? std::optional(runs->fails) : std::nullopt;
      };
      if (fails(rule.bound) == true && fails(rule.passes) == false) continue;
      std::int64_t low = cases_.sizes()[size].least;
      std::int64_t high = 2 * std::max(rule.bound, rule.passes);
      const auto at_low = fails(low);
      const auto at_high = fails(high);
      while (at_low && at_high && *at_low != *at_high && high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        const auto at_middle = fails(middle);
        if (!at_middle) break;
        (*at_middle == *at_low ? low : high) = middle;
      }
    }
  }

  // The rule of the first size of the vocabulary that has it in everything that was tried, and of those with a bound
  // the one that is known best.
  [[nodiscard]] std::optional<std::string> general_text(const SizeRule& rule) const {
    std::optional<std::string> best;
    std::int64_t narrowest = INT64_MAX;
    for (std::size_t i = 0; i < case_sizes().size(); ++i) {
      const auto of_vocabulary = rule.is_bound() ? bound_of(i, rule.kind) : remainder_in(i, rule);
      if (!of_vocabulary) continue;
      const std::int64_t width = std::abs(of_vocabulary->bound - of_vocabulary->passes);
      if (rule.is_bound() && width >= narrowest) continue;
      narrowest = rule.is_bound() ? width : 0;
      best = of_vocabulary->text(case_sizes()[i]);
      if (!rule.is_bound()) break;
    }
    return best || rule.is_bound() ? best : feature_text();
  }

  // The first feature that everything that fails has, and nothing else.
  [[nodiscard]] std::optional<std::string> feature_text() const {
    for (std::size_t i = 0; i < case_features().size(); ++i) {
      const bool agrees_everywhere = std::all_of(cases_.tried().begin(), cases_.tried().end(), [&](const auto& tried) {
        return !tried.second || tried.second->traits.features[i] == tried.second->fails;
      });
      if (agrees_everywhere) return case_features()[i].text;
    }
    return std::nullopt;
  }

  template <typename Visit>
  void visit_tried(std::size_t of_vocabulary, const Visit& visit) const {
    for (const auto& [sizes, runs] : cases_.tried()) {
      if (runs) visit(std::int64_t{runs->traits.sizes[of_vocabulary]}, runs->fails);
    }
  }

  [[nodiscard]] std::optional<SizeRule> bound_of(std::size_t of_vocabulary, SizeRule::Kind kind) const {
    const std::int64_t sign = kind == SizeRule::Kind::at_least ? 1 : -1;
    std::int64_t passes = INT64_MIN;
    std::int64_t fails = INT64_MAX;
    visit_tried(of_vocabulary, [&](std::int64_t value, bool is_failing) {
      if (is_failing) fails = std::min(fails, sign * value);
      if (!is_failing) passes = std::max(passes, sign * value);
    });
    if (passes >= fails) return std::nullopt;
    return SizeRule{kind, sign * fails, 1, sign * passes};
  }

  [[nodiscard]] std::optional<SizeRule> remainder_in(std::size_t of_vocabulary, const SizeRule& rule) const {
    bool agrees_everywhere = true;
    std::set<std::int64_t> values;
    visit_tried(of_vocabulary, [&](std::int64_t value, bool is_failing) {
      agrees_everywhere = agrees_everywhere && rule.fails(value) == is_failing;
      values.insert(value);
    });
    return agrees_everywhere && values.size() > 2 ? std::optional(rule) : std::nullopt;
  }

  LikeCases& cases_;
  std::map<std::size_t, Scanned> scanned_;
  std::vector<std::pair<std::size_t, SizeRule>> rules_;
};

}  // namespace

std::vector<std::string> find_thresholds(LikeCases& cases) {
  return ThresholdSearch(cases).run();
}

}  // namespace qconform::diagnose

// Finds the place of the wrong elements of an output by remainders, ends, blocks and bounds of their coordinates.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/base/text.h"
#include "harness/diagnose/explain/like_cases.h"

namespace qconform::diagnose {
namespace {

constexpr std::size_t kMostParts = 3;
constexpr std::uint64_t kFewestWrongPlaces = 4;
constexpr std::size_t kMostOfAllOutputs = 200'000;
// A further rule leaves at most this share of the right elements: others fit by chance.
constexpr double kOfFurtherRules = 0.1;
// Right elements there may be such that no value shows.
constexpr double kFewestWrongShare = 0.9;

// A rule on one coordinate.
struct PlaceRule {
  enum class Kind : std::uint8_t { is, from, up_to, last, tail, remainder, remainder_from, remainder_up_to };
  Kind kind;
  std::int64_t bound;
  std::int64_t modulus = 1;

  [[nodiscard]] bool holds(std::int64_t at, std::int64_t extent) const {
    switch (kind) {
      case Kind::is: return at == bound;
      case Kind::from: return at >= bound;
      case Kind::up_to: return at <= bound;
      case Kind::last: return at >= extent - bound;
      case Kind::tail: return at >= extent / modulus * modulus;
      case Kind::remainder: return at % modulus == bound;
      case Kind::remainder_from: return at % modulus >= bound;
      case Kind::remainder_up_to: break;
    }
    return at % modulus <= bound;
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    const std::string number = with_thousands(static_cast<std::uint64_t>(bound));
    const std::string remainder = fmt::format("{} % {}", name, modulus);
    switch (kind) {
      case Kind::from: return fmt::format("{} >= {}", name, number);
      case Kind::is: return fmt::format("{} = {}", name, number);
      case Kind::up_to: return fmt::format("{} <= {}", name, number);
      case Kind::last: return bound == 1 ? "the last " + name : fmt::format("{} among the last {}", name, number);
      case Kind::tail: return fmt::format("{} beyond the last multiple of {}", name, modulus);
      case Kind::remainder: return fmt::format("{} = {}", remainder, number);
      case Kind::remainder_from: return fmt::format("{} >= {}", remainder, number);
      case Kind::remainder_up_to: break;
    }
    return fmt::format("{} <= {}", remainder, number);
  }
};

struct NamedRule {
  std::string name;
  PlaceRule rule;
};

const Coordinate* coordinate_of(const WrongPlaces& output, const std::string& name) {
  const auto found = std::find_if(output.coordinates.begin(), output.coordinates.end(),
                                  [&](const Coordinate& coordinate) { return coordinate.name == name; });
  return found == output.coordinates.end() ? nullptr : &*found;
}

bool holds_at(const WrongPlaces& output, const NamedRule& rule, std::size_t element) {
  const Coordinate* const coordinate = coordinate_of(output, rule.name);
  return coordinate != nullptr && rule.rule.holds(coordinate->at[element], coordinate->extent[element]);
}

class PlaceSearch {
 public:
  explicit PlaceSearch(std::vector<WrongPlaces> outputs) : outputs_(std::move(outputs)) {
    for (const WrongPlaces& output : outputs_) inside_.emplace_back(output.wrong.size(), true);
  }

  [[nodiscard]] std::vector<NamedRule> run() {
    std::vector<NamedRule> chosen;
    std::uint64_t right = right_inside();
    while (right > 0 && chosen.size() < kMostParts) {
      std::optional<NamedRule> best;
      std::uint64_t fewest =
          chosen.empty() ? right : static_cast<std::uint64_t>(kOfFurtherRules * static_cast<double>(right));
      for (const Coordinate& coordinate : outputs_.front().coordinates) try_coordinate(coordinate.name, best, fewest);
      if (!best) break;
      restrict(*best);
      chosen.push_back(std::move(*best));
      right = fewest;
    }
    return chosen;
  }

 private:
  template <typename Visit>
  void visit(const std::string& name, const Visit& visit_element) const {
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      const Coordinate* const coordinate = coordinate_of(outputs_[o], name);
      for (std::size_t i = 0; i < inside_[o].size(); ++i) {
        if (inside_[o][i]) visit_element(coordinate->at[i], coordinate->extent[i], outputs_[o].wrong[i]);
      }
    }
  }

  [[nodiscard]] std::uint64_t right_inside() const {
    std::uint64_t count = 0;
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      for (std::size_t i = 0; i < inside_[o].size(); ++i) count += inside_[o][i] && !outputs_[o].wrong[i] ? 1 : 0;
    }
    return count;
  }

  void restrict(const NamedRule& rule) {
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      for (std::size_t i = 0; i < inside_[o].size(); ++i)
        inside_[o][i] = inside_[o][i] && holds_at(outputs_[o], rule, i);
    }
  }

  // The plainest rule comes first; another one replaces it where it leaves fewer right elements.
  void try_coordinate(const std::string& name, std::optional<NamedRule>& best, std::uint64_t& fewest) const {
    for (const WrongPlaces& output : outputs_) {
      if (coordinate_of(output, name) == nullptr) return;
    }
    // Elements with the same coordinate, and how many of them are right and wrong.
    std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::uint64_t, std::uint64_t>> alike;
    visit(name, [&](std::int64_t at, std::int64_t extent, bool is_wrong) {
      auto& counts = alike[{at, extent}];
      ++(is_wrong ? counts.second : counts.first);
    });
    const auto offer = [&](const PlaceRule& rule) {
      std::uint64_t right = 0;
      for (const auto& [place, counts] : alike) {
        const bool is_there = rule.holds(place.first, place.second);
        if (!is_there && counts.second > 0) return;
        right += is_there ? counts.first : 0;
      }
      if (right >= fewest) return;
      fewest = right;
      best = {name, rule};
    };
    std::int64_t least = INT64_MAX;
    std::int64_t most = 0;
    std::int64_t from_end = 0;
    std::set<std::int64_t> wrong;
    for (const auto& [place, counts] : alike) {
      if (counts.second == 0) continue;
      wrong.insert(place.first);
      least = std::min(least, place.first);
      most = std::max(most, place.first);
      from_end = std::max(from_end, place.second - place.first);
    }
    using enum PlaceRule::Kind;
    if (wrong.size() == 1) offer({is, least});
    offer({from, least});
    offer({up_to, most});
    offer({last, from_end});
    for (std::int64_t modulus = 2; modulus <= 64; ++modulus) offer({tail, 0, modulus});
    for (std::int64_t modulus = 2; modulus <= 256; modulus += modulus < 64 ? 1 : 64) {
      offer_remainders(wrong, modulus, offer);
    }
  }

  // A remainder that was seen in one period alone is a bound.
  template <typename Offer>
  static void offer_remainders(const std::set<std::int64_t>& wrong, std::int64_t modulus, const Offer& offer) {
    std::set<std::int64_t> periods;
    std::set<std::int64_t> remainders;
    for (const std::int64_t at : wrong) {
      periods.insert(at / modulus);
      remainders.insert(at % modulus);
    }
    if (periods.size() < 3 || static_cast<std::int64_t>(remainders.size()) == modulus) return;
    using enum PlaceRule::Kind;
    if (remainders.size() == 1) offer({remainder, *remainders.begin(), modulus});
    offer({remainder_from, *remainders.begin(), modulus});
    offer({remainder_up_to, *remainders.rbegin(), modulus});
  }

  std::vector<WrongPlaces> outputs_;
  std::vector<std::vector<bool>> inside_;
};

struct PlaceCounts {
  std::uint64_t wrong_there = 0;
  std::uint64_t right_there = 0;
  std::uint64_t wrong_elsewhere = 0;
  std::uint64_t right_elsewhere = 0;

  void add(const WrongPlaces& output, const std::vector<NamedRule>& place) {
    for (std::size_t i = 0; i < output.wrong.size(); ++i) {
      const bool is_there =
          std::all_of(place.begin(), place.end(), [&](const NamedRule& rule) { return holds_at(output, rule, i); });
      ++(is_there ? (output.wrong[i] ? wrong_there : right_there)
                  : (output.wrong[i] ? wrong_elsewhere : right_elsewhere));
    }
  }
};

// Outputs of many sizes: each size as large as fails, and several at once. Every third is held back.
std::vector<WrongPlaces> outputs_of_many_sizes(LikeCases& cases) {
  std::vector<SizeList> wanted{cases.base()};
  for (std::size_t i = 0; i < cases.sizes().size(); ++i) {
    for (const std::int64_t value : {5, 23, 70, 133, 300}) {
      SizeList sizes = cases.base();
      sizes[i] = sizes[i] + value;
      const auto& runs = cases.at(sizes);
      if (runs && runs->fails) wanted.push_back(sizes);
    }
  }
  Rng rng(1, wanted.size());
  for (int mixed = 0; mixed < 24; ++mixed) {
    SizeList sizes = cases.base();
    for (std::int64_t& size : sizes) size += rng.chance(1, 3) ? rng.between(0, 20) : 0;
    const auto& runs = cases.at(sizes);
    if (runs && runs->fails) wanted.push_back(sizes);
  }
  std::vector<WrongPlaces> outputs;
  std::size_t elements = 0;
  for (const SizeList& sizes : wanted) {
    if (elements > kMostOfAllOutputs) break;
    auto output = cases.places(sizes);
    if (!output) continue;
    elements += output->wrong.size();
    outputs.push_back(std::move(*output));
  }
  return outputs;
}

}  // namespace

void find_place(LikeCases& cases, Whereabouts& result) {
  std::vector<WrongPlaces> learnt_from;
  PlaceCounts counts;
  const std::vector<WrongPlaces> outputs = outputs_of_many_sizes(cases);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (i % 3 != 2) learnt_from.push_back(outputs[i]);
  }
  if (learnt_from.empty()) return;
  const std::vector<NamedRule> place = PlaceSearch(std::move(learnt_from)).run();
  if (place.empty()) return;
  for (const WrongPlaces& output : outputs) counts.add(output, place);
  const std::uint64_t there = counts.wrong_there + counts.right_there;
  const bool is_narrow = static_cast<double>(counts.wrong_there) >= kFewestWrongShare * static_cast<double>(there);
  if (counts.wrong_elsewhere > 0 || counts.wrong_there < kFewestWrongPlaces || !is_narrow) return;
  for (const NamedRule& part : place) {
    result.place += (result.place.empty() ? "" : ", ") + part.rule.text(part.name);
  }
  result.wrong_there = counts.wrong_there;
  result.right_there = counts.right_there;
  result.right_elsewhere = counts.right_elsewhere;
}

}  // namespace qconform::diagnose

#include "harness/suites/drawn_within.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "harness/suites/directed/directed.h"
#include "harness/suites/inside.h"

namespace qconform {
namespace {

using sweep::Contract;

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
      const Inside::Drawn& one = drawn[rng.below(static_cast<std::uint32_t>(drawn.size()))];
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
      const Inside::Drawn* const drawn = inside().of(directed_operator(index));
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

#include "harness/diagnose/explain/like_cases.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "harness/base/stopwatch.h"
#include "harness/model/family.h"

namespace qconform::diagnose {
namespace {

constexpr std::uint64_t kDrawsOfBase = 32;
constexpr std::uint64_t kFewestDraws = 6;
constexpr std::uint64_t kMostDrawsOfSizes = 40;
// How likely sizes that fail may pass with all values.
constexpr double kMissed = 1e-4;
constexpr std::uint64_t kDrawsOfPlaces = 16;
constexpr std::size_t kFailures = 48;
constexpr std::int64_t kMostLikeElements = 1 << 15;
constexpr std::int64_t kMostLikeProducts = 1 << 22;

std::uint64_t seed_of(const SizeList& sizes) {
  std::uint64_t seed = 0x9E3779B97F4A7C15U;
  for (const std::int64_t size : sizes) seed = Rng(seed, static_cast<std::uint64_t>(size)).next();
  return seed;
}

}  // namespace

LikeCases::LikeCases(const Case& failing, const Runner& run, const Policy& policy, const LocatingLimits& limits)
    : failing_(failing), run_(run), policy_(policy), limits_(limits), family_(*family_of(failing)) {
  if (family_.diagnosis.sizes != nullptr) sizes_ = family_.diagnosis.sizes(failing);
  for (const CaseSize& size : sizes_) base_.push_back(size.value);
}

bool LikeCases::is_left() const {
  return static_cast<double>(runs_) < share_ * static_cast<double>(limits_.runs) &&
         static_cast<double>(work_) < share_ * static_cast<double>(limits_.work) && seconds_ < share_ * limits_.seconds;
}

std::unique_ptr<Observation> LikeCases::run_once(const SizeList& sizes, std::uint64_t draw) {
  Rng rng(seed_of(sizes), draw);
  auto drawn = family_.diagnosis.draw_like(failing_, sizes, rng);
  if (!drawn) return nullptr;
  const Classification classification = classify(*drawn);
  if (!classification.lowered || classification.value_is_open) return nullptr;
  std::int64_t elements = 1;
  for (const std::int64_t dimension : classification.lowered->output_shape()) elements *= dimension;
  if (elements > kMostLikeElements || classification.lowered->work() > kMostLikeProducts) return nullptr;
  drawn->id = "like-" + std::to_string(draw);
  ++runs_;
  work_ += static_cast<std::uint64_t>(classification.lowered->work() + 20 * elements);
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run_(*drawn);
  seconds_ += seconds_since(start);
  auto observation = Observation::of(std::move(*drawn), outcome, policy_);
  return observation;
}

bool LikeCases::fails_often() {
  if (sizes_.empty()) return false;
  std::uint64_t failing = 0;
  for (std::uint64_t draw = 0; draw < kDrawsOfBase; ++draw) {
    const auto observation = run_once(base_, draw);
    failing += observation != nullptr && observation->is_failure() ? 1 : 0;
  }
  // A share that is lower by two deviations than what was seen.
  const double share = static_cast<double>(failing) / kDrawsOfBase;
  const double careful = share - 2 * std::sqrt(share * (1 - share) / kDrawsOfBase) - 0.01;
  if (careful <= 0) return false;
  const double wanted = std::ceil(std::log(kMissed) / std::log(1 - std::min(careful, 0.9)));
  draws_ = std::max(kFewestDraws, static_cast<std::uint64_t>(wanted));
  return draws_ <= kMostDrawsOfSizes;
}

const std::optional<SizedRuns>& LikeCases::at(const SizeList& sizes) {
  const auto [at, is_new] = tried_.try_emplace(sizes);
  if (!is_new) return at->second;
  for (std::uint64_t draw = 0; draw < draws_ && is_left(); ++draw) {
    auto observation = run_once(sizes, draw);
    if (observation == nullptr) {
      at->second.reset();
      return at->second;
    }
    if (!at->second) at->second = {false, features_of(observation->test_case(), observation->expected())};
    if (!observation->is_failure()) continue;
    at->second->fails = true;
    keep(std::move(observation));
    return at->second;
  }
  if (!is_left()) at->second.reset();
  return at->second;
}

// Later ones replace earlier ones here and there, so that their sizes differ.
void LikeCases::keep(std::unique_ptr<Observation> failure) {
  constexpr std::size_t kApart = 7;
  const std::size_t number = met_++;
  if (failure->has_wrong_shape()) return;
  if (failures_.size() < kFailures) {
    failures_.push_back(std::move(failure));
  } else {
    failures_[number * kApart % kFailures] = std::move(failure);
  }
}

const std::optional<SizedRuns>& LikeCases::with(std::size_t size, std::int64_t value) {
  SizeList sizes = base_;
  sizes[size] = value;
  return at(sizes);
}

std::optional<WrongPlaces> LikeCases::places(const SizeList& sizes) {
  std::optional<WrongPlaces> result;
  bool fails = false;
  for (std::uint64_t draw = 0; draw < kDrawsOfPlaces && is_left(); ++draw) {
    auto observation = run_once(sizes, draw);
    constexpr std::size_t kMostPlaces = 1 << 15;
    const bool is_usable = observation != nullptr && !observation->has_wrong_shape();
    if (!is_usable || observation->states().size() > kMostPlaces) return std::nullopt;
    if (!result) {
      const Lowered& lowered = observation->modelled().lowered();
      result.emplace();
      if (family_.diagnosis.coordinates != nullptr) result->coordinates = family_.diagnosis.coordinates(lowered);
      result->wrong.resize(observation->states().size());
      Coordinate element{"element", {}, {}};
      const auto count = std::ssize(observation->states());
      for (std::int64_t i = 0; i < count; ++i) element.add(i, count);
      result->coordinates.push_back(std::move(element));
    }
    for (std::size_t i = 0; i < result->wrong.size(); ++i) {
      if (observation->states()[i] == ElementState::wrong) result->wrong[i] = true;
    }
    if (!observation->is_failure()) continue;
    fails = true;
    keep(std::move(observation));
  }
  if (!fails) result.reset();
  return result;
}

}  // namespace qconform::diagnose

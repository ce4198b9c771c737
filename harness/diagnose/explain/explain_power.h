// How often explain() names a defect that was planted, and what it says of one that nobody modelled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/diagnose/explain/explain.h"

namespace qconform::diagnose {

/// A backend that computes as the model does, and refuses what is out of contract.
[[nodiscard]] Runner runner_of(DefectModel model);

/// A backend with known defects, in one operator.
struct Plant {
  const Operator* op = nullptr;
  std::vector<const Defect*> defects;

  [[nodiscard]] std::string name() const;
  [[nodiscard]] DefectModel model() const;
  [[nodiscard]] Runner runner() const;
};

/// Each defect in each operator in which the default profile does not admit it.
[[nodiscard]] std::vector<Plant> single_plants();
/// So many random defects that combine, in an operator of all of them in which not all are admitted.
[[nodiscard]] Plant random_plant(std::uint64_t seed, std::uint64_t index, std::size_t defects = 2);

/// How an answer stands to what was planted.
enum class Grade : std::uint8_t {
  named,       ///< explained, by these defects
  equivalent,  ///< explained, by a model that computes the same on every case tried
  incomplete,  ///< explained by some of them, and the planted set is listed as not excluded
  ambiguous,   ///< the planted set is one of several candidates
  learnt,      ///< an expression that computes the same on every case tried
  partial,     ///< a near set, marked so
  unexplained,
  wrong,  ///< explained by something else
};
[[nodiscard]] std::string_view name_of(Grade grade);

/// Counts how far an explanation's region and pattern hold on cases that it was not learnt from.
struct Soundness {
  std::uint64_t failing = 0;
  std::uint64_t outside_region = 0;   ///< failing cases that lack a condition of it
  std::uint64_t outside_pattern = 0;  ///< failing cases with a wrong element elsewhere
  std::uint64_t passing = 0;
  std::uint64_t passing_inside = 0;  ///< the region

  [[nodiscard]] bool region_holds() const { return outside_region == 0; }
  [[nodiscard]] bool pattern_holds() const { return outside_pattern == 0; }
};

struct Trial {
  Plant plant;
  std::optional<Explanation> explanation;  ///< absent when no case was found that fails
  Grade grade = Grade::unexplained;
  double processor_seconds = 0;  ///< user and system, of the explanation alone
  Soundness soundness;           ///< measured where defects are held out
};

struct TrialOptions {
  std::uint64_t seed = 1;
  std::uint64_t search = 600000;     ///< cases to look for a failing one in
  std::uint64_t comparisons = 4000;  ///< cases on which models are compared that have different names
  std::uint64_t further = 1500;      ///< cases at least on which region and pattern are held to what they say
  std::uint64_t failing = 100;       ///< failing ones among them at least, if most_further cases have so many
  std::uint64_t most_further = 60000;
  bool hold_out = false;  ///< explain without the planted defects among the models
};

/// Looks for a case on which the plant fails, as fuzzing does, and explains it. Everything that is done is bounded by
/// counts, so that the outcome is the same on every machine.
[[nodiscard]] Trial try_to_explain(const Plant& plant, const TrialOptions& options);

}  // namespace qconform::diagnose

// Runs of cases that are like a failing one but for their sizes and values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/rng.h"
#include "harness/diagnose/explain/whereabouts.h"

namespace qconform::diagnose {

using SizeList = std::vector<std::int64_t>;  ///< in the order of CaseSize

/// Tells whether cases of one list of sizes fail, with several values each.
struct SizedRuns {
  bool fails = false;  ///< with some values
  CaseTraits traits;
};

/// Elements of outputs of the same sizes, and which of them were wrong with some values.
struct WrongPlaces {
  std::vector<Coordinate> coordinates;
  std::vector<bool> wrong;
};

class LikeCases {
 public:
  LikeCases(const Case& failing, const Runner& run, const Policy& policy, const LocatingLimits& limits);

  [[nodiscard]] const std::vector<CaseSize>& sizes() const { return sizes_; }
  [[nodiscard]] const SizeList& base() const { return base_; }
  /// Whether less than the share that may be spent is spent.
  [[nodiscard]] bool is_left() const;
  void spend_up_to(double share) { share_ = share; }
  /// Whether the failing case fails with other values so often that one that passes so many times does pass.
  [[nodiscard]] bool fails_often();
  /// Nothing where the sizes do not fit together, are too large, or the backend gives no answer.
  [[nodiscard]] const std::optional<SizedRuns>& at(const SizeList& sizes);
  /// The base with one size changed.
  [[nodiscard]] const std::optional<SizedRuns>& with(std::size_t size, std::int64_t value);
  /// Everything that was tried, by its sizes.
  [[nodiscard]] const std::map<SizeList, std::optional<SizedRuns>>& tried() const { return tried_; }
  /// Runs these sizes with many values; nothing where none fails.
  [[nodiscard]] std::optional<WrongPlaces> places(const SizeList& sizes);
  /// Some of the failures that were met.
  [[nodiscard]] const std::vector<std::unique_ptr<Observation>>& failures() const { return failures_; }

 private:
  void keep(std::unique_ptr<Observation> failure);
  [[nodiscard]] std::unique_ptr<Observation> run_once(const SizeList& sizes, std::uint64_t draw);

  const Case& failing_;
  const Runner& run_;
  const Policy& policy_;
  LocatingLimits limits_;
  const Family& family_;
  std::vector<CaseSize> sizes_;
  SizeList base_;
  double share_ = 1;
  std::uint64_t draws_ = 0;  ///< values with which sizes that pass are run
  std::uint64_t runs_ = 0;
  std::uint64_t work_ = 0;
  double seconds_ = 0;
  std::map<SizeList, std::optional<SizedRuns>> tried_;
  std::vector<std::unique_ptr<Observation>> failures_;
  std::size_t met_ = 0;
};

/// Finds the sizes at which the case starts or ends to fail; those of the vocabulary (case_sizes()) come in place of
/// the one that was changed where they decide whatever the other sizes are.
[[nodiscard]] std::vector<std::string> find_thresholds(LikeCases& cases);
/// Finds the place that holds all wrong elements, and sets the counts.
void find_place(LikeCases& cases, Whereabouts& result);
/// A formula in the place of one of the reference's that gives every wrong element; empty where none does.
[[nodiscard]] std::string find_behaviour(const std::vector<const Observation*>& failures, const Policy& policy);

}  // namespace qconform::diagnose

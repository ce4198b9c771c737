// Finds the set of defects that comes nearest where none reproduces everything that was observed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/diagnose/explain/candidates.h"
#include "harness/diagnose/explain/evidence.h"

namespace qconform::diagnose {

/// Bounds an explanation: its counted work, so that the answer does not depend on how busy the machine is, and the time
/// that the backend takes, which nobody can count.
class Budget {
 public:
  /// `work` in products (ModelledCase::expense()), that of `test` included; `backend_seconds` wall-clock.
  Budget(const CandidateTest& test, std::uint64_t work, double backend_seconds)
      : test_(test), most_work_(work), most_seconds_(backend_seconds) {}

  void spend(std::uint64_t work) { other_work_ += work; }
  void spend_on_backend(double seconds) { backend_seconds_ += seconds; }

  [[nodiscard]] bool is_backend_left() const { return backend_seconds_ < most_seconds_; }
  [[nodiscard]] std::uint64_t work() const { return test_.work() + other_work_; }
  [[nodiscard]] std::uint64_t most_work() const { return most_work_; }
  /// Whether less than this share (0 to 1) of both is spent.
  [[nodiscard]] bool is_left(double share) const {
    return static_cast<double>(work()) < static_cast<double>(most_work_) * share &&
           backend_seconds_ < most_seconds_ * share;
  }

 private:
  const CandidateTest& test_;
  std::uint64_t most_work_;
  double most_seconds_;
  std::uint64_t other_work_ = 0;  // beside that of test_
  double backend_seconds_ = 0;
};

/// The set of one or two of the `known` defects that comes nearest: one that reproduces every element of the
/// case in question and explains more than it contradicts, or one that explains most wrong elements. Empty
/// where none is worth naming.
[[nodiscard]] std::vector<DefectSet> nearest_set(const CandidateTest& test, const Evidence& evidence,
                                                 std::span<const Defect* const> known, const Budget& budget);

}  // namespace qconform::diagnose

// A backend's answer to a case, held against the right answer and against a model's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "harness/core/outcome.h"
#include "harness/model/defects/modelled_case.h"
#include "harness/model/judge/judge.h"

namespace qconform::diagnose {

/// Runs one case on the backend in question.
using Runner = std::function<Outcome(const Case&)>;

/// The judgement of one element of a backend's output.
enum class ElementState : std::uint8_t {
  right,  ///< the reference's value
  legal,  ///< another one that the policy admits
  wrong,
};

/// A case, its right answer, and a backend's answer.
class Observation {
 public:
  /// Runs the case and observes the answer. Null where nothing can be learnt: the case is out of contract, any value is
  /// right, or there is no output.
  [[nodiscard]] static std::unique_ptr<Observation> of(Case test_case, const Runner& run, const Policy& policy);
  /// Makes an observation from an outcome that is at hand.
  [[nodiscard]] static std::unique_ptr<Observation> of(Case test_case, const Outcome& outcome, const Policy& policy);
  /// Makes an observation from an outcome and an expectation that are at hand; case and expectation must outlive it.
  [[nodiscard]] static std::unique_ptr<Observation> borrowing(const Case& test_case, const Expected& expected,
                                                              const Outcome& outcome);

  /// Returns a copy that outlives the case.
  [[nodiscard]] std::unique_ptr<Observation> copy() const {
    return of(case_, outcome::Produced{got_}, expected_.policy);
  }

  [[nodiscard]] const Case& test_case() const { return case_; }
  /// The expectation, with what assess() adds.
  [[nodiscard]] const Expected& expected() const { return expected_; }
  [[nodiscard]] const ModelledCase& modelled() const { return *modelled_; }
  /// The reference's answer, or the pinned one.
  [[nodiscard]] const Tensor& right() const { return expected_.pinned ? *expected_.pinned : *expected_.output; }
  [[nodiscard]] const Tensor& got() const { return got_; }
  /// One for each element; empty where the output's type or shape is wrong.
  [[nodiscard]] const std::vector<ElementState>& states() const { return states_; }
  [[nodiscard]] bool has_wrong_shape() const { return has_wrong_shape_; }
  [[nodiscard]] std::uint64_t wrong_elements() const { return wrong_; }
  [[nodiscard]] bool is_failure() const { return has_wrong_shape_ || wrong_ > 0; }
  /// Products, or elements of an element-wise node.
  [[nodiscard]] std::int64_t work() const { return modelled_->work(); }

 private:
  /// A case and what is expected of it, where nobody else holds them.
  struct Owned {
    Case test_case;
    Expected expected;
  };

  Observation(const Case& test_case, const Expected& expected, std::unique_ptr<Owned> owned)
      : owned_(std::move(owned)), case_(test_case), expected_(expected) {}
  /// False where nothing can be learnt.
  [[nodiscard]] bool take(const Outcome& outcome);

  std::unique_ptr<Owned> owned_;
  const Case& case_;
  const Expected& expected_;
  std::unique_ptr<ModelledCase> modelled_;
  Tensor got_;
  std::vector<ElementState> states_;
  bool has_wrong_shape_ = false;
  std::uint64_t wrong_ = 0;
};

/// How a model's answer stands to a backend's.
struct Match {
  bool holds = false;           ///< no element contradicts the model
  bool is_near = false;         ///< where it does not hold: no element is off by more than one step of an integer
  std::uint64_t legal = 0;      ///< elements where backend and model differ, and which the defect did not touch:
                                ///< the model has the reference's value there, the backend another admitted one
  std::uint64_t explained = 0;  ///< wrong elements that the model has too
  std::uint64_t broken = 0;     ///< elements where the backend is right or legal, and the model contradicts it

  [[nodiscard]] bool is_exact() const { return holds && legal == 0; }
};

/// Compares a model's answer (nothing: it has none) with what was observed.
[[nodiscard]] Match match(const Observation& observation, const std::optional<Tensor>& predicted);

}  // namespace qconform::diagnose

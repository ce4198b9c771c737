// A backend's answer to a case, held against the right answer and a model's, and the regions of an output where kernels
// tend to be wrong together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
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
  bool is_near = false;         ///< no contradicting element is off by more than one step of an integer
  std::uint64_t legal = 0;      ///< elements where backend and model differ, and which the defect did not touch:
                                ///< the model has the reference's value there, the backend another admitted one
  std::uint64_t explained = 0;  ///< wrong elements that the model has too
  std::uint64_t broken = 0;     ///< elements where the backend is right or legal, and the model contradicts it

  [[nodiscard]] bool is_exact() const { return holds && legal == 0; }
};

/// Compares a model's answer (nothing: it has none) with what was observed.
[[nodiscard]] Match match(const Observation& observation, const std::optional<Tensor>& predicted);

// Regions of an output where kernels tend to be wrong together: borders, tails, ties, ...

/// An element of an output, as far as it is known where it lies. What a family does not say stays as it is here.
struct Element {
  std::int64_t index = 0;
  std::int64_t count = 1;  ///< how many elements the output has
  // The place in an output [images, channels, ...]; where elements have parameters of their own, the position of those
  // is the "channel".
  std::int64_t image = 0;
  std::int64_t channel = 0;
  std::int64_t channels = 1;
  std::int64_t group = 0;
  std::int64_t column = 0;  ///< along the last axis
  std::int64_t columns = 1;
  bool is_last_row = false;
  bool touches_padding = false;
  bool is_padding_only = false;
  bool is_saturated = false;
  bool is_tie = false;
  bool is_open = false;  ///< another value than the reference's is legal
};

struct OutputRegion {
  std::string_view id;           ///< "border"
  std::string_view description;  ///< "windows that reach the padding"
};

/// All regions.
[[nodiscard]] std::span<const OutputRegion> output_regions();

/// For each element of the output the regions that it lies in: bit i stands for output_regions()[i]. "One
/// channel" and the like are those of the first wrong element. The shape of the output is right.
[[nodiscard]] std::vector<std::uint64_t> output_regions_of(const Observation& observation);

}  // namespace qconform::diagnose

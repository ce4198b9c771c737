// Case + Outcome -> Verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/core/tensor.h"
#include "harness/core/verdict.h"
#include "harness/model/operator.h"

namespace qconform {

// An output compared with the right answers, element by element.

struct Comparison {
  std::uint64_t wrong = 0;
  std::int64_t worst = -1;    ///< flat index of the wrong element farthest from the reference's
  double worst_distance = 0;  ///< infinite where values cannot be compared (NaN against a number)
  TierCounts tiers;           ///< how many elements lie in each tier, where the operator has tiers
  ErrorHistogram errors;      ///< the errors of the wrong elements
};

/// Whether element `index` of `got` is right; the arguments are those of compare(). An element that is not
/// the exact one is counted in `tiers`.
[[nodiscard]] bool is_right(const Lowered& lowered, const Tensor& got, const Tensor& exact, const Tensor* pinned,
                            const Policy& policy, std::int64_t index, TierCounts& tiers);

/// `got` and `exact` have the same type and shape; `exact` is the reference's answer, correctly
/// rounded. Where `pinned` is given it holds the only right values. Elements that equal the exact
/// ones are right at once; the others are examined one by one.
[[nodiscard]] Comparison compare(const Lowered& lowered, const Tensor& got, const Tensor& exact, const Tensor* pinned,
                                 const Policy& policy);

// Messages of a library, whatever case they are about.

/// The message without what changes from case to case and from run to run: numbers, quoted text, addresses, paths, and
/// the names of the case's tensors, with what a library appends to them. Operators and the other words stay, one space
/// between them, at most 160 bytes. The same message about another case gives the same signature.
[[nodiscard]] std::string message_signature(std::string_view message, const Case& test_case);

// Whether a right output proves anything.

/// Why passing on this output would prove nothing, or an empty string. `right` is the reference's answer. An output of
/// fewer than kFewElements elements is never vacuous: somebody made the case by hand, or shrinking did, to show one
/// thing.
[[nodiscard]] std::string why_vacuous(const Tensor& right, const TieCounts& ties);

inline constexpr std::int64_t kFewElements = 16;

// The right answer to a case, and the verdict on an outcome.

/// The right answer to one case, computed once and held against every backend. The case must outlive it.
struct Expected {
  const Case* test_case = nullptr;
  Policy policy;
  Classification classification;
  std::optional<Tensor> output;         ///< the reference's answer, correctly rounded; absent when the case is
                                        ///< out of contract, or any in-range value is right
  std::vector<Tensor> further_outputs;  ///< the reference's answers for outputs of a graph behind the first
  std::optional<Tensor> pinned;         ///< the only right values, under a profile that pins an expression

  /// The reference's answer for one of the outputs; there is one.
  [[nodiscard]] const Tensor& output_at(std::size_t number) const {
    return number == 0 ? *output : further_outputs[number - 1];
  }

  /// The reference's answers for all outputs; there is one.
  [[nodiscard]] std::vector<Tensor> answers() const {
    std::vector<Tensor> all{*output};
    all.insert(all.end(), further_outputs.begin(), further_outputs.end());
    return all;
  }

  // The members below are set by assess().
  TieCounts ties;
  CornerCaseCounts corner_cases;          ///< corner cases that the case reaches
  std::string vacuous_because;            ///< why passing would prove nothing; empty when it would
  bool recorded_output_disputed = false;  ///< the source's own answer is not admissible
  std::optional<Verdict> defect;          ///< on the answer of the defect that the case guards against, where the
                                          ///< policy does not admit it: a right answer then proves something
  bool defect_disputed = false;           ///< the rules admit what that defect gave
  bool expectation_disputed = false;      ///< the source expects something else than the rules
};

/// `policy`, or under the default profile the one that the case's tag "profile:NAME" chooses.
[[nodiscard]] Policy policy_for(const Case& test_case, Policy policy);

// An expectation takes the classification of the case, or classifies it.

/// Returns an expectation that needs no computing: it judges the output's type and shape, writes outside it, and
/// refusals. Any value passes.
[[nodiscard]] Expected expect_form(const Case& test_case, const Policy& policy, Classification classification);
[[nodiscard]] Expected expect_form(const Case& test_case, const Policy& policy);

/// Runs the reference. Under the default profile, a case's tag "profile:NAME" chooses another.
[[nodiscard]] Expected expect(const Case& test_case, const Policy& policy, Classification classification);
[[nodiscard]] Expected expect(const Case& test_case, const Policy& policy);

/// Adds to `expected` everything that can be said of the case before any backend has run it.
void assess(const Case& test_case, Expected& expected);

/// One element of the first output, of the right type and shape, for the reader. `expected` has an output.
struct ElementView {
  bool right = false;
  std::string got;
  std::string expected;    ///< the reference's value, or the pinned one
  std::string exact;       ///< before rounding; may be empty
  std::string admissible;  ///< "{214}"
};
[[nodiscard]] ElementView view(const Expected& expected, const Tensor& got, std::int64_t index);

/// Judges one backend's outcome.
[[nodiscard]] Verdict judge(const Expected& expected, const Outcome& outcome);

/// Returns what the case must record of a backend that fails it, so that a right answer proves the defect absent.
/// Nothing where only a profile forbids what it gave.
[[nodiscard]] std::optional<DefectAnswer> defect_answer(const Case& test_case, const Policy& policy,
                                                        const Outcome& outcome, const Verdict& verdict);

/// The tag of a case that has another x than its suite gave it.
inline constexpr std::string_view kAnotherXTag = "another-x";

/// A case, and what the backend gave for it.
struct SelfContained {
  Case test_case;
  Outcome outcome;  ///< Produced
};

/// Returns the case with the other x where a prepared node gave its first answer again and that is wrong, and no new
/// process was asked whether it gives this answer too (OnOtherInput::is_own): only that tells a backend that keeps the
/// first x from one that is wrong on the other by itself. Nothing otherwise.
[[nodiscard]] std::optional<Case> doubtful_other_input(const Case& test_case, const Outcome& outcome);

/// Returns a case that fails by itself where a prepared node is right on the x of the case and wrong on the other x
/// that it then got: the case with that x, on which a newly prepared node gives the same answer. It has the tag, and
/// the case's id with "/another-x". Nothing otherwise, and where the answer depends on earlier runs.
[[nodiscard]] std::optional<SelfContained> with_its_own_input(const Expected& expected, const Outcome& outcome);

/// Returns the profiles that pin one answer for each case and whose answer equals the wrong output, bit for bit. None
/// where the operator has no tiers, or an element lies in none of them.
[[nodiscard]] std::vector<Profile> profiles_that_pin(const Expected& expected, const Outcome& outcome);

}  // namespace qconform

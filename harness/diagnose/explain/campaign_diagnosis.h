// Diagnoses the failures of a campaign at bounded expense: few are explained, the others are held against the causes
// found, and those without one are taken apart.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/backend.h"
#include "harness/diagnose/explain/candidates.h"
#include "harness/diagnose/explain/conditions.h"
#include "harness/diagnose/explain/cures.h"
#include "harness/diagnose/explain/explain.h"
#include "harness/diagnose/explain/probes.h"
#include "harness/diagnose/explain/values.h"
#include "harness/diagnose/explain/whereabouts.h"
#include "harness/engine/findings.h"
#include "harness/engine/shrink/shrink.h"

namespace qconform::diagnose {

/// Whether a case without values fails so by itself, each time: an experiment tells what cures it.
[[nodiscard]] bool ends_alike(VerdictKind kind);

// The causes of one backend's failures on one operator: which defects reproduce which of them.

/// Failures that belong together.
struct RelatedFailures {
  static constexpr std::size_t kLearnt = 2000;  ///< failing cases that regions are learnt from
  static constexpr std::size_t kKept = 256;     ///< failing cases that are looked at once more,
  static constexpr std::uint64_t kKeptExpense = std::uint64_t{1} << 20;  ///< none of them with more products than this

  /// Wrong elements of one output are much alike.
  static constexpr std::uint64_t kEvidence = 4;

  std::uint64_t examined = 0;
  std::uint64_t evidence = 0;  ///< wrong elements of those, up to kEvidence of each
  std::vector<CaseTraits> failing;
  Evidence kept;  ///< the first ones, and later ones at growing distances

  void note(const Observation& observation);
  void take_over(RelatedFailures other);
  /// None is known by its number alone.
  [[nodiscard]] bool are_all_kept() const { return kept.size() == examined; }
};

/// A group of failures that reports tell as one finding: all have one cause, or no cause is known of any.
struct FailureGroup {
  std::string signature;
  Status status = Status::unexplained;
  std::optional<std::size_t> cause;        ///< its position
  std::string failing_part;                ///< without a cause: their smallest failing part, which names them; or empty
  std::vector<std::string> parts;          ///< signatures that its failures had for the time being
  std::optional<Explanation> explanation;  ///< explanation of the cause, or of one failure without a cause
  std::string where;
  std::optional<WrongPlace> values;        ///< without a cause: of all its failures
  std::optional<Whereabouts> whereabouts;  ///< of the smallest case
  RelatedFailures failures;
  std::vector<std::string> only_when;    ///< conditions without which passing cases contradict the cause
  std::uint64_t contradicting = 0;       ///< passing cases that contradict it all the same
  std::vector<CaseTraits> smallest;      ///< features of smaller cases that were made of these
  std::optional<Region> united;          ///< without a cause: the conditions under which several parts fail together
  std::optional<TriedConditions> tried;  ///< without a cause: what its conditions are learnt from besides
};

/// Says where the failures are wrong, which names those without a cause or a failing part.
void describe_place(FailureGroup& group);

class Causes {
 public:
  static constexpr std::size_t kOpen = 1600;      ///< failures without a cause that are kept to be taken apart,
  static constexpr std::size_t kPassing = 256;    ///< and passing cases that causes are held against
  static constexpr std::size_t kSearchedIn = 48;  ///< open failures that a cause is looked for in
  static constexpr std::uint64_t kSearchWork = std::uint64_t{1} << 26;  ///< products, for each cause,
  static constexpr std::uint64_t kAllSearchWork = kSearchWork * 3;      ///< and for all of them
  static constexpr std::uint64_t kClaimedThoroughly = 100;              ///< failures that every cause is tried on
  static constexpr std::ptrdiff_t kFewestOfASingle = 3;
  static constexpr std::uint64_t kSingleWork = std::uint64_t{1} << 30;  ///< products, of one find_singles()

  /// `base`: CandidateTest's.
  Causes(const Operator& op, const Policy& policy, const Arithmetic* base = nullptr);

  void passed(const Observation& observation);
  [[nodiscard]] bool wants_passed() const { return passed_.size() < kPassing; }

  /// Counts a failure to the causes that reproduce it. The signature holds until the end: "causes 0 3". Empty, and
  /// nothing is counted, where none does.
  [[nodiscard]] std::string claim(const Observation& observation);
  /// Counts one that no cause reproduces, under a signature of its own; nothing where there is no room for more.
  [[nodiscard]] std::optional<std::string> keep_open(const Observation& observation);
  /// Whether a cause was added since keep_open() gave the signature that reproduces its failure.
  [[nodiscard]] bool has_cause(const std::string& signature) const;
  /// Notes that the cause reproduces the failure with that signature, which is open.
  void give(std::size_t cause, const std::string& signature);
  /// Whether a failure that was counted got that signature.
  [[nodiscard]] bool has_given(const std::string& signature) const;
  /// Failures that were kept open, those included that a later cause has.
  [[nodiscard]] std::size_t open() const { return open_; }

  /// A set that reproduces some failure: it may have others that no cause had. No change but for the explanation where
  /// it is known. Returns its position.
  std::size_t add(DefectSet set, std::optional<Explanation> explanation);
  /// Looks for causes of the open failures, until there is none or too much was spent on it.
  void find();
  /// Adds each known defect that reproduces kFewestOfASingle open failures which no commoner one does: find() searches
  /// the smallest alone.
  void find_singles();

  /// Returns the smallest kSearchedIn kept failures that no cause reproduces.
  [[nodiscard]] std::vector<const Observation*> smallest_open() const;
  /// Returns by which values the elements of a group without a cause are wrong, held against passing cases.
  [[nodiscard]] std::optional<WrongPlace> values_of(const FailureGroup& group) const;
  /// Passing cases on which the cause's models compute something wrong.
  [[nodiscard]] std::vector<const Observation*> contradicting(std::size_t cause) const;
  /// Whether the cause's models may compute what is right.
  [[nodiscard]] bool is_right_on(std::size_t cause, const Observation& observation) const;
  /// Whether a cause that is explained without doubt has every byte of it.
  [[nodiscard]] bool is_explained(const Observation& observation) const;

  /// Takes the failures out, by cause: each goes to the one that has the most of those that are left. Last those
  /// without a cause, by their failing parts, which are given by signature; `unexplained` is of one of them. Failures
  /// that could not be compared with every cause belong to no group, unless there is no other.
  [[nodiscard]] std::vector<FailureGroup> take_groups(const std::optional<Explanation>& unexplained,
                                                      const std::map<std::string, std::string>& failing_parts);

  [[nodiscard]] const std::vector<const Defect*>& defects_of(std::size_t cause) const {
    return causes_[cause].set.defects;
  }
  /// The cause under the first arithmetic under which it has every byte of these; nothing where it takes several.
  [[nodiscard]] std::optional<DefectSet> fitting_all(std::size_t cause, const Evidence& kept) const;
  [[nodiscard]] const CandidateTest& test() const { return test_; }
  /// Shows the cause on these, or on the passing cases that were kept.
  [[nodiscard]] std::optional<SeparatingCase> experiment(std::size_t cause, const Evidence& kept) const;
  /// Whether the one's defects are some of the other's, and not all.
  [[nodiscard]] bool is_part(std::size_t cause, std::size_t of) const;
  /// The explanation without doubt of a set that this one is a part of: it speaks for each of its defects. Null where
  /// there is none.
  [[nodiscard]] const Explanation* explanation_of_whole(std::size_t cause) const;
  /// Work of the models that claim() has run so far, in products.
  [[nodiscard]] std::uint64_t claim_work() const { return claim_work_; }
  /// Whether its defects have every byte of it, under some admitted arithmetic.
  [[nodiscard]] bool reproduces(std::size_t cause, const Observation& observation) const;

 private:
  struct Cause {
    DefectSet set;
    CandidateModels models;
    std::optional<Explanation> explanation;  ///< absent where nothing but the failures speaks for it
    std::uint64_t cases = 0;                 ///< failing cases that it claimed
  };
  /// Failures with the same signature for the time being.
  struct Part {
    RelatedFailures failures;
    std::vector<std::size_t> causes;  ///< positions of the causes that reproduce them
    std::size_t compared = 0;         ///< how many causes there were for each failure to be compared with
  };
  using Parts = std::vector<std::pair<std::string, Part>>;  ///< by signature, in the order of their first ones

  [[nodiscard]] Part& part_of(const std::string& signature);
  [[nodiscard]] const Part* find_part(const std::string& signature) const;
  [[nodiscard]] std::vector<std::size_t> claims_on(const Observation& observation);
  void drop_larger(std::vector<std::size_t>& claims) const;
  void add_parts(std::size_t cause);
  void give_to(std::size_t cause);
  void leave_to_search(std::vector<const Observation*>& open) const;
  [[nodiscard]] std::optional<std::size_t> commonest_of(const std::vector<Part*>& parts) const;
  [[nodiscard]] FailureGroup begin_group(std::size_t cause) const;

  CandidateTest test_;
  std::vector<const Defect*> known_;
  std::vector<Cause> causes_;
  Parts parts_;
  Evidence passed_;
  std::size_t open_ = 0;
  std::uint64_t claimed_ = 0;
  std::uint64_t claim_work_ = 0;
  std::uint64_t search_work_ = 0;
};

// The failures of all backends on all operators.

class CampaignDiagnosis final : public Diagnoser {
 public:
  // Bounds on the work, for each backend and operator.
  static constexpr int kExplanations = 6;                   ///< calls of explain(); as many again at the end
  static constexpr int kExplanationsWhenSettled = 3;        ///< calls for failures that come up afterwards
  static constexpr double kExplanationSeconds = 1.5;        ///< time of the backend in each call
  static constexpr int kTried = 4;                          ///< groups whose conditions are tried on cases that pass
  static constexpr int kLocated = 4;                        ///< findings whose whereabouts are asked for
  static constexpr int kClaimedParts = 64;                  ///< failures with a cause that failing parts are taken of
  static constexpr double kIdentifyingSeconds = 5;          ///< time of the backend, to learn its arithmetic
  static constexpr std::uint64_t kExaminedAfterwards = 16;  ///< failures of which one is examined, once `examining` is
                                                            ///< spent; the others are kUndetermined

  struct Limits {
    ExplainOptions each{.work = std::uint64_t{1} << 28,
                        .learning_work = 0,
                        .seconds = kExplanationSeconds,
                        .nearest = false};             ///< limits of one explanation
    std::uint64_t learning = std::uint64_t{1} << 28;   ///< work of learning a model where none explains, in products
    std::uint64_t examining = std::uint64_t{1} << 30;  ///< work of running models on failures, in products
  };

  /// Features of failing cases with one signature, and of passing cases, which were gathered elsewhere.
  struct Learnt {
    std::vector<CaseTraits> failing;
    std::vector<CaseTraits> passing;
  };

  /// The backends outlive it.
  CampaignDiagnosis(const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy, Limits limits)
      : backends_(backends), policy_(policy), limits_(std::move(limits)) {}
  CampaignDiagnosis(const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy)
      : CampaignDiagnosis(backends, policy, Limits()) {}

  void passed(std::size_t backend, const Case& test_case, const Expected& expected) override;
  [[nodiscard]] std::string failed(std::size_t backend, const Case& test_case, const Expected& expected,
                                   const Outcome& outcome, const Verdict& verdict) override;
  /// One cause is one signature: the failures are given, cause by cause, to the one that reproduces most of those that
  /// are left, bit for bit. An explanation that had too few cases to be certain is looked for once more, with those
  /// that were kept.
  [[nodiscard]] std::string settled(std::size_t backend, const std::string& op_type,
                                    const std::string& signature) override;
  [[nodiscard]] bool has_cause(std::size_t backend, const std::string& op_type, const std::string& signature,
                               const Expected& expected, const Outcome& outcome) const override;
  [[nodiscard]] std::string met(std::size_t backend, const Expected& expected, const Outcome& outcome) override;
  [[nodiscard]] std::optional<Diagnosis> diagnosis(std::size_t backend, const std::string& op_type,
                                                   const std::string& signature) const override;
  /// The signature of failures that each of these known defects reproduces alone, or none of all known ones where the
  /// list is empty, as far as that follows: kUndetermined where only a comparison with the causes found would tell.
  /// Once they are settled.
  [[nodiscard]] std::string implied(std::size_t backend, const std::string& op_type,
                                    const std::vector<std::string>& reproducing) const;
  /// Tells waivers how many failing cases that are known of a finding lack a condition. Once they are settled.
  [[nodiscard]] CasesOutside cases_outside() const;
  /// Learns from the example of a finding: where it is wrong, and which of its elements are wrong by this cause alone.
  /// If shrinking made it smaller, no condition stays that it contradicts, and a failing part is named after it.
  void refine(Finding& finding, std::size_t backend);
  /// Replaces what was learnt of the failures with that signature, if there are any, and of the cases that pass.
  void learn(std::size_t backend, const std::string& op_type, const std::string& signature, Learnt learnt);

 private:
  /// One backend on one operator.
  struct DiagnosedOperator {
    BaseArithmetic base;           ///< from the first failure on
    std::optional<Causes> causes;  ///< present from the first failure on
    bool are_graphs = false;       ///< cures are looked for of graphs alone
    PassedCases passed;
    std::uint64_t failed = 0;
    int claimed_parts = 0;
    int replays = 0;  ///< in processes of their own, of failures that no cause reproduced
    int explanations = 0;
    // Work that is left to explanations which name no cause, in products.
    std::uint64_t explaining = 0;  ///< of failures that no cause reproduces
    std::uint64_t confirming = 0;  ///< of causes that are in doubt
    int explained_when_settled = 0;
    /// The least parts of failures that were open, by their signatures: for those that stay so.
    std::map<std::string, std::string> failing_parts;
    std::optional<Explanation> unexplained;  ///< explanation of the first failure that explain() found no cause of
    std::vector<FailureGroup> groups;        ///< once it is settled
    bool is_settled = false;
    /// Features of failures without values, RelatedFailures::kLearnt of each signature (signature_of()).
    std::map<std::string, std::vector<CaseTraits>> without_values;
    int located = 0;  ///< failures whose whereabouts were asked for
  };

  void note_without_values(std::size_t backend, const Case& test_case, const Expected& expected,
                           const std::string& signature);
  /// Returns the name of what has to be switched off for the graph to be right (cures.h); where other causes are
  /// switched off with it, also how it rewrites the smallest failing part, or that part. Empty where nothing is known.
  /// `end` tells how the failure ends; without it the part tells that.
  [[nodiscard]] std::string cured_part_of(std::size_t backend, const Case& test_case,
                                          const std::string& end = {}) const;
  /// Returns the end of a signature that begins with the name of a cause: how that part rewrites the smallest failing
  /// part of the graph, or that part, and how the failure ends.
  [[nodiscard]] std::string ending_of(std::size_t backend, const Case& test_case, const std::string& cause,
                                      const std::string& end) const;
  /// The same, or the smallest failing part where nothing cures it.
  [[nodiscard]] std::string part_of(std::size_t backend, const Case& test_case) const;
  [[nodiscard]] std::string with_cure(std::size_t backend, const Case& test_case, std::string signature);
  [[nodiscard]] Cures& cures_of(std::size_t backend) const;
  /// The diagnosis without a cure: a cause and conditions, as far as some were found.
  [[nodiscard]] std::optional<Diagnosis> diagnosis_of_values(std::size_t backend, const std::string& op_type,
                                                             const std::string& signature) const;
  [[nodiscard]] static std::optional<Diagnosis> conditions_of(const DiagnosedOperator& subject,
                                                              const std::string& signature);
  [[nodiscard]] std::unique_ptr<Observation> failing_output(Backend& backend, const Case& test_case) const;
  /// shrink::failing_part on the backend; nothing for a case that is no graph.
  [[nodiscard]] std::optional<shrink::FailingPart> failing_part_of(Backend& backend, const Case& test_case) const;
  /// `signature`: of the failure, which is open.
  void explain_open(DiagnosedOperator& subject, Backend& backend, const Observation& observation,
                    const std::string& signature) const;
  [[nodiscard]] ExplainOptions options_for(const DiagnosedOperator& subject) const;
  [[nodiscard]] bool fails_alone(DiagnosedOperator& subject, Backend& backend, const Observation& observation) const;
  /// Takes half of the work that is `left` at most, and what it took off that where it names no cause.
  [[nodiscard]] Explanation explain_case(Backend& backend, const Observation& observation, ExplainOptions options,
                                         std::uint64_t& left) const;
  void settle(DiagnosedOperator& subject, Backend& backend) const;
  /// Looks for a model of what no cause reproduces, once.
  void learn_open(DiagnosedOperator& subject, Backend& backend) const;
  /// Looks for an explanation of a group that has none that is certain, with the failures that were kept.
  void confirm(DiagnosedOperator& subject, FailureGroup& group, Backend& backend) const;
  static void explain_part(const DiagnosedOperator& subject, FailureGroup& group, Explanation whole);
  static void decide(const DiagnosedOperator& subject, FailureGroup& group);
  static void unite_groups(DiagnosedOperator& subject);
  void unite_parts(DiagnosedOperator& subject, Backend& backend) const;
  /// Tries the conditions of a group without a cause on cases that pass.
  void try_conditions_of(FailureGroup& group, const DiagnosedOperator& subject, Backend& backend) const;
  [[nodiscard]] static FailureGroup* group_named(DiagnosedOperator& subject, const std::string& signature);
  /// Asks where and from which sizes on a finding without a certain cause fails.
  void locate_failure(Finding& finding, DiagnosedOperator& subject, FailureGroup& group, std::size_t backend) const;
  [[nodiscard]] static Region region_of(const DiagnosedOperator& subject, const FailureGroup& group);

  const std::vector<std::unique_ptr<Backend>>& backends_;
  Policy policy_;
  Limits limits_;
  std::map<std::pair<std::size_t, std::string>, DiagnosedOperator> subjects_;
  mutable std::map<std::size_t, Cures> cures_;
  mutable std::map<std::pair<std::size_t, std::string>, std::set<std::string>> beside_;  // by signature
};

}  // namespace qconform::diagnose

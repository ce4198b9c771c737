// Diagnoses the failures of a campaign at bounded expense: few are explained, the others are held against
// the causes found, and what has none is taken apart (causes.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/backend.h"
#include "harness/diagnose/explain/base_arithmetic.h"
#include "harness/diagnose/explain/causes.h"
#include "harness/diagnose/explain/explain.h"
#include "harness/engine/findings.h"
#include "harness/engine/shrink/shrink.h"

namespace qconform::diagnose {

class CampaignDiagnosis final : public Diagnoser {
 public:
  // Bounds on the work, for each backend and operator.
  static constexpr int kExplanations = 6;                   ///< calls of explain(); as many again at the end
  static constexpr int kExplanationsWhenSettled = 3;        ///< calls for failures that come up afterwards
  static constexpr double kExplanationSeconds = 1.5;        ///< time of the backend in each call
  static constexpr double kIdentifyingSeconds = 5;          ///< time of the backend, to learn its arithmetic
  static constexpr std::uint64_t kExaminedAfterwards = 16;  ///< failures of which one is examined, once `examining` is
                                                            ///< spent; the others are kUndetermined

  struct Limits {
    ExplainOptions each{.learning_work = 0, .seconds = kExplanationSeconds};  ///< limits of one explanation
    std::uint64_t learning = std::uint64_t{1} << 29;   ///< work of learning a model where none explains, in products
    std::uint64_t examining = std::uint64_t{1} << 32;  ///< work of running models on failures, in products
  };

  /// Features of failing cases with one signature, and of passing cases, which were gathered elsewhere.
  struct Learnt {
    std::vector<FeatureSet> failing;
    std::vector<FeatureSet> passing;
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
  /// Learns from the smallest case of a finding, once that is shrunk: no condition stays that it contradicts, and a
  /// failing part is named after it.
  void refine(Finding& finding, std::size_t backend);
  /// Replaces what was learnt of the failures with that signature, if there are any, and of the cases that pass.
  void learn(std::size_t backend, const std::string& op_type, const std::string& signature, Learnt learnt);

 private:
  /// One backend on one operator.
  struct Subject {
    BaseArithmetic base;           ///< from the first failure on
    std::optional<Causes> causes;  ///< present from the first failure on
    std::vector<FeatureSet> passing;
    std::uint64_t passed = 0;
    std::uint64_t failed = 0;
    int explanations = 0;
    int explained_when_settled = 0;
    /// The least parts of failures that were open, by their signatures: for those that stay so.
    std::map<std::string, std::string> failing_parts;
    std::optional<Explanation> unexplained;  ///< explanation of the first failure that explain() found no cause of
    std::vector<FailureGroup> groups;        ///< once it is settled
    bool is_settled = false;
  };

  [[nodiscard]] std::unique_ptr<Observation> failing_output(Backend& backend, const Case& test_case) const;
  /// shrink::failing_part on the backend; empty where the family is not told by parts.
  [[nodiscard]] std::string failing_part_of(Backend& backend, const Case& test_case) const;
  /// `signature`: of the failure, which is open.
  void explain_open(Subject& subject, Backend& backend, const Observation& observation,
                    const std::string& signature) const;
  [[nodiscard]] ExplainOptions options_for(const Subject& subject) const;
  [[nodiscard]] static Explanation explain_case(Backend& backend, const Observation& observation,
                                                const ExplainOptions& options);
  void settle(Subject& subject, Backend& backend) const;
  /// Looks for a model of what no cause reproduces, once.
  void learn_open(Subject& subject, Backend& backend) const;
  /// Looks for an explanation of a group that has none that is certain, with the failures that were kept.
  void confirm(Subject& subject, FailureGroup& group, Backend& backend) const;
  static void explain_part(const Subject& subject, FailureGroup& group, Explanation whole);
  static void decide(const Subject& subject, FailureGroup& group);
  static void unite_groups(Subject& subject);
  [[nodiscard]] static FailureGroup* group_named(Subject& subject, const std::string& signature);
  [[nodiscard]] static Region region_of(const Subject& subject, const FailureGroup& group);

  const std::vector<std::unique_ptr<Backend>>& backends_;
  Policy policy_;
  Limits limits_;
  std::map<std::pair<std::size_t, std::string>, Subject> subjects_;
};

}  // namespace qconform::diagnose

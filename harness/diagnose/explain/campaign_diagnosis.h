// Diagnoses the failures of a campaign at bounded expense: few are explained, the others are held against
// the explanations found.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/backend.h"
#include "harness/diagnose/explain/evidence.h"
#include "harness/diagnose/explain/explain.h"
#include "harness/engine/diagnoser.h"

namespace qconform::diagnose {

class CampaignDiagnosis final : public Diagnoser {
 public:
  // What it takes at most, for each backend and operator.
  static constexpr int kExplanations = 6;                   ///< calls of explain()
  static constexpr double kExplanationSeconds = 1.5;        ///< each
  static constexpr std::uint64_t kExamined = 1000;          ///< failures of which each is examined
  static constexpr std::uint64_t kExaminedAfterwards = 16;  ///< one in so many after that; the others are counted
                                                            ///< with the commonest explanation
  static constexpr std::size_t kLearnt = 2000;              ///< passing cases, and failing ones of each signature,
                                                            ///< that regions are learnt from
  static constexpr std::size_t kKept = 8;                   ///< failing cases of each signature that are looked at
                                                            ///< once more at the end,
  static constexpr std::uint64_t kKeptExpense = std::uint64_t{1} << 20;  ///< none of them with more products than this

  /// What is known of failures with one signature from elsewhere.
  struct Learnt {
    std::uint64_t examined = 0;
    std::vector<FeatureSet> failing;
    std::vector<FeatureSet> passing;
  };

  /// The backends outlive it. `each`: what an explanation may take.
  CampaignDiagnosis(const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy,
                    ExplainOptions each = {.seconds = kExplanationSeconds})
      : backends_(backends), policy_(policy), each_(std::move(each)) {}

  void passed(std::size_t backend, const Case& test_case, const Expected& expected) override;
  [[nodiscard]] std::string failed(std::size_t backend, const Case& test_case, const Expected& expected,
                                   const Outcome& outcome, const Verdict& verdict) override;
  /// One defect is one signature: an explanation that reproduces, bit for bit, what was kept of failures that are
  /// explained no better takes them over. An explanation that had too few cases to be certain is looked for once more,
  /// with those that were kept.
  [[nodiscard]] std::string settled(std::size_t backend, const std::string& op_type,
                                    const std::string& signature) override;
  [[nodiscard]] std::optional<Diagnosis> diagnosis(std::size_t backend, const std::string& op_type,
                                                   const std::string& signature) const override;
  /// Learns from the smaller case that a finding of that backend has got, if it fails for the same cause: no condition
  /// stays that the case contradicts.
  void refine(Finding& finding, std::size_t backend);
  /// Replaces what was learnt of the failures with that signature, if there are any, and of the cases that pass.
  void learn(std::size_t backend, const std::string& op_type, const std::string& signature, Learnt learnt);

 private:
  /// Failures with one signature.
  struct Group {
    std::string signature;
    std::optional<Explanation> explanation;  ///< absent where only the pattern is known
    std::optional<Model> model;              ///< where explained
    std::string_view pattern;                ///< Pattern::id
    std::string where;
    std::uint64_t cases = 0;
    std::uint64_t examined = 0;
    std::vector<FeatureSet> failing;
    std::vector<FeatureSet> smallest;  ///< of cases that were made from these
    Evidence kept;                     ///< the first ones, and later ones at growing distances

    void explain_by(Explanation found, const Policy& policy);
    /// Whether the model has every byte of what was kept, of which there is some.
    [[nodiscard]] bool is_reproduced_by(const Model& other) const;
    void take_over(Group other);
  };
  /// One backend on one operator.
  struct Subject {
    std::vector<Group> groups;
    std::vector<FeatureSet> passing;
    std::uint64_t passed = 0;
    std::uint64_t failed = 0;
    int explanations = 0;
    bool is_settled = false;
    std::map<std::string, std::string> settled;  ///< signatures that are no more, with those that took them over

    void rename(const std::string& from, const std::string& to);
  };

  [[nodiscard]] Group& examine(Subject& subject, Backend& backend, const Observation& observation);
  /// Where no explanation is looked for: the group of the narrowest place known that holds the failure.
  [[nodiscard]] static Group& unexplained(Subject& subject, const Observation& observation);
  [[nodiscard]] static Group* claiming(Subject& subject, const Observation& observation);
  [[nodiscard]] static Explanation explain_case(Backend& backend, const Observation& observation,
                                                const ExplainOptions& options);
  static void keep_case(Group& group, const Observation& observation);
  /// Where an explanation that nothing contradicts had too few cases to be certain.
  void explain_again(Subject& subject, Group& group, Backend& backend) const;
  static void unite_groups(Subject& subject);
  [[nodiscard]] static bool unite_two(Subject& subject);
  [[nodiscard]] static bool explains_both(const Group& group, const Group& other);
  [[nodiscard]] static bool belongs(const Group& group, const Observation& observation);
  [[nodiscard]] static Region region_of(const Subject& subject, const Group& group);
  [[nodiscard]] static Group& group_named(Subject& subject, const std::string& signature);

  const std::vector<std::unique_ptr<Backend>>& backends_;
  Policy policy_;
  ExplainOptions each_;
  std::map<std::pair<std::size_t, std::string>, Subject> subjects_;
};

}  // namespace qconform::diagnose

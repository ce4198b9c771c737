// How much a suite detects: every defect model as a mutant, judged on every case.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/corner_cases/corner_case.h"
#include "harness/core/profile.h"
#include "harness/core/suite.h"
#include "harness/engine/contracts.h"
#include "harness/forms/archive/archive.h"
#include "harness/model/defects/defect.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/report/report.h"

namespace qconform::diagnose {

/// The fate of a mutant, which is one defect in one operator.
enum class Fate : std::uint8_t {
  killed,         ///< a case condemned it
  admitted,       ///< it differed, and the profile admits each answer: an expression, not a failure
  not_triggered,  ///< no case made it differ from the reference
  undetected,     ///< it differed on cases that then passed, though its answers are wrong elsewhere
};

inline constexpr std::array<std::string_view, 4> kFates{"killed", "admitted", "not triggered", "undetected"};

[[nodiscard]] inline std::string_view name_of(Fate fate) {
  return kFates[static_cast<std::size_t>(fate)];
}
inline void describe(Archive& archive, Fate& fate, const FieldRule& /*rule*/) {
  describe_name(archive, fate, {.names = kFates}, "fate");
}

struct Detection {
  QC_DESCRIBED();
  QC_FIELD(std::uint64_t, at, {}, "at", .doc = "The case's number in the suite, from 1.", .minimum = 1);
  QC_FIELD(std::string, case_id, {}, "case");
  QC_FIELD(double, seconds, {}, "seconds", .doc = "Processor time of drawing, reference, mutant and judge until then.",
           .form = Form::seconds);
};

struct Mutant {
  const Defect* defect = nullptr;
  const Operator* op = nullptr;
  std::uint64_t cases = 0;     ///< cases of its operator, on which it ran
  std::uint64_t differed = 0;  ///< its output was not the reference's
  std::uint64_t killed = 0;    ///< the judge condemned it
  std::optional<Detection> first;

  [[nodiscard]] Fate fate() const;
  /// Whether the default profile admits its answers.
  [[nodiscard]] bool is_admitted() const { return defect->admitted.contains(op->name); }
};

/// Returns the corner cases that let the defect show and that concern the operator.
[[nodiscard]] std::vector<CornerCase> corner_cases_behind(const Defect& defect, const Operator& op);

/// Why a mutant survives.
struct Survival {
  std::string reason;                 ///< one line
  std::vector<CornerCase> unreached;  ///< corner cases behind the defect that no case of the suite reaches
};

/// The audit of one suite.
struct Audit {
  std::string suite;
  std::uint64_t cases = 0;
  /// Cases of no use here: out of contract, or with any value right.
  std::uint64_t not_modelled = 0;
  std::vector<Mutant> mutants;  ///< each defect in each of its operators, in the order of defects()
  std::uint64_t graphs = 0;     ///< those of the cases that have several nodes
  std::map<std::string_view, CornerCaseCounts> corner_cases;  ///< by operator: what its cases reach

  [[nodiscard]] std::uint64_t reached(std::string_view op_type, CornerCase corner_case) const {
    const auto found = corner_cases.find(op_type);
    return found == corner_cases.end() ? 0 : found->second[corner_case];
  }
  /// Says why a mutant that is not killed survives.
  [[nodiscard]] Survival survival(const Mutant& mutant) const;
  [[nodiscard]] std::uint64_t count(Fate fate) const;
  /// Whether the suite has anything to do with the mutant: cases of one node, or of several, as that is about. A suite
  /// without cases has.
  [[nodiscard]] bool concerns(const Mutant& mutant) const;
  [[nodiscard]] bool could_kill(const Mutant& mutant) const;
  /// Number of mutants that the suite could kill: those that concern it, but for those that the default profile admits.
  [[nodiscard]] std::uint64_t killable() const;
  /// Number of these mutants that a case killed.
  [[nodiscard]] std::uint64_t killed() const;
};

struct AuditOptions {
  Policy policy;
  std::function<void(std::uint64_t cases)> progress = {};  ///< called after every case; may be empty
  /// A mutant gets no case after the one that kills it, and the audit ends with the last one that could be killed.
  bool until_killed = false;
};

/// Every mutant, with nothing run.
[[nodiscard]] std::vector<Mutant> all_mutants();

/// The effect of a mutant on a case.
enum class MutantEffect : std::uint8_t { none, admissible, condemned };

/// A mutant's model under each arithmetic that a case's profile may pin.
struct MutantModel {
  explicit MutantModel(const Defect& defect);
  std::vector<DefectModel> models;  ///< by RoundingProfile
};

/// A case that mutants of its operator run on; it must outlive this.
class MutantTrial {
 public:
  MutantTrial(const Case& test_case, const Policy& policy);
  MutantTrial(const MutantTrial&) = delete;
  MutantTrial& operator=(const MutantTrial&) = delete;
  /// Whether there is something to run: not where the case is out of contract, or any value is right.
  [[nodiscard]] bool is_modelled() const { return modelled_ != nullptr && expected_.output; }
  /// The work of running a mutant on a modelled case, as ModelledCase::expense().
  [[nodiscard]] std::uint64_t expense() const { return modelled_->expense(); }
  [[nodiscard]] std::uint64_t expense_of_values() const { return modelled_->expense_of_values(); }
  [[nodiscard]] MutantEffect effect_of(const MutantModel& mutant) const;
  /// The corner cases that a modelled case reaches.
  [[nodiscard]] const CornerCaseCounts& corner_cases();

 private:
  Expected expected_;
  std::unique_ptr<ModelledCase> modelled_;
  std::vector<Tensor> right_;
};

/// Runs the cases of the sources, one suite together, on every defect model of their operators.
[[nodiscard]] Result<Audit> audit(std::string suite, std::vector<std::unique_ptr<Suite>>& sources,
                                  const AuditOptions& options);

using BackendOfModel = std::function<std::unique_ptr<Backend>(DefectModel model)>;
/// Audits relations in place of the judge: a case kills the mutants that break a relation on it, and these get no
/// further case; mutants that the profile admits get none. A backend has no levels here.
[[nodiscard]] Result<Audit> audit_relations(std::string suite, std::vector<std::unique_ptr<Suite>>& bases,
                                            const AuditOptions& options, const BackendOfModel& backend_of);

// Audits as JSON, and an earlier one to hold a new one against.

/// A mutant, as JSON states it.
struct MutantEntry {
  QC_DESCRIBED(.name = "mutant", .doc = "One defect model in one operator.");
  QC_FIELD(std::string, defect, {}, "defect");
  QC_FIELD(std::string, op_type, {}, "operator", .names = operator_names());
  QC_FIELD(Fate, fate, {Fate::undetected}, "fate");
  QC_FIELD(std::optional<std::uint64_t>, cases, {}, "cases",
           .doc = "Cases of its operator. A baseline leaves the counts out, since nothing is held against them.");
  QC_FIELD(std::optional<std::uint64_t>, differed, {}, "differed", .doc = "Cases on which it was not the reference.");
  QC_FIELD(std::optional<std::uint64_t>, killed, {}, "killed", .doc = "Cases on which it was judged wrong.");
  QC_FIELD(std::optional<Detection>, first, {}, "first", .doc = "The case that killed it first.");
  QC_FIELD(std::string, why, {}, "why", .doc = "Of a survivor.", .presence = Presence::omitted);
  QC_FIELD(std::vector<std::string>, unreached, {}, "unreached", .doc = "Corner cases it needs that no case reaches.",
           .presence = Presence::omitted);
};

/// The audit of one suite, as JSON states it.
struct AuditEntry {
  QC_DESCRIBED(.name = "audit", .doc = "One suite.");
  QC_FIELD(std::string, suite, {}, "suite");
  QC_FIELD(std::optional<std::uint64_t>, cases, {}, "cases");
  QC_FIELD(std::optional<std::uint64_t>, not_modelled, {}, "not_modelled",
           .doc = "Cases out of contract, or with any value right.");
  QC_FIELD(std::optional<std::uint64_t>, killable, {}, "killable",
           .doc = "Mutants but for those that the default profile admits.");
  QC_FIELD(std::optional<std::uint64_t>, killed, {}, "killed", .doc = "Killable ones that were killed.");
  QC_FIELD(std::vector<MutantEntry>, mutants, {}, "mutants", .max_items = 4096);
};

struct AuditDocument {
  QC_DESCRIBED();
  QC_LINE(describe_format(archive, "qconform-audit", 1));
  QC_FIELD(std::uint64_t, seed, {}, "seed", .minimum = 0);
  QC_FIELD(std::vector<AuditEntry>, audits, {}, "audits", .max_items = 256);
};

[[nodiscard]] std::string audits_json(std::span<const Audit> audits, std::uint64_t seed);

/// A mutant that an earlier audit saw killed.
struct KilledMutant {
  std::string suite;
  std::string defect;
  std::string op_type;
  bool operator==(const KilledMutant&) const = default;
};

/// Reads what audits_json() writes. An error's field is the JSON path.
[[nodiscard]] Result<std::vector<KilledMutant>> read_baseline_json(std::string_view text);
/// Reads the baseline from a file, as read_baseline_json() does.
[[nodiscard]] Result<std::vector<KilledMutant>> load_baseline(const std::filesystem::path& path);

/// The mutants of the baseline that no case of their suite kills any more. A suite that was not audited now
/// and a defect model that does not exist any more count as such.
[[nodiscard]] std::vector<KilledMutant> lost_kills(std::span<const KilledMutant> baseline,
                                                   std::span<const Audit> audits);

// The detection power of the cases that one backend computes: mutants that they kill, of those that a case kills which
// the backend takes.

/// Tells which mutants single cases kill.
class MutantTable {
 public:
  /// Expense of the values (ModelledCase::expense_of_values()) of a case on which mutants always run, and what they may
  /// usually take on larger ones.
  static constexpr std::uint64_t kSmallCase = 9'000;
  static constexpr std::uint64_t kLargeCases = 200'000'000;

  explicit MutantTable(const Policy& policy, std::uint64_t for_large_cases = kLargeCases);
  [[nodiscard]] const std::vector<Mutant>& mutants() const { return mutants_; }
  /// Numbers of mutants() that the judge condemns on the case, ascending. `settled` ones are not run, and none is on a
  /// large case once that is spent.
  [[nodiscard]] std::vector<std::uint32_t> killed_by(const Case& test_case, const std::set<std::uint32_t>& settled);

 private:
  Policy policy_;
  std::vector<Mutant> mutants_;
  std::vector<MutantModel> models_;
  std::uint64_t left_for_large_;
};

class PowerMeter {
 public:
  explicit PowerMeter(const Policy& policy) : policy_(policy), table_(policy) {}

  /// A case that the backend computed.
  void add(const Case& test_case);

  /// The power of the cases so far. Mutants apply that these kill, or that a case inside `contracts` kills: one of the
  /// corpus, of suite_within(), or of drawn_within() under the seed that follows `seed`. Errors: of the corpus.
  [[nodiscard]] Result<DetectionPower> power(const Contracts& contracts, std::uint64_t seed) const;

 private:
  Policy policy_;
  MutantTable table_;
  std::set<std::uint64_t> cases_;    // digests
  std::set<std::uint32_t> killed_;   // numbers of the table's mutants
  std::set<const Operator*> asked_;  // operators of the cases
};

}  // namespace qconform::diagnose

// Audits as JSON, and an earlier one to hold a new one against.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/profile.h"
#include "harness/diagnose/audit/audit.h"

namespace qconform::diagnose {

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

/// The audit of one suite.
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

}  // namespace qconform::diagnose

#include "harness/diagnose/audit/audit_json.h"

#include <algorithm>

#include "harness/base/file.h"
#include "harness/forms/archive/json_archives.h"
#include "harness/forms/json/json_text.h"

namespace qconform::diagnose {
namespace {

MutantEntry entry_of(const Audit& audit, const Mutant& mutant) {
  MutantEntry entry{.defect = std::string(mutant.defect->id),
                    .op_type = std::string(mutant.op->name),
                    .fate = mutant.fate(),
                    .cases = mutant.cases,
                    .differed = mutant.differed,
                    .killed = mutant.killed,
                    .first = mutant.first};
  if (mutant.first) return entry;
  const Survival survival = audit.survival(mutant);
  entry.why = survival.reason;
  for (const CornerCase corner_case : survival.unreached) entry.unreached.emplace_back(info_of(corner_case).id);
  return entry;
}

AuditEntry entry_of(const Audit& audit) {
  AuditEntry entry{audit.suite, audit.cases, audit.not_modelled, audit.killable(), audit.killed(), {}};
  for (const Mutant& mutant : audit.mutants) entry.mutants.push_back(entry_of(audit, mutant));
  return entry;
}

bool still_killed(const KilledMutant& before, std::span<const Audit> audits) {
  return std::any_of(audits.begin(), audits.end(), [&](const Audit& audit) {
    return audit.suite == before.suite &&
           std::any_of(audit.mutants.begin(), audit.mutants.end(), [&](const Mutant& mutant) {
             return mutant.defect->id == before.defect && mutant.op->name == before.op_type &&
                    mutant.fate() == Fate::killed;
           });
  });
}

}  // namespace

std::string audits_json(std::span<const Audit> audits, std::uint64_t seed) {
  AuditDocument document{.seed = seed};
  for (const Audit& audit : audits) document.audits.push_back(entry_of(audit));
  return print_json(write_document(description_of(document)));
}

Result<std::vector<KilledMutant>> read_baseline_json(std::string_view text) {
  QCONFORM_ASSIGN(const auto json, parse_json(text));
  QCONFORM_ASSIGN(const auto document, read_document<AuditDocument>(json));
  std::vector<KilledMutant> killed;
  for (const AuditEntry& audit : document.audits) {
    for (const MutantEntry& mutant : audit.mutants) {
      if (mutant.fate == Fate::killed) killed.push_back({audit.suite, mutant.defect, mutant.op_type});
    }
  }
  return killed;
}

Result<std::vector<KilledMutant>> load_baseline(const std::filesystem::path& path) {
  QCONFORM_ASSIGN(const auto text, read_file(path, limits::kJsonFileBytes));
  return in_context(path.string(), read_baseline_json(text));
}

std::vector<KilledMutant> lost_kills(std::span<const KilledMutant> baseline, std::span<const Audit> audits) {
  std::vector<KilledMutant> lost;
  std::copy_if(baseline.begin(), baseline.end(), std::back_inserter(lost),
               [&](const KilledMutant& before) { return !still_killed(before, audits); });
  return lost;
}

}  // namespace qconform::diagnose

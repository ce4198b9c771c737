#include "harness/diagnose/audit/audit_json.h"

#include <algorithm>

#include "harness/core/file.h"
#include "harness/json/json_fields.h"

namespace qconform::diagnose {
namespace {

constexpr std::string_view kFormat = "qconform-audit";
constexpr std::size_t kMostSuites = 256;
constexpr std::size_t kMostMutants = 4096;

Json mutant_object(const Audit& audit, const Mutant& mutant) {
  Json entry{{"defect", mutant.defect->id}, {"operator", name_of(mutant.op)}, {"fate", name_of(mutant.fate())},
             {"cases", mutant.cases},       {"differed", mutant.differed},    {"killed", mutant.killed}};
  if (mutant.first) {
    entry["first"] = {{"at", mutant.first->at}, {"case", mutant.first->case_id}, {"seconds", mutant.first->seconds}};
    return entry;
  }
  const Survival survival = audit.survival(mutant);
  entry["why"] = survival.reason;
  Json unreached = Json::array();
  for (const Hazard hazard : survival.unreached) unreached.push_back(info_of(hazard).id);
  if (!unreached.empty()) entry["unreached"] = std::move(unreached);
  return entry;
}

Json audit_object(const Audit& audit) {
  Json mutants = Json::array();
  for (const Mutant& mutant : audit.mutants) mutants.push_back(mutant_object(audit, mutant));
  return {{"suite", audit.suite},         {"cases", audit.cases},     {"not_modelled", audit.not_modelled},
          {"killable", audit.killable()}, {"killed", audit.killed()}, {"mutants", std::move(mutants)}};
}

class BaselineReader {
 public:
  Result<std::vector<KilledMutant>> read(const Json& value) {
    std::vector<KilledMutant> killed;
    if (!read_audits(value, killed)) return tl::unexpected(*fields_.error());
    return killed;
  }

 private:
  bool read_audits(const Json& value, std::vector<KilledMutant>& killed) {
    std::string format;
    std::int64_t version = 0;
    if (!fields_.object(value, "", {"format", "version", "seed", "audits"})) return false;
    if (!fields_.read(value["format"], "format", format)) return false;
    if (format != kFormat) {
      return fields_.refuse("format", "expected \"" + std::string(kFormat) + "\", got \"" + format + "\"");
    }
    if (!fields_.read(value["version"], "version", version)) return false;
    if (version != 1) return fields_.refuse("version", "expected 1, got " + std::to_string(version));
    if (!fields_.array(value["audits"], "audits", kMostSuites)) return false;
    for (std::size_t i = 0; i < value["audits"].size(); ++i) {
      if (!read_audit(value["audits"][i], json_path("audits", i), killed)) return false;
    }
    return true;
  }

  bool read_audit(const Json& value, const std::string& where, std::vector<KilledMutant>& killed) {
    std::string suite;
    const std::string mutants = json_path(where, "mutants");
    if (!fields_.object(value, where, {"suite", "mutants"}, {"cases", "not_modelled", "killable", "killed"}) ||
        !fields_.read(value["suite"], json_path(where, "suite"), suite) ||
        !fields_.array(value["mutants"], mutants, kMostMutants)) {
      return false;
    }
    for (std::size_t i = 0; i < value["mutants"].size(); ++i) {
      KilledMutant mutant{suite, {}, {}};
      std::string fate;
      if (!read_mutant(value["mutants"][i], json_path(mutants, i), mutant, fate)) return false;
      if (fate == name_of(Fate::killed)) killed.push_back(std::move(mutant));
    }
    return true;
  }

  bool read_mutant(const Json& value, const std::string& where, KilledMutant& mutant, std::string& fate) {
    return fields_.object(value, where, {"defect", "operator", "fate"},
                          {"cases", "differed", "killed", "first", "why", "unreached"}) &&
           fields_.read(value["defect"], json_path(where, "defect"), mutant.defect) &&
           fields_.read(value["operator"], json_path(where, "operator"), mutant.op_type) &&
           fields_.read(value["fate"], json_path(where, "fate"), fate);
  }

  JsonFields fields_;
};

bool still_killed(const KilledMutant& before, std::span<const Audit> audits) {
  return std::any_of(audits.begin(), audits.end(), [&](const Audit& audit) {
    return audit.suite == before.suite &&
           std::any_of(audit.mutants.begin(), audit.mutants.end(), [&](const Mutant& mutant) {
             return mutant.defect->id == before.defect && name_of(mutant.op) == before.op_type &&
                    mutant.fate() == Fate::killed;
           });
  });
}

}  // namespace

std::string audits_json(std::span<const Audit> audits, std::uint64_t seed) {
  Json all = Json::array();
  for (const Audit& audit : audits) all.push_back(audit_object(audit));
  return print_json({{"format", kFormat}, {"version", 1}, {"seed", seed}, {"audits", std::move(all)}});
}

Result<std::vector<KilledMutant>> read_baseline_json(std::string_view text) {
  QCONFORM_ASSIGN(const auto json, parse_json(text));
  return BaselineReader().read(json);
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

// Audits as JSON, and an earlier one to hold a new one against.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/diagnose/audit/audit.h"

namespace qconform::diagnose {

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
/// The same for a file.
[[nodiscard]] Result<std::vector<KilledMutant>> load_baseline(const std::filesystem::path& path);

/// The mutants of the baseline that no case of their suite kills any more. A suite that was not audited now
/// and a defect model that does not exist any more count as such.
[[nodiscard]] std::vector<KilledMutant> lost_kills(std::span<const KilledMutant> baseline,
                                                   std::span<const Audit> audits);

}  // namespace qconform::diagnose

// The options that two runs must share to be parts of one campaign.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/backend.h"
#include "harness/core/fields.h"
#include "harness/engine/contracts.h"

namespace qconform {
class Archive;
}

namespace qconform::campaign {

/// A part of a campaign: shard `number` of `of`, from 1 on.
struct Shard {
  QC_DESCRIBED();
  QC_FIELD(std::uint64_t, number, {1}, "number");
  QC_FIELD(std::uint64_t, of, {1}, "of");
  [[nodiscard]] bool is_whole() const { return of == 1; }
  /// "3/16"; empty for the whole.
  [[nodiscard]] std::string text() const;
};

/// Version of the journal's form: journals of another one are not read.
void describe_journal_version(Archive& archive);

/// The contracts of one backend: they say what it takes, and cases are made for that.
struct KnownContracts {
  QC_DESCRIBED();
  QC_FIELD(std::size_t, backend, {}, "backend");  ///< its position
  QC_FIELD(Contracts, models, {}, "models");
  bool operator==(const KnownContracts&) const = default;
};

struct Identity {
  QC_DESCRIBED();
  QC_LINE(describe_constant(archive, "format", "qconform-journal"));
  QC_LINE(describe_journal_version(archive));
  QC_FIELD(std::string, version, {}, "qconform");
  QC_FIELD(std::string, commit, {}, "commit");
  QC_FIELD(std::uint64_t, seed, {}, "seed");
  QC_FIELD(std::string, engine, {"seeded"},
           "engine");  ///< the seed gives blocks of cases; "libfuzzer": coverage guides
  QC_FIELD(std::string, suite, {}, "suite", .presence = Presence::omitted);  ///< empty: fuzz
  QC_FIELD(std::uint64_t, block_cases, {}, "block_cases");
  QC_FIELD(std::vector<std::string>, backends, {}, "backends");  ///< as on the command line
  QC_FIELD(std::vector<BackendInfo>, infos, {}, "infos");        ///< the backends' own descriptions
  QC_FIELD(std::string, profile, {}, "profile");
  QC_FIELD(std::string, profile_digest, {}, "profile_digest");  ///< digest of the file, where the profile is one
  QC_FIELD(std::string, overflow, {}, "overflow");
  QC_FIELD(std::string, waivers, {}, "waivers");                ///< file; empty for none
  QC_FIELD(std::string, waivers_digest, {}, "waivers_digest");  ///< digest of the file's bytes
  /// Files of defects beside those that come with qconform, and the digests of their bytes.
  QC_FIELD(std::vector<std::string>, defects, {}, "defects", .presence = Presence::omitted);
  QC_FIELD(std::string, defects_digest, {}, "defects_digest", .presence = Presence::omitted);
  QC_FIELD(bool, explain, {true}, "explain");
  /// The options about workers that can change a verdict, as on the command line.
  QC_FIELD(std::string, sandbox, {}, "isolation");
  /// Whether no graphs are drawn: no backend takes any.
  QC_FIELD(bool, without_graphs, {}, "without_graphs", .presence = Presence::omitted);
  QC_FIELD(std::vector<KnownContracts>, contracts, {}, "contracts", .presence = Presence::omitted);
  QC_FIELD(Shard, shard, {}, "shard");  ///< shard of the journal alone; merging does not look at it
  /// The command line that runs the whole campaign, without what makes no difference; not compared.
  QC_FIELD(std::vector<std::string>, command, {}, "command");

  /// Name of the suite that the cases are drawn from; "libfuzzer" where coverage guides.
  [[nodiscard]] std::string suite_name() const {
    return engine == "libfuzzer" ? engine : suite.empty() ? "fuzz" : suite;
  }
  /// The error names the first option in which the other one differs; `what` is "the journal" or a path.
  /// A shard is compared where `same_shard` says so.
  [[nodiscard]] Result<void> fits(const Identity& other, const std::string& what, bool same_shard) const;
};

[[nodiscard]] std::string encode_identity(const Identity& identity);
[[nodiscard]] Result<Identity> decode_identity(std::string_view bytes);

}  // namespace qconform::campaign

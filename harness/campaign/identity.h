// What makes two runs parts of one campaign.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/error.h"

namespace qconform::campaign {

/// A part of a campaign: shard `number` of `of`, from 1 on.
struct Shard {
  std::uint64_t number = 1;
  std::uint64_t of = 1;
  [[nodiscard]] bool is_whole() const { return of == 1; }
  /// "3/16"; empty for the whole.
  [[nodiscard]] std::string text() const;
};

struct Identity {
  std::string version;  ///< of qconform
  std::string commit;
  std::uint64_t seed = 0;
  std::string engine = "seeded";  ///< blocks of cases that the seed gives; or "libfuzzer": coverage guides
  std::uint64_t block_cases = 0;
  std::vector<std::string> backends;  ///< as on the command line
  std::vector<BackendInfo> infos;     ///< what they said of themselves
  std::string profile;
  std::string profile_digest;  ///< of the file, where the profile is one
  std::string overflow;
  std::string waivers;         ///< file; empty for none
  std::string waivers_digest;  ///< of its bytes
  bool explain = true;
  std::string isolation;  ///< what of the options about workers can change a verdict, as on the command line
  Shard shard;            ///< of the journal alone; merging does not look at it
  /// The command line that runs the whole campaign, without what makes no difference; not compared.
  std::vector<std::string> command;

  /// The error names the first option in which the other one differs; `what` is "the journal" or a path.
  /// A shard is compared where `same_shard` says so.
  [[nodiscard]] Result<void> fits(const Identity& other, const std::string& what, bool same_shard) const;
};

[[nodiscard]] std::string encode_identity(const Identity& identity);
[[nodiscard]] Result<Identity> decode_identity(std::string_view bytes);

}  // namespace qconform::campaign

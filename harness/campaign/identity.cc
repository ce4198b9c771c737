#include "harness/campaign/identity.h"

#include <fmt/format.h>

#include "harness/forms/archive/archive.h"
#include "harness/suites/sweep/suite.h"

namespace qconform::campaign {
namespace {

constexpr std::uint64_t kJournalVersion = 2;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string versions_of(const std::vector<BackendInfo>& infos) {
  std::string text;
  for (const BackendInfo& info : infos) text += (text.empty() ? "" : ", ") + info.name + " " + info.version;
  return text;
}

std::string digests_of(const std::vector<KnownContracts>& contracts) {
  std::string text;
  for (const KnownContracts& known : contracts) {
    text += fmt::format("{}digest {} of backend {}", text.empty() ? "" : ", ", sweep::digest_of(plain(known.models)),
                        known.backend + 1);
  }
  return text;
}

struct IdentityField {
  const char* name;
  std::string own;
  std::string other;
};

}  // namespace

std::string Shard::text() const {
  return is_whole() ? "" : fmt::format("{}/{}", number, of);
}

Result<void> Identity::fits(const Identity& other, const std::string& what, bool same_shard) const {
  const auto of = [](const Identity& i) { return i.version + " " + i.commit; };
  const std::vector<IdentityField> fields{
      {"commit", of(*this), of(other)},
      {"--engine", engine, other.engine},
      {"--suite", suite_name(), other.suite_name()},
      {"--seed", std::to_string(seed), std::to_string(other.seed)},
      {"--backend", listed(backends), listed(other.backends)},
      {"backend versions", versions_of(infos), versions_of(other.infos)},
      {"--profile", profile + (profile_digest.empty() ? "" : " of digest " + profile_digest),
       other.profile + (other.profile_digest.empty() ? "" : " of digest " + other.profile_digest)},
      {"--overflow", overflow, other.overflow},
      {"--waivers", waivers_digest.empty() ? "none" : "a file of digest " + waivers_digest,
       other.waivers_digest.empty() ? "none" : "a file of digest " + other.waivers_digest},
      {"--defects", defects_digest.empty() ? "none" : "files of digest " + defects_digest,
       other.defects_digest.empty() ? "none" : "files of digest " + other.defects_digest},
      {"--no-explain", explain ? "not given" : "given", other.explain ? "not given" : "given"},
      {"options of workers", sandbox, other.sandbox},
      {"contracts (--only)", digests_of(contracts), digests_of(other.contracts)},
      {"block size", std::to_string(block_cases), std::to_string(other.block_cases)},
      {"--shard", same_shard ? shard.text() : "", same_shard ? other.shard.text() : ""},
  };
  for (const IdentityField& field : fields) {
    if (field.own == field.other) continue;
    const auto shown = [](const std::string& text) { return text.empty() ? "nothing" : text; };
    return fail(field.name, fmt::format("{} has {}, this campaign has {}: cases of one campaign must be judged alike",
                                        what, shown(field.other), shown(field.own)));
  }
  return {};
}

void describe_journal_version(Archive& archive) {
  std::uint64_t version = kJournalVersion;
  describe_field(archive, "version", version, {});
  if (!archive.fills() || !archive.is_sound() || version == kJournalVersion) return;
  archive.refuse_member(
      "version", fmt::format("this qconform reads journals of version {}, and this one is of {}: another qconform "
                             "wrote it. Resume or merge it with that one, or begin anew in another folder",
                             kJournalVersion, version));
}

std::string encode_identity(const Identity& identity) {
  return to_cbor(identity);
}

Result<Identity> decode_identity(std::string_view bytes) {
  return from_cbor<Identity>(bytes, "identity");
}

}  // namespace qconform::campaign

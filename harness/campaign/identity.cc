#include "harness/campaign/identity.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace qconform::campaign {
namespace {

using nlohmann::json;

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

struct Field {
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
  const std::vector<Field> fields{
      {"commit", of(*this), of(other)},
      {"--engine", engine, other.engine},
      {"--seed", std::to_string(seed), std::to_string(other.seed)},
      {"--backend", listed(backends), listed(other.backends)},
      {"backend versions", versions_of(infos), versions_of(other.infos)},
      {"--profile", profile + (profile_digest.empty() ? "" : " of digest " + profile_digest),
       other.profile + (other.profile_digest.empty() ? "" : " of digest " + other.profile_digest)},
      {"--overflow", overflow, other.overflow},
      {"--waivers", waivers_digest.empty() ? "none" : "a file of digest " + waivers_digest,
       other.waivers_digest.empty() ? "none" : "a file of digest " + other.waivers_digest},
      {"--no-explain", explain ? "not given" : "given", other.explain ? "not given" : "given"},
      {"options of workers", isolation, other.isolation},
      {"block size", std::to_string(block_cases), std::to_string(other.block_cases)},
      {"--shard", same_shard ? shard.text() : "", same_shard ? other.shard.text() : ""},
  };
  for (const Field& field : fields) {
    if (field.own == field.other) continue;
    const auto shown = [](const std::string& text) { return text.empty() ? "nothing" : text; };
    return fail(field.name, fmt::format("{} has {}, this has {}: cases of one campaign must be judged alike", what,
                                        shown(field.other), shown(field.own)));
  }
  return {};
}

std::string encode_identity(const Identity& identity) {
  json infos = json::array();
  for (const BackendInfo& info : identity.infos) {
    infos.push_back(json{{"name", info.name}, {"version", info.version}, {"kind", info.kind}});
  }
  const json value{{"format", "qconform-journal"},
                   {"version", 1},
                   {"qconform", identity.version},
                   {"commit", identity.commit},
                   {"engine", identity.engine},
                   {"seed", identity.seed},
                   {"block_cases", identity.block_cases},
                   {"backends", identity.backends},
                   {"infos", std::move(infos)},
                   {"profile", identity.profile},
                   {"profile_digest", identity.profile_digest},
                   {"overflow", identity.overflow},
                   {"waivers", identity.waivers},
                   {"waivers_digest", identity.waivers_digest},
                   {"explain", identity.explain},
                   {"isolation", identity.isolation},
                   {"command", identity.command},
                   {"shard", json::array({identity.shard.number, identity.shard.of})}};
  std::string bytes;
  json::to_cbor(value, bytes);
  return bytes;
}

Result<Identity> decode_identity(std::string_view bytes) {
  try {
    const json value = json::from_cbor(bytes);
    const int version = value.at("version").get<int>();
    if (version != 1) return fail("version", fmt::format("expected 1, got {}: a newer qconform wrote it", version));
    Identity identity;
    identity.version = value.at("qconform").get<std::string>();
    identity.commit = value.at("commit").get<std::string>();
    identity.engine = value.at("engine").get<std::string>();
    identity.seed = value.at("seed").get<std::uint64_t>();
    identity.block_cases = value.at("block_cases").get<std::uint64_t>();
    identity.backends = value.at("backends").get<std::vector<std::string>>();
    for (const json& info : value.at("infos")) {
      identity.infos.push_back({info.at("name").get<std::string>(), info.at("version").get<std::string>(),
                                info.at("kind").get<std::string>()});
    }
    identity.profile = value.at("profile").get<std::string>();
    identity.profile_digest = value.at("profile_digest").get<std::string>();
    identity.overflow = value.at("overflow").get<std::string>();
    identity.waivers = value.at("waivers").get<std::string>();
    identity.waivers_digest = value.at("waivers_digest").get<std::string>();
    identity.explain = value.at("explain").get<bool>();
    identity.isolation = value.at("isolation").get<std::string>();
    identity.command = value.at("command").get<std::vector<std::string>>();
    identity.shard = {value.at("shard").at(0).get<std::uint64_t>(), value.at("shard").at(1).get<std::uint64_t>()};
    return identity;
  } catch (const std::exception& error) {
    return fail("identity", error.what());
  }
}

}  // namespace qconform::campaign

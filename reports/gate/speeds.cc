#include "reports/gate/speeds.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/file.h"
#include "harness/core/verdict_named.h"
#include "harness/json/json_fields.h"

namespace qconform::gate {
namespace {

constexpr std::size_t kMostEntries = std::size_t{1} << 16;

class Reader : public JsonFields {
 public:
  bool speeds(const Json& json, Speeds& out) {
    std::string format;
    std::uint64_t version = 0;
    if (!text(json, "", "format", format) || !number(json, "", "version", version)) return false;
    if (format != "qconform-bench") return refuse("format", "expected \"qconform-bench\", got \"" + format + "\"");
    if (version != 1) return refuse("version", fmt::format("expected 1, got {}", version));
    const Json* environment = member(json, "", "environment");
    return environment != nullptr && text(*environment, "environment", "cpu", out.cpu) &&
           setting(json, "", out.setting) && list(json, "", "backends", out.backends, &Reader::backend) &&
           list(json, "", "layers", out.layers, &Reader::layer);
  }

 private:
  const Json* member(const Json& object, const std::string& where, const std::string& key) {
    if (!object.is_object()) {
      refuse(where, "expected an object, got " + brief(object));
      return nullptr;
    }
    const auto found = object.find(key);
    if (found != object.end()) return &*found;
    refuse(where, "misses the key \"" + key + "\"");
    return nullptr;
  }

  bool text(const Json& object, const std::string& where, const std::string& key, std::string& out) {
    const Json* value = member(object, where, key);
    return value != nullptr && read(*value, json_path(where, key), out);
  }

  bool number(const Json& object, const std::string& where, const std::string& key, std::uint64_t& out) {
    const Json* value = member(object, where, key);
    return value != nullptr && read(*value, json_path(where, key), out);
  }

  template <typename T>
  bool list(const Json& object, const std::string& where, const std::string& key, std::vector<T>& out,
            bool (Reader::*read_one)(const Json&, const std::string&, T&)) {
    const Json* values = member(object, where, key);
    const std::string path = json_path(where, key);
    if (values == nullptr || !array(*values, path, kMostEntries)) return false;
    for (std::size_t i = 0; i < values->size(); ++i) {
      if (!(this->*read_one)((*values)[i], json_path(path, i), out.emplace_back())) return false;
    }
    return true;
  }

  bool setting(const Json& object, const std::string& where, std::string& out) {
    std::string layout;
    std::uint64_t threads = 0;
    if (!text(object, where, "layout", layout) || !number(object, where, "threads", threads)) return false;
    out = fmt::format("{}, {} thread{}", layout, threads, threads == 1 ? "" : "s");
    return true;
  }

  bool backend(const Json& value, const std::string& where, SpeedBackend& out) {
    return text(value, where, "name", out.name) && text(value, where, "version", out.version);
  }

  bool layer(const Json& value, const std::string& where, SpeedLayer& out) {
    std::string set;
    if (!text(value, where, "set", set) || !text(value, where, "name", out.name)) return false;
    out.name = set + "/" + out.name;
    return list(value, where, "timings", out.times, &Reader::timing);
  }

  bool timing(const Json& value, const std::string& where, LayerTime& out) {
    if (!text(value, where, "backend", out.backend) || !text(value, where, "verdict", out.verdict) ||
        !setting(value, where, out.setting)) {
      return false;
    }
    if (!value.contains("seconds")) return true;
    const std::string path = json_path(where, "seconds");
    const Json* rounds = member(value["seconds"], path, "rounds");
    if (rounds == nullptr || !read_list(*rounds, json_path(path, "rounds"), kMostEntries, out.rounds)) return false;
    const auto kind = verdict_named(out.verdict);
    out.is_right = !out.rounds.empty() && kind && !is_failure(*kind);
    return std::all_of(out.rounds.begin(), out.rounds.end(), [](double seconds) { return seconds > 0; }) ||
           refuse(json_path(path, "rounds"), "expected seconds above 0");
  }
};

}  // namespace

const LayerTime* SpeedLayer::of(const std::string& backend) const {
  const auto found =
      std::find_if(times.begin(), times.end(), [&](const LayerTime& time) { return time.backend == backend; });
  return found == times.end() ? nullptr : &*found;
}

Result<Speeds> read_speeds(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return tl::unexpected(json.error());
  Reader reader;
  Speeds result;
  if (!reader.speeds(*json, result)) return tl::unexpected(*reader.error());
  if (result.backends.empty()) return fail("backends", "expected at least one");
  return result;
}

Result<Speeds> load_speeds(const std::filesystem::path& file) {
  const auto text = read_file(file, limits::kJsonFileBytes);
  if (!text) return tl::unexpected(text.error());
  auto speeds = read_speeds(*text);
  if (!speeds) return tl::unexpected(speeds.error().in(file.string()));
  return speeds;
}

}  // namespace qconform::gate

#include "harness/backends/libraries/libraries.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "harness/backends/kinds.h"
#include "harness/base/file.h"
#include "harness/base/text.h"

namespace qconform::libraries {
namespace {

namespace fs = std::filesystem;

/// The folder of the peers' programs.
fs::path programs() {
  return QCONFORM_PEERS_DIRECTORY;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// Returns what the program gets behind the root: the word, and the settings.
std::string arguments_of(const backend::Specification& what) {
  std::string arguments = what.word.empty() && what.settings.empty() ? "" : " " + shell_word(what.word);
  for (const auto& [key, value] : what.settings) arguments += " " + shell_word(key + "=" + value);
  return arguments;
}

// "f32 or bf16"; empty of an unknown key.
std::string_view values_of(const Peer& peer, std::string_view key) {
  for (const auto& [known, values] : peer.keys) {
    if (known == key) return values;
  }
  return {};
}

Result<void> check_value(const Peer& peer, const backend::Specification& what) {
  constexpr std::string_view kOr = " or ";
  for (const auto& [key, value] : what.settings) {
    const std::string_view values = values_of(peer, key);
    const std::string known = fmt::format("{}{}{}", kOr, values, kOr);
    if (known.find(fmt::format("{}{}{}", kOr, value, kOr)) != std::string::npos) continue;
    return fail("--backend",
                fmt::format("\"{}\": no {} \"{}\"; expected {}", backend::text_of(what), key, value, values));
  }
  return {};
}

// The command that asks the runtime of the root. A Python is the one that the root was made with, because its packages
// hold machine code for that one: one of the system, or one in the root.
Result<std::string> command_of(const Peer& peer, const backend::Specification& what, const LibraryRoot& root) {
  const std::string folder = shell_word(root.folder.string());
  const std::string arguments = arguments_of(what);
  if (!peer.program.ends_with(".py")) {
    const fs::path program = root.folder / "bin" / peer.program;
    if (!is_file(program)) return tl::unexpected(damaged_root(what, root, "it lacks bin/" + std::string(peer.program)));
    return shell_word(program.string()) + arguments;
  }
  const auto stated = read_file(root.folder / "python", 4096);
  if (!stated) return tl::unexpected(damaged_root(what, root, "it lacks the file python, which names its interpreter"));
  const std::string python = root.folder / stated->substr(0, stated->find('\n'));
  if (!is_file(python)) return tl::unexpected(damaged_root(what, root, "its interpreter \"" + python + "\" is gone"));
  const fs::path runner = programs() / "shared" / "peer.py";
  if (!is_file(runner)) return fail("--backend", fmt::format("\"{}\": {} is gone", what.name, runner.string()));
  const std::string_view program = peer.program.substr(0, peer.program.size() - 3);
  return fmt::format("{} -I -S -B {} {} {}{}", shell_word(python), shell_word(runner.string()), program, folder,
                     arguments);
}

Result<LibraryRoot> root_of(const backend::Specification& what) {
  if (!what.version.empty()) return root_for(what, "");
  auto roots = roots_of(what.name);
  if (!roots.empty()) return std::move(roots.back());
  return fail("--backend", fmt::format("{} is not available: scripts/library-root {} fetches its newest release",
                                       what.name, what.name));
}

Result<std::unique_ptr<Backend>> start(const Peer& peer, const backend::Specification& what,
                                       const SandboxLimits& limits) {
  QCONFORM_TRY(check_value(peer, what));
  QCONFORM_ASSIGN(const auto root, root_of(what));
  QCONFORM_ASSIGN(const auto command, command_of(peer, what, root));
  auto opened = backend::open_process(command, limits, BackendInfo{backend::text_of(what), root.version, "library"});
  if (!opened) return tl::unexpected(damaged_root(what, root, opened.error().message));
  return opened;
}

}  // namespace

backend::Library peer(const Peer& what) {
  const std::string name(what.name);
  const auto state = [name] {
    const auto roots = roots_of(name);
    if (!roots.empty()) return backend::LibraryState{roots.back().version, {}};
    return backend::LibraryState{{}, fmt::format("scripts/library-root {} fetches its newest release", name)};
  };
  const auto releases = [name] { return versions_of_roots(name); };
  const auto started = [what](const backend::Specification& asked, const SandboxLimits& limits) {
    return start(what, asked, limits);
  };
  backend::Accepted accepted{what.words, {}};
  for (const auto& [key, values] : what.keys) accepted.keys.push_back({key, values});
  backend::Library library{what.name, what.description, std::move(accepted), state, nullptr, nullptr, nullptr,
                           releases,  started};
  for (const std::string_view key : what.switches) library.switches.push_back({key, "off"});
  return library;
}

}  // namespace qconform::libraries

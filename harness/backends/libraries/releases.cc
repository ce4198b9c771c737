#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "harness/backends/libraries/libraries.h"
#include "harness/base/text.h"

namespace qconform::libraries {
namespace {

namespace fs = std::filesystem;

fs::path folder_of_roots() {
  const char* stated = std::getenv("QCONFORM_ROOTS");
  return stated != nullptr && *stated != '\0' ? fs::path(stated) : fs::path(QCONFORM_ROOTS_DIRECTORY);
}

}  // namespace

std::vector<LibraryRoot> roots_of(std::string_view name) {
  const std::string prefix = std::string(name) + "-";
  std::vector<LibraryRoot> roots;
  std::error_code error;
  for (fs::directory_iterator entry(folder_of_roots(), error), end; !error && entry != end; entry.increment(error)) {
    const std::string folder = entry->path().filename().string();
    std::error_code ignored;
    if (!folder.starts_with(prefix) || !fs::is_regular_file(entry->path() / "VERSION", ignored)) continue;
    roots.push_back({folder.substr(prefix.size()), entry->path()});
  }
  std::sort(roots.begin(), roots.end(),
            [](const LibraryRoot& a, const LibraryRoot& b) { return backend::is_older(a.version, b.version); });
  return roots;
}

std::vector<std::string> versions_of_roots(std::string_view name) {
  std::vector<std::string> versions;
  for (const LibraryRoot& root : roots_of(name)) versions.push_back(root.version);
  return versions;
}

Result<LibraryRoot> root_for(const backend::Specification& what, std::string_view built_with) {
  std::vector<LibraryRoot> roots = roots_of(what.name);
  const auto fits = [&](const LibraryRoot& root) { return backend::begins_with(root.version, what.version); };
  const auto newest = std::find_if(roots.rbegin(), roots.rend(), fits);
  if (newest != roots.rend()) return *newest;
  std::vector<std::string> here;
  for (const LibraryRoot& root : roots) here.push_back(root.version);
  const bool is_listed = std::find(here.begin(), here.end(), built_with) != here.end();
  if (!built_with.empty() && !is_listed) here.emplace_back(built_with);
  return fail("--backend",
              fmt::format("\"{}\": no release {} of {} here; there {} {}; scripts/library-root {}:{} fetches it if "
                          "scripts/library-root --list has it",
                          backend::text_of(what), what.version, what.name, here.size() > 1 ? "are" : "is",
                          here.empty() ? "none" : fmt::format("{}", fmt::join(here, ", ")), what.name, what.version));
}

Error damaged_root(const backend::Specification& what, const LibraryRoot& root, std::string_view why) {
  return {"--backend",
          fmt::format("\"{}\": the root {} is damaged: {}; scripts/library-root {}:{} fetches it again",
                      backend::text_of(what), root.folder.string(), why, what.name, root.version),
          {}};
}

namespace {

fs::path program_for(const LibraryRoot& root) {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path() / ("worker-" + root.folder.filename().string());
}

// The last line that the program prints when it is asked for its version: a loader that lacks something says so there.
std::string version_told_by(const fs::path& program) {
  const std::string command = fmt::format("{} --version 2>&1", shell_word(program.string()));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(popen(command.c_str(), "re"), pclose);
  std::string last;
  std::array<char, 512> line{};
  while (output && std::fgets(line.data(), static_cast<int>(line.size()), output.get()) != nullptr) last = line.data();
  while (!last.empty() && last.back() == '\n') last.pop_back();
  return last;
}

std::string version_in_use(std::string_view name) {
  for (const backend::Library& library : libraries()) {
    if (library.name == name) return library.state().version;
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> worker_program(const backend::Specification& what) {
  QCONFORM_ASSIGN(const auto root, root_for(what, version_in_use(what.name)));
  const fs::path program = program_for(root);
  const std::string name = backend::text_of(what);
  if (access(program.c_str(), X_OK) != 0) {
    return fail("--backend", fmt::format("\"{}\": there is no {} for {}: scripts/build {} makes it", name,
                                         program.string(), root.folder.string(), QCONFORM_PRESET));
  }
  const std::string told = version_told_by(program);
  const std::string expected = fmt::format("{} {} in ", what.name, root.version);
  if (told == expected + root.folder.string()) return std::vector<std::string>{program.string()};
  if (told.starts_with(expected)) {
    return fail("--backend",
                fmt::format("\"{}\": {} was built for {}, not for {}: scripts/build {} makes it anew", name,
                            program.string(), told.substr(expected.size()), root.folder.string(), QCONFORM_PRESET));
  }
  return tl::unexpected(damaged_root(what, root, told));
}

}  // namespace qconform::libraries

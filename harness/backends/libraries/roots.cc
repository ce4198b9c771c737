#include "harness/backends/libraries/roots.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

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
  if (!built_with.empty()) here.emplace_back(built_with);
  for (const LibraryRoot& root : roots) here.push_back(root.version);
  return fail("--backend",
              fmt::format("\"{}\": version {} of {} is not available: {}; scripts/library-root {}:{} "
                          "fetches it if scripts/library-root --list has it",
                          backend::text_of(what), what.version, what.name,
                          here.empty() ? "none is"
                                       : fmt::format("{} {}", fmt::join(here, ", "), here.size() == 1 ? "is" : "are"),
                          what.name, what.version));
}

Error damaged_root(const backend::Specification& what, const LibraryRoot& root, std::string_view why) {
  return {"--backend",
          fmt::format("\"{}\": the root {} is damaged: {}; scripts/library-root {}:{} fetches it again",
                      backend::text_of(what), root.folder.string(), why, what.name, root.version),
          {}};
}

}  // namespace qconform::libraries

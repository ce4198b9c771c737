#include "harness/backends/libraries/worker_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "harness/backends/libraries/libraries.h"
#include "harness/backends/libraries/roots.h"
#include "harness/base/text.h"

namespace qconform::libraries {
namespace {

namespace fs = std::filesystem;

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

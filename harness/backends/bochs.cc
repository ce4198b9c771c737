#include "harness/backends/bochs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "harness/backends/emulator.h"
#include "harness/base/forked_process.h"

namespace qconform::backend {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMake = "scripts/get-bochs brings it, without changing the system";

// The processors with 64 bits and SSE4.1 at least; scripts/bochs-run knows what Bochs calls them.
constexpr std::array<std::string_view, 14> kModels{
    "penryn", "lynnfield", "sandy_bridge", "ivy_bridge", "zambezi",   "haswell",         "broadwell",
    "ryzen",  "skylake_x", "cannonlake",   "icelake",    "tigerlake", "sapphire_rapids", "arrow_lake"};

std::string_view plain_name(std::string_view cpu) {
  if (cpu.starts_with(kBochsPrefix)) cpu.remove_prefix(kBochsPrefix.size());
  return cpu;
}

// The folder that scripts/get-bochs makes, beside this build.
fs::path folder() {
  const char* const stated = std::getenv("QCONFORM_BOCHS");
  if (stated != nullptr && *stated != '\0') return stated;
  const auto own = own_program();
  return own ? (own->parent_path() / "../../bochs").lexically_normal() : fs::path();
}

// The environment variables that configure libraries or tell qconform where to find them: the emulated machine gets
// them too.
std::vector<std::string> passed_environment() {
  static constexpr std::array<std::string_view, 6> kPassed{"ONNXRUNTIME_", "QCONFORM_", "DNNL_",
                                                           "ONEDNN_",      "OMP_",      "ORT_"};
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const auto begins = [&](std::string_view prefix) { return text.starts_with(prefix); };
    if (std::any_of(kPassed.begin(), kPassed.end(), begins)) variables.emplace_back(text);
  }
  return variables;
}

// The files that this process has mapped, by their paths.
std::set<std::string> mapped_files() {
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path != std::string::npos && line.find(".so", path) != std::string::npos) files.insert(line.substr(path));
  }
  return files;
}

}  // namespace

std::vector<std::string_view> bochs_models() {
  return {kModels.begin(), kModels.end()};
}

bool is_bochs_model(std::string_view cpu) {
  return std::find(kModels.begin(), kModels.end(), plain_name(cpu)) != kModels.end();
}

std::string whole_bochs_name(std::string_view cpu) {
  return std::string(kBochsPrefix) + std::string(plain_name(cpu));
}

bool has_bochs() {
  return access((folder() / "RECIPE").c_str(), R_OK) == 0;
}

Result<GuestCommand> bochs_command(std::string_view cpu, const std::vector<fs::path>& files) {
#if !defined(__x86_64__)
  return fail("--cpu", fmt::format("{} runs x86-64 programs, and this qconform is not one", cpu));
#endif
  if (!has_bochs()) {
    return fail("--cpu",
                fmt::format("{} needs the emulator Bochs, which is not in {}: {}", cpu, folder().string(), kMake));
  }
  QCONFORM_ASSIGN(const auto own, own_program());
  GuestCommand command{{(folder() / "run").string(), "--cpu", std::string(plain_name(cpu))}, {own.string()}};
  for (const fs::path& file : files) command.emulator.insert(command.emulator.end(), {"--file", file.string()});
  for (const std::string& variable : passed_environment()) {
    command.emulator.insert(command.emulator.end(), {"--env", variable});
  }
  return command;
}

std::vector<fs::path> files_mapped_by(const std::function<void()>& work) {
  const std::set<std::string> before = mapped_files();
  const auto text = run_forked("--cpu", {}, [&]() -> Result<std::string> {
    work();
    std::string lines;
    for (const std::string& file : mapped_files()) {
      if (!before.contains(file)) lines += file + '\n';
    }
    return lines;
  });
  std::vector<fs::path> files;
  if (!text) return files;  // it does not load there either, and says why
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    files.emplace_back(line);
    const fs::path version = files.back().parent_path().parent_path() / "VERSION";
    std::error_code error;
    if (fs::is_regular_file(version, error)) files.push_back(version);
  }
  return files;
}

}  // namespace qconform::backend

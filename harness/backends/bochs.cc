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

struct Model {
  std::string_view name;
  std::string_view of_bochs;
};
// Those with 64 bits and SSE4.1 at least.
constexpr std::array kModels{
    Model{"penryn", "core2_penryn_t9600"},
    Model{"lynnfield", "corei5_lynnfield_750"},
    Model{"sandy_bridge", "corei7_sandy_bridge_2600k"},
    Model{"ivy_bridge", "corei7_ivy_bridge_3770k"},
    Model{"zambezi", "zambezi"},
    Model{"haswell", "corei7_haswell_4770"},
    Model{"broadwell", "broadwell_ult"},
    Model{"ryzen", "ryzen"},
    Model{"skylake_x", "corei7_skylake_x"},
    Model{"cannonlake", "corei3_cnl"},
    Model{"icelake", "corei7_icelake_u"},
    Model{"tigerlake", "tigerlake"},
    Model{"sapphire_rapids", "sapphire_rapids"},
    Model{"arrow_lake", "arrow_lake"},
};

std::string_view plain_name(std::string_view cpu) {
  if (cpu.starts_with(kBochsPrefix)) cpu.remove_prefix(kBochsPrefix.size());
  return cpu;
}

const Model* model_of(std::string_view cpu) {
  const auto* const found =
      std::find_if(kModels.begin(), kModels.end(), [&](const Model& model) { return model.name == plain_name(cpu); });
  return found == kModels.end() ? nullptr : found;
}

// The folder that scripts/get-bochs makes, beside this build.
fs::path folder() {
  const char* const stated = std::getenv("QCONFORM_BOCHS");
  if (stated != nullptr && *stated != '\0') return stated;
  const auto own = own_program();
  return own ? (own->parent_path() / "../../bochs").lexically_normal() : fs::path();
}

// What libraries are told by their environment, and where qconform finds them.
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
  std::vector<std::string_view> names;
  for (const Model& model : kModels) names.push_back(model.name);
  return names;
}

bool is_bochs_model(std::string_view cpu) {
  return model_of(cpu) != nullptr;
}

std::string whole_bochs_name(std::string_view cpu) {
  return std::string(kBochsPrefix) + std::string(plain_name(cpu));
}

bool has_bochs() {
  return access((folder() / "RECIPE").c_str(), R_OK) == 0;
}

Result<GuestCommand> bochs_command(std::string_view cpu, const std::vector<fs::path>& files) {
  const Model* const model = model_of(cpu);
  if (model == nullptr) return fail("--cpu", fmt::format("Bochs has no processor \"{}\"", plain_name(cpu)));
#if !defined(__x86_64__)
  return fail("--cpu", fmt::format("{} runs x86-64 programs, and this qconform is not one", cpu));
#endif
  if (!has_bochs()) {
    return fail("--cpu",
                fmt::format("{} needs the emulator Bochs, which is not in {}: {}", cpu, folder().string(), kMake));
  }
  QCONFORM_ASSIGN(const auto own, own_program());
  GuestCommand command{{(folder() / "run").string(), "--cpu", std::string(model->of_bochs)}, {own.string()}};
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

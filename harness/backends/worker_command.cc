#include "harness/backends/worker_command.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/base/process.h"
#include "harness/base/text.h"

namespace qconform::backend {
namespace {

namespace fs = std::filesystem;

struct Emulator {
  std::string_view machine;
  std::string_view program;
};
constexpr Emulator kX86{"x86_64", "qemu-x86_64"};
constexpr Emulator kArm{"aarch64", "qemu-aarch64"};
constexpr std::array kEmulators{kX86, kArm};

#if defined(__aarch64__)
constexpr std::string_view kThisMachine = "aarch64";
#else
constexpr std::string_view kThisMachine = "x86_64";
#endif

// The models that an emulator lists, one a line behind a heading: "x86 Haswell   (...)", "  cortex-a72".
// Empty where the emulator is not installed.
std::vector<std::string> models_of(const Emulator& emulator) {
  std::vector<std::string> models;
  const std::string command = std::string(emulator.program) + " -cpu help 2>/dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(popen(command.c_str(), "re"), pclose);
  if (!output) return models;
  std::array<char, 512> line{};
  while (std::fgets(line.data(), static_cast<int>(line.size()), output.get()) != nullptr) {
    std::istringstream words(line.data());
    std::string word;
    words >> word;
    if (word == "x86") words >> word;
    if (word == "Recognized") break;  // a list of features follows
    if (!word.empty() && word != "Available") models.push_back(word);
  }
  return models;
}

bool has(const std::vector<std::string>& models, std::string_view name) {
  return std::find(models.begin(), models.end(), name) != models.end();
}

struct ModelChoice {
  Emulator emulator;
  std::string model;
};

Result<ModelChoice> unknown_model(const std::string& cpu, std::vector<std::string> models) {
  const std::vector<std::string_view> of_bochs = bochs_models();
  const std::string_view prefix = std::string_view(cpu).starts_with(kBochsPrefix) ? kBochsPrefix : "";
  std::vector<std::string_view> names(models.begin(), models.end());
  names.insert(names.end(), of_bochs.begin(), of_bochs.end());
  std::string text =
      fmt::format("no processor \"{}\"; see: {} -cpu help, {} -cpu help", cpu, kX86.program, kArm.program);
  if (!prefix.empty()) {
    names = of_bochs;
    text = fmt::format("no processor \"{}\"", cpu);
  } else if (models.empty()) {
    text =
        fmt::format("{} needs {} or {}, and neither is installed (Debian: qemu-user)", cpu, kX86.program, kArm.program);
  }
  text += fmt::format("; Bochs has {}", fmt::join(of_bochs, ", "));
  const auto near = near_names(std::string_view(cpu).substr(prefix.size()), names);
  if (!near.empty()) text += fmt::format("; is it {}{}?", prefix, near.front());
  return fail("--cpu", text);
}

Result<ModelChoice> choose(const std::string& cpu) {
  std::string_view machine;
  std::string model = cpu;
  if (const std::size_t colon = cpu.find(':'); colon != std::string::npos) {
    machine = std::string_view(cpu).substr(0, colon);
    model = cpu.substr(colon + 1);
  }
  std::vector<std::string> all;
  std::vector<ModelChoice> found;
  for (const Emulator& emulator : kEmulators) {
    if (!machine.empty() && machine != emulator.machine) continue;
    const std::vector<std::string> models = models_of(emulator);
    if (has(models, model)) found.push_back({emulator, model});
    all.insert(all.end(), models.begin(), models.end());
  }
  if (found.empty()) return unknown_model(cpu, std::move(all));
  if (found.size() > 1) {
    return fail("--cpu", fmt::format("{0} is a model of two machines; expected {1}:{0} or {2}:{0}", cpu, kX86.machine,
                                     kArm.machine));
  }
  return found.front();
}

// Adds the options for what an arm64 program needs beside itself: the C library of the cross compiler, the libraries of
// scripts/arm64-sysroot, and an ONNX Runtime other than this machine's.
void add_arm64_libraries(const fs::path& program, std::vector<std::string>& command) {
  const fs::path sysroot = program.parent_path() / "../../arm64-sysroot";
  const fs::path prefix = sysroot / "emulator";  // the C library, and a /proc/cpuinfo of that kind
  const fs::path libc = fs::exists(prefix) ? fs::weakly_canonical(prefix) : fs::path("/usr/aarch64-linux-gnu");
  if (fs::exists(libc)) command.insert(command.end(), {"-L", libc.string()});
  const char* const onnxruntime = std::getenv("ONNXRUNTIME_ROOT_ARM64");
  const bool is_given = onnxruntime != nullptr && *onnxruntime != '\0';
  command.insert(command.end(), {"-E", std::string("ONNXRUNTIME_ROOT=") + (is_given ? onnxruntime : "")});
  if (!fs::exists(sysroot)) return;
  const std::string root = fs::weakly_canonical(sysroot).string();
  command.insert(command.end(), {"-E", fmt::format("LD_LIBRARY_PATH={0}/usr/lib/aarch64-linux-gnu:"
                                                   "{0}/lib/aarch64-linux-gnu",
                                                   root)});
}

Result<fs::path> arm64_build(const std::string& given, const fs::path& own) {
  if (!given.empty()) {
    if (access(given.c_str(), X_OK) != 0) return fail("--arm64-program", given + " is not a program");
    return fs::absolute(given);
  }
  const fs::path beside = own.parent_path() / "../../arm64-qemu/bin/qconform";
  if (access(beside.c_str(), X_OK) == 0) return fs::canonical(beside);
  return fail("--cpu", fmt::format("an arm64 processor needs an arm64 build of qconform, and {} is none: "
                                   "scripts/build arm64-qemu qconform makes it, or name one with --arm64-program",
                                   fs::weakly_canonical(beside).string()));
}

}  // namespace

bool is_emulated() {
#if defined(__x86_64__)
  constexpr unsigned kHypervisor = 0x40000000;
  unsigned eax = 0;
  std::array<unsigned, 3> vendor{};
  __cpuid(kHypervisor, eax, vendor[0], vendor[1], vendor[2]);
  return std::memcmp(vendor.data(), "TCGTCGTCGTCG", sizeof vendor) == 0;
#else
  return false;
#endif
}

Result<fs::path> own_program() {
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return fail("--cpu", "cannot tell where this program is: " + error.message());
  return program;
}

std::vector<std::string> installed_emulators() {
  std::vector<std::string> programs;
  for (const Emulator& emulator : {kX86, kArm}) {
    if (!models_of(emulator).empty()) programs.emplace_back(emulator.program);
  }
  return programs;
}

Result<std::vector<std::string>> emulated_program(const std::string& cpu, const std::string& arm64_program) {
  QCONFORM_ASSIGN(const auto choice, choose(cpu));
  QCONFORM_ASSIGN(const auto own, own_program());
  if (choice.emulator.machine == kThisMachine) return emulated_command(cpu, {own.string()});
  std::vector<std::string> command{std::string(choice.emulator.program), "-cpu", choice.model};
  if (choice.emulator.machine != kArm.machine)
    return fail("--cpu", cpu + " runs x86-64 programs, and this qconform is not one");
  QCONFORM_ASSIGN(const auto program, arm64_build(arm64_program, own));
  add_arm64_libraries(program, command);
  command.push_back(program.string());
  return command;
}

Result<std::vector<std::string>> emulated_command(const std::string& cpu, const std::vector<std::string>& command) {
  QCONFORM_ASSIGN(const auto choice, choose(cpu));
  if (choice.emulator.machine != kThisMachine) {
    return fail("--cpu", fmt::format("{} does not run {}, a program for {}", cpu, command.front(), kThisMachine));
  }
  std::vector<std::string> result{std::string(choice.emulator.program), "-cpu", choice.model};
  result.insert(result.end(), command.begin(), command.end());
  return result;
}

namespace {

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

namespace {

const std::vector<std::string>& words() {
  static const std::vector<std::string> all{
      "bwrap",         "--ro-bind",         "/",        "/",      "--dev",    "/dev",          "--proc",     "/proc",
      "--tmpfs",       "/var/tmp",          "--setenv", "TMPDIR", "/var/tmp", "--unshare-all", "--cap-drop", "ALL",
      "--new-session", "--die-with-parent", "--"};
  return all;
}

// Says why bubblewrap does not work here; empty where it does.
Result<std::string> fault() {
  QCONFORM_ASSIGN(const auto trial,
                  ChildProcess::start(fmt::format("{} true", fmt::join(words(), " ")), ChildProcess::Output::logged));
  while (!trial->status()) {
    std::string_view nothing;
    std::string received;
    trial->exchange(nothing, received, std::chrono::milliseconds(100));
  }
  const int status = *trial->status();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return trial->log().empty() ? "it fails" : trial->log();
}

}  // namespace

Result<std::vector<std::string>> confining_words() {
  static const Result<std::string> found = fault();
  QCONFORM_TRY(found);
  if (found->empty()) return words();
  return fail("--isolation",
              "confined needs bubblewrap (scripts/install-packages confine), and namespaces for it: " + *found);
}

}  // namespace qconform::backend

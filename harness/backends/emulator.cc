#include "harness/backends/emulator.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include "harness/backends/bochs.h"
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

struct Choice {
  Emulator emulator;
  std::string model;
};

Result<Choice> unknown_model(const std::string& cpu, std::vector<std::string> models) {
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

Result<Choice> choose(const std::string& cpu) {
  std::string_view machine;
  std::string model = cpu;
  if (const std::size_t colon = cpu.find(':'); colon != std::string::npos) {
    machine = std::string_view(cpu).substr(0, colon);
    model = cpu.substr(colon + 1);
  }
  std::vector<std::string> all;
  std::vector<Choice> found;
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

}  // namespace qconform::backend

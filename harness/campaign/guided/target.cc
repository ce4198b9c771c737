#include "harness/campaign/guided/target.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "harness/base/child_process.h"
#include "harness/base/text.h"

namespace qconform::guided {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOption = "--fuzz-target";
constexpr const char* kVariable = "QCONFORM_FUZZ_TARGET";
constexpr const char* kName = "fuzz_differential";
constexpr const char* kHowToBuild =
    "scripts/build fuzz fuzz_differential builds it, with clang; name one that is elsewhere with --fuzz-target";
constexpr double kAnswersWithin = 60;  // s; a program with sanitizers on a busy machine

// Reads the description that the program prints of itself (fuzz/campaign_judge.h).
Result<Target> described(const fs::path& program) {
  QCONFORM_ASSIGN(const auto finished, run_command(shell_word(program.string()) + " --describe", kAnswersWithin));
  std::istringstream words(finished.output);
  std::string kind;
  std::string name;
  std::string engine;
  Target target{program, "", ""};
  words >> kind >> name >> engine >> target.version >> target.commit;
  if (!finished.succeeded() || kind != "qconform-fuzz-target" || name != "differential") {
    return fail(kOption, fmt::format("{} is not the fuzz target differential; {}", program.string(), kHowToBuild));
  }
  if (engine != "libfuzzer") {
    return fail(kOption,
                fmt::format("{} is built without libFuzzer, as a plain reproducer; {}", program.string(), kHowToBuild));
  }
  return target;
}

Result<Target> given(const char* where, const std::string& program) {
  if (access(program.c_str(), X_OK) != 0) {
    return fail(where, fmt::format("there is no program {}; {}", program, kHowToBuild));
  }
  return described(fs::canonical(program));
}

}  // namespace

Result<Target> find_target(const std::string& named) {
  if (!named.empty()) return given(kOption, named);
  const char* const variable = std::getenv(kVariable);
  if (variable != nullptr && *variable != '\0') return given(kVariable, variable);
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::string looked;
  for (const char* const folder : {".", "../lib/qconform", "../../fuzz/bin", "../../asan-ubsan/bin"}) {
    const fs::path program = fs::weakly_canonical(here / folder / kName, error);
    looked += (looked.empty() ? "" : ", ") + program.parent_path().string();
    if (access(program.c_str(), X_OK) != 0) continue;
    // Builds without libFuzzer have a reproducer of that name.
    if (auto target = described(program)) return target;
  }
  return fail(kOption, fmt::format("no {} with libFuzzer in {}; {}", kName, looked, kHowToBuild));
}

Result<void> check_words(const std::vector<std::string>& words) {
  constexpr std::string_view kHarmless = "_-+./:@=,%[]";
  for (const std::string& word : words) {
    const bool is_harmless = std::all_of(word.begin(), word.end(), [&](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             kHarmless.find(c) != std::string_view::npos;
    });
    if (!is_harmless || word.empty()) {
      return fail("--engine", fmt::format("libFuzzer hands \"{}\" to a shell as it is: expected letters, digits and {}",
                                          word, kHarmless));
    }
  }
  return {};
}

Result<Finished> run_command(const std::string& command, double seconds) {
  using Clock = std::chrono::steady_clock;
  QCONFORM_ASSIGN(auto child, ChildProcess::start("exec 2>&1; " + command, ChildProcess::Output::piped));
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  Finished finished;
  std::string_view nothing;
  while (!child->status() && Clock::now() < end) {
    child->exchange(nothing, finished.output, std::chrono::milliseconds(50));
  }
  child->exchange(nothing, finished.output, std::chrono::milliseconds(0));
  finished.status = child->status();
  return finished;
}

}  // namespace qconform::guided

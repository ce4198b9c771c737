#include "harness/campaign/guided/libfuzzer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include "harness/base/file.h"
#include "harness/base/process.h"
#include "harness/base/text.h"
#include "harness/model/mutate/case_mutator.h"
#include "harness/onnx/case_model.h"

namespace qconform::guided {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLastLines = 2048;    // bytes that are shown where it ends by itself
constexpr std::streamoff kEndOfLog = 4096;  // bytes that are looked at of a process's log

// 32 bits, of which 0 would mean a seed of libFuzzer's own.
std::uint32_t seed_of(std::uint64_t seed) {
  const auto folded = static_cast<std::uint32_t>(seed ^ (seed >> 32U));
  return folded == 0 ? 1 : folded;
}

// The folder of its forked processes; empty where there is none.
fs::path working_folder(const fs::path& temporary) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(temporary, error)) {
    if (entry.path().filename().string().starts_with("libFuzzerTemp.FuzzWithFork")) return entry.path();
  }
  return {};
}

std::string end_of(const fs::path& file) {
  std::string text(static_cast<std::size_t>(kEndOfLog), '\0');
  std::FILE* const stream = std::fopen(file.c_str(), "rb");
  if (stream == nullptr) return {};
  if (std::fseek(stream, -static_cast<long>(kEndOfLog), SEEK_END) != 0) std::rewind(stream);
  text.resize(std::fread(text.data(), 1, text.size(), stream));
  (void)std::fclose(stream);
  return text;
}

std::vector<std::string> command_of(const LibFuzzerOptions& options) {
  const auto seconds = static_cast<std::int64_t>(std::ceil(std::min(options.timeout, 86400.0)));
  std::vector<std::string> words{
      options.target.program.string(), fmt::format("-fork={}", options.jobs), "-ignore_crashes=1", "-ignore_timeouts=1",
      "-ignore_ooms=1", fmt::format("-seed={}", seed_of(options.seed)), fmt::format("-timeout={}", seconds),
      fmt::format("-rss_limit_mb={}", options.memory), fmt::format("-max_len={}", KeptInputs::kLargest),
      // Mutants are as large as their shapes say, from the first one on.
      "-len_control=0", "-artifact_prefix=artifacts/"};
  words.insert(words.end(), options.flags.begin(), options.flags.end());
  words.insert(words.end(), {"corpus", "seeds"});
  return words;
}

}  // namespace

Result<void> EngineFolders::make() const {
  for (const fs::path& folder : {seeds(), corpus(), failing(), artifacts(), temporary()}) {
    QCONFORM_TRY(make_folder("--out", folder));
  }
  return {};
}

void EngineFolders::harvest() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(working_folder(temporary()), error)) {
    std::error_code ignored;
    if (!entry.is_directory(ignored) || !entry.path().filename().string().starts_with("C")) continue;
    for (const auto& input : fs::directory_iterator(entry.path(), ignored)) {
      fs::rename(input.path(), corpus() / input.path().filename(), ignored);
    }
  }
  fs::remove_all(temporary(), error);
  fs::create_directories(temporary(), error);
}

Result<std::unique_ptr<LibFuzzer>> LibFuzzer::start(const LibFuzzerOptions& options) {
  const std::vector<std::string> words = command_of(options);
  QCONFORM_TRY(check_words(words));
  // Relative paths, because it hands all that it is given to a shell unquoted. AddressSanitizer keeps freed memory
  // back, 256 MB of it by default: the bound on memory is for what the target uses.
  const std::string command = fmt::format(
      "cd {} && export TMPDIR=tmp ASAN_OPTIONS=\"${{ASAN_OPTIONS:+$ASAN_OPTIONS:}}quarantine_size_mb=64\" "
      "&& exec {} 2>&1",
      shell_word(options.folders.root.string()), fmt::join(words, " "));
  QCONFORM_ASSIGN(auto process, ChildProcess::start(command, ChildProcess::Output::piped));
  return std::unique_ptr<LibFuzzer>(new LibFuzzer(options.folders, std::move(process)));
}

void LibFuzzer::poll(int milliseconds) {
  std::string_view nothing;
  process_->exchange(nothing, received_, std::chrono::milliseconds(milliseconds));
  for (std::size_t end = 0; (end = received_.find('\n')) != std::string::npos;) {
    const std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    if (const auto counted = fork_line(line)) {
      counted_ = {counted->executions, counted->coverage};
    } else {
      last_lines_ += line + "\n";
    }
  }
  if (last_lines_.size() > kLastLines) last_lines_.erase(0, last_lines_.size() - kLastLines);
}

// Processes that run have logs, which are removed once what they did is counted.
LibFuzzer::Counters LibFuzzer::counters() const {
  Counters sum = counted_;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(working_folder(folders_.temporary()), error)) {
    if (entry.path().extension() != ".log") continue;
    const JobLine at = last_job_line(end_of(entry.path()));
    sum.executions += at.executions;
    sum.coverage.edges = std::max(sum.coverage.edges, at.coverage.edges);
    sum.coverage.features = std::max(sum.coverage.features, at.coverage.features);
  }
  return sum;
}

std::optional<std::string> LibFuzzer::ended() const {
  const auto status = process_ == nullptr ? std::nullopt : process_->status();
  if (!status) return std::nullopt;
  return fmt::format("{} {}: {}", WIFSIGNALED(*status) ? "by signal" : "with exit status",
                     WIFSIGNALED(*status) ? WTERMSIG(*status) : WEXITSTATUS(*status), last_lines_);
}

void LibFuzzer::stop() {
  process_.reset();
}

namespace {

// The number behind `label`, which stands somewhere behind `from`.
std::optional<std::uint64_t> number_behind(std::string_view line, std::string_view label) {
  std::size_t at = line.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  at += label.size();
  while (at < line.size() && (line[at] == ' ' || line[at] == ':')) ++at;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data() + at, line.data() + line.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<ForkLine> fork_line(std::string_view line) {
  if (line.empty() || line.front() != '#') return std::nullopt;
  const auto executions = number_behind(line, "#");
  const auto edges = number_behind(line, " cov:");
  const auto features = number_behind(line, " ft:");
  if (!executions || !edges || !features || line.find(" job:") == std::string_view::npos) return std::nullopt;
  return ForkLine{*executions, {*edges, *features}};
}

JobLine last_job_line(std::string_view log) {
  // An unfinished line may end in half a number.
  log = log.substr(0, log.rfind('\n') + 1);
  while (!log.empty()) {
    log.remove_suffix(1);
    const std::size_t begin = log.rfind('\n') + 1;  // 0 where there is none
    const std::string_view line = log.substr(begin);
    const auto executions = line.starts_with('#') ? number_behind(line, "#") : std::nullopt;
    if (executions) {
      return {*executions, {number_behind(line, " cov:").value_or(0), number_behind(line, " ft:").value_or(0)}};
    }
    log = log.substr(0, begin);
  }
  return {};
}

namespace {

constexpr const char* kOption = "--fuzz-target";
constexpr const char* kVariable = "QCONFORM_FUZZ_TARGET";
constexpr const char* kName = "fuzz_differential";
constexpr const char* kHowToBuild =
    "scripts/build fuzz fuzz_differential builds it, with clang; name one that is elsewhere with --fuzz-target";
constexpr double kAnswersWithin = 60;  // s; a program with sanitizers on a busy machine

// Reads the description that the program prints of itself (fuzz/campaign_judge.h).
Result<FuzzTarget> described(const fs::path& program) {
  QCONFORM_ASSIGN(const auto finished, run_command(shell_word(program.string()) + " --describe", kAnswersWithin));
  std::istringstream words(finished.output);
  std::string kind;
  std::string name;
  std::string engine;
  FuzzTarget target{program, "", ""};
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

Result<FuzzTarget> given(const char* where, const std::string& program) {
  if (access(program.c_str(), X_OK) != 0) {
    return fail(where, fmt::format("there is no program {}; {}", program, kHowToBuild));
  }
  return described(fs::canonical(program));
}

}  // namespace

Result<FuzzTarget> find_target(const std::string& named) {
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

class KeptInputs::FileSuite final : public Suite {
 public:
  FileSuite(KeptInputs& inputs, std::vector<fs::path> files) : inputs_(inputs), files_(std::move(files)) {}

  [[nodiscard]] std::string name() const override { return "libfuzzer"; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    while (next_ < files_.size()) {
      const fs::path& file = files_[next_++];
      // The engine replaces inputs by smaller ones.
      const auto bytes = read_file(file, kLargest);
      if (!bytes) continue;
      auto test_case = case_of_input(*bytes);
      if (!test_case) {
        ++skipped_["not a model of one small quantized node"];
        continue;
      }
      test_case->id = "libfuzzer-" + file.filename().string();
      test_case->provenance = {"libfuzzer", inputs_.seed_, inputs_.next_index_};
      inputs_.cases_.emplace(inputs_.next_index_++, *test_case);
      return std::optional(std::move(*test_case));
    }
    return std::nullopt;
  }

 private:
  KeptInputs& inputs_;
  std::vector<fs::path> files_;
  std::size_t next_ = 0;
};

std::vector<fs::path> KeptInputs::fresh(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".part" || !known_.insert(at->path()).second) continue;
    files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::unique_ptr<Suite> KeptInputs::source(std::vector<fs::path> files) {
  return std::make_unique<FileSuite>(*this, std::move(files));
}

void KeptInputs::forget_all_but(const std::set<std::uint64_t>& indices) {
  std::erase_if(cases_, [&](const auto& entry) { return !indices.contains(entry.first); });
}

Result<Case> case_of_input(std::string_view bytes) {
  QCONFORM_ASSIGN(auto test_case, case_from_model(bytes));
  QCONFORM_TRY(check_operator(test_case));
  test_case = computation_of(test_case);
  test_case.id = "fuzz";
  if (!is_small(test_case, classify(test_case))) return fail("", "too large to be judged at once");
  return test_case;
}

namespace {

constexpr std::size_t kLogKept = 4096;
constexpr double kStart = 30;  // s that a process may take beside the input's own limit

// With the one backend, or "none"; wrong values end it, too.
std::string replay_line(const std::filesystem::path& artifact, const LibFuzzerOptions& options,
                        const std::string& backend) {
  std::string line = shell_word(options.target.program.string());
  for (const std::string& flag : options.flags) {
    if (!flag.starts_with("--backend=") && !flag.starts_with("--failing=")) line += " " + shell_word(flag);
  }
  return fmt::format("{} --backend={} {}", line, shell_word(backend), shell_word(artifact.string()));
}

// Keeps wrong values without ending the process, as while the engine runs.
Result<Finished> replay(const std::filesystem::path& artifact, const LibFuzzerOptions& options,
                        const std::string& backend) {
  const std::string command =
      fmt::format("cd {} && {} --failing=failing -artifact_prefix=tmp/ -timeout={} -rss_limit_mb={}",
                  shell_word(options.folders.root.string()), replay_line(artifact, options, backend),
                  static_cast<std::int64_t>(options.timeout + 1), options.memory);
  return run_command(command, options.timeout + kStart);
}

// "AddressSanitizer: heap-buffer-overflow FILE:LINE:COLUMN in f(int)" without the place.
std::string without_place(const std::string& summary) {
  std::istringstream words(summary);
  std::string kind;
  for (std::string word; words >> word;) {
    if (word.find('/') == std::string::npos && word.find("0x") == std::string::npos)
      kind += (kind.empty() ? "" : " ") + word;
  }
  return kind;
}

}  // namespace

TellingLine last_words(const std::string& log) {
  TellingLine words;
  std::string last;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kSummary = "SUMMARY: ";
    if (!line.empty()) last = line;
    if (const std::size_t at = line.find("runtime error: "); at != std::string::npos && words.line.empty()) {
      words = {line, "UndefinedBehaviorSanitizer: " + without_place(line.substr(at))};
    }
    if (line.starts_with(kSummary) && words.line.empty()) {
      words = {line.substr(kSummary.size()), without_place(line.substr(kSummary.size()))};
    }
  }
  return words.line.empty() ? TellingLine{last, "ended"} : words;
}

Result<CrashCause> cause_of(const std::filesystem::path& artifact, const LibFuzzerOptions& options,
                            const std::vector<std::string>& backends) {
  CrashCause cause;
  QCONFORM_ASSIGN(const auto alone, replay(artifact, options, "none"));
  if (!alone.succeeded()) {
    cause.own_fault =
        fmt::format("{}; replay: {}", last_words(alone.output).line, replay_line(artifact, options, "none"));
    return cause;
  }
  for (const std::string& backend : backends) {
    QCONFORM_ASSIGN(const auto finished, replay(artifact, options, backend));
    if (finished.succeeded()) continue;
    const TellingLine words = last_words(finished.output);
    TargetEnding ending{backend, "crashed:" + words.kind, {}};
    ending.verdict.kind = finished.status ? VerdictKind::crashed : VerdictKind::timed_out;
    ending.verdict.detail =
        fmt::format("{}, in the fuzz target alone: {}", words.line, replay_line(artifact, options, backend));
    ending.verdict.log = finished.output.substr(finished.output.size() - std::min(finished.output.size(), kLogKept));
    cause.backends.push_back(std::move(ending));
  }
  return cause;
}

}  // namespace qconform::guided

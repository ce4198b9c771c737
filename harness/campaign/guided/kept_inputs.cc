#include "harness/campaign/guided/kept_inputs.h"

#include <fmt/format.h>
#include <algorithm>
#include <sstream>
#include <utility>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/campaign/guided/libfuzzer.h"
#include "harness/model/mutate/case_mutator.h"
#include "harness/onnx/case_model.h"

namespace qconform::guided {

namespace fs = std::filesystem;

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

LastWords last_words(const std::string& log) {
  LastWords words;
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
  return words.line.empty() ? LastWords{last, "ended"} : words;
}

Result<Cause> cause_of(const std::filesystem::path& artifact, const LibFuzzerOptions& options,
                       const std::vector<std::string>& backends) {
  Cause cause;
  QCONFORM_ASSIGN(const auto alone, replay(artifact, options, "none"));
  if (!alone.succeeded()) {
    cause.own_fault =
        fmt::format("{}; replay: {}", last_words(alone.output).line, replay_line(artifact, options, "none"));
    return cause;
  }
  for (const std::string& backend : backends) {
    QCONFORM_ASSIGN(const auto finished, replay(artifact, options, backend));
    if (finished.succeeded()) continue;
    const LastWords words = last_words(finished.output);
    Ending ending{backend, "crashed:" + words.kind, {}};
    ending.verdict.kind = finished.status ? VerdictKind::crashed : VerdictKind::timed_out;
    ending.verdict.detail =
        fmt::format("{}, in the fuzz target alone: {}", words.line, replay_line(artifact, options, backend));
    ending.verdict.log = finished.output.substr(finished.output.size() - std::min(finished.output.size(), kLogKept));
    cause.backends.push_back(std::move(ending));
  }
  return cause;
}

}  // namespace qconform::guided

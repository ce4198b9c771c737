// Finds and runs the fuzz target that guides a campaign, fuzz/differential.cc built with libFuzzer; reads the inputs
// that it keeps; and tells whose fault it was that an input ended it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/process.h"
#include "harness/core/case.h"
#include "harness/core/suite.h"
#include "harness/core/verdict.h"

namespace qconform::guided {

struct FuzzTarget {
  std::filesystem::path program;
  std::string version;  ///< version of qconform that it was built from
  std::string commit;
};

/// `named` or, where that is empty, the environment variable QCONFORM_FUZZ_TARGET, or else the first that there is of
/// fuzz_differential beside this program, in ../lib/qconform from there, and in the build trees of the presets fuzz and
/// asan-ubsan beside this one's. Errors: there is none, or it is built without libFuzzer.
[[nodiscard]] Result<FuzzTarget> find_target(const std::string& named);

/// Words of a command line that libFuzzer repeats to a shell unquoted. Errors: a character that means something to it.
[[nodiscard]] Result<void> check_words(const std::vector<std::string>& words);

struct Finished {
  std::optional<int> status;  ///< as waitpid gives it; absent where it was ended because it took too long
  std::string output;         ///< text that it printed to stdout and stderr

  [[nodiscard]] bool succeeded() const { return status && *status == 0; }
};

/// Runs it in a shell, for so many seconds at most. Errors: it cannot be started.
[[nodiscard]] Result<Finished> run_command(const std::string& command, double seconds);

// libFuzzer on the target, with its forked processes and the folders that they share.

struct EdgeCoverage {
  std::uint64_t edges = 0;
  std::uint64_t features = 0;
};

/// A line of the process that forks the others:
/// "#1234: cov: 500 ft: 2000 corp: 300 exec/s: 10 oom/timeout/crash: 0/1/2 time: 12s job: 3 ..."
struct ForkLine {
  std::uint64_t executions = 0;
  EdgeCoverage coverage;
};
[[nodiscard]] std::optional<ForkLine> fork_line(std::string_view line);

/// How far a forked process has come, from the end of its log: the last whole line "#1234\tNEW    cov: 5 ft: 6 ...".
struct JobLine {
  std::uint64_t executions = 0;
  EdgeCoverage coverage;
};
[[nodiscard]] JobLine last_job_line(std::string_view log);

/// Folders of a campaign's engine, below one.
struct EngineFolders {
  std::filesystem::path root;

  [[nodiscard]] std::filesystem::path seeds() const { return root / "seeds"; }
  [[nodiscard]] std::filesystem::path corpus() const { return root / "corpus"; }  ///< inputs that reached something new
  [[nodiscard]] std::filesystem::path failing() const { return root / "failing"; }  ///< the smallest of each failure
  [[nodiscard]] std::filesystem::path artifacts() const { return root / "artifacts"; }  ///< crashing and slow inputs
  [[nodiscard]] std::filesystem::path temporary() const { return root / "tmp"; }

  [[nodiscard]] Result<void> make() const;
  /// Moves the inputs of killed processes into the corpus, and removes their folders.
  void harvest() const;
};

struct LibFuzzerOptions {
  EngineFolders folders;
  FuzzTarget target;
  std::vector<std::string> flags;  ///< flags of the target itself: --backend=avx2 and so on
  std::uint64_t seed = 0;
  int jobs = 1;
  double timeout = 10;         ///< seconds for one input
  std::int64_t memory = 2048;  ///< MiB of one process
};

class LibFuzzer {
 public:
  /// Work of the engine since it was started.
  struct Counters {
    std::uint64_t executions = 0;
    EdgeCoverage coverage;
  };

  /// Errors: a word of its command line that it cannot be given, and that no process can be started.
  [[nodiscard]] static Result<std::unique_ptr<LibFuzzer>> start(const LibFuzzerOptions& options);

  /// Waits for output, for so many milliseconds at most.
  void poll(int milliseconds);
  [[nodiscard]] Counters counters() const;
  /// Why the engine ended, where it did: it should not.
  [[nodiscard]] std::optional<std::string> ended() const;
  /// Ends all of its processes.
  void stop();

 private:
  LibFuzzer(EngineFolders folders, std::unique_ptr<ChildProcess> process)
      : folders_(std::move(folders)), process_(std::move(process)) {}

  EngineFolders folders_;
  std::unique_ptr<ChildProcess> process_;
  std::string received_;  ///< lines that have no end yet
  std::string last_lines_;
  Counters counted_;  ///< counts of the processes that have ended
};

// Inputs that an engine keeps in folders, as cases, each once.

class KeptInputs {
 public:
  /// Larger files are skipped. The engine gets the same bound.
  static constexpr std::int64_t kLargest = std::int64_t{16} << 10;

  /// `seed` is the provenance's.
  explicit KeptInputs(std::uint64_t seed) : seed_(seed) {}

  /// Files of the folder that were not there before, by name. Those that are written (.part) are left for later.
  [[nodiscard]] std::vector<std::filesystem::path> fresh(const std::filesystem::path& folder);
  /// The cases in these files: the provenance has their numbers, in the order in which they are asked for. Files
  /// without a case are counted as skipped, and those that are gone left out. This outlives the source.
  [[nodiscard]] std::unique_ptr<Suite> source(std::vector<std::filesystem::path> files);

  /// A case that a source gave, which was not forgotten since.
  [[nodiscard]] Case at(std::uint64_t index) const { return cases_.at(index); }
  /// Index of the last case that a source gave.
  [[nodiscard]] std::uint64_t last_index() const { return next_index_ - 1; }
  void forget_all_but(const std::set<std::uint64_t>& indices);

 private:
  class FileSuite;

  std::uint64_t seed_;
  std::uint64_t next_index_ = 0;
  std::set<std::filesystem::path> known_;
  std::map<std::uint64_t, Case> cases_;
};

/// The case in the bytes of a one-node model, without what the model says of the case beside the node: a campaign
/// judges what is computed. Errors: no such model, an operator that qconform does not know, and cases too large to be
/// judged at once (harness/model/mutate).
[[nodiscard]] Result<Case> case_of_input(std::string_view bytes);

// Inputs that ended a process of the fuzz target, and whose fault it was.

/// A backend that ends the fuzz target, with the sanitizers' word for it.
struct TargetEnding {
  std::string backend;  ///< as on the command line
  /// Equal for inputs that end it alike: "crashed:AddressSanitizer: heap-buffer-overflow in f".
  std::string symptom;
  Verdict verdict;
};

struct CrashCause {
  std::vector<TargetEnding> backends;
  std::optional<std::string> own_fault;  ///< fault of the fuzz target itself: it ends without a backend, too
};

/// Runs the target once on the input with each backend alone, and once with none. Errors: no process can be started.
[[nodiscard]] Result<CrashCause> cause_of(const std::filesystem::path& artifact, const LibFuzzerOptions& options,
                                          const std::vector<std::string>& backends);

/// The most telling line of sanitizers, libFuzzer or the target in the log of a process that ended, and the same line
/// without addresses, places and process numbers.
struct TellingLine {
  std::string line;
  std::string kind;
};
[[nodiscard]] TellingLine last_words(const std::string& log);

}  // namespace qconform::guided

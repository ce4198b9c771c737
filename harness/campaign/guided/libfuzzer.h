// Runs the fuzz target that guides a campaign: fuzz/differential.cc, built with libFuzzer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/child_process.h"
#include "harness/base/error.h"

namespace qconform::guided {

struct Target {
  std::filesystem::path program;
  std::string version;  ///< version of qconform that it was built from
  std::string commit;
};

/// `named` or, where that is empty, the environment variable QCONFORM_FUZZ_TARGET, or else the first that there is of
/// fuzz_differential beside this program, in ../lib/qconform from there, and in the build trees of the presets fuzz and
/// asan-ubsan beside this one's. Errors: there is none, or it is built without libFuzzer.
[[nodiscard]] Result<Target> find_target(const std::string& named);

/// Words of a command line that libFuzzer repeats to a shell unquoted. Errors: a character that means something to it.
[[nodiscard]] Result<void> check_words(const std::vector<std::string>& words);

struct Finished {
  std::optional<int> status;  ///< as waitpid gives it; absent where it was ended because it took too long
  std::string output;         ///< text that it printed to stdout and stderr

  [[nodiscard]] bool succeeded() const { return status && *status == 0; }
};

/// Runs it in a shell, for so many seconds at most. Errors: it cannot be started.
[[nodiscard]] Result<Finished> run_command(const std::string& command, double seconds);

// Runs libFuzzer on a fuzz target, with its forked processes and the folders that they share.

struct Coverage {
  std::uint64_t edges = 0;
  std::uint64_t features = 0;
};

/// A line of the process that forks the others:
/// "#1234: cov: 500 ft: 2000 corp: 300 exec/s: 10 oom/timeout/crash: 0/1/2 time: 12s job: 3 ..."
struct ForkLine {
  std::uint64_t executions = 0;
  Coverage coverage;
};
[[nodiscard]] std::optional<ForkLine> fork_line(std::string_view line);

/// How far a forked process has come, from the end of its log: the last whole line "#1234\tNEW    cov: 5 ft: 6 ...".
struct JobLine {
  std::uint64_t executions = 0;
  Coverage coverage;
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
  Target target;
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
    Coverage coverage;
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

}  // namespace qconform::guided

// Arguments and options that several commands have: how strictly to judge, the sandbox, lengths of time, contracts to
// keep to, the case that a command is about, and the line of progress.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/backends/select.h"
#include "harness/base/error.h"
#include "harness/cli/output.h"
#include "harness/core/backend.h"
#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/engine/contracts.h"
#include "harness/engine/shrink/shrink.h"
#include "harness/engine/waivers.h"

namespace qconform::cli {

struct PolicyOptions {
  std::string profile = "conformance";
  std::string overflow = "wrap";
};

void add_policy_options(CLI::App& command, PolicyOptions& options);

[[nodiscard]] Result<Policy> chosen_policy(const PolicyOptions& options);

/// `--defects`, of commands that know defect models.
void add_defects_option(CLI::App& command, std::vector<std::string>& files);

/// Adds the defects of these files to those that come with qconform.
[[nodiscard]] Result<void> use_defects(const std::vector<std::string>& files);

struct WaiverOptions {
  std::string file = {};   ///< empty: none was named
  std::string draft = {};  ///< file to write waivers to for what is found; empty: none
  std::string pins = {};   ///< file to write waivers of the very cases and answers to; empty: none
};

void add_waiver_options(CLI::App& command, WaiverOptions& options, const std::string& default_text);

/// Those of the named file, or of `otherwise` where none was named; "none" stands for none.
[[nodiscard]] Result<std::optional<Waivers>> chosen_waivers(const WaiverOptions& options,
                                                            const std::filesystem::path& otherwise);

/// Writes waivers for the findings of the report if they were asked for.
[[nodiscard]] Result<void> write_draft(const WaiverOptions& options, const Report& report);

/// "90s", "10m", "8h" or "500ms": a whole or decimal number above 0 and a unit. `field` is the option that the
/// error names.
[[nodiscard]] Result<std::chrono::duration<double>> parse_duration(const std::string& field, std::string_view text);

/// Reads the one case of a file or folder (load_single_case), and says on stderr when its opset is newer than
/// qconform.
[[nodiscard]] Result<Case> load_operand(const std::string& file);

// The options that say where backends run and what they may take, the same for every command that
// runs them.

struct SandboxOptions {
  std::string which = "third-party";
  double timeout = SandboxLimits().timeout;            ///< seconds
  std::int64_t memory = SandboxLimits().memory >> 20;  ///< MiB
  std::string guard = "sampled";
  int threads = 0;  ///< 0: no check
  std::vector<std::string> cpus;
  bool valid_only = false;
  std::string arm64_program;
};

/// `--cpu`, of commands that take several backends, is added beside the others.
void add_cpu_option(CLI::App& command, SandboxOptions& options);
/// `--valid-only`, of commands that judge suites.
void add_valid_only_option(CLI::App& command, SandboxOptions& options);
void add_sandbox_options(CLI::App& command, SandboxOptions& options);

/// Adds the option that names the program for the other processor, which is this machine's own affair.
void add_arm64_option(CLI::App& command, SandboxOptions& options);

/// Writes the options that can change a verdict, as on a command line.
[[nodiscard]] std::string sandbox_text(const SandboxOptions& options);
/// Reads the options that sandbox_text() wrote; other text leaves them at their defaults.
[[nodiscard]] SandboxOptions sandbox_from(const std::string& text);

[[nodiscard]] Result<backend::SandboxPolicy> chosen_sandbox(const SandboxOptions& options);

// The options that say what backends take, and that suites are made for that.

struct WithinOptions {
  bool within = true;  ///< cases for what each backend takes, beside those for everything
  std::string only;    ///< contracts in place of learnt ones; may be empty
  bool cached = true;  ///< solved arrays are kept
  std::string cache;   ///< folder of solved arrays and cases; empty: cache::usual_folder()
};

/// `within`: what --no-within leaves out.
void add_within_options(CLI::App& command, WithinOptions& options, const char* within);

/// Keeps solved arrays and cases of suites where the options say.
void keep_in_cache(const WithinOptions& options);

/// Whether a backend may take less than the reference does: a library, a plugin or a process.
[[nodiscard]] bool is_foreign(const Backend& backend);

/// Returns the contracts that --only states, or else learns them by asking the backend.
[[nodiscard]] Result<Contracts> contracts_of(const WithinOptions& options, Backend& backend, std::uint64_t seed,
                                             const ContractProgress& progress = {});

// Progress of searches that run a backend again and again: shrinking, explaining.

/// A runner that shows, on `line`, what `text` makes of the number of runs. `line` outlives it.
template <typename Text>
[[nodiscard]] shrink::Runner with_progress(shrink::Runner run, ProgressLine& line, Text text) {
  return [run = std::move(run), &line, text = std::move(text), runs = std::uint64_t{0}](const Case& test_case) mutable {
    line.update([&] { return std::string(text(runs)); });
    ++runs;
    return run(test_case);
  };
}

}  // namespace qconform::cli

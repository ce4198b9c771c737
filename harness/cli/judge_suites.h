// Judges backends on suites, for every command that makes a report of that: its options, and the report.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/cli/arguments.h"
#include "harness/report/report.h"
#include "harness/suites/select.h"
#include "harness/suites/stored_cases.h"

namespace qconform::cli {

struct SuitesOptions {
  std::vector<std::string> backends;
  std::vector<std::string> suites{"conformance"};
  SuiteOptions suite;
  PolicyOptions policy;
  std::vector<std::string> defects;  ///< files, which the command adds first (use_defects)
  SandboxOptions sandbox;
  WaiverOptions waivers;
  std::string out;
  std::optional<std::uint64_t> fail_fast;
  WithinOptions within;
  bool thorough = false;                    ///< sizes and positions at strength 4 too
  bool expects_fusion = false;              ///< a backend that fuses nothing in the suites' graphs does not conform
  std::optional<std::uint64_t> min_judged;  ///< per cent of each model's quantized nodes
  bool power = false;                       ///< measure the detection power of the cases that each backend computes
  std::string since;                        ///< release that findings are traced from; empty: none are
  bool explain = true;
  bool shrink = true;
  /// Opens what is judged in the place of `backends`; empty where these are.
  std::function<std::vector<std::unique_ptr<Backend>>()> open_backends = {};
  /// Gets each failure that no waiver covers, as soon as it is judged; may be empty.
  std::function<void(const Case&, const Verdict&)> failed = {};
};

/// open_suite(), with a line on stderr while a model is read and run.
[[nodiscard]] Result<std::vector<std::unique_ptr<Suite>>> open_shown(std::string_view name, SuiteOptions options);
void add_model_memory_option(CLI::App& command, std::uint64_t& mebibytes);

/// Adds the choice of cases: `--suite` and the options that belong to it.
void add_suite_choice(CLI::App& command, SuitesOptions& options);

/// Contracts of the backends that suites were made for, by their position.
using Learnt = std::map<std::size_t, Contracts>;

/// Those suites, and those that are made for what each backend takes, which goes to `learnt`. Errors also where a suite
/// is one of relations. `newer` outlives the suites.
[[nodiscard]] Result<std::vector<std::unique_ptr<Suite>>> suites_for(const SuitesOptions& options,
                                                                     std::vector<std::unique_ptr<Backend>>& backends,
                                                                     NewerOpsets& newer, Learnt& learnt);

/// Returns the backend's contract, which is learnt now unless it was before. A kernel that takes everything has all.
[[nodiscard]] Result<Contracts> contracts_from(const Learnt& learnt, const SuitesOptions& options,
                                               std::vector<std::unique_ptr<Backend>>& backends, std::size_t number);

/// All but `--backend`, whose text and default are the command's. `waived`: which waivers apply where none are named.
void add_suites_options(CLI::App& command, SuitesOptions& options, const char* waived);

/// The report, with findings explained and shrunk as asked for. Without backends it judges those that are here, and
/// leaves the exit code to the kernels among them. The headline goes to stderr where `stdout_is_data`.
[[nodiscard]] Result<Report> judge_suites(SuitesOptions options, const Policy& policy, bool stdout_is_data);

}  // namespace qconform::cli

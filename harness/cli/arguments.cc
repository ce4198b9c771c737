#include "harness/cli/arguments.h"

#include <fmt/format.h>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "harness/backends/kinds.h"
#include "harness/base/file.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/forms/defects/defect_files.h"
#include "harness/forms/json/profile_file.h"
#include "harness/suites/cache.h"
#include "harness/suites/select.h"
#include "harness/suites/stored_cases.h"
#include "harness/suites/sweep/covering_array.h"

namespace qconform::cli {

void add_policy_options(CLI::App& command, PolicyOptions& options) {
  command
      .add_option(
          "--profile", options.profile,
          "Which right answers to admit: a name (see: qconform list profiles), or a file that identify -o wrote")
      ->capture_default_str();
  command
      .add_option("--overflow", options.overflow,
                  "ConvInteger beyond 32 bits (rule C17): wrap, or permissive to admit saturation too")
      ->capture_default_str();
}

Result<Policy> chosen_policy(const PolicyOptions& options) {
  return policy_named(options.profile, options.overflow);
}

void add_defects_option(CLI::App& command, std::vector<std::string>& files) {
  command
      .add_option("--defects", files,
                  "File of defects of your own, beside those of qconform list defects; may be repeated "
                  "(docs/defect-models.md)")
      ->allow_extra_args(false);
}

Result<void> use_defects(const std::vector<std::string>& files) {
  for (const std::string& file : files) QCONFORM_TRY(in_context("--defects", diagnose::add_defects_of(file)));
  return {};
}

void add_waiver_options(CLI::App& command, WaiverOptions& options, const std::string& default_text) {
  command.add_option("--waivers", options.file,
                     "File of known discrepancies, which do not make the run fail, or none (default: " + default_text +
                         "; docs/formats.md)");
  command.add_option("--draft-waivers", options.draft,
                     "File for waivers of the findings, one each, which hold for every seed; you add the reasons");
}

Result<std::optional<Waivers>> chosen_waivers(const WaiverOptions& options, const std::filesystem::path& otherwise) {
  const std::filesystem::path file = options.file.empty() ? otherwise : std::filesystem::path(options.file);
  if (file.empty() || file == "none") return std::nullopt;
  return in_context("--waivers", Waivers::load(file));
}

Result<void> write_draft(const WaiverOptions& options, const Report& report) {
  if (options.draft.empty()) return {};
  const DraftedWaivers drafted = draft_waivers(report);
  if (!drafted.left_out.empty()) {
    print_note(
        fmt::format("no waiver is drafted for {}: neither a cause nor conditions distinguish them from other failures; "
                    "qconform run --pin-waivers FILE waives their very cases",
                    fmt::join(drafted.left_out, ", ")));
  }
  return write_file(options.draft, drafted.text);
}

Result<std::chrono::duration<double>> parse_duration(const std::string& field, std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const double seconds = unit == "ms" ? 0.001 : unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || seconds == 0 || !(number > 0)) {
    return fail(field, fmt::format("expected a positive number with a unit (ms, s, m or h), got \"{}\"", text));
  }
  return std::chrono::duration<double>(number * seconds);
}

Result<Case> load_operand(const std::string& file) {
  QCONFORM_ASSIGN(auto test_case, load_single_case(file));
  NewerOpsets newer;
  newer.add(test_case);
  print_note(newer.text());
  return test_case;
}

CLI::Validator at_least(int least) {
  return {[least](std::string& text) -> std::string {
            char* end = nullptr;
            const double value = std::strtod(text.c_str(), &end);
            if (end != text.c_str() + text.size() || value >= least) return {};
            return fmt::format("{} is below {}, the least that is possible", text, least);
          },
          ""};
}

CLI::Validator is_number(const std::string& type) {
  return {[type](std::string& text) -> std::string {
            const bool is_whole = type != "FLOAT";
            char* end = nullptr;
            errno = 0;
            if (type == "UINT") static_cast<void>(std::strtoull(text.c_str(), &end, 0));
            if (type == "INT") static_cast<void>(std::strtoll(text.c_str(), &end, 0));
            if (!is_whole) static_cast<void>(std::strtod(text.c_str(), &end));
            if (text.empty() || end != text.c_str() + text.size()) {
              return fmt::format("expected a {}number, got \"{}\"", is_whole ? "whole " : "", text);
            }
            return is_whole && errno == ERANGE ? fmt::format("{} needs more than 64 bits", text) : "";
          },
          ""};
}

void add_cpu_option(CLI::App& command, SandboxOptions& options) {
  command
      .add_option(
          "--cpu", options.cpus,
          "Processors, by commas: native, or models that qemu-x86_64, qemu-aarch64 or Bochs emulates; each backend "
          "runs on each, and is named BACKEND[CPU] there (docs/other-cpus.md)")
      ->delimiter(',');
}

void add_valid_only_option(CLI::App& command, SandboxOptions& options) {
  command.add_flag("--valid-only", options.valid_only,
                   "Send valid cases only, to kernels that assume valid nodes; BACKEND@valid-only does so for one of "
                   "several");
}

void add_sandbox_options(CLI::App& command, SandboxOptions& options) {
  command
      .add_option(
          "--isolation", options.which,
          "Backends that run in worker processes, in guarded memory: third-party, all or none; confined: third-party "
          "ones in namespaces of their own too, without network and with read-only files (bubblewrap)")
      ->capture_default_str();
  command.add_option("--timeout", options.timeout, "Seconds that a worker may take for one run of a case")
      ->capture_default_str();
  command.add_option("--memory-limit", options.memory, "MiB that a worker may take beside the loaded backend")
      ->capture_default_str();
  command
      .add_option(
          "--guard", options.guard,
          "full: run every case four times, at two places in memory and after another node, to find what one run "
          "hides; sampled: do so for a share of the cases and for those that fail")
      ->capture_default_str();
  add_arm64_option(command, options);
  command.add_flag("--threads-check{4}", options.threads,
                   "Run each prepared case from this many threads at once too (4) and compare the outputs");
}

void add_arm64_option(CLI::App& command, SandboxOptions& options) {
  command.add_option("--arm64-program", options.arm64_program,
                     "qconform built for arm64, for its processors (default: build/arm64-qemu/bin/qconform)");
}

std::string sandbox_text(const SandboxOptions& options) {
  return fmt::format("--isolation {} --timeout {} --memory-limit {} --guard {} --threads-check {}", options.which,
                     options.timeout, options.memory, options.guard, options.threads);
}

SandboxOptions sandbox_from(const std::string& text) {
  SandboxOptions options;
  std::istringstream words(text);
  for (std::string name; words >> name;) {
    if (name == "--isolation") words >> options.which;
    if (name == "--timeout") words >> options.timeout;
    if (name == "--memory-limit") words >> options.memory;
    if (name == "--guard") words >> options.guard;
    if (name == "--threads-check") words >> options.threads;
  }
  return options;
}

Result<backend::SandboxPolicy> chosen_sandbox(const SandboxOptions& options) {
  using Which = backend::SandboxPolicy::Which;
  constexpr double kLongest = 86400;
  constexpr std::int64_t kLargest = std::int64_t{1} << 30;
  backend::SandboxPolicy policy;
  if (options.which == "all") {
    policy.which = Which::all;
  } else if (options.which == "none") {
    policy.which = Which::none;
  } else if (options.which == "confined") {
    policy.confined = true;
  } else if (options.which != "third-party") {
    return fail("--isolation", fmt::format("expected third-party, all, confined or none, got \"{}\"", options.which));
  }
  if (!(options.timeout > 0 && options.timeout <= kLongest)) {
    return fail("--timeout", fmt::format("expected seconds above 0 and up to {}, got {}", kLongest, options.timeout));
  }
  if (options.memory < 1 || options.memory > kLargest) {
    return fail("--memory-limit", fmt::format("expected 1 to {} MiB, got {}", kLargest, options.memory));
  }
  const bool full = options.guard == "full";
  if (!full && options.guard != "sampled") {
    return fail("--guard", fmt::format("expected sampled or full, got \"{}\"", options.guard));
  }
  if (options.threads != 0 && (options.threads < 2 || options.threads > backend::kMostThreads)) {
    return fail("--threads-check",
                fmt::format("expected 2 to {} threads, got {}", backend::kMostThreads, options.threads));
  }
  policy.limits = {options.timeout, options.memory << 20,
                   full ? SandboxLimits::Guard::full : SandboxLimits::Guard::sampled};
  policy.threads = options.threads;
  policy.arm64_program = options.arm64_program;
  return policy;
}

void add_within_options(CLI::App& command, WithinOptions& options, const char* within) {
  command.add_option(
      "--only", options.only,
      "What the backends take: \"MODEL: PARAMETER=CLASS[|CLASS]..., ...\" with the words of qconform list sweep "
      "(default: it is learnt of each library, plugin and process)");
  command.add_flag("--no-within{false}", options.within, within);
  command.add_option("--cache", options.cache,
                     "Folder that keeps solved arrays and cases of suites (default: $QCONFORM_CACHE, else qconform in "
                     "$XDG_CACHE_HOME or ~/.cache)");
  command.add_flag("--no-cache{false}", options.cached,
                   "Solve the arrays of the sweep and make all cases anew, and keep none");
}

void keep_in_cache(const WithinOptions& options) {
  if (!options.cached) return cache::use({});
  cache::use(options.cache.empty() ? cache::usual_folder() : std::filesystem::path(options.cache));
}

bool is_foreign(const Backend& backend) {
  const std::string& kind = backend.info().kind;
  return kind == "library" || kind == "plugin" || kind == "process";
}

Result<Contracts> contracts_of(const WithinOptions& options, Backend& backend, std::uint64_t seed,
                               const ContractProgress& progress) {
  if (options.only.empty()) return learn_contracts(backend, seed, progress);
  return stated_contracts(options.only);
}

}  // namespace qconform::cli

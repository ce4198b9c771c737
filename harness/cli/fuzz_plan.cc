#include "harness/cli/fuzz_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <string_view>

#include "harness/backends/select.h"
#include "harness/base/bytes.h"
#include "harness/base/file.h"
#include "harness/base/number.h"
#include "harness/cli/arguments.h"
#include "harness/core/version.h"
#include "harness/suites/select.h"
#include "reports/render/forms.h"

namespace qconform::cli {
namespace {

constexpr int kMostJobs = 1024;

std::uint64_t drawn_seed() {
  std::random_device device;
  return device();  // 32 bits: short enough to type
}

// Takes what no option gives from the journal of the campaign that is resumed.
Result<void> take_from_journal(FuzzPlan& plan) {
  FuzzOptions& options = plan.options;
  const std::filesystem::path file = std::filesystem::path(options.out) / campaign::kJournalName;
  std::error_code error;
  if (!options.resume || std::filesystem::file_size(file, error) == 0 || error) return {};
  QCONFORM_ASSIGN(auto reader, campaign::JournalReader::open(file));
  QCONFORM_ASSIGN(const auto record, reader.next());
  QCONFORM_ASSIGN(const auto identity, in_context(file.string(), campaign::decode_identity(record->payload)));
  if (!options.seed) options.seed = identity.seed;
  if (options.suite.empty()) options.suite = identity.suite;
  if (options.defects.empty()) options.defects = identity.defects;
  if (options.within.within && options.within.only.empty()) plan.contracts = identity.contracts;
  if (!options.backends.empty()) return {};
  options.backends = identity.backends;
  options.sandbox.cpus.clear();  // these names have the processors in them
  return {};
}

Result<std::string> digest_of_file(const std::string& field, const std::string& file) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  QCONFORM_ASSIGN(const auto bytes, in_context(field, read_file(file, kMost)));
  Digest digest;
  digest.add(std::string_view(bytes));
  return fmt::format("{:016x}", digest.value());
}

std::vector<std::string> canonical_command(const FuzzOptions& options) {
  std::vector<std::string> command{"fuzz", "--seed", std::to_string(*options.seed)};
  if (options.is_guided()) command.insert(command.end(), {"--engine", options.engine});
  if (!options.suite.empty()) command.insert(command.end(), {"--suite", options.suite});
  for (const std::string& name : options.backends) command.insert(command.end(), {"--backend", name});
  for (const std::string& file : options.defects) command.insert(command.end(), {"--defects", file});
  if (options.cases) command.insert(command.end(), {"--cases", std::to_string(*options.cases)});
  if (!options.duration.empty()) command.insert(command.end(), {"--for", options.duration});
  if (!options.within.only.empty()) command.insert(command.end(), {"--only", options.within.only});
  if (!options.within.within && options.suite.empty()) command.emplace_back("--no-within");
  return command;
}

Result<campaign::Identity> identity_of(const FuzzOptions& options, const campaign::Shard& shard) {
  campaign::Identity identity;
  identity.version = kVersion;
  identity.commit = kCommit;
  identity.engine = options.engine;
  identity.seed = *options.seed;
  identity.suite = options.suite;
  identity.block_cases = campaign::kBlockCases;
  identity.backends = options.backends;
  identity.profile = options.policy.profile;
  identity.overflow = options.policy.overflow;
  identity.explain = options.explain;
  identity.sandbox = sandbox_text(options.sandbox);
  identity.shard = shard;
  identity.command = canonical_command(options);
  if (options.policy.profile.find_first_of("/.") != std::string::npos) {
    QCONFORM_ASSIGN(identity.profile_digest, digest_of_file("--profile", options.policy.profile));
  }
  for (const std::string& file : options.defects) {
    QCONFORM_ASSIGN(const auto digest, digest_of_file("--defects", file));
    identity.defects.push_back(file);
    identity.defects_digest += (identity.defects_digest.empty() ? "" : " ") + digest;
  }
  if (!options.waivers.file.empty() && options.waivers.file != "none") {
    QCONFORM_ASSIGN(identity.waivers_digest, digest_of_file("--waivers", options.waivers.file));
    identity.waivers = options.waivers.file;
  }
  return identity;
}

Result<void> check_guided(FuzzOptions& options) {
  if (!options.suite.empty()) {
    return fail("--suite", "does not go with --engine libfuzzer, whose fuzz target draws single nodes");
  }
  if (options.cases) return fail("--cases", "does not go with --engine libfuzzer; --for says how long it runs");
  if (!options.shard.shard.empty()) {
    return fail("--shard", "does not go with --engine libfuzzer, which has no blocks to share");
  }
  if (options.sandbox.which == "none") {
    return fail("--isolation",
                "none: --engine libfuzzer needs worker processes, to judge inputs that end the fuzz target");
  }
  if (!options.within.only.empty()) {
    return fail("--only", "does not go with --engine libfuzzer, which follows the code of the fuzz target");
  }
  if (!options.defects.empty()) {
    return fail("--defects",
                "does not go with --engine libfuzzer, whose fuzz target knows the defects of qconform alone");
  }
  if (options.sandbox.threads != 0) return fail("--threads-check", "does not go with --engine libfuzzer");
  options.sandbox.which = "all";
  return {};
}

// Checks the suite, and turns contracts off for every suite but fuzz, the only one whose cases are made for them.
Result<void> check_suite(FuzzOptions& options) {
  if (options.suite == "fuzz") options.suite.clear();
  if (options.suite.empty()) return {};
  if (draw_of_suite(options.suite) == nullptr) {
    return fail("--suite", fmt::format("expected fuzz, random or graphs, got \"{}\"", options.suite));
  }
  if (!options.within.only.empty()) return fail("--only", "goes with the suite fuzz alone");
  options.within.within = false;
  return {};
}

Result<void> check(FuzzOptions& options) {
  QCONFORM_TRY(check_suite(options));
  if (options.jobs < 1 || options.jobs > kMostJobs) {
    return fail("--jobs", fmt::format("expected 1 to {}, got {}", kMostJobs, options.jobs));
  }
  if (options.repair && !options.resume) return fail("--repair", "goes with --resume");
  if (options.is_guided()) return check_guided(options);
  if (options.engine != "seeded") {
    return fail("--engine", fmt::format("expected seeded or libfuzzer, got \"{}\"", options.engine));
  }
  if (!options.fuzz_target.empty()) return fail("--fuzz-target", "goes with --engine libfuzzer");
  return {};
}

// Reads the report that --compare names.
Result<void> choose_before(FuzzOptions& options) {
  const std::string& file = options.compare;
  if (file.empty() || file == "none") return {};
  QCONFORM_ASSIGN(auto report, in_context("--compare", report::load_report(file)));
  if (report.profile != options.policy.profile || report.overflow != options.policy.overflow) {
    return fail(
        "--compare",
        fmt::format(
            "expected a report made with --profile {} and --overflow {}, as this campaign, got {} with {} and {}",
            options.policy.profile, options.policy.overflow, file, report.profile, report.overflow));
  }
  options.forms.before = {file, std::move(report)};
  return {};
}

// With --resume the journal of this machine decides.
Result<void> choose_shard(FuzzPlan& plan, campaign::Shard& shard) {
  if (plan.options.is_guided()) return {};
  QCONFORM_ASSIGN(shard, chosen_shard(plan.options.shard));
  return {};
}

Result<void> choose_judge_options(FuzzPlan& plan) {
  QCONFORM_ASSIGN(const auto policy, chosen_policy(plan.options.policy));
  QCONFORM_ASSIGN(plan.waivers, chosen_waivers(plan.options.waivers, ""));
  plan.judge = {policy, plan.waivers ? &*plan.waivers : nullptr, plan.options.explain};
  return {};
}

// Asks each backend what it takes, before the jobs open backends of their own.
Result<std::vector<campaign::KnownContracts>> known_contracts(const FuzzOptions& options,
                                                              const campaign::OpenBackends& open) {
  std::vector<campaign::KnownContracts> list;
  if (options.is_guided() || (!options.within.within && options.within.only.empty())) return list;
  keep_in_cache(options.within);
  QCONFORM_ASSIGN(const auto backends, open());
  ProgressLine line;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    if (options.within.only.empty() && !is_foreign(*backends[i])) continue;
    QCONFORM_ASSIGN(auto contracts, contracts_of(options.within, *backends[i], *options.seed,
                                                 contract_progress(line, backends[i]->info().name)));
    list.push_back({i, std::move(contracts)});
  }
  return list;
}

Result<void> choose_driver(FuzzPlan& plan) {
  const FuzzOptions& options = plan.options;
  QCONFORM_ASSIGN(plan.sandbox, chosen_sandbox(options.sandbox));
  campaign::DriverOptions& driver = plan.driver;
  if (!options.duration.empty()) {
    QCONFORM_ASSIGN(const auto parsed, parse_duration("--for", options.duration));
    driver.seconds = parsed.count();
  }
  driver.folder = options.out;
  driver.take = options.repair   ? campaign::JournalStore::Take::repair
                : options.resume ? campaign::JournalStore::Take::resume
                                 : campaign::JournalStore::Take::anew;
  driver.jobs = options.jobs;
  driver.cases = options.cases;
  driver.open = [names = options.backends, arithmetic = arithmetic_of(plan.judge.policy.profile),
                 sandbox = plan.sandbox] { return backend::select_all(names, arithmetic, sandbox); };
  if (!options.since.empty()) {
    QCONFORM_ASSIGN(const auto backends, driver.open());
    QCONFORM_TRY(check_since(options.since, backends));
  }
  campaign::Shard shard;
  QCONFORM_TRY(choose_shard(plan, shard));
  QCONFORM_ASSIGN(driver.identity, identity_of(options, shard));
  if (!plan.contracts) {
    QCONFORM_ASSIGN(plan.contracts, known_contracts(options, driver.open));
  }
  driver.identity.contracts = *plan.contracts;
  driver.identity.without_graphs =
      !options.is_guided() && plan.contracts->empty() &&
      std::all_of(options.backends.begin(), options.backends.end(), backend::is_kernel_set);
  driver.block = {.case_at = campaign::cases_of(driver.identity),
                  .suite = driver.identity.suite_name(),
                  .judge = plan.judge,
                  .contracts = *plan.contracts,
                  .stop = {},
                  .progress = {}};
  return {};
}

}  // namespace

campaign::ReportOptions FuzzPlan::report_options(const campaign::CaseAt& case_at) const {
  return {.judge = judge,
          .case_at = case_at,
          .shrink = options.shrink,
          .suite = driver.identity.suite_name(),
          .progress = {}};
}

Result<void> make_plan(FuzzPlan& plan) {
  FuzzOptions& options = plan.options;
  QCONFORM_TRY(check(options));
  QCONFORM_TRY(take_from_journal(plan));
  QCONFORM_TRY(use_defects(options.defects));
  QCONFORM_TRY(choose_judge_options(plan));
  QCONFORM_TRY(choose_before(options));
  if (!options.seed) options.seed = drawn_seed();
  if (options.backends.empty()) options.backends = backend::available_kernels();
  QCONFORM_ASSIGN(options.backends,
                  backend::whole_names(options.backends, options.sandbox.cpus, options.sandbox.valid_only));
  QCONFORM_TRY(choose_driver(plan));
  if (!options.is_guided()) return {};
  QCONFORM_ASSIGN(plan.target, guided::find_target(options.fuzz_target));
  return {};
}

namespace {

using campaign::Shard;

constexpr std::uint64_t kMostShards = 10000;

const char* environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

// `otherwise` where the variable is not set.
Result<std::uint64_t> number_of(const char* name, std::optional<std::uint64_t> otherwise) {
  const char* text = environment_variable(name);
  if (text == nullptr && otherwise) return *otherwise;
  if (text == nullptr) return fail(name, "is not set, expected a number");
  if (const auto number = number_in<std::uint64_t>(text)) return *number;
  return fail(name, fmt::format("expected a number, got \"{}\"", text));
}

Result<Shard> checked(const std::string& field, std::uint64_t number, std::uint64_t of) {
  if (number >= 1 && number <= of && of <= kMostShards) return Shard{number, of};
  return fail(field, fmt::format("expected shard 1 to N of N up to {}, got {} of {}", kMostShards, number, of));
}

Result<Shard> named_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto number = number_in<std::uint64_t>(std::string_view(text).substr(0, slash));
  const auto of =
      slash == std::string::npos ? std::nullopt : number_in<std::uint64_t>(std::string_view(text).substr(slash + 1));
  if (!number || !of) return fail("--shard", fmt::format("expected I/N, such as 3/16, got \"{}\"", text));
  return checked("--shard", *number, *of);
}

// Task numbers begin where the array says, and may go in steps.
Result<Shard> slurm_shard() {
  QCONFORM_ASSIGN(const auto id, number_of("SLURM_ARRAY_TASK_ID", std::nullopt));
  QCONFORM_ASSIGN(const auto count, number_of("SLURM_ARRAY_TASK_COUNT", std::nullopt));
  QCONFORM_ASSIGN(const auto first, number_of("SLURM_ARRAY_TASK_MIN", 0));
  QCONFORM_ASSIGN(const auto step, number_of("SLURM_ARRAY_TASK_STEP", 1));
  if (step == 0 || id < first) {
    return fail("SLURM_ARRAY_TASK_ID", fmt::format("{} is not in an array from {} in steps of {}", id, first, step));
  }
  return checked("SLURM_ARRAY_TASK_ID", (id - first) / step + 1, count);
}

Result<Shard> kubernetes_shard(std::uint64_t count) {
  QCONFORM_ASSIGN(const auto index, number_of("JOB_COMPLETION_INDEX", std::nullopt));
  QCONFORM_ASSIGN(const auto of, count > 0 ? Result<std::uint64_t>(count) : number_of("JOB_COMPLETIONS", 0));
  if (of == 0) {
    return fail("--shard-count", fmt::format("JOB_COMPLETION_INDEX is {}, and neither this option nor JOB_COMPLETIONS "
                                             "says how many shards there are; --shard 1/1 runs the whole campaign",
                                             index));
  }
  return checked("JOB_COMPLETION_INDEX", index + 1, of);
}

}  // namespace

void add_shard_options(CLI::App& command, ShardOptions& options) {
  command.add_option("--shard", options.shard,
                     "Part of the campaign to run, I/N with I from 1 on (default: from SLURM_ARRAY_TASK_ID or "
                     "JOB_COMPLETION_INDEX where these are set, else all of it)");
  command.add_option("--shard-count", options.count,
                     "How many shards there are, with JOB_COMPLETION_INDEX (default: JOB_COMPLETIONS)");
}

Result<Shard> chosen_shard(const ShardOptions& options) {
  if (!options.shard.empty()) return named_shard(options.shard);
  if (environment_variable("SLURM_ARRAY_TASK_ID") != nullptr) return slurm_shard();
  if (environment_variable("JOB_COMPLETION_INDEX") != nullptr) return kubernetes_shard(options.count);
  return Shard{};
}

}  // namespace qconform::cli

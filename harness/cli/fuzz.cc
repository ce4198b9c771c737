#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <random>

#include <fmt/format.h>

#include "harness/backend/select.h"
#include "harness/campaign/driver.h"
#include "harness/cli/campaign_report.h"
#include "harness/cli/command.h"
#include "harness/cli/duration.h"
#include "harness/cli/isolation.h"
#include "harness/cli/output.h"
#include "harness/cli/policy.h"
#include "harness/cli/report_output.h"
#include "harness/cli/shard.h"
#include "harness/cli/waivers.h"
#include "harness/core/digest.h"
#include "harness/core/file.h"
#include "harness/core/version.h"
#include "reports/render/terminal.h"

namespace qconform::cli {
namespace {

struct FuzzOptions {
  std::vector<std::string> backends;
  std::string duration;
  std::optional<std::uint64_t> cases;
  std::optional<std::uint64_t> seed;
  int jobs = 1;
  bool resume = false;
  bool repair = false;
  ShardOptions shard;
  PolicyOptions policy;
  IsolationOptions isolation;
  WaiverOptions waivers;
  std::string out = "build/reports/fuzz";
  bool explain = true;
  bool shrink = true;
  bool json = false;
};

constexpr int kMostJobs = 1024;

std::atomic<bool> interrupted{false};

// While one exists, SIGINT and SIGTERM end the campaign after the cases that run, with its report. A second
// signal ends the program at once.
class Interruption {
 public:
  Interruption() {
    interrupted = false;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);  // an unsigned constant in glibc
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
  }
  ~Interruption() {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
  }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
};

std::uint64_t drawn_seed() {
  std::random_device device;
  return device();  // 32 bits: short enough to type
}

// What is not given and the journal has.
Result<void> take_from_journal(FuzzOptions& options) {
  const std::filesystem::path file = std::filesystem::path(options.out) / campaign::kJournalName;
  std::error_code error;
  if (!options.resume || std::filesystem::file_size(file, error) == 0 || error) return {};
  auto reader = campaign::JournalReader::open(file);
  if (!reader) return tl::unexpected(reader.error());
  const auto record = reader->next();
  if (!record) return tl::unexpected(record.error());
  const auto identity = campaign::decode_identity((*record)->payload);
  if (!identity) return tl::unexpected(identity.error().in(file.string()));
  if (!options.seed) options.seed = identity->seed;
  if (!options.backends.empty()) return {};
  options.backends = identity->backends;
  options.isolation.cpus.clear();  // these names have the processors in them
  return {};
}

Result<std::string> digest_of_file(const std::string& field, const std::string& file) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const auto bytes = read_file(file, kMost);
  if (!bytes) return tl::unexpected(bytes.error().in(field));
  Digest digest;
  digest.add(std::string_view(*bytes));
  return fmt::format("{:016x}", digest.value());
}

std::vector<std::string> canonical_command(const FuzzOptions& options) {
  std::vector<std::string> command{"fuzz", "--seed", std::to_string(*options.seed)};
  for (const std::string& name : options.backends) command.insert(command.end(), {"--backend", name});
  if (options.cases) command.insert(command.end(), {"--cases", std::to_string(*options.cases)});
  if (!options.duration.empty()) command.insert(command.end(), {"--for", options.duration});
  return command;
}

Result<campaign::Identity> identity_of(const FuzzOptions& options, const campaign::Shard& shard) {
  campaign::Identity identity;
  identity.version = kVersion;
  identity.commit = kCommit;
  identity.seed = *options.seed;
  identity.block_cases = campaign::kBlockCases;
  identity.backends = options.backends;
  identity.profile = options.policy.profile;
  identity.overflow = options.policy.overflow;
  identity.explain = options.explain;
  const IsolationOptions& isolation = options.isolation;
  identity.isolation = fmt::format("{}, {} s, {} MiB, {}, {}", isolation.which, isolation.timeout, isolation.memory,
                                   isolation.guard, isolation.threads);
  identity.shard = shard;
  identity.command = canonical_command(options);
  if (options.policy.profile.find_first_of("/.") != std::string::npos) {
    auto digest = digest_of_file("--profile", options.policy.profile);
    if (!digest) return tl::unexpected(digest.error());
    identity.profile_digest = std::move(*digest);
  }
  if (!options.waivers.file.empty() && options.waivers.file != "none") {
    auto digest = digest_of_file("--waivers", options.waivers.file);
    if (!digest) return tl::unexpected(digest.error());
    identity.waivers = options.waivers.file;
    identity.waivers_digest = std::move(*digest);
  }
  return identity;
}

Result<void> check(const FuzzOptions& options) {
  if (options.jobs < 1 || options.jobs > kMostJobs) {
    return fail("--jobs", fmt::format("expected 1 to {}, got {}", kMostJobs, options.jobs));
  }
  if (options.repair && !options.resume) return fail("--repair", "goes with --resume");
  return {};
}

// Everything that a campaign needs, made from the options.
struct Plan {
  FuzzOptions options;
  Policy policy;
  std::optional<Waivers> waivers;
  campaign::OpenBackends open;
  campaign::DriverOptions driver;

  [[nodiscard]] campaign::ConclusionOptions conclusion() const {
    return {.seed = *options.seed,
            .policy = policy,
            .waivers = waivers ? &*waivers : nullptr,
            .explain = options.explain,
            .shrink = options.shrink};
  }
};

Result<void> choose(Plan& plan) {
  FuzzOptions& options = plan.options;
  if (auto checked = check(options); !checked) return checked;
  const auto policy = chosen_policy(options.policy);
  if (!policy) return tl::unexpected(policy.error());
  plan.policy = *policy;
  const auto isolation = chosen_isolation(options.isolation);
  if (!isolation) return tl::unexpected(isolation.error());
  auto waivers = chosen_waivers(options.waivers, "");
  if (!waivers) return tl::unexpected(waivers.error());
  plan.waivers = std::move(*waivers);
  if (!options.duration.empty()) {
    const auto parsed = parse_duration("--for", options.duration);
    if (!parsed) return tl::unexpected(parsed.error());
    plan.driver.seconds = parsed->count();
  }
  if (auto taken = take_from_journal(options); !taken) return taken;
  if (!options.seed) options.seed = drawn_seed();
  if (options.backends.empty()) options.backends = backend::available_kernels();
  options.backends = backend::on_cpus(options.backends, options.isolation.cpus);
  plan.open = [names = options.backends, arithmetic = arithmetic_of(policy->profile), isolation = *isolation] {
    return backend::select_all(names, arithmetic, isolation);
  };
  const auto shard = chosen_shard(options.shard);
  if (!shard) return tl::unexpected(shard.error());
  auto identity = identity_of(options, *shard);
  if (!identity) return tl::unexpected(identity.error());
  plan.driver.identity = std::move(*identity);
  return {};
}

std::string text_of(const campaign::Standing& standing) {
  std::string text = fmt::format("fuzz: {}{} cases, {:.0f} cases/s, {} elements, hazards {} of {}, {} failures",
                                 report::with_thousands(standing.cases),
                                 standing.of ? " of " + report::with_thousands(*standing.of) : "", standing.rate,
                                 report::with_thousands(standing.elements), standing.hazards_reached, standing.hazards,
                                 report::with_thousands(standing.failures));
  if (!standing.findings.empty()) text += ": " + standing.findings;
  if (standing.seconds_left) {
    const auto left = static_cast<std::uint64_t>(*standing.seconds_left);
    text += fmt::format(", {}:{:02}:{:02} left", left / 3600, left / 60 % 60, left % 60);
  }
  return text;
}

// Findings that are known so far, written in a process of its own; in a few words what they are.
std::string conclude_meanwhile(const Plan& plan, const campaign::Tally& tally, CampaignState state,
                               const campaign::Identity& identity) {
  auto backends = plan.open();
  if (!backends) return "";
  Report report = campaign_report(identity, tally, std::move(state), *backends, plan.conclusion());
  if (auto written = write_campaign_report(plan.options.out, plan.policy, report); !written) return "";
  return brief_findings(report);
}

Result<campaign::DriverResult> run(Plan& plan) {
  campaign::DriverOptions& driver = plan.driver;
  const FuzzOptions& options = plan.options;
  const Interruption interruption;
  ProgressLine line(ProgressLine::Elsewhere::a_line_each_minute);
  driver.folder = options.out;
  driver.take = options.repair   ? campaign::Ledger::Take::repair
                : options.resume ? campaign::Ledger::Take::resume
                                 : campaign::Ledger::Take::anew;
  driver.jobs = options.jobs;
  driver.cases = options.cases;
  driver.open = plan.open;
  driver.block = {.seed = *options.seed,
                  .policy = plan.policy,
                  .waivers = plan.waivers ? &*plan.waivers : nullptr,
                  .explain = options.explain};
  driver.interrupted = [] { return interrupted.load(); };
  driver.progress = [&](const campaign::Standing& standing) { line.update([&] { return text_of(standing); }); };
  driver.remark = [&](const std::string& text) {
    line.clear();
    fmt::print(stderr, "qconform: {}\n", text);
  };
  driver.conclude = [&](const campaign::Tally& tally, const CampaignState& state, const campaign::Identity& identity) {
    return conclude_meanwhile(plan, tally, state, identity);
  };
  return campaign::drive(driver);
}

Result<int> fuzz(FuzzOptions options) {
  Plan plan{std::move(options), {}, {}, {}, {}};
  if (auto chosen = choose(plan); !chosen) return tl::unexpected(chosen.error());
  print_headline(new_campaign_report(plan.driver.identity), plan.options.json);
  if (!plan.driver.identity.shard.is_whole()) {
    fmt::print(plan.options.json ? stderr : stdout, "shard {}\n", plan.driver.identity.shard.text());
  }
  auto done = run(plan);
  if (!done) return tl::unexpected(done.error());
  auto backends = plan.open();
  if (!backends) return tl::unexpected(backends.error());
  WaiverDraft draft;
  campaign::ConclusionOptions conclusion = plan.conclusion();
  if (!plan.options.waivers.draft.empty()) conclusion.draft = &draft;
  Report report = campaign_report(done->identity, done->tally, std::move(done->state), *backends, conclusion);
  if (auto written = write_draft(plan.options.waivers, draft); !written) return tl::unexpected(written.error());
  return deliver_campaign(plan.options.out, plan.policy, plan.options.json, report);
}

}  // namespace

void add_fuzz(CLI::App& app, Action& action) {
  auto options = std::make_shared<FuzzOptions>();
  CLI::App* command =
      app.add_subcommand("fuzz", "Judge backends on random and directed cases, until a time or number is reached");
  command->footer(
      "example: qconform fuzz --backend avx2 --for 8h --jobs 4 --out nightly\n"
      "Without --for and --cases it runs until it is interrupted (Ctrl-C), and then writes its report.\n"
      "Case i of a seed is the same in every run: --seed S --cases N repeats a campaign. A journal in the folder\n"
      "has every block of cases that is done: after a crash, --resume goes on (docs/campaigns.md).\n"
      "Exit code: 0 every backend conforms but for what is waived, 1 one does not, 2 wrong use, or the journal\n"
      "cannot be written.");
  command->add_option("--backend", options->backends,
                      "Backend to judge, may be repeated (default: every in-tree kernel set of this CPU)");
  command->add_option("--for", options->duration, "How long: 90s, 10m, 8h");
  command->add_option("--cases", options->cases, "How many cases, of all shards together");
  command->add_option("--seed", options->seed, "Seed of the cases (default: drawn, and printed)");
  command->add_option("--jobs", options->jobs, "Processes that run cases, each with backends of its own")
      ->capture_default_str();
  command->add_flag("--resume", options->resume,
                    "Go on with the campaign whose journal is in the folder; begin one where there is none");
  command->add_flag("--repair", options->repair,
                    "With --resume: take what is whole of a damaged journal, and run the rest again");
  add_shard_options(*command, options->shard);
  add_policy_options(*command, options->policy);
  add_cpu_option(*command, options->isolation);
  add_isolation_options(*command, options->isolation);
  add_waiver_options(*command, options->waivers, "none");
  command->add_option("--out", options->out, "Folder for the journal, the report and the cases of its findings")
      ->capture_default_str();
  command->add_flag("--no-explain{false}", options->explain,
                    "Group failures by verdict and rule alone, without looking for the defects behind them");
  command->add_flag("--no-shrink{false}", options->shrink, "Keep the cases of findings as they were met");
  command->add_flag("--json", options->json, "Print the report as JSON instead of the summary");
  when_chosen(*command, action, std::move(options), &fuzz);
}

}  // namespace qconform::cli

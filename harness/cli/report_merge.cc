#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "harness/backends/select.h"
#include "harness/campaign/merge.h"
#include "harness/cli/arguments.h"
#include "harness/cli/campaign_report.h"
#include "harness/cli/report_output.h"

namespace qconform::cli {
namespace {

namespace fs = std::filesystem;

struct MergeOptions {
  std::vector<std::string> inputs;
  std::string out;
  SandboxOptions workers;  ///< only what is this machine's own affair
  bool explain = true;
  bool shrink = true;
  ReportForms forms;
};

// Finds the journal in a folder, or beside a report; any other input is the journal itself.
Result<fs::path> journal_of(const std::string& input) {
  const fs::path path(input);
  std::error_code error;
  if (!fs::exists(path, error)) return fail(input, "there is no such file or folder");
  fs::path journal = path;
  if (fs::is_directory(path, error)) journal = path / campaign::kJournalName;
  if (path.extension() == ".json") journal = path.parent_path() / campaign::kJournalName;
  if (fs::exists(journal, error)) return journal;
  return fail(input, fmt::format("has no {}: merging reads the journals of campaigns (qconform fuzz --out), which hold "
                                 "what their reports are made of",
                                 campaign::kJournalName));
}

Result<std::vector<fs::path>> journals_of(const MergeOptions& options) {
  std::set<fs::path> journals;
  for (const std::string& input : options.inputs) {
    QCONFORM_ASSIGN(auto journal, journal_of(input));
    journals.insert(fs::weakly_canonical(journal));
  }
  return std::vector<fs::path>(journals.begin(), journals.end());
}

Result<int> build_report(const MergeOptions& options, const campaign::CampaignSnapshot& merged) {
  const campaign::Identity& identity = merged.identity;
  QCONFORM_TRY(use_defects(identity.defects));
  QCONFORM_ASSIGN(const auto policy, chosen_policy({identity.profile, identity.overflow}));
  SandboxOptions workers = sandbox_from(identity.sandbox);
  workers.arm64_program = options.workers.arm64_program;
  QCONFORM_ASSIGN(const auto sandbox, chosen_sandbox(workers));
  QCONFORM_ASSIGN(const auto waivers, chosen_waivers({identity.waivers, ""}, ""));
  auto backends = backend::select_all(identity.backends, arithmetic_of(policy.profile), sandbox);
  if (!backends) {
    Error error = backends.error();
    error.message +=
        "; merging explains and shrinks findings with the backends of the campaign: merge on a machine that has them";
    return tl::unexpected(error);
  }
  ProgressLine line;
  const campaign::ReportOptions report_options{
      .judge = {policy, waivers ? &*waivers : nullptr, options.explain && identity.explain},
      .case_at = merged.case_at,
      .draft = nullptr,
      .shrink = options.shrink,
      .suite = identity.suite_name(),
      .progress = told_on(line)};
  Report report = campaign_report(merged, *backends, report_options);
  line.clear();
  return deliver_campaign(options.out, policy, options.forms, report);
}

Result<int> merge(const MergeOptions& options) {
  QCONFORM_TRY(check_forms(options.forms));
  QCONFORM_ASSIGN(const auto journals, journals_of(options));
  const fs::path out(options.out);
  std::error_code error;
  fs::create_directories(out, error);
  if (error) return fail("--out", fmt::format("cannot make the folder {}: {}", options.out, error.message()));
  QCONFORM_ASSIGN(auto merged, campaign::merge(journals, out / campaign::kJournalName));
  for (const std::string& remark : merged.remarks) say(stderr, "qconform: {}\n", shown(remark));
  return build_report(options, merged.snapshot);
}

}  // namespace

void add_report_merge(CLI::App& app, Action& action) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* command = app.add_subcommand("merge", "Put the shards of a campaign together");
  command->footer(
      "example: qconform report merge shards/* -o merged\n"
      "Reads the journals of `qconform fuzz --shard I/N --out DIR`. Order and repetition make no difference, and\n"
      "a merged folder can be merged again.\n"
      "Exit code: 0 every backend conforms, waived findings aside, 1 one does not, 2 wrong use, or shards that do not\n"
      "belong to one campaign. Shards must agree in --isolation, --timeout, --memory-limit, --guard and\n"
      "--threads-check; merging confirms and shrinks findings under the same options.");
  command->add_option("inputs", options->inputs, "Folders of campaigns, their reports or their journals")->required();
  command->add_option("-o,--out", options->out, "Folder for the journal, the report and the cases of its findings")
      ->required();
  add_arm64_option(*command, options->workers);
  command->add_flag("--no-explain{false}", options->explain,
                    "Group failures by symptom, without looking for the defects behind them");
  command->add_flag("--no-shrink{false}", options->shrink, "Do not shrink the cases of findings");
  add_form_options(*command, options->forms);
  when_chosen(*command, action, std::move(options), &merge);
}

}  // namespace qconform::cli

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/kinds.h"
#include "harness/backends/sandbox/sandbox.h"
#include "harness/backends/sandbox/worker_host.h"
#include "harness/backends/select.h"
#include "harness/bench/participant.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"

namespace qconform::cli {
namespace {

struct WorkerOptions {
  std::string backend;
  PolicyOptions policy;
  std::vector<std::string> defects;
  int threads = 0;
  std::int64_t memory = 0;
  int channel = -1;
  int log = -1;
  std::vector<int> bench;
  std::string line;
  bool shows_graphs = false;
  SandboxOptions sandbox;
};

using Opened = Result<std::unique_ptr<Backend>>;

Result<int> work(const WorkerOptions& options) {
  QCONFORM_TRY(use_defects(options.defects));
  QCONFORM_ASSIGN(const auto policy, chosen_policy(options.policy));
  const auto open = [&]() -> Opened {
    Opened backend =
        backend::select(options.backend, arithmetic_of(policy.profile),
                        {.which = backend::SandboxPolicy::Which::none, .limits = {}, .threads = options.threads});
    if (!backend || !options.shows_graphs) return backend;
    return backend::rewriting_told(std::move(*backend));
  };
  if (!options.line.empty()) {
    QCONFORM_ASSIGN(auto sandbox, chosen_sandbox(options.sandbox));
    sandbox.limits.slot_bytes = CaseChannel::kEmulatedSlotBytes;
    QCONFORM_TRY(run_guest(open, options.line, sandbox.limits));
    return kConforms;
  }
  if (!options.bench.empty()) {
    bench::WorkerChannel channel({options.bench[0], options.bench[1], options.bench[2]});
    bench::serve_participant(open, channel);
  }
  CaseChannel channel = CaseChannel::of_file(options.channel);
  run_worker(open, channel, options.log, options.memory);
}

}  // namespace

void add_worker(CLI::App& app, Action& action) {
  auto options = std::make_shared<WorkerOptions>();
  CLI::App* command = app.add_subcommand("worker", "Run as a worker process of qconform; do not call it by hand");
  command->group("");  // hidden
  command->add_option("--backend", options->backend, "Backend to open")->required();
  auto* channel = command->add_option("--channel", options->channel, "File descriptor of the shared memory");
  auto* log = command->add_option("--log", options->log, "File descriptor for what the backend prints");
  command->add_option("--line", options->line, "Disk for the messages, where this is an emulated machine")
      ->excludes(channel)
      ->excludes(log);
  command->add_option("--bench", options->bench, "File descriptors of the channel, where runs are to be timed")
      ->expected(3)
      ->excludes(channel);
  command->add_option("--timeout", options->sandbox.timeout, "Seconds for one run of a case, in such a machine");
  command->add_option("--memory-limit", options->sandbox.memory, "MiB beside the loaded backend, in such a machine");
  command->add_option("--guard", options->sandbox.guard, "sampled or full, in such a machine");
  command->add_flag("--shows-graphs", options->shows_graphs,
                    "Answer each graph with what the backend computes in its place");
  command->add_option("--threads", options->threads, "Threads that run each case at once");
  // An emulator heeds no limit on addresses: there who started this process watches its memory.
  command->add_option("--memory", options->memory, "Bytes of addresses that the backend may take, or 0 for any number");
  add_policy_options(*command, options->policy);
  add_defects_option(*command, options->defects);
  when_chosen(*command, action, options, work);
}

}  // namespace qconform::cli

#include <cstdint>
#include <memory>

#include "harness/backends/sandbox/worker_process.h"
#include "harness/backends/select.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"

namespace qconform::cli {
namespace {

struct WorkerOptions {
  std::string backend;
  PolicyOptions policy;
  int threads = 0;
  std::int64_t memory = 0;
  int channel = -1;
  int log = -1;
};

Result<int> work(const WorkerOptions& options) {
  QCONFORM_ASSIGN(const auto policy, chosen_policy(options.policy));
  CaseChannel channel = CaseChannel::of_file(options.channel);
  const auto open = [&] {
    return backend::select(options.backend, arithmetic_of(policy.profile),
                           {.which = backend::SandboxPolicy::Which::none, .limits = {}, .threads = options.threads});
  };
  run_worker(open, channel, options.log, options.memory);
}

}  // namespace

void add_worker(CLI::App& app, Action& action) {
  auto options = std::make_shared<WorkerOptions>();
  CLI::App* command = app.add_subcommand("worker", "Run as a worker process of qconform; do not call it by hand");
  command->group("");  // hidden
  command->add_option("--backend", options->backend, "Backend to open")->required();
  command->add_option("--channel", options->channel, "File descriptor of the shared memory")->required();
  command->add_option("--log", options->log, "File descriptor for what the backend prints")->required();
  command->add_option("--threads", options->threads, "Threads that run each case at once");
  // An emulator heeds no limit on addresses: there who started this process watches its memory.
  command->add_option("--memory", options->memory, "Bytes of addresses that the backend may take, or 0 for any number");
  add_policy_options(*command, options->policy);
  when_chosen(*command, action, options, work);
}

}  // namespace qconform::cli

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/libraries/libraries.h"
#include "harness/backends/library.h"
#include "harness/base/error.h"
#include "harness/base/text.h"
#include "harness/cli/command.h"
#include "harness/cli/report_output.h"
#include "harness/core/version.h"

namespace {

using namespace qconform::cli;

// Names the first argument that nothing takes, and an option of the command that it may be meant for.
std::string explain_extra(const CLI::App& app, const CLI::App& command) {
  const std::vector<std::string> extras = app.remaining(true);
  const auto extra =
      std::find_if(extras.begin(), extras.end(), [](const std::string& text) { return text.starts_with('-'); });
  if (extra == extras.end())
    return fmt::format("unexpected argument{}", extras.empty() ? "" : fmt::format(" \"{}\"", extras.front()));
  const std::string option = extra->substr(0, extra->find('='));
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options()) {
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  return fmt::format("unknown option {}{}", option, qconform::ending_with_guess(option, known));
}

// CLI11 says of an unknown command, or an unknown one of its topics, only that one is required.
std::string explain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const CLI::App* next = nullptr;
    std::vector<std::string> known;
    for (const CLI::App* command : at->get_subcommands({})) {
      if (command->get_name() == argv[i]) next = command;
      if (!command->get_group().empty()) known.push_back(command->get_name());  // others are hidden
    }
    if (next == nullptr && !known.empty()) {
      const std::vector<std::string_view> names(known.begin(), known.end());
      return fmt::format("no command \"{}\"{} There are {}", fmt::join(argv + 1, argv + i + 1, " "),
                         qconform::ending_with_guess(argv[i], names), fmt::join(known, ", "));
    }
    if (next == nullptr) break;
    at = next;
  }
  const bool is_extra = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  return is_extra ? explain_extra(app, *at) : error.what();
}

// Help without what CLI11 adds to the name of a flag that sets something: "--no-shrink{false}".
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    for (std::size_t at = name.find('{'); at != std::string::npos; at = name.find('{', at)) {
      name.erase(at, name.find('}', at) - at + 1);
    }
    return name;
  }
};

// CLI11 takes -1 for 2^64 - 1 where a number has no sign, and does not say what it expects.
void check_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type == "UINT") option->check(at_least(0));
    if (type == "UINT" || type == "INT" || type == "FLOAT") option->check(is_number(type));
  }
  for (CLI::App* command : app.get_subcommands({})) check_numbers(*command);
}

constexpr const char* kFirstSteps =
    "qconform: is this quantized kernel right, and if not, why?\n"
    "\n"
    "  qconform list backends                      what can be judged here: kernels, libraries, defects\n"
    "  qconform run --backend onednn               judge one of them on the conformance suite\n"
    "  qconform run --backend plugin:./mine.so     judge your own kernel (docs/adding-a-backend.md)\n"
    "  qconform run --backend defect:half-away     see what a failure looks like\n"
    "  qconform doctor                             what is missing here, and how to install it\n"
    "  qconform --help                             all commands\n";

int run_command(int argc, char** argv) {
  if (argc < 2) {
    say(stderr, "{}", kFirstSteps);
    return kFault;
  }
  keep_arguments({argv, static_cast<std::size_t>(argc)});
  CLI::App app("qconform: is this quantized kernel right, and if not, why?", "qconform");
  app.set_version_flag("--version", std::string("qconform ") + qconform::kVersion);
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());
  Action action;
  add_run(app, action);
  add_fuzz(app, action);
  add_replay(app, action);
  add_shrink(app, action);
  add_explain(app, action);
  add_audit(app, action);
  add_identify(app, action);
  add_export(app, action);
  add_capture(app, action);
  add_model(app, action);
  add_qdq(app, action);
  add_report(app, action);
  add_bench(app, action);
  add_contract(app, action);
  add_cover(app, action);
  add_matrix(app, action);
  add_bisect(app, action);
  add_gate(app, action);
  add_list(app, action);
  add_doctor(app, action);
  add_worker(app, action);
  add_completion(app, action);
  add_manual(app, action);
  check_numbers(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version come this way too, with exit code 0.
    if (error.get_exit_code() == 0) return app.exit(error);
    say(stderr, "{} {}\nTry qconform {}--help\n", painter(stderr).bad("qconform:"), explain(app, error, argc, argv),
        app.get_subcommands().empty() ? "" : app.get_subcommands()[0]->get_name() + " ");
    return kFault;
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  (void)signal(SIGXFSZ, SIG_IGN);  // memory and files beyond a limit (ulimit -f) give errors then
  try {
    qconform::backend::offer_libraries(qconform::libraries::libraries());
    qconform::offer_model_runtime(qconform::libraries::model_runtime);
    return run_command(argc, argv);
  } catch (const qconform::MachineFailure& failure) {
    say(stderr, "{} {}\n", painter(stderr).bad("qconform:"), failure.what());
    return kFault;
  } catch (const std::bad_alloc&) {
    say(stderr,
        "{} out of memory: each worker maps up to 32 GiB of address space; raise ulimit -v, or take fewer --jobs\n",
        painter(stderr).bad("qconform:"));
    return kFault;
  } catch (const std::exception& error) {
    say(stderr, "{} internal error: {}\n", painter(stderr).bad("qconform:"), error.what());
    return kFault;
  }
}

#include <fmt/format.h>

#include <exception>

#include "harness/cli/command.h"
#include "harness/core/version.h"

namespace {

using namespace qconform::cli;

int run_command(int argc, char** argv) {
  CLI::App app("qconform: is this quantized kernel right, and if not, why?", "qconform");
  app.set_version_flag("--version", std::string("qconform ") + qconform::kVersion);
  app.require_subcommand(1);
  Action action;
  add_run(app, action);
  add_replay(app, action);
  add_export(app, action);
  add_list(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version come this way too, with exit code 0.
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "qconform: {}\nTry qconform {}--help\n", error.what(),
               app.get_subcommands().empty() ? "" : app.get_subcommands()[0]->get_name() + " ");
    return kFault;
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_command(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "qconform: internal error: {}\n", error.what());
    return kFault;
  }
}

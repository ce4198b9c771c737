// A program beside qconform that serves one release of a library: it is linked with that library, and runs on the C
// library of the release (cmake/QconformLibraries.cmake). It takes the arguments of `qconform worker`.
#include <fmt/format.h>

#include <exception>
#include <string>

#include "harness/backends/libraries/libraries.h"
#include "harness/backends/library.h"
#include "harness/cli/command.h"

namespace {

using namespace qconform;

int serve(int argc, char** argv) {
  const backend::Library& library = libraries::libraries().front();
  CLI::App app("A worker of qconform for one release of a library; do not call it by hand");
  app.set_version_flag("--version",
                       fmt::format("{} {} in {}", library.name, library.state().version, libraries::own_root()));
  app.require_subcommand(1);
  cli::Action action;
  cli::add_worker(app, action);
  CLI11_PARSE(app, argc, argv);
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    backend::offer_libraries(libraries::libraries());
    return serve(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "qconform worker: internal error: {}\n", error.what());
    return cli::kFault;
  }
}

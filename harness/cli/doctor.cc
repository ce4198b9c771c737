// The command that says what this qconform can do here, what it cannot, and what would change that.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/kinds.h"
#include "harness/backends/library.h"
#include "harness/backends/sandbox/sandbox.h"
#include "harness/backends/worker_command.h"
#include "harness/cli/command.h"
#include "harness/engine/environment.h"
#include "reports/render/viewer.h"

namespace qconform::cli {
namespace {

struct DoctorOptions {};

void print_line(const char* subject, const std::string& text) {
  say("{:<12} {}\n", subject, text);
}

// As it is, without the self-check that select() makes.
Result<std::unique_ptr<Backend>> open_unchecked(const backend::Library& library) {
  backend::Specification what;
  what.name = library.name;
  if (library.start != nullptr) return library.start(what, {});
  return open_in_sandbox([&library, what] { return library.open(what); }, std::string(library.name), {});
}

// Lists what is pinned of a library, and what the self-check of its adapter found, in rows below it.
void print_self_check(const backend::Library& library) {
  using Kind = backend::SelfCheckRow::Kind;
  const auto backend = open_unchecked(library);
  if (!backend) return print_line("", "  does not open: " + shown(backend.error().text()));
  const std::vector<std::string>& pinned = (*backend)->info().pinned;
  if (!pinned.empty()) print_line("", shown(fmt::format("  pinned: {}", fmt::join(pinned, ", "))));
  std::set<std::string> named;
  for (const backend::SelfCheckRow& row : backend::self_check(**backend)) {
    if (row.detail.empty() || row.kind == Kind::declined || !named.insert(row.subject).second) continue;
    const bool is_adapter = row.kind == Kind::adapter_fault;
    print_line("", fmt::format("  {} {}: {}", is_adapter ? painter().bad("not offered:") : painter().aside("wrong:"),
                               row.subject, shown(row.detail)));
  }
}

void print_libraries() {
  const char* subject = "libraries";
  for (const backend::Library& library : backend::offered_libraries()) {
    if (library.start != nullptr) continue;
    const backend::LibraryState state = library.state();
    print_line(subject, state.absent.empty()
                            ? fmt::format("{} {}", library.name, state.version)
                            : fmt::format("{} {}: {}", library.name, painter().aside("missing"), state.absent));
    if (state.absent.empty()) print_self_check(library);
    subject = "";
  }
}

// Those that are missing on one line: none of them is part of what is installed.
void print_peers() {
  const char* subject = "peers";
  std::vector<std::string_view> others;
  for (const backend::Library& library : backend::offered_libraries()) {
    if (library.start == nullptr) continue;
    const backend::LibraryState state = library.state();
    if (!state.absent.empty()) {
      others.push_back(library.name);
      continue;
    }
    print_line(subject, fmt::format("{} {}", library.name, state.version));
    print_self_check(library);
    subject = "";
  }
  if (others.empty()) return;
  print_line(subject, fmt::format("{}scripts/library-root fetches {} (optional)", *subject != '\0' ? "none; " : "",
                                  fmt::join(others, ", ")));
}

void print_emulators() {
  const std::vector<std::string> programs = backend::installed_emulators();
  print_line("processors", programs.empty() ? "no qemu: apt-get install qemu-user (optional)"
                                            : fmt::format("by {} (--cpu)", fmt::join(programs, ", ")));
  print_line("", backend::has_bochs() ? "by Bochs: sapphire_rapids and others (--cpu)"
                                      : "no Bochs, which has AVX-512 and AVX-VNNI: scripts/get-bochs (optional)");
}

Result<int> run_doctor(const DoctorOptions& /*options*/) {
  const Environment environment = current_environment();
  print_line("qconform", fmt::format("{} ({}), {}", environment.version, environment.commit, environment.compiler));
  print_line("cpu", fmt::format("{}, {}", environment.cpu, environment.operating_system));
  print_line("kernels", fmt::format("{}", fmt::join(environment.kernels, " ")));
  if (!environment.kernels_not_run.empty()) {
    print_line("", fmt::format("not on this CPU: {}", fmt::join(environment.kernels_not_run, " ")));
  }
  print_libraries();
  print_peers();
  print_emulators();
  print_line("page", report::viewer() != nullptr
                         ? "reports are written as HTML too"
                         : fmt::format("missing: {}; see README, then build again", report::why_no_viewer()));
  return kConforms;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("doctor", "Show what is installed, what is missing, and how to install it");
  command->footer("example: qconform doctor");
  when_chosen(*command, action, std::make_shared<DoctorOptions>(), &run_doctor);
}

}  // namespace qconform::cli

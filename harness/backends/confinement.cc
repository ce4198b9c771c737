#include "harness/backends/confinement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <chrono>
#include <optional>
#include <string_view>

#include "harness/base/child_process.h"

namespace qconform::backend {
namespace {

const std::vector<std::string>& words() {
  static const std::vector<std::string> all{
      "bwrap",         "--ro-bind",         "/",        "/",      "--dev",    "/dev",          "--proc",     "/proc",
      "--tmpfs",       "/var/tmp",          "--setenv", "TMPDIR", "/var/tmp", "--unshare-all", "--cap-drop", "ALL",
      "--new-session", "--die-with-parent", "--"};
  return all;
}

// Says why bubblewrap does not work here; empty where it does.
Result<std::string> fault() {
  QCONFORM_ASSIGN(const auto trial,
                  ChildProcess::start(fmt::format("{} true", fmt::join(words(), " ")), ChildProcess::Output::logged));
  while (!trial->status()) {
    std::string_view nothing;
    std::string received;
    trial->exchange(nothing, received, std::chrono::milliseconds(100));
  }
  const int status = *trial->status();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return trial->log().empty() ? "it fails" : trial->log();
}

}  // namespace

Result<std::vector<std::string>> confining_words() {
  static const Result<std::string> found = fault();
  QCONFORM_TRY(found);
  if (found->empty()) return words();
  return fail("--isolation",
              "confined needs bubblewrap (scripts/install-packages confine), and namespaces for it: " + *found);
}

}  // namespace qconform::backend

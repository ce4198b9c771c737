#include "harness/cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "harness/cli/command.h"
#include "reports/render/terminal.h"

namespace qconform::cli {

bool has_colour(std::FILE* stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(fileno(stream)) != 0 && (no_colour == nullptr || *no_colour == '\0');
}

int report_fault(const Error& error) {
  fmt::print(stderr, "qconform: {}\n", error.text());
  return kFault;
}

ProgressLine::ProgressLine() : on_terminal_(isatty(STDERR_FILENO) != 0), next_(start_ + std::chrono::seconds(1)) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::update(const Progress& progress) {
  if (!on_terminal_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(200);
  const std::string of = progress.of ? " of " + report::with_thousands(*progress.of) : "";
  const double seconds = std::chrono::duration<double>(now - start_).count();
  fmt::print(stderr, "\r\033[K{}: {}{} cases, {} failures, {:.0f} s", progress.suite,
             report::with_thousands(progress.cases), of, report::with_thousands(progress.failures), seconds);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace qconform::cli

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

ProgressLine::ProgressLine(Elsewhere elsewhere)
    : on_terminal_(isatty(STDERR_FILENO) != 0),
      elsewhere_(elsewhere),
      next_(start_ + (on_terminal_ ? std::chrono::seconds(1) : std::chrono::seconds(60))) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::update(const Progress& progress) {
  if (!on_terminal_ && elsewhere_ == Elsewhere::nothing) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = on_terminal_ ? now + std::chrono::milliseconds(200) : next_ + std::chrono::seconds(60);
  const std::string of = progress.of ? " of " + report::with_thousands(*progress.of) : "";
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(progress.cases) / seconds;
  fmt::print(stderr, "{}{}: {}{} cases, {} failures, {:.0f} s, {} cases/s{}", on_terminal_ ? "\r\033[K" : "",
             progress.suite, report::with_thousands(progress.cases), of, report::with_thousands(progress.failures),
             seconds, report::with_thousands(static_cast<std::uint64_t>(rate)), on_terminal_ ? "" : "\n");
  std::fflush(stderr);
  shown_ = on_terminal_;
}

void ProgressLine::update(const std::string& text) {
  const auto now = Clock::now();
  if (!on_terminal_ || now < next_) return;
  next_ = now + std::chrono::milliseconds(200);
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace qconform::cli

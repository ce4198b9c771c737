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

void print_note(const std::string& text) {
  if (!text.empty()) fmt::print(stderr, "qconform: note: {}\n", text);
}

ProgressLine::ProgressLine(Elsewhere elsewhere)
    : on_terminal_(isatty(STDERR_FILENO) != 0),
      elsewhere_(elsewhere),
      next_(start_ + (on_terminal_ ? std::chrono::seconds(1) : std::chrono::seconds(60))) {}

ProgressLine::~ProgressLine() {
  clear();
}

bool ProgressLine::is_due() {
  if (!on_terminal_ && elsewhere_ == Elsewhere::nothing) return false;
  const auto now = Clock::now();
  if (now < next_) return false;
  next_ = on_terminal_ ? now + std::chrono::milliseconds(200) : next_ + std::chrono::seconds(60);
  return true;
}

void ProgressLine::show(const std::string& text) {
  fmt::print(stderr, "{}{}{}", on_terminal_ ? "\r\033[K" : "", text, on_terminal_ ? "" : "\n");
  std::fflush(stderr);
  shown_ = on_terminal_;
}

void ProgressLine::update(const Progress& progress) {
  update([&] {
    const std::string of = progress.of ? " of " + report::with_thousands(*progress.of) : "";
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const double rate = static_cast<double>(progress.cases) / seconds;
    return fmt::format("{}: {}{} cases, {} failures, {:.0f} s, {} cases/s", progress.suite,
                       report::with_thousands(progress.cases), of, report::with_thousands(progress.failures), seconds,
                       report::with_thousands(static_cast<std::uint64_t>(rate)));
  });
}

void ProgressLine::update(const std::string& text) {
  if (is_due()) show(text);
}

void ProgressLine::update(const std::function<std::string()>& text) {
  if (is_due()) show(text());
}

void ProgressLine::clear() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace qconform::cli

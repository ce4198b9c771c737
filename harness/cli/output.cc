#include "harness/cli/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "harness/base/stopwatch.h"
#include "harness/base/text.h"
#include "harness/cli/command.h"
#include "reports/render/terminal.h"

namespace qconform::cli {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

bool is_a_terminal(std::FILE* stream) {
  return isatty(fileno(stream)) != 0;
}

// Narrower ones get lines of this length, which the terminal breaks.
constexpr std::size_t kLeastColumns = 40;
constexpr std::size_t kUsualColumns = 80;

}  // namespace

bool has_colour(std::FILE* stream) {
  if (!variable("NO_COLOR").empty()) return false;
  const std::string_view forced = variable("CLICOLOR_FORCE");
  if (!forced.empty() && forced != "0") return true;
  return is_a_terminal(stream) && variable("CLICOLOR") != "0" && variable("TERM") != "dumb";
}

report::Painter painter(std::FILE* stream) {
  return report::Painter(has_colour(stream));
}

std::size_t width_of(std::FILE* stream) {
  if (!is_a_terminal(stream)) return 0;
  std::size_t columns = 0;
  const std::string_view stated = variable("COLUMNS");
  std::from_chars(stated.data(), stated.data() + stated.size(), columns);
  winsize size{};
  if (columns == 0 && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns == 0 ? kUsualColumns : std::max(columns, kLeastColumns);
}

void write_text(std::FILE* stream, std::string_view text) {
  const std::string safe = shown_lines(text);
  const std::size_t columns = width_of(stream);
  fmt::print(stream, "{}", columns == 0 ? safe : wrapped(safe, columns));
}

void write_document_text(std::string_view text) {
  if (!is_a_terminal(stdout)) return fmt::print("{}", text);
  std::string safe;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if (byte == 0xC2 && next < 0xA0) {
      safe += fmt::format("\\u{:04x}", next);
      ++i;
    } else if (byte == 0x7F || (byte < 0x20 && byte != '\n' && byte != '\t')) {
      safe += fmt::format("\\u{:04x}", byte);
    } else {
      safe += text[i];
    }
  }
  fmt::print("{}", safe);
}

std::string painted(const Verdict& verdict, const report::Painter& paint) {
  const bool is_guard = verdict.kind == VerdictKind::pass && !verdict.detail.empty();
  return (is_guard ? paint.good("right") : paint.verdict(verdict.kind)) +
         (verdict.detail.empty() ? "" : ": " + shown(verdict.detail));
}

namespace {

// Cuts the middle out of a long message. Others may have written text into it; its ends say what is wrong.
std::string without_middle(std::string text) {
  constexpr std::size_t kEnd = 600;
  if (text.size() > 2 * kEnd) text.replace(kEnd, text.size() - 2 * kEnd, " ... ");
  return text;
}

}  // namespace

int report_fault(const Error& error) {
  say(stderr, "{} {}\n", painter(stderr).bad("qconform:"), without_middle(shown(error.text())));
  return kFault;
}

void print_note(const std::string& text) {
  if (!text.empty()) say(stderr, "{} {}\n", painter(stderr).aside("qconform: note:"), text);
}

namespace {

bool is_watched_by_a_program() {
  const char* told = std::getenv("QCONFORM_PROGRESS");
  return told != nullptr && std::string_view(told) == "lines";
}

}  // namespace

ProgressLine::ProgressLine(Elsewhere elsewhere)
    : for_program_(is_watched_by_a_program()),
      on_terminal_(is_a_terminal(stderr) && !for_program_),
      elsewhere_(elsewhere),
      next_(start_ + (for_program_   ? std::chrono::milliseconds(200)
                      : on_terminal_ ? std::chrono::seconds(1)
                                     : std::chrono::seconds(60))) {}

ProgressLine::~ProgressLine() {
  clear();
}

bool ProgressLine::is_due() {
  const bool is_watched = on_terminal_ || for_program_;
  if (!is_watched && elsewhere_ == Elsewhere::nothing) return false;
  const auto now = Clock::now();
  if (now < next_) return false;
  next_ = is_watched ? now + std::chrono::milliseconds(200) : next_ + std::chrono::seconds(60);
  return true;
}

// A line that the terminal breaks could not be rewritten.
void ProgressLine::show(const std::string& text) {
  const std::string line = qconform::shown(text);
  const auto counted = std::exchange(counted_, std::nullopt);
  if (for_program_) {
    const std::string of = counted && counted->second ? fmt::format("{}", *counted->second) : "-";
    fmt::print(stderr, "progress {}/{} {}\n", counted ? fmt::format("{}", counted->first) : "-", of, line);
  } else if (on_terminal_) {
    fmt::print(stderr, "\r\033[K{}", cut_to(line, width_of(stderr) - 1));
  } else {
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
  shown_ = on_terminal_;
}

std::string ProgressLine::times(double done, std::optional<double> of) const {
  const double seconds = seconds_since(start_);
  std::string text = fmt::format("{:.0f} s", seconds);
  if (!of) return text;
  if (const auto left = seconds_left(done, *of, seconds)) text += fmt::format(", {} left", clock_text(*left));
  return text;
}

std::string ProgressLine::times_within(double limit) const {
  return fmt::format("{:.0f} s of at most {:.0f} s", seconds_since(start_), limit);
}

void ProgressLine::update(const Progress& progress) {
  update([&] {
    count(progress.cases, progress.of);
    const std::string of = progress.of ? " of " + report::with_thousands(*progress.of) : "";
    const double seconds = seconds_since(start_);
    const double rate = static_cast<double>(progress.cases) / seconds;
    const auto all = progress.of ? std::optional(static_cast<double>(*progress.of)) : std::nullopt;
    return fmt::format("{}: {}{} cases, {}, {}, {} cases/s", progress.suite, report::with_thousands(progress.cases), of,
                       report::plural(progress.failures, "failure"), times(static_cast<double>(progress.cases), all),
                       report::with_thousands(static_cast<std::uint64_t>(rate)));
  });
}

void ProgressLine::update(std::string_view what, std::uint64_t done, std::optional<std::uint64_t> of,
                          std::string_view noun) {
  update([&] {
    count(done, of);
    const auto all = of ? std::optional(static_cast<double>(*of)) : std::nullopt;
    return fmt::format("{}: {}{} {}, {}", what, report::with_thousands(done),
                       of ? " of " + report::with_thousands(*of) : "", noun, times(static_cast<double>(done), all));
  });
}

void ProgressLine::update(const std::function<std::string()>& text) {
  if (is_due()) show(text());
}

void ProgressLine::clear() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

std::function<void(const std::string&)> told_on(ProgressLine& line) {
  return [&line](const std::string& text) {
    line.update([&] { return fmt::format("{}, {}", text, line.times(0, std::nullopt)); });
  };
}

std::function<void(const std::string&, std::uint64_t)> contract_progress(ProgressLine& line, std::string backend) {
  return [&line, backend = std::move(backend)](const std::string& model, std::uint64_t cases) {
    line.update([&] {
      return fmt::format("learning what {} takes of {}: {} cases, {}", backend, model, report::with_thousands(cases),
                         line.times(0, std::nullopt));
    });
  };
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(seconds, 0.0));
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace qconform::cli

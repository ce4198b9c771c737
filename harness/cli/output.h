// Output of commands to the terminal: text for people, documents for programs, progress.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "harness/base/error.h"
#include "harness/engine/run_suites.h"
#include "reports/render/terminal.h"

namespace qconform::cli {

/// Whether text on the stream is coloured: on a terminal, unless NO_COLOR is set or it is a dumb one. CLICOLOR_FORCE
/// colours other streams too, CLICOLOR=0 none.
[[nodiscard]] bool has_colour(std::FILE* stream);
[[nodiscard]] report::Painter painter(std::FILE* stream = stdout);
/// The terminal's width, COLUMNS where that is set; 0 where the stream is no terminal, whose text keeps its form.
[[nodiscard]] std::size_t width_of(std::FILE* stream);

/// Text for people. What backends and files bring into it cannot control the terminal (shown_lines()); on a terminal
/// lines that are too long continue below where their text begins.
void write_text(std::FILE* stream, std::string_view text);
template <typename... T>
void say(std::FILE* stream, fmt::format_string<T...> format, T&&... values) {
  write_text(stream, fmt::format(format, std::forward<T>(values)...));
}
template <typename... T>
void say(fmt::format_string<T...> format, T&&... values) {
  say(stdout, format, std::forward<T>(values)...);
}
/// A document for programs on stdout, byte for byte; on a terminal control characters are escaped as in JSON, where
/// they stand in strings alone and mean the same.
void write_document_text(std::string_view text);

/// "wrong: 3 of 12 elements wrong", the word painted, others' words shown.
[[nodiscard]] std::string painted(const Verdict& verdict, const report::Painter& paint);

/// "qconform: pads: expected ..." on stderr; returns the exit code for it.
int report_fault(const Error& error);

/// "qconform: note: ..." on stderr, beside results that may be JSON; nothing where `text` is empty.
void print_note(const std::string& text);

/// A line on stderr that is rewritten in place, on a terminal only, from the first second on. For another program,
/// where the environment has QCONFORM_PROGRESS=lines, lines "progress DONE/OF TEXT", five times a second at most.
class ProgressLine {
 public:
  /// Says what to print where stderr is not a terminal.
  enum class Elsewhere { nothing, a_line_each_minute };

  explicit ProgressLine(Elsewhere elsewhere = Elsewhere::nothing);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Whether somebody watches stderr, who sees the line after a second.
  [[nodiscard]] bool is_shown() const { return on_terminal_; }
  void update(const Progress& progress);
  /// "export: 120 of 4,000 cases, 3 s, 0:01:32 left": `what` has been done `done` times. Without `of`, no time is left.
  void update(std::string_view what, std::uint64_t done, std::optional<std::uint64_t> of, std::string_view noun);
  /// With a text that is made only where it is shown.
  void update(const std::function<std::string()>& text);
  void clear();

  /// "3 s, 0:01:32 left", since the line was made, where `done` of `of` is done.
  [[nodiscard]] std::string times(double done, std::optional<double> of) const;
  /// "3 s of at most 10 s", since the line was made.
  [[nodiscard]] std::string times_within(double limit) const;

 private:
  using Clock = std::chrono::steady_clock;
  /// Whether it is time to show something; if so, sets when it is again.
  [[nodiscard]] bool is_due();
  void show(const std::string& text);
  void count(std::uint64_t done, std::optional<std::uint64_t> of) { counted_ = std::pair(done, of); }

  bool for_program_;
  std::optional<std::pair<std::uint64_t, std::optional<std::uint64_t>>> counted_;  // what the next text is of
  bool on_terminal_;
  Elsewhere elsewhere_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
};

/// Shows texts as they are told, with the seconds, on `line`, which outlives it.
[[nodiscard]] std::function<void(const std::string&)> told_on(ProgressLine& line);

/// Shows the progress of learn_contracts() on a backend on `line`, which outlives it.
[[nodiscard]] std::function<void(const std::string&, std::uint64_t)> contract_progress(ProgressLine& line,
                                                                                       std::string backend);

/// "1:02:03"
[[nodiscard]] std::string clock_text(double seconds);

}  // namespace qconform::cli

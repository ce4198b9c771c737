// What commands write to the terminal beside their results.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>

#include "harness/base/error.h"
#include "harness/engine/run_suites.h"

namespace qconform::cli {

/// Whether the stream is a terminal that takes colours (and NO_COLOR is not set).
[[nodiscard]] bool has_colour(std::FILE* stream);

/// "qconform: pads: expected ..." on stderr; returns the exit code for it.
int report_fault(const Error& error);

/// "qconform: note: ..." on stderr, beside results that may be JSON; nothing where `text` is empty.
void print_note(const std::string& text);

/// A line on stderr that is rewritten in place, on a terminal only, from the first second on.
class ProgressLine {
 public:
  /// What to print where stderr is not a terminal.
  enum class Elsewhere { nothing, a_line_each_minute };

  explicit ProgressLine(Elsewhere elsewhere = Elsewhere::nothing);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(const Progress& progress);
  /// The same with any text.
  void update(const std::string& text);
  /// With a text that is made only where it is shown.
  void update(const std::function<std::string()>& text);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  /// Whether it is time to show something; if so, sets when it is again.
  [[nodiscard]] bool is_due();
  void show(const std::string& text);

  bool on_terminal_;
  Elsewhere elsewhere_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
};

}  // namespace qconform::cli

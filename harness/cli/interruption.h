// Signals that end a campaign with its report.
#pragma once

#include <csignal>

namespace qconform::cli {

/// While one exists, SIGINT and SIGTERM end the campaign after the cases that run, with its report. A second signal
/// ends the program at once. One at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  [[nodiscard]] static bool happened();

 private:
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
};

}  // namespace qconform::cli

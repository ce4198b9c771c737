// Ctrl-C and its like, while something long runs that has a report to write.
#pragma once

#include <signal.h>

#include <array>

namespace qconform::cli {

/// While one exists, SIGINT, SIGTERM and SIGHUP end what runs after the cases that are under way, with its report. A
/// second SIGINT or SIGTERM ends the program at once; a second SIGHUP does not, since a closed terminal may send two.
/// One at a time.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  [[nodiscard]] static bool happened();

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace qconform::cli

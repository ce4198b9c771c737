#include "harness/cli/interruption.h"

#include <atomic>
#include <cstddef>

namespace qconform::cli {
namespace {

constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};

std::atomic<bool> interrupted{false};

}  // namespace

Interruption::Interruption() {
  interrupted = false;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = kSignals[i] == SIGHUP ? 0 : static_cast<int>(SA_RESETHAND);  // an unsigned constant in glibc
    (void)sigaction(kSignals[i], &action, &before_[i]);
  }
}

Interruption::~Interruption() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) (void)sigaction(kSignals[i], &before_[i], nullptr);
}

bool Interruption::happened() {
  return interrupted;
}

}  // namespace qconform::cli

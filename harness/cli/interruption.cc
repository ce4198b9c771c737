#include "harness/cli/interruption.h"

#include <atomic>

namespace qconform::cli {
namespace {

std::atomic<bool> interrupted{false};

}  // namespace

Interruption::Interruption() {
  interrupted = false;
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // an unsigned constant in glibc
  sigaction(SIGINT, &action, &old_int_);
  sigaction(SIGTERM, &action, &old_term_);
}

Interruption::~Interruption() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
}

bool Interruption::happened() {
  return interrupted;
}

}  // namespace qconform::cli

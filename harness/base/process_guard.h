// The process between qconform and a command, which outlives neither.
#pragma once

#include <string>

namespace qconform::backend {

/// Descriptors of the command's and the guard's side.
struct GuardEnds {
  int input;   ///< becomes the command's stdin
  int output;  ///< its stdout
  int errors;  ///< its stderr
  int life;    ///< readable, or at its end, when everything is to end
  int report;  ///< takes the command's status as waitpid gives it: one int
};

/// Runs `command` in /bin/sh, in a process group of its own, and when it has ended, or life says so, kills what
/// it has started. To be called in a process forked for it.
[[noreturn]] void guard_command(const std::string& command, const GuardEnds& ends);

}  // namespace qconform::backend

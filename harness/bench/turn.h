// The inside of a participant's process: any backend as something to be timed.
#pragma once

#include "harness/bench/participant.h"
#include "harness/core/backend.h"

namespace qconform::bench {

/// A child's answer once it has made ready.
struct Readiness {
  bool ready = false;
  RunSetting setting;
};

/// A request is a number of seconds to take a turn for, or one of these.
inline constexpr double kAskOutcome = -1;    ///< asks for the outcome of the last run
inline constexpr double kAskReadiness = -2;  ///< the first request

/// Pins itself, opens the backend and says hello. Then prepares and runs the case, and answers requests until
/// the process is killed.
[[noreturn]] void run_participant(const OpenBackend& open, const Case& test_case, const Place& place,
                                  WorkerChannel& channel);

/// The backend's own prepare_repeated where it has one; else its prepare and run, on the case's tensors
/// and into memory that stays the same from run to run: channels first, one thread.
[[nodiscard]] RepeatedPreparation prepare_repeated(Backend& backend, const Case& test_case, const RunSetting& wanted);

}  // namespace qconform::bench

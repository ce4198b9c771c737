// The interface to whatever explains failing cases, so that findings are grouped by cause.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "harness/core/case.h"
#include "harness/core/outcome.h"
#include "harness/core/verdict.h"
#include "harness/model/judge/judge.h"
#include "harness/report/report.h"

namespace qconform {

/// The signature of failures whose cause nobody determined: no finding counts them.
inline constexpr const char* kUndetermined = "undetermined";

/// A run passes it every verdict, in the order of the cases. harness/diagnose implements it.
class Diagnoser {
 public:
  Diagnoser() = default;
  Diagnoser(const Diagnoser&) = delete;
  Diagnoser& operator=(const Diagnoser&) = delete;
  virtual ~Diagnoser() = default;

  /// Notes a case that passed. `backend`: its position in the list of the run.
  virtual void passed(std::size_t backend, const Case& test_case, const Expected& expected) = 0;

  /// Notes a case that failed, and returns the signature of its cause, which groups findings; empty where the outcome
  /// has no values to diagnose; kUndetermined where too many fail to examine each. May run further cases on the backend
  /// (execute()).
  [[nodiscard]] virtual std::string failed(std::size_t backend, const Case& test_case, const Expected& expected,
                                           const Outcome& outcome, const Verdict& verdict) = 0;

  /// At the end of the run: the final signature of the failures that had `signature`, each of which was compared with
  /// the cause that it names; kUndetermined where not all of them were. May run further cases on the backend.
  [[nodiscard]] virtual std::string settled(std::size_t /*backend*/, const std::string& /*op_type*/,
                                            const std::string& signature) {
    return signature;
  }

  /// Whether a failure has the cause that those with `signature` have, as far as that can be told: where that is not
  /// known, that it has none of the known ones. Once the run is settled.
  [[nodiscard]] virtual bool has_cause(std::size_t /*backend*/, const std::string& /*op_type*/,
                                       const std::string& /*signature*/, const Expected& /*expected*/,
                                       const Outcome& /*outcome*/) const {
    return true;
  }

  /// The signature of a failure with values that came up once the run was settled; empty where nothing tells it from
  /// others. May run further cases on the backend.
  [[nodiscard]] virtual std::string met(std::size_t /*backend*/, const Expected& /*expected*/,
                                        const Outcome& /*outcome*/) {
    return {};
  }

  /// Returns the diagnosis of the failures with that signature, once they are settled.
  [[nodiscard]] virtual std::optional<Diagnosis> diagnosis(std::size_t backend, const std::string& op_type,
                                                           const std::string& signature) const = 0;
};

}  // namespace qconform

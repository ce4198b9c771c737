// The interface to whatever explains failing cases, so that findings are grouped by cause.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "harness/core/case.h"
#include "harness/core/outcome.h"
#include "harness/core/report.h"
#include "harness/core/verdict.h"
#include "harness/judge/judge.h"

namespace qconform {

/// A campaign tells it of every verdict, in the order of its cases. harness/diagnose implements it.
class Diagnoser {
 public:
  Diagnoser() = default;
  Diagnoser(const Diagnoser&) = delete;
  Diagnoser& operator=(const Diagnoser&) = delete;
  virtual ~Diagnoser() = default;

  /// A case that the backend at that position of the campaign's list passed.
  virtual void passed(std::size_t backend, const Case& test_case, const Expected& expected) = 0;

  /// One that it failed. The signature of what is wrong, which groups findings; empty where the outcome has
  /// no values to diagnose. May run further cases on the backend (execute()).
  [[nodiscard]] virtual std::string failed(std::size_t backend, const Case& test_case, const Expected& expected,
                                           const Outcome& outcome, const Verdict& verdict) = 0;

  /// At the end: the signature that the failures with that one turned out to have, in the light of all others. Until
  /// then early ones may have had another name. May run further cases on the backend.
  [[nodiscard]] virtual std::string settled(std::size_t /*backend*/, const std::string& /*op_type*/,
                                            const std::string& signature) {
    return signature;
  }

  /// What is known of the failures with that signature, once they are settled.
  [[nodiscard]] virtual std::optional<Diagnosis> diagnosis(std::size_t backend, const std::string& op_type,
                                                           const std::string& signature) const = 0;
};

}  // namespace qconform

// The contract of a backend for a model of the sweep, written down by hand from its source or documentation. A check
// holds it against the contract that is learnt by asking the backend.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "harness/core/backend.h"
#include "harness/model/sweep/model.h"

namespace qconform::testing {

/// Classes of one parameter, "low end|other": one of them, or one of all others.
struct Classes {
  const char* parameter;
  const char* classes;
  bool others = false;
};

struct TrueContract {
  const char* name;                                ///< name of the backend
  const char* model;                               ///< "convolutions"
  const char* taken;                               ///< as behind --only; empty for everything
  std::vector<std::vector<Classes>> not_together;  ///< taken, but not all with each other
};

void PrintTo(const TrueContract& truth, std::ostream* out);

[[nodiscard]] sweep::SweepContract contract_of(const TrueContract& truth);

/// Learns what the backend takes and holds it against the truth, on two grids: every combination of the parameters by
/// which backends choose (types; operator, spatial rank, w zero point, group, w parameters; layout, zero point,
/// scales), each as a whole row; and every two classes of all parameters, which have a case inside both or inside
/// neither. It has at most 2,000 probes, and the last ones inside what was learnt are all taken.
void expect_learnt(Backend& backend, const TrueContract& truth);

}  // namespace qconform::testing

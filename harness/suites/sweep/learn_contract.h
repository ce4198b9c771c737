// Learns what a backend takes by asking it: rows of a sweep model, one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "harness/model/sweep/contract.h"
#include "harness/model/sweep/model.h"

namespace qconform::sweep {

/// Whether the backend takes a case of the row, which the model allows. `index` tells draws of one row apart.
using Probe = std::function<bool(const Row& row, std::uint64_t index)>;

struct LearningLimits {
  std::uint64_t probes = 2000;
  /// Rows drawn inside what was learnt, the last ones, that must all be taken.
  std::uint64_t confirmations = 120;
};

struct LearntContract {
  QC_DESCRIBED();
  QC_FIELD(Contract, contract, {}, "contract");
  QC_FIELD(std::uint64_t, probes, {}, "probes");
  /// Rows that were drawn at random inside the contract after it had its last form, and of them those that the backend
  /// declined all the same: how sure it is.
  QC_FIELD(std::uint64_t, confirmed, {}, "confirmed");
  QC_FIELD(std::uint64_t, contradicted, {}, "contradicted");
  bool operator==(const LearntContract&) const = default;
};

/// `rows` are rows of the model that meet many combinations, those of its covering array: they are asked where the
/// plainest rows are all declined. Deterministic where the probe is. A class counts as taken where one probe with it
/// was; a combination as declined where it was in every probe of it, in several contexts.
[[nodiscard]] LearntContract learn_contract(const Model& model, std::span<const Row> rows, const Probe& probe,
                                            const LearningLimits& limits = {});

}  // namespace qconform::sweep

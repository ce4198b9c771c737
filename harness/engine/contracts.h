// The contracts of a backend: what it takes, learnt by asking it, and the suites that are made for that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/suite.h"
#include "harness/report/report.h"
#include "harness/suites/sweep/suite.h"

namespace qconform {

/// By model of the sweep, in their order.
using Contracts = std::vector<sweep::LearntContract>;

/// Without how they are known.
[[nodiscard]] std::vector<sweep::SweepContract> plain(const Contracts& contracts);

/// Whether a case is valid and lies inside. A case that no model has does not.
[[nodiscard]] bool takes(const Contracts& contracts, const Case& test_case);

/// Before each case that a backend is asked: the model, and how many cases of it were asked before.
using ContractProgress = std::function<void(const std::string& model, std::uint64_t cases)>;

/// A case that is neither unsupported nor rejected counts as taken, whatever else becomes of it.
[[nodiscard]] Contracts learn_contracts(Backend& backend, std::uint64_t seed, const ContractProgress& progress = {});

/// Learns which quantized units a backend takes, as learn_contracts() does of nodes: by model of sweep::unit_plans(),
/// in their order.
[[nodiscard]] Contracts learn_unit_contracts(Backend& backend, std::uint64_t seed,
                                             const ContractProgress& progress = {});

/// "MODEL: PARAMETER=CLASS[|CLASS]..., ..."; nothing of other models is taken. Errors name the option --only.
[[nodiscard]] Result<Contracts> stated_contracts(const std::string& text);

/// `plans`: those that the contracts are of.
[[nodiscard]] std::vector<BackendContract> described(const Contracts& contracts,
                                                     const std::vector<sweep::Plan>& plans = sweep::plans());

/// Valid cases that a suite of its own has for a backend, at least.
inline constexpr std::size_t kCasesWithin = 3000;

/// The sizes at which kernels change their way, inside what is taken. Null where nothing is; `only_narrow`: and where
/// everything is, because the suite `sizes` runs too.
[[nodiscard]] std::unique_ptr<Suite> sizes_within(const Contracts& contracts, const std::string& name,
                                                  std::uint64_t seed, bool only_narrow = false);

/// Nodes that differ in one thing each from the one before, inside what is taken narrowly. Null where nothing is.
[[nodiscard]] std::unique_ptr<Suite> neighbours_within(const Contracts& contracts, const std::string& name,
                                                       std::uint64_t seed);

/// Covers every three classes that are taken together, with drawn cases up to kCasesWithin. Null where nothing is
/// taken, and where everything is: then the sweep itself does.
[[nodiscard]] std::unique_ptr<Suite> suite_within(const Contracts& contracts, std::string name, std::uint64_t seed);

/// Sizes and positions at strength 4 inside what is taken (sweep::plan_thoroughly). Null where there is nothing.
[[nodiscard]] std::unique_ptr<Suite> thorough_within(const Contracts& contracts, std::string name, std::uint64_t seed);
/// Everything is taken, and nothing was asked.
[[nodiscard]] Contracts whole_contracts();

/// Directed and random cases of the models of which something is taken, and not everything. None where there are none.
[[nodiscard]] std::vector<std::unique_ptr<Suite>> drawn_within(const Contracts& contracts, const std::string& name,
                                                               std::uint64_t seed);

/// Quantized units inside what is taken, for backends that take the fewer of those of the suite `qdq`. Null where
/// nothing is taken, and where most of them are. `units`: as learn_unit_contracts() has them.
[[nodiscard]] std::unique_ptr<Suite> drawn_units_within(const Contracts& units, const std::string& name,
                                                        std::uint64_t seed);

/// Holds the cases of a run against what is known of its backends: a contract may be wrong, or no longer right.
class ContractCheck {
 public:
  /// `backend`: its position in the run.
  void add(std::size_t backend, const Contracts& contracts);
  [[nodiscard]] bool is_empty() const { return backends_.empty(); }

  /// Notes a case and its results, in the order of the backends. Only cases that are expected to be valid count.
  void judged(const Case& test_case, const Classification& classification,
              const std::vector<CaseResult::OfBackend>& results);

  /// Writes the contradictions of each contract of the backend into `contracts`.
  void write(std::size_t backend, std::vector<BackendContract>& contracts) const;

 private:
  struct ContractCounts {
    std::uint64_t declined_inside = 0;
    std::uint64_t taken_outside = 0;
    std::string first;  ///< case
  };
  struct BackendCounts {
    std::size_t backend;
    std::vector<ContractCounts> counts;  ///< by model
  };
  std::vector<BackendCounts> backends_;
  std::vector<std::vector<sweep::SweepContract>> contracts_;  ///< of backends_, by model
};

/// "xnnpack: of the cases of this run 2 lie inside its contract and were declined, 1 outside and was taken (first
/// random-1-4); ..."; empty where nothing contradicts.
[[nodiscard]] std::string contradiction_text(const std::string& backend, const std::vector<BackendContract>& contracts);

}  // namespace qconform

// Causes of failures told apart without knowing them: which parts of a library have to be switched off for a failing
// case to be right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/model/judge/judge.h"
#include "harness/report/report.h"

namespace qconform::diagnose {

/// The parts that a signature of cure_of() names; none of any other signature.
[[nodiscard]] std::vector<Switch> switches_in(std::string_view signature, std::span<const Switch> all);
/// The settings that they are, as they stand behind the backend's @:
/// "optimization.disable_specified_optimizers=MatMulIntegerToFloatFusion"; empty for any other signature or backend.
[[nodiscard]] std::string cure_in(std::string_view signature, const Backend& backend);

/// Counts by operator how the graph that a library computes changes when parts of the library are switched off.
struct Rewriting {
  Counts went;  ///< nodes that are there with the parts off alone
  Counts came;  ///< nodes that are there with the parts on alone

  /// "QLinearConv for Conv+Relu": kinds alone, without the quantization that any fused node takes along; empty where no
  /// operator came or went.
  [[nodiscard]] std::string name() const;
};
[[nodiscard]] Rewriting rewriting_between(const CaseGraph& off, const CaseGraph& on);

/// One backend with switches (Backend::switches()), which are tried on its failing cases. Each set of switches is a
/// backend of its own, in a process of its own.
class Cures {
 public:
  static constexpr int kSearches = 32;        ///< failures for which parts are looked for that cured none before
  static constexpr std::size_t kOpened = 32;  ///< backends that are kept open
  static constexpr std::string_view kPrefix = "cured-by:";

  /// `backend` outlives it.
  explicit Cures(Backend& backend) : backend_(backend), switches_(backend.switches()) {}
  [[nodiscard]] bool has_switches() const { return !switches_.empty(); }

  /// A set of switches with which the case is right, and without any one of which it is not: its name,
  /// "cured-by:MatMulIntegerToFloatFusion", several with +. Parts that cured cases before are tried first, alone and
  /// then together. Nothing where all switches together do not cure it, or too much was looked for.
  [[nodiscard]] std::optional<std::string> cure_of(const Case& test_case, const Policy& policy);
  /// One part of a cure: with the others off, it alone makes the case wrong.
  struct Cause {
    std::string name;                 ///< "cured-by:MatMulIntegerToFloatFusion"
    std::vector<std::string> beside;  ///< the others, without the prefix
  };
  /// One part of cure_of(), so that a case of several defects counts for one of them: of the parts that change how the
  /// case fails when they alone are off, one that no case counts for yet, or else they take turns. It is the same each
  /// time.
  [[nodiscard]] std::optional<Cause> cause_of(const Case& test_case, const Policy& policy);
  /// Whether the case is right with the parts that the signature names off, or is wrong by them when all other parts
  /// that are known to be wrong are off.
  [[nodiscard]] bool cures(std::string_view signature, const Case& test_case, const Policy& policy);
  /// Returns how many elements of the case are wrong by the parts that the signature names, while the other parts of
  /// its cure are off; 0 where it has no others.
  [[nodiscard]] std::uint64_t own_elements(std::string_view signature, const Case& test_case, const Policy& policy);
  /// Returns how the parts that the signature names rewrite the case; nothing where a graph is not shown.
  [[nodiscard]] std::optional<Rewriting> rewriting_by(std::string_view signature, const Case& test_case);
  /// Ends the processes of the sets; later calls open them again.
  void close() { opened_.clear(); }
  /// Whether some part of these is not known by its name (Switch::is_part): other causes have it too.
  [[nodiscard]] bool is_broad(std::string_view signature) const;

 private:
  using Set = std::vector<std::size_t>;  // positions of switches, ascending
  struct Opened {
    Set set;
    bool shows_graphs;
    std::unique_ptr<Backend> backend;  // null: it does not open
  };

  [[nodiscard]] Backend* opened(const Set& set, bool shows_graphs = false);
  [[nodiscard]] Verdict verdict_without(const Set& off, const Case& test_case, const Policy& policy);
  [[nodiscard]] bool is_right(const Set& off, const Case& test_case, const Policy& policy);
  [[nodiscard]] Set telling_parts(const Set& cure, const Case& test_case, const Policy& policy);
  [[nodiscard]] Set fewest_off(const Case& test_case, const Policy& policy);
  [[nodiscard]] Set smallest_cure(Set set, const Case& test_case, const Policy& policy);
  [[nodiscard]] std::string name_of(const Set& set) const;

  Backend& backend_;
  std::span<const Switch> switches_;
  Set known_;                                           // parts of some cure
  std::set<std::size_t> counted_;                       // parts that cause_of() named
  std::map<std::uint64_t, std::optional<Cause>> told_;  // by the case's digest; nothing where no cause was found
  std::list<Opened> opened_;                            // the one used last comes first
  int searches_ = 0;
};

}  // namespace qconform::diagnose

// Gathers failures into findings, so that one defect that many cases hit is reported once, and asks a diagnoser for
// their causes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/case.h"
#include "harness/core/element_map.h"
#include "harness/core/profile.h"
#include "harness/core/tensor.h"
#include "harness/core/verdict.h"
#include "harness/engine/waivers.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/report/report.h"

namespace qconform {

/// The signature of a failure whose cause is not known: the verdict's kind with its rule, or with the place of a crash.
[[nodiscard]] std::string signature_of(const Verdict& verdict);

/// Groups failures by backend, operator, signature and waiver; keeps the smallest case of each group.
class Findings {
 public:
  /// Returns the id of the finding that the failure counts to. `related`: the cases whose answers contradict this
  /// one's, where the verdict is that. `waiver`: the one that covers the failure, or null. Without a signature, that is
  /// signature_of(verdict). `answer`: what the example is to record of the failure.
  std::string add(const std::string& backend, const Case& test_case, const Verdict& verdict,
                  const std::vector<Case>& related = {}, const Waiver* waiver = nullptr, std::string signature = {},
                  const std::optional<DefectAnswer>& answer = {});
  /// Gives each finding that no waiver covers its final signature. Merges findings that then have the same one into the
  /// first of them, and drops those that are kUndetermined. Returns the new ids by the old ones; empty of the dropped.
  [[nodiscard]] std::map<std::string, std::string> settle(
      const std::function<std::string(const Finding&)>& signature_of);
  /// In the order of their first cases, numbered "F1", "F2", ...
  [[nodiscard]] std::vector<Finding> take();

 private:
  struct FindingKey {
    std::string backend;
    std::string subject;  ///< the operator
    std::string signature;
    std::string waiver;  ///< empty without one

    auto operator<=>(const FindingKey&) const = default;
  };
  /// The position in the list, of a finding that may be new.
  std::size_t position_of(const FindingKey& key) {
    return positions_.try_emplace(key, positions_.size()).first->second;
  }

  std::map<FindingKey, std::size_t> positions_;
  std::vector<Finding> findings_;
};

/// Joins findings of one backend and operator that turned out to be one, which no waiver covers: with one signature, or
/// with one smallest case where no defect is known of either. Numbers all findings anew, in the single results too.
void join_findings(Report& report);
/// Writes down by backend and operator how many failing cases are in none of the findings.
void count_undetermined(Report& report);

// The interface to whatever explains failing cases, so that findings are grouped by cause.

/// The signature of failures whose cause nobody determined: no finding counts them.
inline constexpr const char* kUndetermined = "undetermined";
/// Begins the signature of wrong values that no known defect explains; the place of the wrong elements follows.
inline constexpr const char* kUnexplained = "unexplained:";
/// The signature of outputs of a wrong shape that no known defect explains.
inline constexpr std::string_view kUnexplainedShape = "unexplained:shape";

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

// Element maps of failures: wrong outputs element by element, for the report.

/// How much a map may hold. It leaves out first what lies farthest from the worst element.
struct ElementMapLimits {
  std::int64_t output = 4096;  ///< elements of the output
  std::int64_t input = 8192;   ///< elements of each input
};

/// Bounds on all maps of a report together; findings that come after these are spent have none.
struct ElementMapsLimits {
  ElementMapLimits example;                                  ///< bounds for the shrunk case
  ElementMapLimits original{.output = 1024, .input = 4096};  ///< bounds for the case as it was met
  ElementMapLimits further{.output = 4096, .input = 4096};   ///< bounds for the case with the clearest pattern
  std::int64_t values = 400'000;                             ///< elements in all maps together
  double seconds = 20;
};

/// Runs the case on the backend; nullopt unless values are wrong.
[[nodiscard]] std::optional<ElementMap> element_map_of(const Case& test_case, Backend& backend, const Policy& policy,
                                                       const ElementMapLimits& limits = {});

/// Gives each finding of wrong values its maps, those that no waiver covers first. Call it when the
/// examples are final.
void add_element_maps(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy,
                      const ElementMapsLimits& limits = {});

/// All of a tensor.
[[nodiscard]] Box whole(const std::vector<std::int64_t>& shape);

/// At most `most` elements around the one at `center`: as much of its plane, the last two dimensions, as
/// there is room for, then neighbours along the dimensions before, from the innermost.
[[nodiscard]] Box box_around(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& center,
                             std::int64_t most);

/// The flat indices of a box's elements, in its order.
[[nodiscard]] std::vector<std::int64_t> indices_in(const std::vector<std::int64_t>& shape, const Box& box);

/// The box's elements, as text.
[[nodiscard]] TensorBox cut(std::string name, const Tensor& tensor, const Box& box);

// Keeps the results of single cases, up to a bound.

enum class RowsKept : std::uint8_t { all, failing };

/// Rows of cases in the order of the run. Beyond the bound it drops the latest first, but keeps those that fail on a
/// backend and the first few of each reason that a backend gives, so that each reason has a case.
class CaseTable {
 public:
  static constexpr std::size_t kMostRows = 20'000;
  static constexpr std::uint64_t kOfEachReason = 8;  ///< by backend and operator, up to half of the bound

  explicit CaseTable(RowsKept kept, std::size_t most_rows = kMostRows) : kept_(kept), most_rows_(most_rows) {}

  /// `backends`: what the case came to, in the order of the report's backends.
  void add(const std::string& suite, const Case& test_case, std::vector<CaseResult::OfBackend> backends);
  /// Renames findings: new ids by old ones.
  void rename_findings(const std::map<std::string, std::string>& ids);
  /// In the order of the run.
  [[nodiscard]] CaseResults take();

 private:
  RowsKept kept_;
  std::size_t most_rows_;
  /// With its position within the run.
  using Row = std::pair<std::uint64_t, CaseResult>;
  [[nodiscard]] bool shows_reason(const std::string& op_type, std::span<const CaseResult::OfBackend> backends);

  std::vector<Row> first_to_go_;
  std::vector<Row> last_to_go_;
  /// Cases by backend, operator and reason.
  std::map<std::tuple<std::size_t, std::string, std::string>, std::uint64_t> reasons_;
  std::uint64_t cases_ = 0;
  std::uint64_t failing_cases_ = 0;
};

}  // namespace qconform

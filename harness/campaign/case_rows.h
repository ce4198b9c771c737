// Single cases of a campaign that its report lists and its diagnosis learns from: bounded choices that do not depend on
// who ran which blocks.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/fields.h"
#include "harness/core/verdict.h"
#include "harness/model/defects/case_features.h"

namespace qconform::campaign {

/// The key by which blocks group failures before any explanation.
struct FailureKey {
  QC_DESCRIBED();
  QC_FIELD(std::size_t, backend, {}, "backend");  ///< position in the campaign's list
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(std::string, symptom, {}, "symptom");  ///< symptom_of(); a verdict's kind and rule without values to look at
  QC_FIELD(std::string, waiver, {}, "waiver");    ///< id of the one that covers them; empty for none
  auto operator<=>(const FailureKey&) const = default;
};

/// The result of a case, which can be drawn again from its index.
struct CaseRow {
  struct OfBackend {
    QC_DESCRIBED();
    QC_FIELD(VerdictKind, verdict, {VerdictKind::pass}, "verdict");
    QC_FIELD(std::optional<reference::Tier>, tier, {},
             "tier");  ///< the strictest of all elements, where there are tiers
    /// 0 where it does not fail.
    QC_FIELD(std::uint64_t, wrong_elements, {}, "wrong", .presence = Presence::omitted);
    /// As in FailureKey; empty where it does not fail.
    QC_FIELD(std::string, symptom, {}, "symptom", .presence = Presence::omitted);
    QC_FIELD(std::string, waiver, {}, "waiver", .presence = Presence::omitted);  ///< empty where it does not fail
    QC_FIELD(std::string, reason, {}, "reason", .presence = Presence::omitted);  ///< present where has_reason(verdict)
  };

  QC_DESCRIBED();
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(std::vector<OfBackend>, backends, {}, "backends");  ///< in the campaign's order

  /// Returns a key for each backend on which the case fails; empty where it passes on all.
  [[nodiscard]] std::vector<FailureKey> failures() const;
};

/// Keeps a sample of rows: for each backend and symptom, the failing cases with the smallest hashes of their index, and
/// for each operator, those that fail nowhere with the smallest. A case among the smallest of all is among the smallest
/// of any part, so adding up is associative and commutative, and idempotent but for failing().
class CaseRows {
 public:
  static constexpr std::size_t kFailing = 16;  ///< cases kept for each backend, operator, symptom and waiver
  static constexpr std::size_t kPassing = 32;  ///< cases kept for each operator

  /// Adds cases that are not in it yet.
  void add(std::map<std::uint64_t, CaseRow> rows);
  /// Adds rows of other cases.
  void add(const CaseRows& other);

  /// By index.
  [[nodiscard]] const std::map<std::uint64_t, CaseRow>& rows() const { return rows_; }
  /// Index of the first case of each failure, of all that were added.
  using Firsts = std::map<FailureKey, std::uint64_t>;
  [[nodiscard]] const Firsts& firsts() const { return firsts_; }
  /// Number of cases that fail on some backend, of all that were added.
  [[nodiscard]] std::uint64_t failing() const { return failing_; }

  /// As rows(), firsts() and failing() gave it.
  [[nodiscard]] static CaseRows of(std::map<std::uint64_t, CaseRow> rows, Firsts firsts, std::uint64_t failing);

 private:
  void note_first(const FailureKey& failure, std::uint64_t index);
  void bound();

  std::map<std::uint64_t, CaseRow> rows_;
  Firsts firsts_;
  std::uint64_t failing_ = 0;
};

/// The cases with the smallest hashes of those added, which makes joining two samples associative,
/// commutative and idempotent, where a hash stands for one case.
class Sample {
 public:
  using Entry = std::pair<std::uint64_t, diagnose::FeatureSet>;

  explicit Sample(std::size_t most) : most_(most) {}

  void add(std::uint64_t hash, const diagnose::FeatureSet& features);
  void add(const Sample& other);

  /// By hash, without duplicates; at most as many as the sample keeps.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::vector<diagnose::FeatureSet> features() const;

 private:
  std::size_t most_;
  std::vector<Entry> entries_;
};

}  // namespace qconform::campaign

// The sum of what blocks of a campaign found. Addition is associative and commutative but for seconds, so that
// the aggregate of many blocks does not depend on which machine ran which of them, and when.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/corner_cases/corner_case.h"
#include "harness/core/fields.h"
#include "harness/core/verdict.h"
#include "harness/forms/archive/archive.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/report/campaign_result.h"
#include "harness/report/report.h"

namespace qconform::campaign {

// The timeline of a campaign's findings over its blocks, in their order. Merging timelines is associative and
// commutative but for seconds, and the result depends on the blocks alone: not on who ran them, or when.

/// Most groups of a timeline. Each holds neighbouring blocks; all have the smallest width at which this many groups
/// hold every block. A wider part makes the whole as wide.
inline constexpr std::size_t kMostGroups = 256;

/// By corner case: index of the first case that reached it.
using FirstCases = std::array<std::optional<std::uint64_t>, kCornerCases>;

/// The timeline of one block; `found.first` is its number.
[[nodiscard]] CampaignTimeline timeline_of_block(const CampaignTimeline::Group& found, const FirstCases& reached);

/// `from` is of other blocks.
void merge(const CampaignTimeline& from, CampaignTimeline& into);

// Single cases of a campaign that its report lists and its diagnosis learns from: bounded choices that do not depend on
// who ran which blocks.

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
  static constexpr std::size_t kFailing = 16;   ///< cases kept for each backend, operator, symptom and waiver,
  static constexpr std::size_t kSampled = 256;  ///< where the symptom names no cause: what they are tells of the others
  static constexpr std::size_t kPassing = 32;   ///< cases kept for each operator
  /// kFailing or kSampled
  [[nodiscard]] static std::size_t most_of(const FailureKey& failure);

  /// The hash by which cases are chosen.
  [[nodiscard]] static std::uint64_t hash_of(std::uint64_t index);

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
  using Entry = std::pair<std::uint64_t, diagnose::CaseTraits>;

  explicit Sample(std::size_t most) : most_(most) {}

  void add(std::uint64_t hash, const diagnose::CaseTraits& features);
  void add(const Sample& other);

  /// By hash, without duplicates; at most as many as the sample keeps.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::vector<diagnose::CaseTraits> features() const;

 private:
  std::size_t most_;
  std::vector<Entry> entries_;
};

// The aggregate.

/// Describes which corner cases were reached, in a tenth of the room that a report takes for them.
void describe_compactly(Archive& archive, const char* key, CornerCaseCoverage& coverage);

/// A failing case: it can be drawn again from its index.
struct FailingCase {
  QC_DESCRIBED();
  QC_FIELD(std::uint64_t, bytes, {}, "bytes");  ///< bytes of its inputs
  QC_FIELD(std::uint64_t, index, {}, "index");
  QC_FIELD(Verdict, verdict, {}, "verdict");

  [[nodiscard]] bool is_smaller_than(const FailingCase& other) const {
    return std::pair(bytes, index) < std::pair(other.bytes, other.index);
  }
};

struct Failures {
  static constexpr std::size_t kSampled = 128;

  QC_DESCRIBED();
  QC_FIELD(std::uint64_t, cases, {}, "cases");
  QC_FIELD(FailingCase, smallest, {}, "smallest");  ///< by bytes, then by index
  QC_FIELD(Sample, sample, {kSampled}, "sample");   ///< sample of those with values

  void add(const Failures& other);
};

struct CampaignAggregate {
  static constexpr std::size_t kSampled = 512;  ///< passing cases of each backend and operator

  using ByKey = std::map<FailureKey, Failures>;
  using ByOperator = std::map<std::pair<std::size_t, std::string>, Sample>;

  QC_DESCRIBED();
  QC_FIELD(SuiteResult, suite, {}, "suite");
  CornerCaseCoverage corner_cases;
  QC_LINE(describe_compactly(archive, "corner_cases", self.corner_cases));
  QC_FIELD(std::vector<BackendResult>, backends, {}, "backends");  ///< in the campaign's order; without info
  QC_FIELD(ByKey, failures, {}, "failures");                       ///< but for those that are kUndetermined
  QC_FIELD(ByOperator, passing, {}, "passing");                    ///< by backend and op_type
  QC_FIELD(CampaignTimeline, timeline, {}, "course", .presence = Presence::omitted);
  QC_FIELD(CaseRows, rows, {}, "rows");
  QC_FIELD(StageTimes, times, {}, "times");

  /// Both have the same backends, or one of them none at all.
  void add(const CampaignAggregate& other);
  /// Failing verdicts that no waiver covers.
  [[nodiscard]] std::uint64_t unwaived() const;
};

// The blocks of a campaign that are done, and what they found.
//
// Blocks are put together in aligned spans of a power of two, as an odometer carries: of two such spans one
// holds the other, or they share no block. So a block counts once however often it was run, and whichever
// spans it arrives in.

/// Cases of a whole block: a full turn of fuzz_case() through directed and random cases.
inline constexpr std::uint64_t kBlockCases = 512;

/// Whole blocks [first, first + blocks), first a multiple of blocks, a power of two; or, where `cases` is not
/// kBlockCases, the first cases of one block.
struct Span {
  std::uint64_t first = 0;
  std::uint64_t blocks = 1;
  std::uint64_t cases = kBlockCases;  ///< cases of each block

  [[nodiscard]] bool is_whole() const { return cases == kBlockCases; }
  [[nodiscard]] bool is_valid() const;
  /// Whether all of the other one's cases are in this one.
  [[nodiscard]] bool holds(const Span& other) const;
  bool operator==(const Span&) const = default;
};

/// Spans none of which holds another, with something for each.
template <typename Value>
class Spans {
 public:
  /// False, and no change, where a span that holds the new one is there. Those that it holds go.
  bool insert(const Span& span, Value value) {
    if (holds(span)) return false;
    if (const auto part = parts_.find(span.first); part != parts_.end() && span.holds(part->second.first)) {
      parts_.erase(part);
    }
    if (!span.is_whole()) {
      parts_.emplace(span.first, Entry(span, std::move(value)));
      return true;
    }
    parts_.erase(parts_.lower_bound(span.first), parts_.lower_bound(span.first + span.blocks));
    whole_.erase(whole_.lower_bound(span.first), whole_.lower_bound(span.first + span.blocks));
    whole_.emplace(span.first, Entry(span, std::move(value)));
    return true;
  }

  [[nodiscard]] bool holds(const Span& span) const {
    const auto behind = whole_.upper_bound(span.first);
    if (behind != whole_.begin() && std::prev(behind)->second.first.holds(span)) return true;
    const auto part = parts_.find(span.first);
    return part != parts_.end() && part->second.first.holds(span);
  }

  using Entry = std::pair<Span, Value>;
  using Map = std::map<std::uint64_t, Entry>;
  /// By their first block.
  [[nodiscard]] const Map& whole() const { return whole_; }
  [[nodiscard]] const Map& parts() const { return parts_; }
  [[nodiscard]] Map& whole() { return whole_; }

 private:
  Map whole_;
  Map parts_;
};

/// The blocks with their aggregates: neighbours that make up a larger span are added up, so that as many aggregates
/// are held as the number of blocks has digits, and a few for blocks that run ahead.
class BlockAggregates {
 public:
  /// False where those cases are counted already.
  bool insert(const Span& span, CampaignAggregate aggregate);

  [[nodiscard]] bool holds(const Span& span) const { return spans_.holds(span); }
  [[nodiscard]] const Spans<CampaignAggregate>& spans() const { return spans_; }
  /// Adds up the aggregates of all blocks.
  [[nodiscard]] CampaignAggregate total() const;

 private:
  Spans<CampaignAggregate> spans_;
};

/// For the report: ranges that touch are one.
template <typename Value>
void describe(const Spans<Value>& spans, CampaignResult& result) {
  result.block_cases = kBlockCases;
  result.blocks.clear();
  result.parts.clear();
  for (const auto& [first, entry] : spans.whole()) {
    const std::uint64_t end = first + entry.first.blocks;
    if (!result.blocks.empty() && result.blocks.back().end == first) {
      result.blocks.back().end = end;
    } else {
      result.blocks.push_back({first, end});
    }
  }
  for (const auto& [block, entry] : spans.parts()) result.parts.push_back({block, entry.first.cases});
}

// Counts as CBOR, for the journal (journal.h) and between processes.

// These describe the parts of an aggregate; harness/forms/archive/report_archive.h describes those of a report.
void describe(Archive& archive, Sample& sample, const FieldRule& rule);
void describe(Archive& archive, CampaignAggregate::ByKey& failures, const FieldRule& rule);
void describe(Archive& archive, CampaignAggregate::ByOperator& passing, const FieldRule& rule);
void describe(Archive& archive, CaseRows& rows, const FieldRule& rule);

[[nodiscard]] std::string encode_aggregate(const CampaignAggregate& aggregate);

/// The field of an error is "aggregate".
[[nodiscard]] Result<CampaignAggregate> decode_aggregate(std::string_view bytes);

[[nodiscard]] std::string encode_rows(const CaseRows& rows);
[[nodiscard]] Result<CaseRows> decode_rows(std::string_view bytes);

}  // namespace qconform::campaign

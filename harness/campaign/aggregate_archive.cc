#include "harness/campaign/campaign_aggregate.h"

#include <fmt/format.h>

#include <span>

#include "harness/forms/archive/archive.h"
#include "harness/forms/archive/report_archive.h"

namespace qconform::campaign {
namespace {

using Words = std::vector<std::uint64_t>;

constexpr std::size_t kWord = 64;

constexpr std::size_t kWordsOfFeatures = (diagnose::kMostFeatures + kWord - 1) / kWord;
constexpr std::size_t kWordsOfTraits = kWordsOfFeatures + diagnose::kMostSizes + 1;

void append(const Sample::Entry& entry, Words& words) {
  words.push_back(entry.first);
  const diagnose::FeatureSet mask(~std::uint64_t{0});
  for (std::size_t i = 0; i < kWordsOfFeatures; ++i) {
    words.push_back(((entry.second.features >> (i * kWord)) & mask).to_ullong());
  }
  words.insert(words.end(), entry.second.sizes.begin(), entry.second.sizes.end());
  words.push_back(entry.second.elements);
}

diagnose::CaseTraits traits_in(std::span<const std::uint64_t, kWordsOfTraits> words) {
  diagnose::CaseTraits traits;
  for (std::size_t i = kWordsOfFeatures; i-- > 0;) {
    traits.features = traits.features << kWord | diagnose::FeatureSet(words[i]);
  }
  for (std::size_t i = 0; i < diagnose::kMostSizes; ++i) {
    traits.sizes[i] = static_cast<std::uint32_t>(words[kWordsOfFeatures + i]);
  }
  traits.elements = static_cast<std::uint32_t>(words.back());
  return traits;
}

// Writes a map whose keys are not texts as a list of objects; Entry describes a key with its value.
template <typename Entry, typename Map>
void describe_entries(Archive& archive, Map& map) {
  std::vector<Entry> entries;
  for (const auto& [key, value] : map) entries.push_back({key, value});
  describe(archive, entries, FieldRule{});
  if (!archive.fills()) return;
  map.clear();
  for (Entry& entry : entries) map.insert_or_assign(std::move(entry.key), std::move(entry.value));
}

}  // namespace

// [hash, word, word, ..., hash, word, ...]: each case with its features, 64 in a word, and its numbers. One list for
// all, because lists of lists take most of the time of a record.
void describe(Archive& archive, Sample& sample, const FieldRule& rule) {
  Words words;
  for (const Sample::Entry& entry : sample.entries()) append(entry, words);
  describe(archive, words, rule);
  if (!archive.fills() || !archive.is_sound()) return;
  constexpr std::size_t kEntry = 1 + kWordsOfTraits;
  if (words.size() % kEntry != 0) return archive.refuse("expected a hash and features for each case");
  for (std::span<const std::uint64_t> rest = words; !rest.empty(); rest = rest.subspan(kEntry)) {
    sample.add(rest.front(), traits_in(rest.subspan<1, kWordsOfTraits>()));
  }
}

namespace {

struct FailuresEntry {
  QC_DESCRIBED();
  FailureKey key;
  QC_LINE(describe_members(archive, self.key));
  Failures value;
  QC_LINE(describe_members(archive, self.value));
};

struct PassingEntry {
  QC_DESCRIBED();
  std::pair<std::size_t, std::string> key{};
  QC_PART("backend", key.first);
  QC_PART("operator", key.second);
  QC_FIELD(Sample, value, {CampaignAggregate::kSampled}, "sample");
};

struct RowEntry {
  QC_DESCRIBED();
  QC_FIELD(std::uint64_t, key, {}, "index");
  CaseRow value;
  QC_LINE(describe_members(archive, self.value));
};

struct FirstEntry {
  QC_DESCRIBED();
  FailureKey key;
  QC_LINE(describe_members(archive, self.key));
  QC_FIELD(std::uint64_t, value, {}, "index");
};

}  // namespace

void describe(Archive& archive, CampaignAggregate::ByKey& failures, const FieldRule& /*rule*/) {
  describe_entries<FailuresEntry>(archive, failures);
}

void describe(Archive& archive, CampaignAggregate::ByOperator& passing, const FieldRule& /*rule*/) {
  describe_entries<PassingEntry>(archive, passing);
}

void describe(Archive& archive, CaseRows& rows, const FieldRule& /*rule*/) {
  auto cases = rows.rows();
  auto firsts = rows.firsts();
  std::uint64_t failing = rows.failing();
  const auto member = [&](const char* key, auto describe_value) {
    if (!archive.begin_member(key, {}, Presence::always, true)) return;
    describe_value();
    archive.end_member();
  };
  archive.begin_object({});
  describe_field(archive, "failing", failing, {});
  member("firsts", [&] { describe_entries<FirstEntry>(archive, firsts); });
  member("rows", [&] { describe_entries<RowEntry>(archive, cases); });
  archive.end_object();
  if (archive.fills()) rows = CaseRows::of(std::move(cases), std::move(firsts), failing);
}

// Lists the corner cases that were reached, by operator and types: [position, cases, elements, position, ...], the
// position in corner_cases(). A report names them, which takes ten times the room.
void describe_compactly(Archive& archive, const char* key, CornerCaseCoverage& coverage) {
  std::map<std::string, std::map<std::string, Words>> tables;
  for (const auto& [op_type, by_types] : coverage.by_operator()) {
    auto& table = tables[op_type];
    for (const auto& [types, totals] : by_types) {
      auto& reached = table[types];
      for (std::size_t i = 0; i < kCornerCases; ++i) {
        if (totals[i].cases > 0) reached.insert(reached.end(), {i, totals[i].cases, totals[i].elements});
      }
    }
  }
  describe_field(archive, key, tables, FieldRule{});
  if (!archive.fills() || !archive.is_sound()) return;
  coverage = {};
  for (const auto& [op_type, table] : tables) {
    coverage.note(op_type);
    for (const auto& [types, reached] : table) {
      CornerCaseCoverage::Totals totals{};
      for (std::size_t i = 0; i < reached.size(); i += 3) {
        if (reached.size() - i < 3 || reached[i] >= kCornerCases) {
          return archive.refuse_member(key, "expected position, cases and elements of each corner case");
        }
        totals[reached[i]] = {reached[i + 1], reached[i + 2]};
      }
      coverage.add(op_type, types, totals);
    }
  }
}

std::string encode_aggregate(const CampaignAggregate& aggregate) {
  return to_cbor(aggregate);
}

Result<CampaignAggregate> decode_aggregate(std::string_view bytes) {
  return from_cbor<CampaignAggregate>(bytes, "aggregate");
}

std::string encode_rows(const CaseRows& rows) {
  return to_cbor(rows);
}

Result<CaseRows> decode_rows(std::string_view bytes) {
  return from_cbor<CaseRows>(bytes, "rows");
}

}  // namespace qconform::campaign

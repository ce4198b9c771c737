#include "harness/campaign/campaign_aggregate.h"

#include <fmt/format.h>

#include <iterator>

#include "harness/forms/archive/archive.h"
#include "harness/forms/archive/report_archive.h"

namespace qconform::campaign {
namespace {

using Words = std::vector<std::uint64_t>;

constexpr std::size_t kWord = 64;

Words words_of(const Sample::Entry& entry) {
  Words words{entry.first};
  const diagnose::FeatureSet mask(~std::uint64_t{0});
  for (std::size_t at = 0; at < entry.second.size(); at += kWord) {
    words.push_back(((entry.second >> at) & mask).to_ullong());
  }
  return words;
}

Sample::Entry entry_of(const Words& words) {
  Sample::Entry entry;
  for (std::size_t i = words.size() - 1; i >= 1; --i) {
    entry.second <<= kWord;
    entry.second |= diagnose::FeatureSet(words[i]);
  }
  entry.first = words[0];
  return entry;
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

// [[hash, word, word, ...], ...]: each a case with its features, 64 in a word.
void describe(Archive& archive, Sample& sample, const FieldRule& rule) {
  std::vector<Words> entries;
  for (const Sample::Entry& entry : sample.entries()) entries.push_back(words_of(entry));
  describe(archive, entries, rule);
  if (!archive.fills() || !archive.is_sound()) return;
  for (const Words& words : entries) {
    if (words.empty()) return archive.refuse("expected a hash and features");
    const auto [hash, features] = entry_of(words);
    sample.add(hash, features);
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

// Lists the corner cases that were reached, by operator and types: [[position, cases, elements], ...], the position in
// corner_cases(). A report names them, which takes ten times the room.
void describe_compactly(Archive& archive, const char* key, CornerCaseCoverage& coverage) {
  std::map<std::string, std::map<std::string, std::vector<Words>>> tables;
  for (const auto& [op_type, by_types] : coverage.by_operator()) {
    auto& table = tables[op_type];
    for (const auto& [types, totals] : by_types) {
      auto& reached = table[types];
      for (std::size_t i = 0; i < kCornerCases; ++i) {
        if (totals[i].cases > 0) reached.push_back({i, totals[i].cases, totals[i].elements});
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
      for (const Words& entry : reached) {
        if (entry.size() != 3 || entry[0] >= kCornerCases) {
          return archive.refuse_member(key, "expected [position, cases, elements] of a corner case");
        }
        totals[entry[0]] = {entry[1], entry[2]};
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

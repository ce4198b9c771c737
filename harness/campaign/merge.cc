#include "harness/campaign/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/campaign/aggregate_archive.h"
#include "harness/campaign/block_run.h"

namespace qconform::campaign {
namespace {

namespace fs = std::filesystem;

// Place of a span's record: the journal that holds it, and the position there.
struct Place {
  std::size_t journal = 0;
  std::uint64_t position = 0;
};

class Merge {
 public:
  explicit Merge(const std::vector<fs::path>& journals) : journals_(journals) {}

  Result<Merged> run(const fs::path& out) {
    for (std::size_t i = 0; i < journals_.size(); ++i) QCONFORM_TRY(list_spans(i));
    merged_.snapshot.identity.shard = {};
    JournalWriter writer;
    QCONFORM_TRY(writer.open(out));
    QCONFORM_TRY(writer.replace([this](const JournalWriter::Put& put) { return write(put); }));
    describe(places_, merged_.snapshot.result);
    for (const auto& [id, run] : runs_) merged_.snapshot.result.runs.push_back(run);
    std::stable_sort(merged_.snapshot.result.runs.begin(), merged_.snapshot.result.runs.end(),
                     [](const CampaignRun& a, const CampaignRun& b) { return a.started < b.started; });
    merged_.snapshot.case_at = cases_of(merged_.snapshot.identity);
    return std::move(merged_);
  }

 private:
  // Notes which spans a journal holds, without keeping what they found.
  Result<void> list_spans(std::size_t number) {
    QCONFORM_ASSIGN(auto reader, JournalReader::open(journals_[number]));
    for (;;) {
      QCONFORM_ASSIGN(auto record, reader.next());
      if (!record) break;
      QCONFORM_TRY(in_context(journals_[number].string(), note(*record, {number, reader.position()})));
    }
    QCONFORM_TRY(refuse_damage(journals_[number], reader.damage()));
    for (const JournalDamage& tail : reader.damage()) {
      merged_.remarks.push_back(
          fmt::format("{}: left out the last {} bytes, an incomplete record", journals_[number].string(), tail.bytes));
    }
    return {};
  }

  Result<void> note(const Record& record, const Place& place) {
    if (record.kind == RecordKind::identity) return note_identity(record);
    if (record.kind == RecordKind::blocks) static_cast<void>(places_.insert(record.span, place));
    if (record.kind == RecordKind::run) {
      QCONFORM_ASSIGN(auto run, decode_run(record));
      note_run(run.first, std::move(run.second));
    }
    return {};
  }

  Result<void> note_identity(const Record& record) {
    QCONFORM_ASSIGN(auto identity, decode_identity(record.payload));
    if (identity.engine != "seeded") {
      return fail("--engine", identity.engine +
                                  ": such a campaign has no blocks to merge; copy the inputs that other machines "
                                  "kept into libfuzzer/corpus here, and continue with --resume");
    }
    if (merged_.snapshot.identity.version.empty()) {
      merged_.snapshot.identity = std::move(identity);
      return {};
    }
    QCONFORM_TRY(identity.fits(merged_.snapshot.identity, journals_.front().string(), false));
    // Picks the same command in any order, where shards had different numbers of cases.
    merged_.snapshot.identity.command = std::max(merged_.snapshot.identity.command, identity.command);
    return {};
  }

  // A running run is recorded several times: the last record counts.
  void note_run(const std::string& id, CampaignRun run) {
    const auto [at, is_new] = runs_.try_emplace(id, run);
    const bool is_later =
        run.seconds > at->second.seconds || (run.seconds == at->second.seconds && at->second.ended == "running");
    if (!is_new && is_later) at->second = std::move(run);
  }

  // In the order of the blocks: neighbours are put together, and written once nothing can join them any more.
  Result<void> write(const JournalWriter::Put& put) {
    QCONFORM_TRY(put({RecordKind::identity, {}, encode_identity(merged_.snapshot.identity)}));
    Blocks joined;
    std::uint64_t end = 0;
    for (const auto& [first, entry] : places_.whole()) {
      if (first != end) QCONFORM_TRY(flush(joined, put));
      end = first + entry.first.blocks;
      QCONFORM_TRY(fetch(entry, joined));
    }
    QCONFORM_TRY(flush(joined, put));
    for (const auto& [block, entry] : places_.parts()) {
      QCONFORM_TRY(fetch(entry, joined));
      QCONFORM_TRY(flush(joined, put));
    }
    for (const auto& [id, run] : runs_) QCONFORM_TRY(put(run_record(id, run)));
    return {};
  }

  Result<void> fetch(const Spans<Place>::Entry& entry, Blocks& joined) {
    const Place& place = entry.second;
    if (!open_ || open_number_ != place.journal) {
      open_.reset();
      QCONFORM_ASSIGN(auto reader, JournalReader::open(journals_[place.journal]));
      open_.emplace(std::move(reader));
      open_number_ = place.journal;
    }
    QCONFORM_ASSIGN(auto record, open_->at(place.position));
    QCONFORM_ASSIGN(auto aggregate, in_context(journals_[place.journal].string(), decode_aggregate(record.payload)));
    static_cast<void>(joined.insert(entry.first, std::move(aggregate)));
    return {};
  }

  Result<void> flush(Blocks& joined, const JournalWriter::Put& put) {
    for (const auto* map : {&joined.spans().whole(), &joined.spans().parts()}) {
      for (const auto& [first, entry] : *map) {
        QCONFORM_TRY(put({RecordKind::blocks, entry.first, encode_aggregate(entry.second)}));
        merged_.snapshot.aggregate.add(entry.second);
      }
    }
    joined = {};
    return {};
  }

  const std::vector<fs::path>& journals_;
  Spans<Place> places_;
  std::map<std::string, CampaignRun> runs_;
  std::optional<JournalReader> open_;
  std::size_t open_number_ = 0;
  Merged merged_;
};

}  // namespace

Result<Merged> merge(const std::vector<fs::path>& journals, const fs::path& out) {
  return Merge(journals).run(out);
}

}  // namespace qconform::campaign

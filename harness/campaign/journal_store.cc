#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/base/file.h"
#include "harness/campaign/block_run.h"
#include "harness/campaign/campaign_aggregate.h"
#include "harness/campaign/journal.h"
#include "harness/forms/archive/archive.h"

namespace qconform::campaign {
namespace {

namespace fs = std::filesystem;

struct RunEntry {
  QC_DESCRIBED();
  QC_FIELD(std::string, id, {}, "id");
  CampaignRun run;
  QC_LINE(describe_members(archive, self.run));
};

// The half-written files of a killed process.
void remove_parts(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> parts;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const bool is_journal = at->path().filename() == std::string(kJournalName) + ".part";
    if (is_journal || is_half_written(at->path())) parts.push_back(at->path());
  }
  for (const fs::path& part : parts) fs::remove(part, error);
}

// The path, or the first with a number behind it that is free.
fs::path free_name(const std::string& path) {
  std::error_code error;
  fs::path name = path;
  for (int number = 2; fs::exists(name, error); ++number) name = path + "-" + std::to_string(number);
  return name;
}

}  // namespace

Record run_record(const std::string& id, const CampaignRun& run) {
  return {RecordKind::run, {}, to_cbor(RunEntry{id, run})};
}

Result<std::pair<std::string, CampaignRun>> decode_run(const Record& record) {
  QCONFORM_ASSIGN(auto entry, from_cbor<RunEntry>(record.payload, "run"));
  return std::pair(std::move(entry.id), std::move(entry.run));
}

Record progress_record(const ProgressPoint& progress) {
  return {RecordKind::progress, {}, to_cbor(progress)};
}

Result<ProgressPoint> decode_progress(const Record& record) {
  return from_cbor<ProgressPoint>(record.payload, "progress");
}

Result<void> JournalStore::open(const fs::path& folder, Take take, std::vector<std::string>& remarks) {
  path_ = folder / kJournalName;
  QCONFORM_TRY(write_in("--out", folder, [&] { return journal_.open(path_); }));
  remove_parts(folder);
  if (take == Take::anew || journal_.size() == 0) return {};
  return read(remarks, take == Take::repair);
}

Result<void> JournalStore::read(std::vector<std::string>& remarks, bool repair) {
  QCONFORM_ASSIGN(auto reader, JournalReader::open(path_));
  for (;;) {
    QCONFORM_ASSIGN(auto record, reader.next());
    if (!record) break;
    if (auto taken = this->take(std::move(*record)); !taken) {
      Error error = taken.error().in(path_.string());
      error.message += fmt::format(" (in the record at byte {})", reader.position());
      return tl::unexpected(error);
    }
  }
  const auto& damage = reader.damage();
  if (damage.empty()) return {};
  if (!repair) QCONFORM_TRY(refuse_damage(path_, damage));
  for (const JournalDamage& found : damage) {
    remarks.push_back(fmt::format("{}: cut {} bytes {} byte {} on, an incomplete record; its cases run again",
                                  path_.string(), found.bytes, found.is_tail ? "at the end, from" : "from",
                                  found.offset));
  }
  if (damage.size() == 1 && damage.front().is_tail) return journal_.cut(damage.front().offset);
  return compact();
}

Result<void> JournalStore::take(Record record) {
  switch (record.kind) {
    case RecordKind::identity: {
      QCONFORM_ASSIGN(identity_, decode_identity(record.payload));
      return {};
    }
    case RecordKind::blocks: {
      QCONFORM_ASSIGN(auto aggregate, decode_aggregate(record.payload));
      static_cast<void>(blocks_.insert(record.span, std::move(aggregate)));
      return {};
    }
    case RecordKind::run: {
      QCONFORM_ASSIGN(auto run, decode_run(record));
      runs_[run.first] = std::move(run.second);
      return {};
    }
    case RecordKind::progress: {
      QCONFORM_ASSIGN(auto progress, decode_progress(record));
      progress_.push_back(progress);
      return {};
    }
  }
  return fail("kind", fmt::format("no record has the number {}", static_cast<std::uint32_t>(record.kind)));
}

Result<void> JournalStore::begin(const Identity& identity, std::vector<std::string>& remarks) {
  if (journal_.size() > 0 && journal_.place() == JournalWriter::FilePlace::there) {
    std::error_code error;
    const fs::path previous = free_name(path_.string() + ".previous");
    fs::rename(path_, previous, error);
    if (error) return fail(previous.string(), "cannot be renamed to: " + error.message());
    remarks.push_back(
        fmt::format("starting a new campaign in {}; the old journal is now {}. Use --resume to continue a campaign",
                    path_.parent_path().string(), previous.string()));
  }
  const fs::path report = path_.parent_path() / kReportName;
  std::error_code error;
  fs::rename(report, path_.parent_path() / kReportBefore, error);
  if (error && error != std::errc::no_such_file_or_directory)
    remarks.push_back(fmt::format("{} cannot be kept as {}: {}", report.string(), kReportBefore, error.message()));
  identity_ = identity;
  return write_in("--out", path_.parent_path(), [&] { return compact(); });
}

Result<void> JournalStore::add(Record record) {
  QCONFORM_ASSIGN(auto aggregate, decode_aggregate(record.payload));
  if (blocks_.insert(record.span, std::move(aggregate))) pending_.push_back(std::move(record));
  return {};
}

void JournalStore::note_run(const std::string& id, const CampaignRun& run) {
  runs_[id] = run;
  pending_.push_back(run_record(id, run));
}

// Points that compact() drops come back when the journal is read again; the next compact() drops them again.
void JournalStore::note_progress(const ProgressPoint& progress) {
  progress_.push_back(progress);
  pending_.push_back(progress_record(progress));
}

Result<void> JournalStore::commit(std::string& remark) {
  return write_in("--out", path_.parent_path(), [&] { return commit_once(remark); });
}

Result<void> JournalStore::commit_once(std::string& remark) {
  switch (journal_.place()) {
    case JournalWriter::FilePlace::there: break;
    case JournalWriter::FilePlace::taken:
      return fail("--out", fmt::format("{} was replaced by another file while the campaign ran: it is left alone, and "
                                       "nothing more is written there",
                                       path_.string()));
    case JournalWriter::FilePlace::gone:
      QCONFORM_TRY(write_again());
      remark = fmt::format("{} was removed while the campaign ran: it is written again, with all blocks that are done",
                           path_.string());
      return {};
  }
  QCONFORM_TRY(journal_.append(pending_));
  pending_.clear();
  if (journal_.size() < 2 * size_compact_ + kGrowth) return {};
  return compact();
}

Result<void> JournalStore::write_again() {
  QCONFORM_TRY(journal_.open(path_));
  pending_.clear();
  return compact();
}

Result<void> JournalStore::compact() {
  while (progress_.size() > kMostProgress) {
    std::vector<ProgressPoint> fewer;
    for (std::size_t i = 1; i < progress_.size(); i += 2) fewer.push_back(progress_[i]);
    progress_ = std::move(fewer);
  }
  const auto put_all = [this](const JournalWriter::Put& put) -> Result<void> {
    QCONFORM_TRY(put({RecordKind::identity, {}, encode_identity(*identity_)}));
    for (const auto* map : {&blocks_.spans().whole(), &blocks_.spans().parts()}) {
      for (const auto& [first, entry] : *map) {
        QCONFORM_TRY(put({RecordKind::blocks, entry.first, encode_aggregate(entry.second)}));
      }
    }
    for (const auto& [id, run] : runs_) QCONFORM_TRY(put(run_record(id, run)));
    for (const ProgressPoint& progress : progress_) QCONFORM_TRY(put(progress_record(progress)));
    return {};
  };
  auto done = journal_.replace(put_all);
  if (done) size_compact_ = journal_.size();
  return done;
}

double JournalStore::seconds_before(const std::string& id) const {
  double sum = 0;
  for (const auto& [other, run] : runs_) sum += other == id ? 0 : run.seconds;
  return sum;
}

CampaignResult JournalStore::result() const {
  CampaignResult result;
  describe(blocks_.spans(), result);
  for (const auto& [id, run] : runs_) result.runs.push_back(run);
  std::stable_sort(result.runs.begin(), result.runs.end(),
                   [](const CampaignRun& a, const CampaignRun& b) { return a.started < b.started; });
  result.progress = progress_;
  return result;
}

namespace {

// The place of a span's record: the journal that holds it, and the position there.
struct RecordPlace {
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

  Result<void> note(const Record& record, const RecordPlace& place) {
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
    BlockAggregates joined;
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

  Result<void> fetch(const Spans<RecordPlace>::Entry& entry, BlockAggregates& joined) {
    const RecordPlace& place = entry.second;
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

  Result<void> flush(BlockAggregates& joined, const JournalWriter::Put& put) {
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
  Spans<RecordPlace> places_;
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

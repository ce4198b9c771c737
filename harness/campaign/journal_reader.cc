#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "harness/campaign/journal.h"
#include "harness/campaign/journal_record.h"

namespace qconform::campaign {
namespace {

constexpr std::size_t kWindow = std::size_t{1} << 16;

}  // namespace

Result<JournalReader> JournalReader::open(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail(path.string(), "cannot be opened: " + std::generic_category().message(errno));
  struct stat status {};
  (void)fstat(file, &status);
  JournalReader reader(path.string(), file, static_cast<std::uint64_t>(status.st_size));
  std::uint64_t end = 0;
  QCONFORM_ASSIGN(const auto first, reader.read_at(0, end));
  if (!first || first->kind != RecordKind::identity) {
    return fail(path.string(), "is not the journal of a campaign, or its beginning is damaged");
  }
  return reader;
}

JournalReader::JournalReader(JournalReader&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_),
      begin_(other.begin_),
      next_(other.next_),
      damage_(std::move(other.damage_)) {}

JournalReader::~JournalReader() {
  if (file_ >= 0) (void)::close(file_);
}

// False at the end of the file.
Result<bool> JournalReader::read_bytes(std::uint64_t offset, char* to, std::size_t size) {
  if (offset > size_ || size > size_ - offset) return false;
  while (size > 0) {
    const ssize_t count = pread(file_, to, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(path_, "cannot be read: " + std::generic_category().message(errno));
    if (count == 0) return false;
    to += count;
    offset += static_cast<std::uint64_t>(count);
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

Result<std::optional<Record>> JournalReader::read_at(std::uint64_t offset, std::uint64_t& end) {
  RecordHead head;
  QCONFORM_ASSIGN(bool is_there, read_bytes(offset, reinterpret_cast<char*>(&head), sizeof head));
  if (!is_there || !is_sound(head) || head.length > size_ - offset - sizeof head) return std::nullopt;
  Record record{static_cast<RecordKind>(head.kind), {head.first, head.blocks, head.cases}, {}};
  record.payload.resize(head.length);
  QCONFORM_ASSIGN(is_there, read_bytes(offset + sizeof head, record.payload.data(), head.length));
  if (!is_there || sum_of(record.payload) != head.payload_sum) return std::nullopt;
  end = offset + sizeof head + head.length;
  return record;
}

// The first whole record from there on; the end of the file where there is none.
Result<std::uint64_t> JournalReader::next_whole(std::uint64_t from) {
  std::string window;
  for (std::uint64_t at = from; at < size_; at += kWindow) {
    // Windows overlap by a mark less one byte.
    window.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kWindow + kRecordMark.size() - 1, size_ - at)));
    QCONFORM_TRY(read_bytes(at, window.data(), window.size()));
    const std::string_view mark(kRecordMark.data(), kRecordMark.size());
    for (std::size_t found = window.find(mark); found != std::string::npos; found = window.find(mark, found + 1)) {
      std::uint64_t end = 0;
      QCONFORM_ASSIGN(const auto record, read_at(at + found, end));
      if (record) return at + found;
    }
  }
  return size_;
}

Result<std::optional<Record>> JournalReader::next() {
  if (next_ >= size_) return std::nullopt;
  begin_ = next_;
  auto record = read_at(begin_, next_);
  if (!record || *record) return record;
  JournalDamage found{begin_, 0, false, {}};
  RecordHead head;
  const auto read = read_bytes(begin_, reinterpret_cast<char*>(&head), sizeof head);
  if (read && *read && is_sound(head) && head.kind == static_cast<std::uint32_t>(RecordKind::blocks)) {
    found.lost.push_back({head.first, head.blocks, head.cases});
  }
  QCONFORM_ASSIGN(const auto whole, next_whole(begin_ + 1));
  found.bytes = whole - begin_;
  found.is_tail = whole == size_;
  damage_.push_back(std::move(found));
  next_ = whole;
  return next();
}

Result<Record> JournalReader::at(std::uint64_t position) {
  std::uint64_t end = 0;
  QCONFORM_ASSIGN(auto record, read_at(position, end));
  if (!record) return fail(path_, fmt::format("changed while it was read, at byte {}", position));
  return std::move(*record);
}

Result<void> refuse_damage(const std::filesystem::path& path, const std::vector<JournalDamage>& damage) {
  for (const JournalDamage& found : damage) {
    if (found.is_tail) continue;
    std::string lost;
    for (const Span& span : found.lost) {
      lost += fmt::format("; it held blocks {} to {}", span.first, span.first + span.blocks - 1);
    }
    return fail(
        path.string(),
        fmt::format("damaged in the middle: {} bytes from byte {} on are not a record, and intact ones follow{}. "
                    "Nothing was changed. Restore the file from a copy, or keep the intact records and run the lost "
                    "blocks again: qconform fuzz --resume --repair --out {}",
                    found.bytes, found.offset, lost, path.parent_path().string()));
  }
  return {};
}

}  // namespace qconform::campaign

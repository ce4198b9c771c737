#include "harness/campaign/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "harness/base/bytes.h"
#include "harness/base/error.h"

namespace qconform::campaign {
namespace {

// Marks the beginning of a record, so that whole ones can be found behind damage.
constexpr std::array<char, 8> kRecordMark{'\x89', 'Q', 'C', 'J', 'R', 'E', 'C', '\n'};
constexpr std::uint64_t kMostPayload = std::uint64_t{256} << 20;

// The head stands in front of the payload; all numbers are little endian.
struct RecordHead {
  std::array<char, 8> mark = kRecordMark;
  std::uint32_t kind = 0;
  std::uint32_t length = 0;  // bytes of the payload
  // The blocks that the record is about, and their cases. Records of other kinds have 0, 1 and 512 here.
  std::uint64_t first = 0;
  std::uint64_t blocks = 0;
  std::uint64_t cases = 0;
  std::uint64_t head_sum = 0;     // checksum of the five numbers
  std::uint64_t payload_sum = 0;  // checksum of the payload
};
static_assert(sizeof(RecordHead) == 56);

std::uint64_t sum_of_head(const RecordHead& head) {
  Digest digest;
  for (const std::uint64_t word :
       {std::uint64_t{head.kind}, std::uint64_t{head.length}, head.first, head.blocks, head.cases}) {
    digest.add(word);
  }
  return digest.value();
}

std::uint64_t sum_of(std::string_view payload) {
  Digest digest;
  digest.add(payload);
  return digest.value();
}

std::string encode_record(const Record& record) {
  RecordHead head;
  head.kind = static_cast<std::uint32_t>(record.kind);
  head.length = static_cast<std::uint32_t>(record.payload.size());
  head.first = record.span.first;
  head.blocks = record.span.blocks;
  head.cases = record.span.cases;
  head.head_sum = sum_of_head(head);
  head.payload_sum = sum_of(record.payload);
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes + record.payload;
}

// Whether the head is one: mark, numbers and their sum.
bool is_sound(const RecordHead& head) {
  const Span span{head.first, head.blocks, head.cases};
  return head.mark == kRecordMark && head.length <= kMostPayload && head.head_sum == sum_of_head(head) &&
         span.is_valid();
}

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

namespace {

namespace fs = std::filesystem;

std::string reason() {
  return machine_reason(errno);
}

// A renamed or new file is durable once its folder is.
void sync_folder(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  (void)fsync(file);
  (void)::close(file);
}

// A lock of the open file, which a reader of the same file in this process does not release. A forked child has
// it too, until it closes the file.
bool lock_file(int file) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return fcntl(file, F_OFD_SETLK, &whole) == 0;
}

bool is_same_file(int file, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

JournalWriter::~JournalWriter() {
  close();
}

void JournalWriter::close() {
  if (file_ >= 0) (void)::close(file_);
  file_ = -1;
}

Result<void> JournalWriter::lock() const {
  if (lock_file(file_)) return {};
  if (errno != EAGAIN && errno != EACCES) return fail(path_.string(), "cannot be locked: " + reason());
  return fail("--out", fmt::format("another campaign runs in {}: wait for it, end it, or name another folder",
                                   path_.parent_path().string()));
}

Result<void> JournalWriter::open(const fs::path& path) {
  path_ = path;
  for (;;) {
    close();
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file_ < 0) return fail(path.string(), "cannot be opened: " + reason());
    if (auto locked = lock(); !locked) {
      close();
      return locked;
    }
    // Whoever held the lock may have replaced the file meanwhile.
    if (is_same_file(file_, path)) break;
  }
  const off_t end = lseek(file_, 0, SEEK_END);
  size_ = end < 0 ? 0 : static_cast<std::uint64_t>(end);
  return {};
}

JournalWriter::FilePlace JournalWriter::place() const {
  if (is_same_file(file_, path_)) return FilePlace::there;
  std::error_code error;
  return fs::exists(path_, error) ? FilePlace::taken : FilePlace::gone;
}

Result<void> JournalWriter::cut(std::uint64_t size) {
  if (size == size_) return {};
  if (ftruncate(file_, static_cast<off_t>(size)) != 0) return fail(path_.string(), "cannot be cut: " + reason());
  size_ = size;
  return {};
}

Result<void> JournalWriter::write_all(int file, const std::string& bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = write(file, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(path_.string(), "cannot be written: " + reason());
    done += static_cast<std::size_t>(count);
  }
  return {};
}

Result<void> JournalWriter::append(const std::vector<Record>& records) {
  if (records.empty()) return {};
  std::string bytes;
  for (const Record& record : records) bytes += encode_record(record);
  (void)lseek(file_, static_cast<off_t>(size_), SEEK_SET);
  auto written = write_all(file_, bytes);
  if (written && fdatasync(file_) != 0) written = fail(path_.string(), "cannot be made durable: " + reason());
  if (!written) {
    (void)ftruncate(file_, static_cast<off_t>(size_));
    return written;
  }
  size_ += bytes.size();
  return {};
}

Result<void> JournalWriter::replace(const std::function<Result<void>(const Put&)>& each) {
  fs::path part = path_;
  part += ".part";
  const int file = ::open(part.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return fail(part.string(), "cannot be created: " + reason());
  std::uint64_t size = 0;
  auto done = each([&](const Record& record) {
    const std::string bytes = encode_record(record);
    size += bytes.size();
    return write_all(file, bytes);
  });
  if (done && fdatasync(file) != 0) done = fail(part.string(), "cannot be made durable: " + reason());
  if (done && !lock_file(file)) done = fail(part.string(), "cannot be locked: " + reason());
  if (done && rename(part.c_str(), path_.c_str()) != 0) done = fail(path_.string(), "cannot be replaced: " + reason());
  if (!done) {
    (void)::close(file);
    (void)unlink(part.c_str());
    return done;
  }
  sync_folder(path_.parent_path());
  close();
  file_ = file;
  size_ = size;
  return {};
}

}  // namespace qconform::campaign

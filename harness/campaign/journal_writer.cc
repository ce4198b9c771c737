#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "harness/campaign/journal.h"
#include "harness/campaign/journal_record.h"

namespace qconform::campaign {
namespace {

namespace fs = std::filesystem;

std::string reason() {
  return std::generic_category().message(errno);
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

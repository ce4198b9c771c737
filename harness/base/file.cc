#include "harness/base/file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace qconform {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

tl::unexpected<Error> too_large(const std::filesystem::path& path, std::int64_t limit) {
  return fail(path.string(), "larger than the limit of " + std::to_string(limit) + " bytes", "limit");
}

std::string reason(int error) {
  return std::generic_category().message(error);
}

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz012345";
constexpr std::size_t kDrawn = 12;
constexpr const char* kHalfWritten = ".part";

// A new file beside `path`, under a name that nobody can foresee: a link that waited there would lead elsewhere. Null
// where there is none; errno says why.
std::FILE* create_beside(const std::filesystem::path& path, std::filesystem::path& created) {
  unsigned char bytes[kDrawn];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return nullptr;
  std::string name;
  for (const unsigned char byte : bytes) name += kLetters[byte % 32];
  created = path;
  created += "." + name + kHalfWritten;
  const int file = ::open(created.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  return file < 0 ? nullptr : ::fdopen(file, "wb");
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::int64_t limit) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) return fail(path.string(), "is a folder, expected a file");
  if (std::filesystem::is_regular_file(status)) {
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error && size > static_cast<std::uintmax_t>(limit)) return too_large(path, limit);
  }
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) return fail(path.string(), "cannot be opened: " + reason(errno));
  std::string bytes;
  char block[1 << 16];
  // A pipe has no size beforehand, and a file may grow while it is read.
  while (const std::size_t count = std::fread(block, 1, sizeof block, file.get())) {
    bytes.append(block, count);
    if (bytes.size() > static_cast<std::size_t>(limit)) return too_large(path, limit);
  }
  if (std::ferror(file.get()) != 0) return fail(path.string(), "cannot be read: " + reason(errno));
  QCONFORM_TRY(refuse_git_lfs_pointer(path.string(), bytes));
  return bytes;
}

Result<void> refuse_git_lfs_pointer(const std::string& field, std::string_view bytes) {
  if (!bytes.starts_with("version https://git-lfs.github.com/spec/v1")) return {};
  return fail(field, "is a Git LFS pointer, not the file that it stands for; `git lfs pull` fetches that file");
}

Result<void> write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::path temporary;
  File file(create_beside(path, temporary));
  if (!file) return fail(temporary.string(), "cannot be created: " + reason(errno));
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  const bool closed = std::fclose(file.release()) == 0;
  std::error_code error;
  if (written && closed) std::filesystem::rename(temporary, path, error);
  if (written && closed && !error) return {};
  const std::string message = "cannot be written: " + (error ? error.message() : reason(errno));
  std::filesystem::remove(temporary, error);
  return fail(path.string(), message);
}

bool is_half_written(const std::filesystem::path& path) {
  const std::string drawn = path.stem().extension().string();
  return path.extension() == kHalfWritten && drawn.size() == 1 + kDrawn &&
         drawn.find_first_not_of(kLetters, 1) == std::string::npos;
}

namespace {

// Device and number of the folder; nothing where there is none.
std::optional<std::pair<dev_t, ino_t>> identity_of(const std::filesystem::path& folder) {
  struct stat status {};
  if (::stat(folder.empty() ? "." : folder.c_str(), &status) != 0) return std::nullopt;
  return std::pair{status.st_dev, status.st_ino};
}

}  // namespace

Result<void> make_folder(const std::string& field, const std::filesystem::path& folder) {
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (!error && ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0)
    error.assign(errno, std::generic_category());
  if (error) return fail(field, "cannot make the folder " + folder.string() + ": " + error.message());
  return {};
}

Result<void> write_in(const std::string& field, const std::filesystem::path& folder,
                      const std::function<Result<void>()>& write) {
  constexpr int kMostAttempts = 8;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    QCONFORM_TRY(make_folder(field, folder));
    const auto before = identity_of(folder);
    auto written = write();
    if (before && identity_of(folder) == before) return written;
  }
  return fail(field, "the folder " + folder.string() + " does not stay: somebody removes it while it is written");
}

}  // namespace qconform

#include "harness/suites/cache.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/backends/sandbox/channel.h"
#include "harness/base/bytes.h"
#include "harness/base/file.h"
#include "harness/core/version.h"

namespace qconform::cache {
namespace {

namespace fs = std::filesystem;

struct Cache {
  std::mutex mutex;
  fs::path folder;
  bool takes_files = true;  // until a file could not be written there
  std::vector<std::string> notes;
};

Cache& cache() {
  static Cache one;
  return one;
}

}  // namespace

void use(fs::path folder) {
  const std::lock_guard lock(cache().mutex);
  cache().folder = std::move(folder);
  cache().takes_files = true;
}

fs::path folder() {
  const std::lock_guard lock(cache().mutex);
  return cache().folder;
}

fs::path usual_folder() {
  const auto stated = [](const char* name) -> std::string_view {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (!stated("QCONFORM_CACHE").empty()) return stated("QCONFORM_CACHE");
  if (!stated("XDG_CACHE_HOME").empty()) return fs::path(stated("XDG_CACHE_HOME")) / "qconform";
  if (!stated("HOME").empty()) return fs::path(stated("HOME")) / ".cache" / "qconform";
  return {};
}

std::vector<std::string> notes() {
  const std::lock_guard lock(cache().mutex);
  return cache().notes;
}

void note(std::string text) {
  const std::lock_guard lock(cache().mutex);
  cache().notes.push_back(std::move(text));
}

void write(const fs::path& file, std::string_view bytes, std::string_view what) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const auto written = error ? fail(file.parent_path().string(), error.message()) : write_file(file, bytes);
  if (written) return;
  const std::lock_guard lock(cache().mutex);
  if (!std::exchange(cache().takes_files, false)) return;
  cache().notes.push_back(
      fmt::format("{} cannot be kept: {}; further files are not kept either; --no-cache works without a cache", what,
                  written.error().text()));
}

namespace {

// A kept file: a head, and for each case its length and its bytes. All numbers are little endian.
constexpr std::array<char, 8> kMark{'q', 'c', 'c', 'a', 's', 'e', 's', '2'};
constexpr std::int64_t kLargestFile = std::int64_t{1} << 30;

struct Head {
  std::array<char, 8> mark = kMark;
  std::uint64_t key = 0;     // of the suite, its origin and the program
  std::uint64_t digest = 0;  // of the bytes behind the head
};

// Adds the program, whose code decides what is drawn: the file that holds this function, a program or a library.
void add_program(Digest& digest) {
  digest.add(std::string_view(kVersion));
  digest.add(std::string_view(kCommit));
  Dl_info place{};
  const bool is_found = dladdr(reinterpret_cast<const void*>(&add_program), &place) != 0;
  struct stat status {};
  const bool is_there = is_found && stat(place.dli_fname, &status) == 0 && S_ISREG(status.st_mode);
  if (!is_there) (void)stat("/proc/self/exe", &status);
  digest.add(static_cast<std::int64_t>(status.st_size));
  digest.add(static_cast<std::int64_t>(status.st_mtim.tv_sec));
  digest.add(static_cast<std::int64_t>(status.st_mtim.tv_nsec));
}

std::uint64_t digest_of_bytes(std::string_view bytes) {
  Digest digest;
  digest.add(bytes);
  return digest.value();
}

class KeptSuite final : public Suite {
 public:
  KeptSuite(std::unique_ptr<Suite> source, std::string_view name, std::string_view origin)
      : source_(std::move(source)), file_name_(fmt::format("cases-{}.bin", name)), origin_(origin) {}

  [[nodiscard]] std::string name() const override { return source_->name(); }
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return source_->size(); }
  [[nodiscard]] std::vector<CombinationCoverage> coverage() const override { return source_->coverage(); }
  [[nodiscard]] std::vector<CombinationCoverage> coverage_of(const std::vector<bool>& chosen) const override {
    return source_->coverage_of(chosen);
  }

  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (!is_open_) open();
    if (is_read_) {
      if (unread_.empty()) return std::nullopt;
      if (auto read = read_next()) return std::move(read->test_case);
      note(fmt::format("{}: is damaged; its cases are drawn anew", file_.string()));
      is_read_ = false;
      for (; count_ > 0; --count_) QCONFORM_TRY(source_->next());
    }
    QCONFORM_ASSIGN(auto made, source_->next());
    if (keeps_) made ? keep(*made) : write_kept();
    return made;
  }

 private:
  void open() {
    is_open_ = true;
    if (folder().empty()) return;
    file_ = folder() / file_name_;
    std::error_code ignored;
    if (fs::exists(file_, ignored)) read();
    keeps_ = !is_read_;
    if (keeps_) bytes_.assign(sizeof(Head), 0);
  }

  [[nodiscard]] std::uint64_t key() const {
    Digest digest;
    add_program(digest);
    digest.add(std::string_view(name()));
    digest.add(std::string_view(origin_));
    return digest.value();
  }

  // A file of another program is no fault: it is written over.
  void read() {
    auto bytes = read_file(file_, kLargestFile);
    Head head;
    if (bytes && bytes->size() >= sizeof head) std::memcpy(&head, bytes->data(), sizeof head);
    const bool is_one = bytes && bytes->size() >= sizeof head && head.mark == kMark;
    if (is_one && head.key != key()) return;
    if (!is_one || head.digest != digest_of_bytes(std::string_view(*bytes).substr(sizeof head))) {
      note(fmt::format("{}: {}; its cases are drawn anew", file_.string(),
                       bytes ? "is damaged" : "cannot be read: " + bytes.error().message));
      return;
    }
    is_read_ = true;
    bytes_ = std::move(*bytes);
    unread_ = std::as_bytes(std::span(bytes_)).subspan(sizeof head);
  }

  std::optional<LabelledCase> read_next() {
    std::uint64_t length = 0;
    if (unread_.size() < sizeof length) return std::nullopt;
    std::memcpy(&length, unread_.data(), sizeof length);
    unread_ = unread_.subspan(sizeof length);
    if (length > unread_.size()) return std::nullopt;
    auto read = decode_labelled_case(unread_.first(length));
    unread_ = unread_.subspan(length);
    if (read) ++count_;
    return read;
  }

  void keep(const Case& made) {
    const LabelledCase labelled{made};
    const std::uint64_t length = encoded_size(labelled);
    bytes_.append(reinterpret_cast<const char*>(&length), sizeof length);
    const std::size_t begin = bytes_.size();
    bytes_.resize(begin + length);
    encode(labelled, std::as_writable_bytes(std::span(bytes_)).subspan(begin));
  }

  void write_kept() {
    const Head head{kMark, key(), digest_of_bytes(std::string_view(bytes_).substr(sizeof(Head)))};
    std::memcpy(bytes_.data(), &head, sizeof head);
    write(file_, bytes_, "the cases of the suite " + name());
    bytes_ = {};
    keeps_ = false;
  }

  std::unique_ptr<Suite> source_;
  std::string file_name_;
  std::string origin_;
  fs::path file_;
  bool is_open_ = false;
  bool is_read_ = false;               // the cases come from the file
  bool keeps_ = false;                 // they go there
  std::string bytes_;                  // of the file: what is read, or what will be written
  std::span<const std::byte> unread_;  // in bytes_
  std::uint64_t count_ = 0;            // cases that were read
};

}  // namespace

std::unique_ptr<Suite> kept(std::unique_ptr<Suite> source, std::string_view name, std::string_view origin) {
  return std::make_unique<KeptSuite>(std::move(source), name, origin);
}

}  // namespace qconform::cache

#include "harness/base/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace qconform {
namespace {

struct Kinship {
  pid_t process = 0;
  pid_t parent = 0;
};

std::optional<int> number_of(std::string_view name) {
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

// Calls `each` with the entries of a folder of /proc that are numbers.
template <typename Each>
void for_numbers_in(const std::string& path, Each each) {
  DIR* folder = opendir(path.c_str());
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    if (const auto number = number_of(entry->d_name)) each(*number);
  }
  (void)closedir(folder);
}

// The parent as /proc/PID/stat has it: "PID (NAME) STATE PARENT ...", where the name may hold anything.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t name_end = text.rfind(')');
  constexpr std::size_t kToParent = 4;  // ") S "
  if (name_end == std::string::npos || name_end + kToParent >= text.size()) return 0;
  pid_t parent = 0;
  (void)std::from_chars(text.data() + name_end + kToParent, text.data() + text.size(), parent);
  return parent;
}

std::vector<Kinship> all_processes() {
  std::vector<Kinship> found;
  for_numbers_in("/proc", [&](pid_t process) {
    if (const pid_t parent = parent_of(process); parent > 0) found.push_back({process, parent});
  });
  return found;
}

// The sum of the private and proportional anonymous memory; what the system does not tell counts as resident.
std::int64_t proportional_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/smaps_rollup");
  std::string key;
  std::int64_t kibibytes = 0;
  while (file >> key) {
    if (key == "Pss_Anon:" && file >> kibibytes) return kibibytes << 10;
  }
  return resident_of(process);
}

}  // namespace

std::int64_t resident_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  std::int64_t shared = 0;
  return file >> size >> resident >> shared ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

std::vector<pid_t> descendants_of(pid_t process) {
  const std::vector<Kinship> all = all_processes();
  std::vector<pid_t> found{process};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const Kinship& one : all) {
      if (one.parent == found[i] && std::find(found.begin(), found.end(), one.process) == found.end()) {
        found.push_back(one.process);
      }
    }
  }
  found.erase(found.begin());
  return found;
}

std::int64_t resident_below(pid_t process) {
  std::int64_t bytes = 0;
  for (const pid_t one : descendants_of(process)) bytes += proportional_of(one);
  return bytes;
}

std::int64_t memory_files_of(pid_t process, std::span<const int> known) {
  constexpr std::int64_t kBlock = 512;
  std::vector<ino_t> counted;
  for (const int file : known) {
    struct stat status {};
    if (fstat(file, &status) == 0) counted.push_back(status.st_ino);
  }
  std::int64_t bytes = 0;
  const std::string folder = "/proc/" + std::to_string(process) + "/fd/";
  for_numbers_in(folder, [&](int number) {
    const std::string path = folder + std::to_string(number);
    char target[16] = {};
    if (readlink(path.c_str(), target, sizeof target - 1) < 0 || !std::string_view(target).starts_with("/memfd:"))
      return;
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return;
    if (std::find(counted.begin(), counted.end(), status.st_ino) != counted.end()) return;
    counted.push_back(status.st_ino);
    bytes += status.st_blocks * kBlock;
  });
  return bytes;
}

// A process that is killed leaves its children to this one.
void kill_descendants() {
  for (;;) {
    for (const pid_t process : descendants_of(getpid())) (void)kill(process, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    if (waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return;
    constexpr int kPause = 1;  // ms
    (void)poll(nullptr, 0, kPause);
  }
}

void close_all_but(std::span<const int> kept) {
  std::vector<int> sorted(kept.begin(), kept.end());
  std::sort(sorted.begin(), sorted.end());
  const auto close_between = [](int first, int last) {
    if (first > last) return;
    if (close_range(static_cast<unsigned>(first), static_cast<unsigned>(last), 0) == 0) return;
    // An emulator, or a system older than Linux 5.9.
    rlimit limit{};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    constexpr int kMost = 1 << 16;
    const int end = std::min({last, kMost, static_cast<int>(std::min<rlim_t>(limit.rlim_cur, kMost))});
    for (int file = first; file <= end; ++file) (void)close(file);
  };
  int first = STDERR_FILENO + 1;
  for (const int file : sorted) {
    close_between(first, file - 1);
    first = std::max(first, file + 1);
  }
  constexpr int kLargest = 0x7FFFFFFF;
  close_between(first, kLargest);
}

}  // namespace qconform

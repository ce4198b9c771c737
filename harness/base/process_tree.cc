#include "harness/base/process_tree.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

namespace qconform::backend {
namespace {

struct Kinship {
  pid_t process = 0;
  pid_t parent = 0;
};

// The parent as /proc/PID/stat has it: "PID (NAME) STATE PARENT ...", where the name may hold anything.
pid_t parent_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
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
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name(entry->d_name);
    pid_t process = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    if (const pid_t parent = parent_of(std::string(name)); parent > 0) found.push_back({process, parent});
  }
  (void)closedir(folder);
  return found;
}

std::int64_t resident_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  std::int64_t shared = 0;
  return file >> size >> resident >> shared ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace

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
  for (const pid_t one : descendants_of(process)) bytes += resident_of(one);
  return bytes;
}

}  // namespace qconform::backend

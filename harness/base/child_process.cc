#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/base/number.h"
#include "harness/base/process.h"

namespace qconform {
namespace {

// Calls `each` with the entries of a folder of /proc that are numbers.
template <typename Each>
void for_numbers_in(const std::string& path, Each each) {
  DIR* folder = opendir(path.c_str());
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    if (const auto number = number_in<int>(entry->d_name)) each(*number);
  }
  (void)closedir(folder);
}

// Returns the words of /proc/.../stat about a process or a thread, from its state on: the name before that may hold
// anything. Empty where the process is gone.
std::vector<std::string> status_words(const std::string& folder) {
  std::ifstream file(folder + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(text.substr(name_end + 1));
  return {std::istream_iterator<std::string>(rest), {}};
}

pid_t parent_of(pid_t process) {
  const std::vector<std::string> words = status_words("/proc/" + std::to_string(process));
  return words.size() < 2 ? 0 : number_in<int>(words[1]).value_or(0);
}

// A list for each thread that makes them is at hand in most systems; in others all processes are asked for their
// parent.
std::vector<pid_t> children_of(pid_t process) {
  static const bool has_lists = access("/proc/thread-self/children", R_OK) == 0;
  std::vector<pid_t> found;
  if (!has_lists) {
    for_numbers_in("/proc", [&](pid_t one) {
      if (parent_of(one) == process) found.push_back(one);
    });
    return found;
  }
  const std::string threads = "/proc/" + std::to_string(process) + "/task/";
  for_numbers_in(threads, [&](pid_t thread) {
    std::ifstream file(threads + std::to_string(thread) + "/children");
    for (pid_t child = 0; file >> child;) found.push_back(child);
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

std::optional<ProcessActivity> activity_of(pid_t process) {
  constexpr std::size_t kUserTicks = 11;  // counted from the state on
  const std::string folder = "/proc/" + std::to_string(process);
  const std::vector<std::string> words = status_words(folder);
  if (words.size() <= kUserTicks + 1) return std::nullopt;
  ProcessActivity activity;
  activity.cpu_seconds =
      (std::strtod(words[kUserTicks].c_str(), nullptr) + std::strtod(words[kUserTicks + 1].c_str(), nullptr)) /
      static_cast<double>(sysconf(_SC_CLK_TCK));
  activity.sleeps = true;
  for_numbers_in(folder + "/task", [&](pid_t thread) {
    const std::vector<std::string> of_thread = status_words(folder + "/task/" + std::to_string(thread));
    if (!of_thread.empty() && of_thread.front() != "S") activity.sleeps = false;
  });
  return activity;
}

std::vector<pid_t> descendants_of(pid_t process) {
  std::vector<pid_t> found{process};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const pid_t child : children_of(found[i])) {
      if (std::find(found.begin(), found.end(), child) == found.end()) found.push_back(child);
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
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    if (waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return;
    for (const pid_t process : descendants_of(getpid())) (void)kill(process, SIGKILL);
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

namespace {

using EnvironmentVariable = ChildProcess::EnvironmentVariable;

// Descriptors of the command's side.
struct CommandEnds {
  int input;   // becomes the command's stdin
  int output;  // its stdout
  int errors;  // its stderr
};

constexpr int kNotStarted = 127;  // as shells have it

// A shell that runs one program need not stay: the program's end is then told as it was.
std::string without_waiting_shell(const std::string& command) {
  const bool compound = command.find_first_of("|&;<>()`\n") != std::string::npos;
  const std::string first_word = command.substr(0, command.find(' '));
  const bool sets_variables = first_word.find('=') != std::string::npos;
  return (compound || sets_variables ? "" : "exec ") + command;
}

[[noreturn]] void become(const std::string& command, const std::vector<EnvironmentVariable>& environment,
                         const CommandEnds& ends) {
  (void)dup2(ends.input, STDIN_FILENO);
  (void)dup2(ends.output, STDOUT_FILENO);
  (void)dup2(ends.errors, STDERR_FILENO);
  close_all_but({});
  const rlimit none{0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
  (void)signal(SIGPIPE, SIG_DFL);
  (void)signal(SIGCHLD, SIG_DFL);
  for (const EnvironmentVariable& variable : environment)
    (void)setenv(variable.name.c_str(), variable.value.c_str(), 1);
  (void)execl("/bin/sh", "sh", "-c", without_waiting_shell(command).c_str(), nullptr);
  _exit(kNotStarted);
}

constexpr std::size_t kLogKept = 4096;
constexpr std::size_t kBlock = std::size_t{1} << 16;
constexpr int kPipeSize = 1 << 20;
// Bytes that one visit takes from a pipe at most: a child that writes without end must not keep qconform from its other
// work.
constexpr std::size_t kOneVisit = std::size_t{16} << 20;

// This side's end: larger than usual, and never waited for.
int prepared(Descriptor& end) {
  (void)fcntl(end.get(), F_SETPIPE_SZ, kPipeSize);
  (void)fcntl(end.get(), F_SETFL, O_NONBLOCK);
  return end.take();
}

void close_and_forget(int& descriptor) {
  if (descriptor >= 0) (void)close(std::exchange(descriptor, -1));
}

// Appends what is there, and closes the descriptor at its end.
void read_into(int& descriptor, std::string& text) {
  std::array<char, kBlock> block;
  for (std::size_t taken = 0; descriptor >= 0 && taken < kOneVisit;) {
    const ssize_t count = ::read(descriptor, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return close_and_forget(descriptor);
    text.append(block.data(), static_cast<std::size_t>(count));
    taken += static_cast<std::size_t>(count);
  }
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const std::string& command, Output output,
                                                          const std::vector<EnvironmentVariable>& environment) {
  const auto failed = []() {
    return fail("--backend", "cannot start a process: " + std::generic_category().message(errno));
  };
  Pipe input;
  Pipe answers;
  Pipe errors;
  for (Pipe* pipe : {&input, &answers, &errors}) {
    if (!pipe->open()) return failed();
  }
  const CommandEnds ends{input.read.get(), output == Output::piped ? answers.write.get() : errors.write.get(),
                         errors.write.get()};
  std::unique_ptr<ChildProcess> child(new ChildProcess(output));
  child->process_ = ForkedProcess(ForkedProcess::Group::own, [&] { become(command, environment, ends); });
  if (!child->process_.is_running()) return failed();
  if (output == Output::piped) {
    child->input_ = prepared(input.write);
    child->output_ = prepared(answers.read);
  }
  child->errors_ = prepared(errors.read);
  return child;
}

ChildProcess::~ChildProcess() {
  process_.end();
  for (int* descriptor : {&input_, &output_, &errors_}) close_and_forget(*descriptor);
}

void ChildProcess::write(std::string_view& to_send) {
  const NoPipeSignal quiet;
  while (input_ >= 0 && !to_send.empty()) {
    const ssize_t count = ::write(input_, to_send.data(), to_send.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return close_and_forget(input_);
    to_send.remove_prefix(static_cast<std::size_t>(count));
  }
}

void ChildProcess::read_log() {
  read_into(errors_, log_);
  if (log_.size() > kLogKept) log_.erase(0, log_.size() - kLogKept);
}

void ChildProcess::exchange(std::string_view& to_send, std::string& received, std::chrono::milliseconds patience) {
  // Closed ones are -1, which poll passes over.
  std::array<pollfd, 4> ends{pollfd{output_, POLLIN, 0}, pollfd{errors_, POLLIN, 0},
                             pollfd{process_.end_file(), POLLIN, 0}, pollfd{to_send.empty() ? -1 : input_, POLLOUT, 0}};
  (void)poll(ends.data(), ends.size(), static_cast<int>(patience.count()));
  write(to_send);
  // First the status: what was written before it is then there to be read.
  if (!status_) status_ = process_.poll();
  read_into(output_, received);
  read_log();
}

std::int64_t ChildProcess::resident() const {
  return (process_.is_running() ? resident_of(process_.id()) + resident_below(process_.id()) : 0) +
         (counted_ > 0 ? resident_of(counted_) + resident_below(counted_) : 0);
}

const std::string& ChildProcess::log() {
  read_log();
  return log_;
}

void ChildProcess::forget_log() {
  read_log();
  log_.clear();
}

}  // namespace qconform

#include "harness/backends/sandbox/worker_host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <deque>
#include <system_error>
#include <thread>
#include <vector>

#include "harness/backends/sandbox/channel.h"
#include "harness/backends/sandbox/sandbox.h"
#include "harness/base/error.h"
#include "harness/base/process.h"

namespace qconform {

namespace {

constexpr auto kFirstSlice = std::chrono::microseconds(100);
constexpr auto kLongestSlice = std::chrono::milliseconds(5);
// The emulator's own seconds: a busy machine slows it down, and it is not at fault. A guest second takes one to four.
constexpr double kBootSeconds = 600;
constexpr double kSlowestSecond = 4;
constexpr double kSpareSeconds = 120;

double cpu_seconds_of(pid_t process) {
  std::FILE* file = std::fopen(fmt::format("/proc/{}/stat", process).c_str(), "re");
  if (file == nullptr) return 0;
  unsigned long long user = 0;
  unsigned long long system = 0;
  // Behind the name, which is in parentheses and may hold anything.
  (void)std::fscanf(file, "%*d (%*[^\n)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system);
  (void)std::fclose(file);
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

GuestHost::GuestHost(const GuestCommand& command, const SandboxLimits& limits)
    : limits_(limits),
      disk_(memfd_create("qconform-disk", MFD_CLOEXEC)),
      log_(memfd_create("qconform-log", MFD_CLOEXEC)),
      line_(disk_.get(), DiskChannel::Side::host) {
  constexpr const char* kWhat = "cannot start an emulator";
  if (ftruncate(disk_.get(), static_cast<off_t>(DiskChannel::kBytes)) != 0) throw MachineFailure(kWhat, errno);
  process_ = ForkedProcess(ForkedProcess::Group::own, [&] { become(command); });
  if (!process_.is_running()) throw MachineFailure(kWhat, errno);
}

void GuestHost::become(const GuestCommand& command) const {
  std::vector<std::string> words = command.emulator;
  words.insert(words.end(), {"--disk", fmt::format("/proc/self/fd/{}", disk_.get())});
  words.insert(words.end(), command.program.begin(), command.program.end());
  become_program(std::move(words), std::array{disk_.get()}, log_.get());
}

void GuestHost::pause_if_idle() {
  if (sent_ != received_ || paused_ || !process_.is_running()) return;
  paused_ = kill(process_.id(), SIGSTOP) == 0;
}

void GuestHost::resume() {
  if (paused_) (void)kill(process_.id(), SIGCONT);
  paused_ = false;
}

std::optional<std::span<const std::byte>> GuestHost::next(double cpu_seconds, Death& death) {
  const double begin = cpu_seconds_of(process_.id());
  for (std::chrono::microseconds slice = kFirstSlice;;
       slice = std::min<std::chrono::microseconds>(slice * 2, kLongestSlice)) {
    if (const auto message = line_.receive()) return message->bytes;
    if (line_.is_damaged()) {
      death.reason = "the emulated machine sent a damaged message";
    } else if (const auto status = process_.poll()) {
      death.status = *status;
      const std::string log = last_log();
      death.reason = "the emulator ended" + (log.empty() ? "" : ": " + log);
      return std::nullopt;
    } else if (cpu_seconds_of(process_.id()) - begin > cpu_seconds) {
      death.timed_out = true;
    }
    if (death.timed_out || !death.reason.empty()) {
      death.status = process_.end();
      return std::nullopt;
    }
    std::this_thread::sleep_for(slice);
  }
}

std::optional<std::span<const std::byte>> GuestHost::receive_hello(Death& death) {
  const auto hello = next(kBootSeconds, death);
  pause_if_idle();
  return hello;
}

// For the largest: nothing is sent then that would have to wait for answers to be taken.
bool GuestHost::has_room() {
  return sent_ - received_ < CaseChannel::kSlots && line_.has_room(DiskChannel::kLargestMessage);
}

bool GuestHost::send(const Case& test_case, RunMode mode) {
  const std::size_t size = encoded_size(test_case);
  if (size > DiskChannel::kLargestMessage) return false;
  request_.resize(size);
  encode(test_case, request_);
  line_.send(request_, mode == RunMode::closely ? 1 : 0);
  ++sent_;
  return true;
}

std::optional<std::span<const std::byte>> GuestHost::receive(Death& death) {
  line_.flush();
  resume();
  const auto answer = next(limits_.timeout * kSlowestSecond + kSpareSeconds, death);
  if (!answer) return std::nullopt;
  ++received_;
  pause_if_idle();
  return answer;
}

std::string GuestHost::last_log() const {
  return take_log(log_.get());
}

namespace {

constexpr auto kPause = std::chrono::milliseconds(1);
// Each time that answers are shown costs two writes to the emulated disk.
constexpr int kShownTogether = 16;

class GuestWorker {
 public:
  explicit GuestWorker(DiskChannel& line) : line_(line) {}

  void greet(const Hello& hello) {
    put(hello);
    line_.flush();
  }

  void serve(Worker& worker) {
    while (!line_.is_damaged()) {
      if (cases_.size() < worker.depth() && take(worker)) continue;
      if (cases_.empty()) {
        line_.flush();
        std::this_thread::sleep_for(kPause);
      } else {
        finish(worker);
      }
    }
  }

 private:
  // Starts the next request. False where none is there.
  bool take(Worker& worker) {
    const auto message = line_.receive();
    if (!message) return false;
    Case& test_case = cases_.emplace_back();
    if (!decode_case(message->bytes, test_case)) test_case = {};
    if (message->mark == 0) {
      worker.start(test_case);
      return true;
    }
    // Runs alone; answers keep the order of requests.
    const Case alone = std::move(test_case);
    cases_.pop_back();
    while (!cases_.empty()) finish(worker);
    answer(worker.examine(alone));
    return true;
  }

  void finish(Worker& worker) {
    answer(worker.finish());
    cases_.pop_front();
  }

  void answer(const Outcome& outcome) {
    if (encoded_size(outcome) <= DiskChannel::kLargestMessage) return put(outcome);
    put(Outcome(outcome::Unsupported{"the output is larger than what a worker gives"}));
  }

  template <typename T>
  void put(const T& value) {
    bytes_.resize(encoded_size(value));
    encode(value, bytes_);
    while (!line_.has_room(bytes_.size()) && !line_.is_damaged()) {
      line_.flush();
      std::this_thread::sleep_for(kPause);
    }
    line_.send(bytes_, 0);
    if (++unseen_ % kShownTogether == 0) line_.flush();
  }

  DiskChannel& line_;
  std::deque<Case> cases_;  ///< started and not finished
  std::vector<std::byte> bytes_;
  int unseen_ = 0;
};

}  // namespace

Result<void> run_guest(const OpenBackend& open, const std::string& disk, const SandboxLimits& limits) {
  const Descriptor file(::open(disk.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC));
  if (file.get() < 0) return fail(disk, std::generic_category().message(errno));
  DiskChannel line(file.get(), DiskChannel::Side::guest);
  GuestWorker desk(line);
  const auto backend = open_in_sandbox(open, "", limits);
  Hello hello;
  if (backend) {
    hello.info = (*backend)->info();
  } else {
    hello.error = backend.error().field == "--backend" ? backend.error().message : backend.error().text();
  }
  desk.greet(hello);
  if (backend) desk.serve(*(*backend)->worker());
  // Its end would turn the machine off before the other side has read why.
  while (!line.is_damaged()) std::this_thread::sleep_for(std::chrono::seconds(1));
  return {};
}

}  // namespace qconform

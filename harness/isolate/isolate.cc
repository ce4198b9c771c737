#include "harness/isolate/isolate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "harness/core/address_space.h"
#include "harness/isolate/guarded_run.h"
#include "harness/isolate/message.h"

namespace qconform {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kOpenSeconds = 60;
constexpr std::chrono::nanoseconds kFirstSlice = std::chrono::microseconds(500);
constexpr std::chrono::nanoseconds kLongestSlice = std::chrono::milliseconds(20);
constexpr std::int64_t kLogShown = 4096;
constexpr std::int64_t kLogKept = std::int64_t{1} << 20;

// Bytes of a process: its address space, and what it holds in memory by itself.
struct MemoryInUse {
  std::int64_t address_space = 0;
  std::int64_t resident = 0;
};

MemoryInUse memory_of(pid_t process) {
  std::array<char, 64> path{};
  (void)std::snprintf(path.data(), path.size(), "/proc/%d/statm", static_cast<int>(process));
  std::FILE* file = std::fopen(path.data(), "re");
  if (file == nullptr) return {};
  long long size = 0;
  long long resident = 0;
  long long shared = 0;
  const int read = std::fscanf(file, "%lld %lld %lld", &size, &resident, &shared);
  (void)std::fclose(file);
  if (read != 3) return {};
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  return {size * page, (resident - shared) * page};
}

// How a worker's life ended.
struct Death {
  int status = 0;  ///< as waitpid gives it
  bool timed_out = false;
  bool out_of_memory = false;
};

// One process with its channel and its log; killed with it.
class Process {
 public:
  Process(const OpenBackend& open, const Isolation& isolation) : isolation_(isolation) {
    log_ = memfd_create("qconform-log", MFD_CLOEXEC);
    (void)fcntl(log_, F_SETFL, O_APPEND);
    (void)std::fflush(nullptr);
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ != 0) return;
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    run_worker(open, channel_, log_, isolation.memory);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (process_ > 0) (void)end();
    (void)close(log_);
  }

  [[nodiscard]] bool started() const { return process_ > 0; }

  // False where the case is larger than what can be sent.
  [[nodiscard]] bool send(const Case& test_case) {
    const std::size_t size = encoded_size(test_case);
    const std::span<std::byte> memory = channel_.request.reserve(size);
    if (memory.size() != size) return false;
    encode(test_case, memory);
    channel_.bells->request_bytes = size;
    channel_.bells->last_words.out_of_memory = false;
    begin_log();
    begun_ = Clock::now();
    ring(channel_.bells->requests);
    return true;
  }

  // The answer's bytes; nothing where the process ended first, with `death` telling how.
  [[nodiscard]] std::optional<std::span<const std::byte>> receive(double seconds, Death& death) {
    const auto deadline = begun_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    for (std::chrono::nanoseconds slice = kFirstSlice;; slice = std::min(slice * 3 / 2, kLongestSlice)) {
      if (wait_for_ring(channel_.bells->answers, answers_, slice)) {
        ++answers_;
        return channel_.answer.view(channel_.bells->answer_bytes);
      }
      if (waitpid(process_, &death.status, WNOHANG) == process_) {
        process_ = -1;
        return std::nullopt;
      }
      const MemoryInUse memory = memory_of(process_);
      death.out_of_memory = isolation_.memory > 0 && memory.resident - at_rest_.resident > isolation_.memory;
      death.timed_out = !death.out_of_memory && Clock::now() > deadline;
      if (death.timed_out && memory.address_space - at_rest_.address_space > isolation_.memory / 8 * 7) {
        death.out_of_memory = kCanLimitAddressSpace && isolation_.memory > 0;
      }
      if (death.out_of_memory || death.timed_out) {
        death.status = end();
        return std::nullopt;
      }
      trim_log();
    }
  }

  // What the loaded backend takes by itself is not held against it.
  void note_memory() { at_rest_ = memory_of(process_); }

  [[nodiscard]] const LastWords& last_words() const { return channel_.bells->last_words; }

  // The end of what was printed since the request.
  [[nodiscard]] std::string log() const {
    const std::int64_t size = log_size();
    const std::int64_t begin = std::max(log_begin_, size - kLogShown);
    std::string text(static_cast<std::size_t>(std::max<std::int64_t>(0, size - begin)), '\0');
    const ssize_t read = pread(log_, text.data(), text.size(), begin);
    text.resize(read < 0 ? 0 : static_cast<std::size_t>(read));
    return text;
  }

 private:
  [[nodiscard]] std::int64_t log_size() const {
    struct stat status {};
    return fstat(log_, &status) == 0 ? status.st_size : 0;
  }
  void begin_log() {
    log_begin_ = log_size();
    if (log_begin_ > kLogKept) trim_log();
  }
  void trim_log() {
    if (log_size() <= kLogKept) return;
    (void)ftruncate(log_, 0);
    log_begin_ = 0;
  }

  // Kills it with what it started, and gives its status.
  int end() {
    int status = 0;
    (void)kill(-process_, SIGKILL);
    (void)kill(process_, SIGKILL);
    (void)waitpid(process_, &status, 0);
    process_ = -1;
    return status;
  }

  Isolation isolation_;
  WorkerChannel channel_;
  int log_ = -1;
  std::int64_t log_begin_ = 0;
  pid_t process_ = -1;
  std::uint32_t answers_ = 0;
  MemoryInUse at_rest_;
  Clock::time_point begun_ = Clock::now();
};

std::string signal_text(const LastWords& words, int number) {
  std::string text = strsignal(number);
  if (words.signal == SIGSEGV || words.signal == SIGBUS) {
    text += fmt::format(" {} address {:#x}", words.wrote ? "writing" : "reading", words.address.load());
  }
  return text;
}

Outcome outcome_of(const Case& test_case, const Death& death, const LastWords& words, const Isolation& isolation) {
  if (death.out_of_memory || words.out_of_memory) return outcome::OutOfMemory{isolation.memory};
  if (death.timed_out) return outcome::TimedOut{isolation.timeout};
  if (words.slot != LastWords::kNoSlot) {
    const Side side = words.before ? Side::before : Side::after;
    if (words.slot == LastWords::kOutput && words.wrote) return outcome::WroteOutOfBounds{side, words.offset};
    const std::string name =
        words.slot == LastWords::kOutput ? "the output" : input_name(test_case, static_cast<std::size_t>(words.slot));
    return outcome::ReadOutOfBounds{name, side, words.offset, words.wrote};
  }
  if (words.signal != 0) return outcome::Crashed{words.signal, signal_text(words, words.signal)};
  if (WIFSIGNALED(death.status)) {
    const int number = WTERMSIG(death.status);
    return outcome::Crashed{number, signal_text(words, number)};
  }
  return outcome::Exited{WEXITSTATUS(death.status)};
}

class IsolatedBackend final : public Backend, public Worker {
 public:
  IsolatedBackend(OpenBackend open, const Isolation& isolation) : open_(std::move(open)), isolation_(isolation) {}

  // Starts the worker and hears which backend it holds.
  Result<void> open() {
    process_ = std::make_unique<Process>(open_, isolation_);
    if (!process_->started()) return failed("cannot start a worker process");
    Death death;
    const auto bytes = process_->receive(kOpenSeconds, death);
    if (!bytes) {
      const Outcome end = outcome_of({}, death, process_->last_words(), isolation_);
      const auto* crash = std::get_if<outcome::Crashed>(&end);
      return failed("ended while it was opened" + (crash == nullptr ? "" : ": " + crash->detail));
    }
    auto hello = decode_hello(*bytes);
    if (!hello) return failed("said nothing sensible when it was opened");
    if (!hello->error.empty()) return failed(hello->error);
    info_ = std::move(hello->info);
    process_->note_memory();
    return {};
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Worker* worker() override { return this; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    return std::make_unique<Remote>(*this, test_case);
  }

  void start(const Case& test_case) override {
    under_way_ = &test_case;
    refused_.reset();
    if (!process_) {
      if (auto opened = open(); !opened) {
        process_.reset();
        refused_ = outcome::Crashed{0, "its worker cannot be opened again: " + opened.error().text()};
        return;
      }
    }
    if (!process_->send(test_case)) refused_ = outcome::Unsupported{"the case is larger than what a worker takes"};
  }

  [[nodiscard]] Outcome finish() override {
    if (refused_) return *std::exchange(refused_, std::nullopt);
    Death death;
    const auto bytes = process_->receive(isolation_.timeout, death);
    std::optional<Outcome> outcome;
    if (bytes) outcome = decode_outcome(*bytes);
    if (bytes && !outcome) outcome = outcome::Crashed{0, "wrote over the worker's own memory"};
    if (!outcome) outcome = outcome_of(*under_way_, death, process_->last_words(), isolation_);
    outcome->log = process_->log();
    // After a stray write nothing in that process can be trusted.
    const bool sound = bytes && is_sound(*outcome);
    if (!sound) process_.reset();
    return std::move(*outcome);
  }

 private:
  // For callers that know prepare and run alone.
  class Remote final : public PreparedCase {
   public:
    Remote(IsolatedBackend& backend, const Case& test_case) : backend_(backend), test_case_(test_case) {}
    void run(OutputSink& sink) override {
      backend_.start(test_case_);
      Outcome outcome = backend_.finish();
      const auto* produced = std::get_if<outcome::Produced>(&outcome);
      if (produced == nullptr) return sink.refuse(std::move(outcome));
      const std::span<std::byte> memory = sink.allocate(produced->output.type, produced->output.shape);
      std::copy(produced->output.bytes.begin(), produced->output.bytes.end(), memory.begin());
    }

   private:
    IsolatedBackend& backend_;
    const Case& test_case_;
  };

  static bool is_sound(const Outcome& outcome) {
    return !std::holds_alternative<outcome::WroteOutOfBounds>(outcome) &&
           !std::holds_alternative<outcome::ReadOutOfBounds>(outcome) &&
           !std::holds_alternative<outcome::Crashed>(outcome) && !std::holds_alternative<outcome::OutOfMemory>(outcome);
  }

  static Result<void> failed(std::string why) { return fail("--backend", std::move(why)); }

  OpenBackend open_;
  Isolation isolation_;
  BackendInfo info_;
  std::unique_ptr<Process> process_;
  const Case* under_way_ = nullptr;
  std::optional<Outcome> refused_;  ///< why the case that was started is not under way
};

}  // namespace

Result<std::unique_ptr<Backend>> isolate(OpenBackend open, const Isolation& isolation) {
  auto backend = std::make_unique<IsolatedBackend>(std::move(open), isolation);
  if (auto opened = backend->open(); !opened) return tl::unexpected(opened.error());
  return backend;
}

}  // namespace qconform

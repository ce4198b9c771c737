#include "harness/bench/participant.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <exception>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "harness/backends/sandbox/channel.h"
#include "harness/base/bytes.h"
#include "harness/base/process.h"
#include "harness/base/stopwatch.h"
#include "harness/bench/result.h"
#include "harness/core/backend.h"

namespace qconform::bench {

// The inside of a participant's process: any backend as something to be timed.

/// A child's answer once it has made ready.
struct Readiness {
  bool ready = false;
  RunSetting setting;
  std::array<char, 64> implementation = {};  ///< its name, cut where it is longer; zeros behind it
};

/// A request is a number of seconds to take a turn for, or one of these.
inline constexpr double kAskOutcome = -1;    ///< asks for the outcome of the last run
inline constexpr double kAskReadiness = -2;  ///< the first request

/// Opens the backend and says hello. Then prepares and runs the case, and answers requests until the process is killed.
[[noreturn]] void run_participant(const OpenBackend& open, const Case& test_case, const RunSetting& wanted,
                                  WorkerChannel& channel);

/// The backend's own prepare_repeated where it has one; else its prepare and run, on the case's tensors
/// and into memory that stays the same from run to run: channels first, one thread. Refuses a backend in a worker,
/// whose runs cannot be told from the messages around them.
[[nodiscard]] RepeatedPreparation prepare_repeated(Backend& backend, const Case& test_case, const RunSetting& wanted);

Result<std::vector<int>> choose_cpus(int threads) {
  cpu_set_t set;
  CPU_ZERO(&set);
  (void)sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  if (threads < 1 || static_cast<std::size_t>(threads) > cpus.size()) {
    return fail("--threads", "expected 1 to " + std::to_string(cpus.size()) +
                                 ", the processors that this process may use, got " + std::to_string(threads));
  }
  return std::vector<int>(cpus.end() - threads, cpus.end());
}

void pin(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  (void)sched_setaffinity(0, sizeof set, &set);  // checked before the fork
}

namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::span<const std::byte>;

template <typename Plain>
std::optional<Plain> plain(const std::optional<Bytes>& bytes) {
  if (!bytes || bytes->size() != sizeof(Plain)) return std::nullopt;
  Plain value;
  std::memcpy(&value, bytes->data(), sizeof value);
  return value;
}

Outcome ending_of(int status) {
  if (!WIFSIGNALED(status)) return outcome::Exited{WEXITSTATUS(status)};
  return outcome::Crashed{WTERMSIG(status), strsignal(WTERMSIG(status))};
}

}  // namespace

Result<std::unique_ptr<Participant>> Participant::start(const OpenBackend& open, const Case& test_case,
                                                        const RunConditions& conditions) {
  std::unique_ptr<Participant> self(new Participant);
  const auto work = [&] {
    // Output that a library prints must not end up in the result.
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    run_participant(open, test_case, conditions.wanted, self->channel_);
  };
  QCONFORM_TRY(self->begin(work, conditions));
  return self;
}

Result<std::unique_ptr<Participant>> Participant::start(const std::vector<std::string>& command, const Case& test_case,
                                                        const RunConditions& conditions) {
  std::unique_ptr<Participant> self(new Participant);
  const WorkerChannel& channel = self->channel_;
  const std::size_t size = sizeof(RunSetting) + encoded_size(test_case);
  const auto memory = self->channel_.request.reserve(size);
  if (memory.size() != size) return fail("bench", "the layer is larger than what another program takes");
  static_assert(std::is_trivially_copyable_v<RunSetting>);
  std::memcpy(memory.data(), &conditions.wanted, sizeof(RunSetting));
  encode(test_case, memory.subspan(sizeof(RunSetting)));
  channel.bells->request_bytes = size;
  const auto become = [&] {
    std::vector<std::string> words = command;
    words.emplace_back("--bench");
    for (const int file : channel.files()) words.push_back(std::to_string(file));
    become_program(std::move(words), channel.files(), STDERR_FILENO);
  };
  QCONFORM_TRY(self->begin(become, conditions));
  return self;
}

Result<void> Participant::begin(const std::function<void()>& work, const RunConditions& conditions) {
  patience_ = conditions.patience;
  process_ = ForkedProcess(ForkedProcess::Group::own, [&] {
    pin(conditions.cpus);
    work();
  });
  if (!process_.is_running()) return fail("bench", "cannot start a process");
  return hear_start();
}

Result<void> Participant::hear_start() {
  const auto bytes = receive();
  const auto hello = bytes ? decode_hello(*bytes) : std::nullopt;
  if (!hello) return fail("bench", "a backend's process ended while it was opened");
  if (!hello->error.empty()) return fail("", hello->error);
  info_ = hello->info;
  if (const auto readiness = plain<Readiness>(ask(kAskReadiness))) {
    ready_ = readiness->ready;
    setting_ = readiness->setting;
    const auto& name = readiness->implementation;
    implementation_.assign(name.begin(), std::find(name.begin(), name.end(), '\0'));
  }
  return {};
}

std::optional<Bytes> Participant::receive() {
  const auto deadline = Clock::now() + std::chrono::duration<double>(patience_);
  while (process_.is_running()) {
    if (wait_for_ring(channel_.bells->answers, answers_, std::chrono::milliseconds(50))) {
      ++answers_;
      return channel_.answer.view(channel_.bells->answer_bytes);
    }
    if (const auto status = process_.poll()) {
      ending_ = ending_of(*status);
    } else if (Clock::now() > deadline) {
      process_.end();
      ending_ = outcome::TimedOut{patience_};
    } else {
      continue;
    }
    ready_ = false;
  }
  return std::nullopt;
}

std::optional<Bytes> Participant::ask(double request) {
  if (!process_.is_running()) return std::nullopt;
  const auto memory = channel_.request.reserve(sizeof request);
  if (memory.size() == sizeof request) std::memcpy(memory.data(), &request, sizeof request);
  ring(channel_.bells->requests);
  return receive();
}

std::optional<Turn> Participant::take_turn(double seconds) {
  if (!ready_) return std::nullopt;
  return plain<Turn>(ask(seconds));
}

Outcome Participant::outcome() {
  const auto bytes = ask(kAskOutcome);
  if (ending_) return *ending_;
  if (auto said = bytes ? decode_outcome(*bytes) : std::nullopt) return std::move(*said);
  return outcome::Crashed{0, "the answer was damaged"};
}

namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

constexpr std::size_t kGrowth = std::size_t{1} << 20;

}  // namespace

SharedBlock::SharedBlock() : SharedBlock(memfd_create("qconform", MFD_CLOEXEC)) {}

SharedBlock::SharedBlock(int file) : file_(file) {
  if (file_ < 0) throw MachineFailure("cannot make memory to share with a process", errno);
  void* memory = mmap(nullptr, kLargest, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    (void)close(file_);
    throw MachineFailure("cannot share memory with a process", error);
  }
  memory_ = static_cast<std::byte*>(memory);
}

SharedBlock::~SharedBlock() {
  (void)munmap(memory_, kLargest);
  (void)close(file_);
}

std::span<std::byte> SharedBlock::reserve(std::size_t bytes) {
  if (bytes > kLargest) return {};
  if (bytes > size_) {
    const std::size_t size = (bytes + kGrowth - 1) / kGrowth * kGrowth;
    if (ftruncate(file_, static_cast<off_t>(size)) != 0) return {};
    size_ = size;
  }
  return {memory_, bytes};
}

std::span<const std::byte> SharedBlock::view(std::size_t bytes) const {
  if (bytes > size_) {
    struct stat status {};
    if (fstat(file_, &status) != 0 || bytes > static_cast<std::size_t>(status.st_size)) return {};
  }
  return {memory_, bytes};
}

void SharedBlock::make_read_only() {
  (void)mprotect(memory_, kLargest, PROT_READ);
}

void ring(std::atomic<std::uint32_t>& bell) {
  bell.fetch_add(1, std::memory_order_release);
  wake_all(bell);
}

bool wait_for_ring(const std::atomic<std::uint32_t>& bell, std::uint32_t seen, std::chrono::nanoseconds patience) {
  const auto start = Clock::now();
  while (bell.load(std::memory_order_acquire) == seen) {
    const auto left = patience - (Clock::now() - start);
    if (left <= std::chrono::nanoseconds::zero()) return false;
    sleep_while(bell, seen, left);
  }
  return true;
}

namespace {

void* memory_of_bells(SharedBlock& block) {
  const auto memory = block.reserve(sizeof(Doorbells));
  if (memory.empty()) throw MachineFailure("cannot use memory shared with a process", errno);
  return memory.data();
}

}  // namespace

WorkerChannel::WorkerChannel() : bells(new (memory_of_bells(shared_bells)) Doorbells()) {}

WorkerChannel::WorkerChannel(const Files& files)
    : request(files[0]),
      answer(files[1]),
      shared_bells(files[2]),
      bells(std::launder(static_cast<Doorbells*>(memory_of_bells(shared_bells)))) {}

namespace {

// Runs shorter than this are timed several at once: reading the clock takes tens of nanoseconds.
constexpr double kShortestSample = 20e-6;
constexpr std::size_t kMostSamples = 100000;

std::span<std::byte> begin_answer(WorkerChannel& channel, std::size_t size) {
  const std::span<std::byte> memory = channel.answer.reserve(size);
  channel.bells->answer_bytes = memory.size();
  return memory;
}

template <typename Message>
void answer_message(WorkerChannel& channel, const Message& message) {
  const std::size_t size = encoded_size(message);
  if (const auto memory = begin_answer(channel, size); memory.size() == size) encode(message, memory);
  ring(channel.bells->answers);
}

template <typename Plain>
void answer_plain(WorkerChannel& channel, const Plain& value) {
  if (const auto memory = begin_answer(channel, sizeof value); memory.size() == sizeof value) {
    std::memcpy(memory.data(), &value, sizeof value);
  }
  ring(channel.bells->answers);
}

double wait_for_request(WorkerChannel& channel, std::uint32_t seen) {
  while (!wait_for_ring(channel.bells->requests, seen, std::chrono::hours(1))) {
  }
  double request = kAskOutcome;
  const auto bytes = channel.request.view(sizeof request);
  if (bytes.size() == sizeof request) std::memcpy(&request, bytes.data(), sizeof request);
  return request;
}

double processor_seconds() {
  timespec used{};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

// How often the scheduler has taken the processor away from this process.
long preemptions() {
  rusage usage{};
  (void)getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

// Seconds that `work` takes: by the clock; but where the processor was taken away meanwhile and one thread is
// all there is, the time that the process had it.
template <typename Work>
double seconds_for(const Work& work, int threads) {
  const long before = preemptions();
  const double used_before = processor_seconds();
  const auto begin = Clock::now();
  work();
  const double elapsed = seconds_since(begin);
  const double used = processor_seconds() - used_before;
  return threads == 1 && preemptions() != before ? std::min(used, elapsed) : elapsed;
}

Turn time_runs(RepeatedRun& subject, double seconds) {
  const int threads = subject.setting().threads;
  const double once = std::max(seconds_for([&] { subject.run(); }, threads), 1e-9);
  const auto batch = static_cast<int>(std::max(1.0, kShortestSample / once));
  std::vector<double> samples;
  const auto start = Clock::now();
  do {
    const auto runs = [&] {
      for (int i = 0; i < batch; ++i) subject.run();
    };
    samples.push_back(seconds_for(runs, threads) / batch);
  } while (seconds_since(start) < seconds && samples.size() < kMostSamples);
  const double least = *std::min_element(samples.begin(), samples.end());
  return {samples.size() * static_cast<std::size_t>(batch), least, median(samples)};
}

Readiness readiness_of(const RepeatedRun& subject) {
  Readiness readiness{true, subject.setting()};
  const std::string name = subject.implementation();
  std::copy_n(name.begin(), std::min(name.size(), readiness.implementation.size()), readiness.implementation.begin());
  return readiness;
}

// Serves what was prepared; `refusal` where nothing was.
[[noreturn]] void serve(WorkerChannel& channel, RepeatedRun* subject, const Outcome& refusal) {
  for (std::uint32_t seen = 0;; ++seen) {
    const double request = wait_for_request(channel, seen);
    if (request == kAskReadiness) {
      answer_plain(channel, subject == nullptr ? Readiness{} : readiness_of(*subject));
    } else if (request >= 0 && subject != nullptr) {
      answer_plain(channel, time_runs(*subject, request));
    } else {
      answer_message(channel, subject == nullptr ? refusal : subject->outcome());
    }
  }
}

}  // namespace

void run_participant(const OpenBackend& open, const Case& test_case, const RunSetting& wanted, WorkerChannel& channel) {
  auto backend = open();
  answer_message(channel, backend ? Hello{(*backend)->info(), ""} : Hello{{}, backend.error().text()});
  if (!backend) _exit(0);
  RepeatedPreparation prepared = prepare_repeated(**backend, test_case, wanted);
  auto* ready = std::get_if<std::unique_ptr<RepeatedRun>>(&prepared);
  RepeatedRun* subject = ready == nullptr ? nullptr : ready->get();
  Outcome refusal;
  if (subject != nullptr) {
    subject->run();
    if (Outcome first = subject->outcome(); !std::holds_alternative<outcome::Produced>(first)) {
      refusal = std::move(first);
      subject = nullptr;
    }
  } else {
    refusal = std::move(*end_of(prepared));
  }
  serve(channel, subject, refusal);
}

void serve_participant(const OpenBackend& open, WorkerChannel& channel) {
  const auto memory = channel.request.view(channel.bells->request_bytes);
  RunSetting wanted;
  Case test_case;
  const bool is_whole = memory.size() > sizeof wanted && decode_case(memory.subspan(sizeof wanted), test_case);
  if (!is_whole) {
    answer_message(channel, Hello{{}, "it was given no layer"});
    _exit(0);
  }
  std::memcpy(&wanted, memory.data(), sizeof wanted);
  run_participant(open, test_case, wanted, channel);
}

namespace {

// Memory that is allocated at the first run, so that the runs that are timed find it there.
class SteadySink final : public OutputSink {
 public:
  // Layers have one output.
  std::span<std::byte> allocate(std::size_t /*output*/, ElementType type,
                                std::span<const std::int64_t> shape) override {
    const auto size = static_cast<std::size_t>(bytes_for(type, elements_of(shape)));
    if (memory_.bytes().size() != size) memory_ = AlignedBytes(size);
    type_ = type;
    shape_.assign(shape.begin(), shape.end());  // no allocation from the second run on
    allocated_ = true;
    return memory_.bytes();
  }
  void refuse(Outcome refusal) override { refusal_ = std::move(refusal); }
  std::span<std::byte> scratch(std::size_t bytes, std::size_t alignment) override {
    return scratch_.take(bytes, alignment);
  }

  void begin() {
    allocated_ = false;
    refusal_.reset();
  }
  [[nodiscard]] Outcome outcome() const {
    if (refusal_) return *refusal_;
    if (!allocated_) return outcome::LeftUnwritten{"run ended without asking for an output"};
    const std::span<const std::byte> bytes = memory_.bytes();
    return outcome::Produced{Tensor{type_, shape_, {bytes.begin(), bytes.end()}}};
  }

 private:
  AlignedBytes memory_;
  ScratchMemory scratch_;
  ElementType type_ = ElementType::undefined;
  std::vector<std::int64_t> shape_;
  bool allocated_ = false;
  std::optional<Outcome> refusal_;
};

class PlainRun final : public RepeatedRun {
 public:
  explicit PlainRun(std::unique_ptr<PreparedCase> prepared) : prepared_(std::move(prepared)) {}

  void run() override {
    sink_.begin();
    prepared_->run(sink_);
  }
  [[nodiscard]] Outcome outcome() override { return sink_.outcome(); }
  [[nodiscard]] RunSetting setting() const override { return {}; }

 private:
  std::unique_ptr<PreparedCase> prepared_;
  SteadySink sink_;
};

}  // namespace

RepeatedPreparation prepare_repeated(Backend& backend, const Case& test_case, const RunSetting& wanted) {
  if (backend.worker() != nullptr) {
    return outcome::Unsupported{"it computes in a worker: each time would include the exchange of messages with it"};
  }
  if (auto own = backend.prepare_repeated(test_case, wanted)) return std::move(*own);
  Preparation prepared = backend.prepare(test_case);
  return std::visit(
      [](auto& result) -> RepeatedPreparation {
        if constexpr (std::is_same_v<std::decay_t<decltype(result)>, std::unique_ptr<PreparedCase>>) {
          return std::make_unique<PlainRun>(std::move(result));
        } else {
          return std::move(result);
        }
      },
      prepared);
}

}  // namespace qconform::bench

#include "harness/bench/turn.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <exception>
#include <utility>

#include "harness/backends/sandbox/message.h"
#include "harness/base/aligned_bytes.h"
#include "harness/bench/pinning.h"
#include "harness/bench/statistics.h"

namespace qconform::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Runs shorter than this are timed several at once: reading the clock takes tens of nanoseconds.
constexpr double kShortestSample = 20e-6;
constexpr std::size_t kMostSamples = 100000;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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

// Serves what was prepared; `refusal` where nothing was.
[[noreturn]] void serve(WorkerChannel& channel, RepeatedRun* subject, const Outcome& refusal) {
  for (std::uint32_t seen = 0;; ++seen) {
    const double request = wait_for_request(channel, seen);
    if (request == kAskReadiness) {
      answer_plain(channel, subject == nullptr ? Readiness{} : Readiness{true, subject->setting()});
    } else if (request >= 0 && subject != nullptr) {
      answer_plain(channel, time_runs(*subject, request));
    } else {
      answer_message(channel, subject == nullptr ? refusal : subject->outcome());
    }
  }
}

}  // namespace

void run_participant(const OpenBackend& open, const Case& test_case, const Place& place, WorkerChannel& channel) {
  // Output that a library prints must not end up in the result.
  (void)dup2(STDERR_FILENO, STDOUT_FILENO);
  pin(place.cpus);
  auto backend = open();
  answer_message(channel, backend ? Hello{(*backend)->info(), ""} : Hello{{}, backend.error().text()});
  if (!backend) _exit(0);
  RepeatedPreparation prepared = prepare_repeated(**backend, test_case, place.wanted);
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

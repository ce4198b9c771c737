// Measures the cost of a campaign beside the library that it judges: the same cases on the library alone, through its
// worker, and through a whole campaign with and without a worker, taking turns. It counts the CPU time of this process
// and its workers, so that other users of the machine matter little, and one core's time even where the two sides run
// on two.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/libraries/libraries.h"
#include "harness/backends/library.h"
#include "harness/backends/select.h"
#include "harness/base/bytes.h"
#include "harness/bench/participant.h"
#include "harness/bench/result.h"
#include "harness/engine/run_suites.h"
#include "harness/suites/select.h"

namespace qconform {
namespace {

struct ThroughputOptions {
  std::string backend;
  std::string guard = "sampled";
  std::string suite = "random";
  std::size_t cases = 2000;
  int rounds = 9;
  std::uint64_t seed = 1;
  std::string only;  // one way alone, for a profiler
};

// Seconds of CPU time on one clock.
double seconds_on(clockid_t clock) {
  timespec time{};
  (void)clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// CPU time of this process and of the children that still run. A worker that is replaced takes its time along: cases
// are chosen so that none is.
double cpu_seconds() {
  double seconds = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
  std::ifstream children(fmt::format("/proc/self/task/{}/children", getpid()));
  for (pid_t child = 0; children >> child;) {
    clockid_t clock{};
    if (clock_getcpuclockid(child, &clock) == 0) seconds += seconds_on(clock);
  }
  return seconds;
}

// Plain memory for one output after the other.
class PlainOutput final : public OutputSink {
 public:
  // An output is complete before the next one is asked for.
  std::span<std::byte> allocate(std::size_t /*output*/, ElementType type,
                                std::span<const std::int64_t> shape) override {
    memory_.resize(static_cast<std::size_t>(bytes_for(type, elements_of(shape))));
    return memory_;
  }
  void refuse(Outcome /*refusal*/) override {}
  std::span<std::byte> scratch(std::size_t bytes, std::size_t alignment) override {
    return scratch_.take(bytes, alignment);
  }

 private:
  std::vector<std::byte> memory_;
  ScratchMemory scratch_;
};

// Cases of the suite by their numbers.
class ChosenSuite final : public Suite {
 public:
  ChosenSuite(const ThroughputOptions& options, const std::vector<std::uint64_t>& numbers)
      : options_(options), numbers_(numbers) {}
  [[nodiscard]] std::string name() const override { return options_.suite; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (position_ == numbers_.size()) return std::nullopt;
    return draw_of_suite(options_.suite)(options_.seed, numbers_[position_++]);
  }

 private:
  const ThroughputOptions& options_;
  const std::vector<std::uint64_t>& numbers_;
  std::size_t position_ = 0;
};

// Opened as a campaign opens it, or in this process.
std::unique_ptr<Backend> opened(const ThroughputOptions& options, bool in_worker) {
  using Which = backend::SandboxPolicy::Which;
  backend::SandboxPolicy policy{.which = in_worker ? Which::all : Which::none, .limits = {}};
  policy.limits.guard = options.guard == "full" ? SandboxLimits::Guard::full : SandboxLimits::Guard::sampled;
  auto backend = backend::select(options.backend, arithmetic_of(Profile::conformance), policy);
  if (!backend) throw std::runtime_error(backend.error().text());
  return std::move(*backend);
}

// The numbers of the first cases that the backend computes, rightly or not; chosen in a worker.
std::vector<std::uint64_t> computed_cases(const ThroughputOptions& options, Backend& isolated) {
  constexpr std::uint64_t kMostDrawn = 100;  // for each case that is wanted
  constexpr std::uint64_t kBatch = 32;
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t begin = 0; numbers.size() < options.cases && begin < kMostDrawn * options.cases; begin += kBatch) {
    std::vector<Case> drawn;
    for (std::uint64_t i = 0; i < kBatch; ++i) drawn.push_back(draw_of_suite(options.suite)(options.seed, begin + i));
    for (const Case& each : drawn) isolated.worker()->start(each);
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      const bool computed = std::holds_alternative<outcome::Produced>(isolated.worker()->finish());
      if (computed && numbers.size() < options.cases) numbers.push_back(begin + i);
    }
  }
  if (numbers.empty()) throw std::runtime_error(options.backend + " computes none of the cases");
  return numbers;
}

void run_alone(Backend& backend, const std::vector<Case>& cases) {
  PlainOutput output;
  for (const Case& each : cases) {
    const Preparation prepared = backend.prepare(each);
    if (const auto* ready = std::get_if<std::unique_ptr<PreparedCase>>(&prepared)) (*ready)->run(output);
  }
}

void run_in_worker(Backend& backend, const std::vector<Case>& cases) {
  Worker& worker = *backend.worker();
  std::size_t started = 0;
  for (std::size_t finished = 0; finished < cases.size(); ++finished) {
    while (started < std::min(cases.size(), finished + worker.depth())) worker.start(cases[started++]);
    (void)worker.finish();
  }
}

Report run_whole(std::vector<std::unique_ptr<Backend>>& backends, const ThroughputOptions& options,
                 const std::vector<std::uint64_t>& numbers) {
  Report report;
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::make_unique<ChosenSuite>(options, numbers));
  if (auto ran = run_suites(suites, backends, {}, report); !ran) throw std::runtime_error(ran.error().text());
  return report;
}

// Microseconds for one case, by round.
struct Samples {
  std::vector<double> alone, in_worker, whole_here, whole;
};

template <typename Run>
void measure(const ThroughputOptions& options, std::string_view way, std::vector<double>& samples, std::size_t cases,
             Run run) {
  if (!options.only.empty() && options.only != way) return;
  const double before = cpu_seconds();
  run();
  samples.push_back((cpu_seconds() - before) * 1e6 / static_cast<double>(cases));
}

double share(const std::vector<double>& of, const std::vector<double>& in) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < std::min(of.size(), in.size()); ++i) shares.push_back(of[i] / in[i]);
  return bench::median(shares);
}

void print(const ThroughputOptions& options, const Samples& samples, std::size_t cases, const StageTimes& times) {
  const auto line = [&](std::string_view name, const std::vector<double>& of) {
    if (of.empty()) return;
    fmt::print("  {:<22}{:>8.2f} us/case {:>9.0f} cases/s   {:.3f} of the speed alone\n", name, bench::median(of),
               1e6 / bench::median(of), share(samples.alone, of));
  };
  fmt::print("{}, {} cases of {} that it computes, guard {}, {} rounds; medians, CPU time of all processes\n",
             options.backend, cases, options.suite, options.guard, options.rounds);
  line("library and adapter", samples.alone);
  line("in its worker", samples.in_worker);
  line("campaign, no worker", samples.whole_here);
  line("campaign", samples.whole);
  if (!samples.whole.empty() && !samples.whole_here.empty()) {
    fmt::print("  the worker takes {:.1f} % of a campaign's throughput\n",
               100 * (1 - share(samples.whole_here, samples.whole)));
  }
  const double each = 1e6 / static_cast<double>(cases) / options.rounds;
  fmt::print(
      "  of qconform's own process, elapsed us/case: generate {:.2f}, reference {:.2f}, statistics {:.2f}, judge "
      "{:.2f}, "
      "send and wait {:.2f}\n",
      times.generate * each, times.reference * each, times.statistics * each, times.judge * each, times.backend * each);
}

void add(StageTimes& sum, const StageTimes& times) {
  sum.generate += times.generate;
  sum.reference += times.reference;
  sum.statistics += times.statistics;
  sum.judge += times.judge;
  sum.backend += times.backend;
}

void run(const ThroughputOptions& options) {
  bench::pin(bench::choose_cpus(1).value());
  std::vector<std::unique_ptr<Backend>> isolated;
  isolated.push_back(opened(options, true));
  std::vector<std::unique_ptr<Backend>> here;
  here.push_back(opened(options, false));
  const std::vector<std::uint64_t> numbers = computed_cases(options, *isolated[0]);
  std::vector<Case> cases;
  for (const std::uint64_t number : numbers) cases.push_back(draw_of_suite(options.suite)(options.seed, number));
  run_alone(*here[0], cases);  // warms caches
  Samples samples;
  StageTimes times;
  for (int round = 0; round < options.rounds; ++round) {
    measure(options, "alone", samples.alone, cases.size(), [&] { run_alone(*here[0], cases); });
    measure(options, "worker", samples.in_worker, cases.size(), [&] { run_in_worker(*isolated[0], cases); });
    measure(options, "campaign-here", samples.whole_here, cases.size(),
            [&] { (void)run_whole(here, options, numbers); });
    measure(options, "campaign", samples.whole, cases.size(),
            [&] { add(times, run_whole(isolated, options, numbers).times); });
  }
  print(options, samples, cases.size(), times);
}

}  // namespace
}  // namespace qconform

int main(int argc, char** argv) {
  qconform::ThroughputOptions options;
  CLI::App app("What judging a backend costs beside the backend alone, on one processor", "throughput_bench");
  app.footer("example: build/dev/bin/throughput_bench --backend xnnpack");
  app.add_option("--backend", options.backend, "As for qconform run")->required();
  app.add_option("--guard", options.guard, "As for qconform run")->check(CLI::IsMember({"sampled", "full"}));
  app.add_option("--suite", options.suite, "Suite that the cases are drawn of")
      ->check(CLI::IsMember({"random", "graphs", "fuzz"}));
  app.add_option("--cases", options.cases, "Cases that the backend computes")->check(CLI::PositiveNumber);
  app.add_option("--rounds", options.rounds, "How often each way is measured")->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "Of the cases");
  app.add_option("--only", options.only, "One way alone, for a profiler")
      ->check(CLI::IsMember({"alone", "worker", "campaign-here", "campaign"}));
  CLI11_PARSE(app, argc, argv);
  try {
    qconform::backend::offer_libraries(qconform::libraries::libraries());
    qconform::run(options);
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    fmt::print(stderr, "throughput_bench: {}\n", error.what());
    return 2;
  }
}

#include "harness/backends/sandbox/sandbox.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "harness/backends/code_coverage/code_coverage.h"
#include "harness/backends/sandbox/channel.h"
#include "harness/backends/sandbox/guarded_run.h"
#include "harness/backends/sandbox/worker_host.h"

namespace qconform {
namespace {

std::string signal_text(const LastWords& words, int number) {
  std::string text = strsignal(number);
  if (words.signal == SIGSEGV || words.signal == SIGBUS) {
    text += fmt::format(" {} address {:#x}", words.wrote ? "writing" : "reading", words.address.load());
  }
  return text;
}

// Addresses below are those of null pointers and what they point to.
constexpr std::uintptr_t kFirstPage = 4096;

// Signals that the system sends to a process for its own faults.
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

std::string place_of(const LastWords& words) {
  const std::size_t size = strnlen(words.place.data(), words.place.size());
  return readable_crash_place(std::string(words.place.data(), size));
}

// The tensor whose guard a worker ran into; empty where it did not, or where its words make no sense.
std::string tensor_of(const Case& test_case, const LastWords& words) {
  const int slot = words.slot;
  if (slot == LastWords::kScratch) return kScratchName;
  if (slot <= LastWords::kOutput) {
    const auto output = static_cast<std::size_t>(LastWords::kOutput) - static_cast<std::size_t>(slot);
    return output < test_case.output_count() ? output_text(test_case, output) : "";
  }
  const bool is_input = slot >= 0 && static_cast<std::size_t>(slot) < test_case.inputs.size();
  return is_input ? input_text(test_case, static_cast<std::size_t>(slot)) : "";
}

Outcome crash_of(const LastWords& words, int number) {
  const char* name = sigabbrev_np(number);
  const std::string text = fmt::format("SIG{}", name == nullptr ? std::to_string(number) : name);
  if (words.signal == 0) return outcome::Crashed{number, signal_text(words, number), text};
  const std::string where = place_of(words);
  const bool is_null = number == SIGSEGV && words.address < kFirstPage;
  return outcome::Crashed{
      number, signal_text(words, number),
      fmt::format("{}{}{}", text, is_null ? " at a null pointer" : "", where.empty() ? "" : " in " + where)};
}

Outcome outcome_of(const Case& test_case, const Death& death, const LastWords& words, const SandboxLimits& limits) {
  if (death.damaged) return outcome::Crashed{0, "wrote over the worker's own memory"};
  if (death.out_of_memory || words.out_of_memory) return outcome::OutOfMemory{limits.memory};
  // A worker that hangs while it looks where it crashed has crashed.
  if (death.timed_out && words.signal == 0) return outcome::TimedOut{limits.timeout};
  if (words.threw.front() != 0)
    return outcome::Threw{{words.threw.data(), strnlen(words.threw.data(), words.threw.size())}};
  if (const std::string name = tensor_of(test_case, words); !name.empty()) {
    const Side side = words.before ? Side::before : Side::after;
    if (words.slot < 0 && words.wrote) return outcome::WroteOutOfBounds{side, words.offset, name};
    return outcome::ReadOutOfBounds{name, side, words.offset, words.wrote};
  }
  if (!death.reason.empty()) return outcome::Crashed{0, death.reason};
  if (words.signal > 0 && words.signal < NSIG) return crash_of(words, words.signal);
  if (WIFSIGNALED(death.status)) return crash_of(words, WTERMSIG(death.status));
  return outcome::Exited{WEXITSTATUS(death.status)};
}

constexpr const char* kDamage = "the memory that its worker shares was written over";

// The end of a worker may be the machine's doing: another process, a stall, or a case before this one that wrote over
// what both sides share. Says it in words; empty where the backend itself ended its process.
std::string doubt_about(const Death& death, const LastWords& words) {
  if (death.damaged) return kDamage;
  if (death.out_of_memory || words.out_of_memory) return "";
  if (death.timed_out && words.signal == 0) return death.had_no_chance ? "no answer in time" : "";
  if (!death.reason.empty()) return death.reason;
  const bool told = words.signal > 0 && words.signal < NSIG;
  if (told ? !words.from_outside : !WIFSIGNALED(death.status)) return "";
  const int number = told ? words.signal.load() : WTERMSIG(death.status);
  // A handler of the backend's own may have been in the way of qconform's.
  if (!told && std::find(std::begin(kFaults), std::end(kFaults), number) != std::end(kFaults)) return "";
  const char* name = sigabbrev_np(number);
  return fmt::format("ended by SIG{}", name == nullptr ? std::to_string(number) : name);
}

std::vector<std::byte> encoded(const Case& test_case) {
  std::vector<std::byte> bytes(encoded_size(test_case));
  encode(test_case, bytes);
  return bytes;
}

// The cases that a process has run, as they were sent to it: the latest, up to a bound.
class CaseHistory {
 public:
  [[nodiscard]] bool is_empty() const { return cases_.empty(); }

  void add(const Case& test_case) {
    bytes_ += cases_.emplace_back(encoded(test_case)).size();
    for (; bytes_ > kKeptBytes; cases_.pop_front()) bytes_ -= cases_.front().size();
  }
  // Those before the first that is this one; nothing where none is.
  [[nodiscard]] std::optional<std::vector<Case>> before(const std::vector<std::byte>& wanted) const {
    const auto end = std::find(cases_.begin(), cases_.end(), wanted);
    if (end == cases_.end()) return std::nullopt;
    std::vector<Case> cases;
    std::for_each(cases_.begin(), end, [&](const auto& bytes) {
      if (!decode_case(bytes, cases.emplace_back())) cases.pop_back();
    });
    return cases;
  }

 private:
  static constexpr std::size_t kKeptBytes = std::size_t{16} << 20;

  std::deque<std::vector<std::byte>> cases_;
  std::size_t bytes_ = 0;
};

class SandboxedBackend final : public Backend, public Worker {
 public:
  using Launch = std::function<std::unique_ptr<WorkerLink>()>;

  // `name`: for errors, and, where `renames`, in reports. `code`: what the workers record; may be null.
  SandboxedBackend(Launch launch, std::string name, bool renames, const SandboxLimits& limits,
                   std::shared_ptr<CodeCoverage> code = nullptr)
      : launch_(std::move(launch)),
        name_(std::move(name)),
        renames_(renames),
        limits_(limits),
        code_(std::move(code)) {}

  // Starts the worker and hears which backend it holds; once more where it was ended from outside meanwhile.
  Result<void> open() {
    bool may_try_again = false;
    auto opened = open_once(may_try_again);
    return opened || !may_try_again ? opened : open_once(may_try_again);
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Worker* worker() override { return this; }
  [[nodiscard]] CodeCoverage* code_coverage() override {
    return code_ != nullptr && code_->form() != CodeCoverage::Form::none ? code_.get() : nullptr;
  }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    return std::make_unique<Remote>(*this, test_case);
  }

  [[nodiscard]] std::size_t depth() const override { return CaseChannel::kSlots; }

  void start(const Case& test_case) override {
    under_way_.push_back({&test_case, mode_of_cases()});
    if (under_way_.size() - sent_ == 1) send_more();
  }

  [[nodiscard]] Outcome finish() override {
    if (early_.empty()) return next();
    Outcome outcome = std::move(early_.front());
    early_.pop_front();
    return outcome;
  }

  void abandon(std::size_t /*count*/) override {
    if (!under_way_.empty()) drop_process();
    under_way_.clear();
    early_.clear();
  }

  // Runs alone, after the cases before it, so that a crash belongs to this case.
  [[nodiscard]] Outcome examine(const Case& test_case) override {
    if (!remembers_) return alone(test_case, RunMode::closely);
    const Case* const only[] = {&test_case};
    auto outcome = run_apart(only, RunMode::closely);
    return outcome ? std::move(*outcome) : alone(test_case, RunMode::closely);
  }
  [[nodiscard]] Outcome ask(const Case& test_case) override { return alone(test_case, RunMode::once); }

  [[nodiscard]] std::optional<Outcome> run_apart(std::span<const Case* const> cases, RunMode mode) override {
    SandboxedBackend apart(launch_, name_, renames_, limits_, code_);
    if (!apart.open()) return std::nullopt;
    for (const Case* one : cases.first(cases.size() - 1)) {
      (void)apart.alone(*one, RunMode::once);
      if (!apart.host_ || apart.has_reopened_) return std::nullopt;
    }
    return apart.alone(*cases.back(), mode);
  }

  [[nodiscard]] bool starts_fast() const override { return !host_ || host_->starts_fast(); }
  [[nodiscard]] std::int64_t memory_held() override { return host_ ? host_->memory_held() : 0; }
  [[nodiscard]] std::vector<Case> run_before(const Case& test_case) override {
    const std::vector<std::byte> wanted = encoded(test_case);
    for (const CaseHistory* history : {&history_, &last_history_}) {
      if (auto cases = history->before(wanted)) return std::move(*cases);
    }
    return {};
  }
  void note_that_it_remembers() override { remembers_ = true; }
  void begin_anew() override {
    if (under_way_.empty()) drop_process();
  }

 private:
  struct PendingCase {
    const Case* test_case;
    RunMode mode;
    bool refused = false;  ///< too large to be sent
  };

  // For callers that know prepare and run alone.
  class Remote final : public PreparedCase {
   public:
    Remote(SandboxedBackend& backend, const Case& test_case) : backend_(backend), test_case_(test_case) {}
    void run(OutputSink& sink) override {
      Outcome outcome = backend_.examine(test_case_);
      const auto* produced = std::get_if<outcome::Produced>(&outcome);
      if (produced == nullptr) return sink.refuse(std::move(outcome));
      copy_outputs(*produced, sink);
    }

   private:
    SandboxedBackend& backend_;
    const Case& test_case_;
  };

  Result<void> open_once(bool& may_try_again) {
    host_ = launch_();
    Death death;
    const auto bytes = host_->receive_hello(death);
    if (!bytes) {
      may_try_again = !death.timed_out && !doubt_about(death, host_->last_words()).empty();
      return failed(how_it_ended(death));
    }
    auto hello = decode_hello(*bytes);
    if (!hello) return failed("sent a damaged message when it was opened");
    if (!hello->error.empty()) return failed(hello->error);
    info_ = std::move(hello->info);
    if (renames_) info_.name = name_;
    return {};
  }

  // Says how a worker ended before it said hello.
  std::string how_it_ended(const Death& death) {
    if (death.timed_out) return fmt::format("did not open within {:g} s", kOpenTimes * limits_.timeout);
    const Outcome end = outcome_of({}, death, host_->last_words(), limits_);
    if (const auto* threw = std::get_if<outcome::Threw>(&end)) return "threw while it was opened: " + threw->detail;
    const auto* crash = std::get_if<outcome::Crashed>(&end);
    const std::string why = crash == nullptr ? host_->last_log() : crash->detail;
    return "ended while it was opened" + (why.empty() ? "" : ": " + why);
  }

  [[nodiscard]] RunMode mode_of_cases() const {
    return limits_.guard == SandboxLimits::Guard::full ? RunMode::closely : RunMode::once;
  }

  Outcome alone(const Case& test_case, RunMode mode) {
    while (!under_way_.empty()) early_.push_back(next());
    under_way_.push_back({&test_case, mode});
    return next();
  }

  // Sends the waiting requests, as far as there is room.
  void send_more() {
    if (!host_) return;
    const std::size_t end = alone_ > 0 ? 1 : under_way_.size();
    for (; sent_ < std::min(end, under_way_.size()) && host_->has_room(); ++sent_) {
      PendingCase& request = under_way_[sent_];
      request.refused = !host_->send(*request.test_case, request.mode);
    }
  }

  // The outcome of the oldest request. If it ends the process, the later requests go to the next process.
  Outcome next() {
    std::string doubt;
    Outcome outcome = run_oldest(doubt);
    // A fault of the backend counts, but only the case alone shows whether it is this case's.
    const bool is_fault = doubt.empty() && std::holds_alternative<outcome::Crashed>(outcome) && !is_first_of_process_;
    if (!doubt.empty() || is_fault) {
      outcome = confirmed(std::move(outcome), std::move(doubt));
    }
    under_way_.pop_front();
    if (sent_ > 0) --sent_;
    if (alone_ > 0) --alone_;
    return outcome;
  }

  // Runs the oldest request in a worker that has run no other. Where the shared memory was written over and it is not
  // this case's doing, each that was under way then runs alone too.
  Outcome confirmed(Outcome first, std::string doubt) {
    drop_process();
    const std::size_t others = std::exchange(alone_, std::size_t{1});
    std::string again;
    Outcome second = run_oldest(again);
    alone_ = others;
    const bool comes_back = host_ == nullptr;
    if (comes_back) return second;
    if (doubt == kDamage) {
      alone_ = std::max(alone_, CaseChannel::kSlots + std::size_t{1});
      return second;
    }
    if (!doubt.empty()) {
      second.lost = std::move(doubt);
      return second;
    }
    if (auto* crash = std::get_if<outcome::Crashed>(&first)) {
      crash->detail += "; it does not crash again with this case alone in a new process";
    }
    return first;
  }

  // `doubt`: doubt_about() its worker's end; empty where that did not end, or by the backend's own doing.
  Outcome run_oldest(std::string& doubt) {
    if (!host_) {
      has_reopened_ = !is_first_of_process_;
      is_first_of_process_ = true;
      if (auto opened = open(); !opened) {
        drop_process();
        return outcome::Crashed{0, "its worker cannot be opened again: " + opened.error().text()};
      }
    }
    send_more();
    const PendingCase request = under_way_.front();
    if (request.refused) return outcome::Unsupported{"the case is larger than what a worker takes"};
    Outcome outcome = received(*request.test_case, doubt);
    if (host_) is_first_of_process_ = false;
    history_.add(*request.test_case);
    return outcome;
  }

  Outcome received(const Case& test_case, std::string& doubt) {
    Death death;
    const auto bytes = host_->receive(death);
    std::optional<Outcome> outcome;
    if (bytes) outcome = decode_outcome(*bytes);
    death.damaged = death.damaged || (bytes && !outcome);
    if (!outcome) {
      outcome = outcome_of(test_case, death, host_->last_words(), limits_);
      outcome->of_neighbour = host_->last_words().of_neighbour;
      outcome->log = host_->last_log();
      doubt = doubt_about(death, host_->last_words());
    }
    if (!bytes || death.damaged || !host_->is_sound_after(*outcome)) drop_process();
    return std::move(*outcome);
  }

  void drop_process() {
    host_.reset();
    if (!history_.is_empty()) last_history_ = std::exchange(history_, {});
    sent_ = 0;
    for (PendingCase& request : under_way_) request.refused = false;
  }

  Result<void> failed(const std::string& why) const {
    const bool says_name = name_.empty() || why.find(name_) != std::string::npos;
    return fail("--backend", (says_name ? "" : name_ + ": ") + why);
  }

  Launch launch_;
  std::string name_;
  bool renames_;
  SandboxLimits limits_;
  std::shared_ptr<CodeCoverage> code_;
  BackendInfo info_;
  std::unique_ptr<WorkerLink> host_;
  std::deque<PendingCase> under_way_;
  std::size_t sent_ = 0;             ///< how many requests of under_way_ the process has
  std::size_t alone_ = 0;            ///< how many of the next requests run one by one
  bool is_first_of_process_ = true;  ///< no case has been answered by this process
  bool has_reopened_ = false;        ///< the process is not the one that was opened first
  bool remembers_ = false;           ///< answers depend on what the process ran before
  std::deque<Outcome> early_;        ///< outcomes of cases that are finished and not asked for
  CaseHistory history_;              ///< what the process has run
  CaseHistory last_history_;         ///< what the process before it had run
};

Result<std::unique_ptr<Backend>> opened(std::unique_ptr<SandboxedBackend> backend) {
  QCONFORM_TRY(backend->open());
  return backend;
}

std::function<std::unique_ptr<WorkerLink>()> launch_by(ForkServer server, const SandboxLimits& limits) {
  const auto shared = std::make_shared<ForkServer>(std::move(server));
  return [shared, limits] { return std::make_unique<WorkerHost>(*shared, limits); };
}

}  // namespace

Result<std::unique_ptr<Backend>> open_in_sandbox(OpenBackend open, std::string name, const SandboxLimits& limits,
                                                 bool records_code) {
  auto code = records_code ? std::make_shared<CodeCoverage>() : nullptr;
  const auto recorded = [open = std::move(open), code] {
    if (code != nullptr) code->record_here();
    return open();
  };
  const auto launch = launch_by(WorkerHost::server_of(recorded, limits), limits);
  QCONFORM_ASSIGN(auto backend,
                  opened(std::make_unique<SandboxedBackend>(launch, std::move(name), false, limits, code)));
  if (code != nullptr) code->settle();
  return backend;
}

Result<std::unique_ptr<Backend>> open_program_in_sandbox(std::vector<std::string> command, std::string name,
                                                         const SandboxLimits& limits) {
  const auto launch = launch_by(WorkerHost::server_of(std::move(command)), limits);
  return opened(std::make_unique<SandboxedBackend>(launch, std::move(name), true, limits));
}

Result<std::unique_ptr<Backend>> open_guest_in_sandbox(GuestCommand command, std::string name,
                                                       const SandboxLimits& limits) {
  const auto launch = [command = std::move(command), limits] { return std::make_unique<GuestHost>(command, limits); };
  return opened(std::make_unique<SandboxedBackend>(launch, std::move(name), true, limits));
}

}  // namespace qconform

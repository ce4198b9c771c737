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
#include "harness/backends/sandbox/crash_place.h"
#include "harness/backends/sandbox/guarded_run.h"
#include "harness/backends/sandbox/guest_host.h"
#include "harness/backends/sandbox/message.h"
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

std::string place_of(const LastWords& words) {
  const std::size_t size = strnlen(words.place.data(), words.place.size());
  return readable_crash_place(std::string(words.place.data(), size));
}

Outcome outcome_of(const Case& test_case, const Death& death, const LastWords& words, const SandboxLimits& limits) {
  if (death.out_of_memory || words.out_of_memory) return outcome::OutOfMemory{limits.memory};
  // A worker that hangs while it looks where it crashed has crashed.
  if (death.timed_out && words.signal == 0) return outcome::TimedOut{limits.timeout};
  if (words.slot != LastWords::kNoSlot) {
    const Side side = words.before ? Side::before : Side::after;
    const bool is_input = words.slot >= 0;
    std::string name = words.slot <= LastWords::kOutput
                           ? output_text(test_case, static_cast<std::size_t>(LastWords::kOutput - words.slot))
                           : kScratchName;
    if (is_input) name = input_text(test_case, static_cast<std::size_t>(words.slot));
    if (!is_input && words.wrote) return outcome::WroteOutOfBounds{side, words.offset, name};
    return outcome::ReadOutOfBounds{name, side, words.offset, words.wrote};
  }
  if (!death.reason.empty()) return outcome::Crashed{0, death.reason};
  if (words.signal != 0) {
    const std::string where = place_of(words);
    const bool is_null = words.signal == SIGSEGV && words.address < kFirstPage;
    return outcome::Crashed{words.signal, signal_text(words, words.signal),
                            fmt::format("SIG{}{}{}", sigabbrev_np(words.signal), is_null ? " at a null pointer" : "",
                                        where.empty() ? "" : " in " + where)};
  }
  if (WIFSIGNALED(death.status)) {
    const int number = WTERMSIG(death.status);
    return outcome::Crashed{number, signal_text(words, number), fmt::format("SIG{}", sigabbrev_np(number))};
  }
  return outcome::Exited{WEXITSTATUS(death.status)};
}

class SandboxedBackend final : public Backend, public Worker {
 public:
  using Launch = std::function<std::unique_ptr<WorkerLink>()>;

  // `name`: instead of the one that the worker gives; may be empty. `code`: what the workers record; may be null.
  SandboxedBackend(Launch launch, std::string name, const SandboxLimits& limits,
                   std::shared_ptr<CodeCoverage> code = nullptr)
      : launch_(std::move(launch)), name_(std::move(name)), limits_(limits), code_(std::move(code)) {}

  // Starts the worker and hears which backend it holds.
  Result<void> open() {
    host_ = launch_();
    if (!host_->started()) return failed("cannot start a worker process");
    Death death;
    const auto bytes = host_->receive_hello(death);
    if (!bytes) {
      const Outcome end = outcome_of({}, death, host_->last_words(), limits_);
      const auto* crash = std::get_if<outcome::Crashed>(&end);
      const std::string why = crash == nullptr ? host_->last_log() : crash->detail;
      return failed(death.timed_out ? "did not open in time"
                                    : "ended while it was opened" + (why.empty() ? "" : ": " + why));
    }
    auto hello = decode_hello(*bytes);
    if (!hello) return failed("said nothing sensible when it was opened");
    if (!hello->error.empty()) {
      const bool says_name = name_.empty() || hello->error.find(name_) != std::string::npos;
      return failed((says_name ? "" : name_ + ": ") + hello->error);
    }
    info_ = std::move(hello->info);
    if (!name_.empty()) info_.name = name_;
    return {};
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
    under_way_.push_back({&test_case, limits_.guard == SandboxLimits::Guard::full});
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
    while (!under_way_.empty()) early_.push_back(next());
    under_way_.push_back({&test_case, true});
    return next();
  }

 private:
  struct Request {
    const Case* test_case;
    bool closely;
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

  // Sends the waiting requests, as far as there is room.
  void send_more() {
    if (!host_) return;
    for (; sent_ < under_way_.size() && host_->has_room(); ++sent_) {
      Request& request = under_way_[sent_];
      request.refused = !host_->send(*request.test_case, request.closely);
    }
  }

  // The outcome of the oldest request. If it ends the process, the later requests go to the next process.
  Outcome next() {
    if (!host_) {
      if (auto opened = open(); !opened) {
        drop_process();
        under_way_.pop_front();
        return outcome::Crashed{0, "its worker cannot be opened again: " + opened.error().text()};
      }
    }
    send_more();
    const Request request = under_way_.front();
    Outcome outcome = request.refused ? Outcome(outcome::Unsupported{"the case is larger than what a worker takes"})
                                      : received(*request.test_case);
    under_way_.pop_front();
    if (sent_ > 0) --sent_;
    return outcome;
  }

  Outcome received(const Case& test_case) {
    Death death;
    const auto bytes = host_->receive(death);
    std::optional<Outcome> outcome;
    if (bytes) outcome = decode_outcome(*bytes);
    const bool is_damaged = bytes && !outcome;
    if (is_damaged) outcome = outcome::Crashed{0, "wrote over the worker's own memory"};
    if (!outcome) {
      outcome = outcome_of(test_case, death, host_->last_words(), limits_);
      outcome->of_neighbour = host_->last_words().of_neighbour;
      outcome->log = host_->last_log();
    }
    if (!bytes || is_damaged || !host_->is_sound_after(*outcome)) drop_process();
    return std::move(*outcome);
  }

  void drop_process() {
    host_.reset();
    sent_ = 0;
    for (Request& request : under_way_) request.refused = false;
  }

  static Result<void> failed(std::string why) { return fail("--backend", std::move(why)); }

  Launch launch_;
  std::string name_;
  SandboxLimits limits_;
  std::shared_ptr<CodeCoverage> code_;
  BackendInfo info_;
  std::unique_ptr<WorkerLink> host_;
  std::deque<Request> under_way_;
  std::size_t sent_ = 0;       ///< how many of these the process has
  std::deque<Outcome> early_;  ///< of cases that are finished and not asked for
};

Result<std::unique_ptr<Backend>> opened(std::unique_ptr<SandboxedBackend> backend) {
  QCONFORM_TRY(backend->open());
  return backend;
}

}  // namespace

Result<std::unique_ptr<Backend>> open_in_sandbox(OpenBackend open, const SandboxLimits& limits, bool records_code) {
  auto code = records_code ? std::make_shared<CodeCoverage>() : nullptr;
  const auto launch = [open = std::move(open), limits, code] {
    if (code == nullptr) return std::make_unique<WorkerHost>(open, limits);
    const auto recorded = [&] {
      code->record_here();
      return open();
    };
    return std::make_unique<WorkerHost>(recorded, limits);
  };
  QCONFORM_ASSIGN(auto backend, opened(std::make_unique<SandboxedBackend>(launch, "", limits, code)));
  if (code != nullptr) code->settle();
  return backend;
}

Result<std::unique_ptr<Backend>> open_program_in_sandbox(std::vector<std::string> command, std::string name,
                                                         const SandboxLimits& limits) {
  const auto launch = [command = std::move(command), limits] { return std::make_unique<WorkerHost>(command, limits); };
  return opened(std::make_unique<SandboxedBackend>(launch, std::move(name), limits));
}

Result<std::unique_ptr<Backend>> open_guest_in_sandbox(GuestCommand command, std::string name,
                                                       const SandboxLimits& limits) {
  const auto launch = [command = std::move(command), limits] { return std::make_unique<GuestHost>(command, limits); };
  return opened(std::make_unique<SandboxedBackend>(launch, std::move(name), limits));
}

}  // namespace qconform

#include "harness/backends/process.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "harness/backends/process_backend.h"
#include "harness/backends/process_folder.h"
#include "harness/backends/process_messages.h"
#include "harness/onnx/case_model.h"

namespace qconform::backend {
namespace {

constexpr double kHelloSeconds = 60;

// One process for many cases.
class StreamBackend final : public ProcessBackend {
 public:
  using ProcessBackend::ProcessBackend;

  Result<void> open();
  void start(const Case& test_case) override;
  [[nodiscard]] Outcome finish() override;

 private:
  [[nodiscard]] Result<void> hear_hello();
  [[nodiscard]] std::optional<Outcome> answer_in(std::string& received) const;
  [[nodiscard]] Outcome outcome_of(const Message& answer) const;
  [[nodiscard]] std::optional<Outcome> begin(const Case& test_case);

  std::unique_ptr<ChildProcess> child_;
  std::int64_t at_rest_ = 0;
  std::string broken_for_good_;  ///< why there will be no process any more
  std::uint32_t number_ = 0;     ///< of the case under way
  std::string request_;
  Conversation conversation_;
  std::optional<Outcome> refused_;  ///< why the case that was started is not under way
};

// What became of the process before it said hello, in words.
std::string end_before_hello(const Outcome& end) {
  if (const auto* exit = std::get_if<outcome::Exited>(&end)) return fmt::format("ended with status {}", exit->status);
  if (const auto* crash = std::get_if<outcome::Crashed>(&end)) return crash->detail;
  if (std::holds_alternative<outcome::TimedOut>(end)) return fmt::format("said nothing within {} s", kHelloSeconds);
  return "took too much memory";
}

Result<void> StreamBackend::hear_hello() {
  std::optional<Message> hello;
  const Outcome end = wait_for(
      *child_, conversation_,
      [&](std::string& received) -> std::optional<Outcome> {
        auto message = take_message(received);
        if (!message) return broken(message.error().message);
        if (!*message) return std::nullopt;
        hello = std::move(**message);
        return outcome::Produced{};
      },
      std::max(kHelloSeconds, isolation_.timeout), 0);
  if (!hello) {
    const std::string& log = child_->log();
    return fail(info_.name, "no hello: the process " + end_before_hello(end) +
                                (log.empty() ? "" : "; it printed: " + reported_text(log)));
  }
  if (hello->kind != MessageKind::hello) return fail(info_.name, "expected HELO as the first message, got another");
  if (hello->number != kProcessProtocol) {
    return fail(info_.name,
                fmt::format("speaks version {} of the protocol, expected {}", hello->number, kProcessProtocol));
  }
  info_.version = reported_text(hello->payload);
  return {};
}

Result<void> StreamBackend::open() {
  conversation_ = {};
  QCONFORM_ASSIGN(child_, ChildProcess::start(command_, ChildProcess::Output::piped));
  if (auto heard = hear_hello(); !heard) {
    child_.reset();
    return heard;
  }
  at_rest_ = child_->resident();
  return {};
}

// The outcome of a case that cannot be begun.
std::optional<Outcome> StreamBackend::begin(const Case& test_case) {
  auto model = case_to_fed_model(test_case, {});
  if (!model) return outcome::Unsupported{"the case is larger than a message: " + model.error().text()};
  if (!child_ && broken_for_good_.empty()) {
    if (const auto opened = open(); !opened) broken_for_good_ = opened.error().text();
  }
  if (!child_) return outcome::Crashed{0, "cannot be started again: " + broken_for_good_};
  child_->exchange(conversation_.to_send, conversation_.received, std::chrono::milliseconds(0));
  child_->forget_log();
  if (!conversation_.received.empty()) {
    const std::string stray = reported_text(conversation_.received);
    child_.reset();
    return broken("wrote after its answer to the case before: \"" + stray + "\"");
  }
  request_ = message_header(MessageKind::test_case, ++number_, model->size()) + *model;
  conversation_.to_send = request_;
  child_->exchange(conversation_.to_send, conversation_.received, std::chrono::milliseconds(0));
  return std::nullopt;
}

void StreamBackend::start(const Case& test_case) {
  refused_ = begin(test_case);
}

Outcome StreamBackend::outcome_of(const Message& answer) const {
  if (answer.number != number_) {
    return broken(fmt::format("answered case {} where case {} was asked", answer.number, number_));
  }
  switch (answer.kind) {
    case MessageKind::unsupported: return outcome::Unsupported{reported_text(answer.payload)};
    case MessageKind::rejected: return outcome::Rejected{reported_text(answer.payload)};
    case MessageKind::done: break;
    case MessageKind::hello:
    case MessageKind::test_case: return broken("its answer is none of DONE, SKIP and DENY");
  }
  auto output = output_from(answer.payload);
  if (!output) return broken("its output is no tensor: " + output.error().text());
  return outcome::Produced{std::move(*output)};
}

std::optional<Outcome> StreamBackend::answer_in(std::string& received) const {
  const auto answer = take_message(received);
  if (!answer) return broken(answer.error().message);
  if (!*answer) return std::nullopt;
  if (!received.empty()) return broken("wrote after its answer: \"" + reported_text(received) + "\"");
  if (!conversation_.to_send.empty()) return broken("answered before it had read the case");
  return outcome_of(**answer);
}

Outcome StreamBackend::finish() {
  if (refused_) return *std::exchange(refused_, std::nullopt);
  Outcome outcome = wait_for(
      *child_, conversation_, [&](std::string& received) { return answer_in(received); }, isolation_.timeout, at_rest_);
  outcome.log = child_->log();
  const bool sound = std::holds_alternative<outcome::Produced>(outcome) ||
                     std::holds_alternative<outcome::Unsupported>(outcome) ||
                     std::holds_alternative<outcome::Rejected>(outcome);
  if (!sound) {
    child_.reset();
    conversation_ = {};
  }
  return outcome;
}

}  // namespace

Result<std::unique_ptr<Backend>> open_process(std::string_view command, const Isolation& isolation, std::string name) {
  if (command.find(kFolderPlace) != std::string_view::npos) {
    return open_folder_process(command, isolation, std::move(name));
  }
  auto backend = std::make_unique<StreamBackend>(command, isolation, std::move(name));
  QCONFORM_TRY(backend->open());
  return backend;
}

}  // namespace qconform::backend

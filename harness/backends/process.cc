#include "harness/backends/kinds.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "harness/backends/process_backend.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/protobuf.h"

namespace qconform::backend {
namespace {

constexpr double kOpenTimes = 12;  // saying hello may take so many times as long as a case

// One process for many cases.
class StreamBackend final : public ProcessBackend {
 public:
  using ProcessBackend::ProcessBackend;

  Result<void> open();

 private:
  void begin_run(const Case& test_case) override { refused_ = begin(test_case); }
  [[nodiscard]] Outcome end_run() override;
  [[nodiscard]] Result<void> hear_hello();
  void hear_capabilities(const std::string& lines);
  [[nodiscard]] std::optional<Outcome> answer_in(std::string& received);
  [[nodiscard]] std::optional<Outcome> outcome_of(const Message& answer);
  [[nodiscard]] std::optional<Outcome> take_output(const Message& answer);
  [[nodiscard]] Outcome answer();
  void send(MessageKind kind, const std::string& payload);
  [[nodiscard]] std::optional<Outcome> begin(const Case& test_case);

  std::unique_ptr<ChildProcess> child_;
  std::int64_t at_rest_ = 0;
  std::string broken_for_good_;   ///< why there will be no process any more
  std::uint32_t number_ = 0;      ///< the number of the case under way
  bool plans_ = false;            ///< the process gets a description first, and says whether it takes the case
  bool is_planning_ = false;      ///< a description is sent and not answered
  bool takes_units_ = false;      ///< the process takes graphs of several nodes
  bool wants_inputs_ = false;     ///< the process wants models that declare what is fed
  std::size_t output_count_ = 1;  ///< how many outputs the case under way has
  std::vector<Tensor> outputs_;   ///< outputs of the case under way that have come
  std::string case_model_;        ///< the model to be sent when the description is taken
  std::string request_;
  Conversation conversation_;
  std::optional<Outcome> refused_;  ///< why the case that was started is not under way
};

// The positions of x and weights, which a planning process does not have yet.
std::vector<std::size_t> without_data(const Case& test_case) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    if (test_case.inputs[i] && role_of(test_case, i) != InputRole::parameter) positions.push_back(i);
  }
  return positions;
}

// Serializes a graph that has nothing but the inputs that a model in use is fed. Appended to a serialized model, these
// bytes become part of it: that is how protobuf merges messages.
Result<std::string> fed_inputs(const Case& test_case) {
  onnx::ModelProto model;
  const std::vector<std::string> names = input_names(test_case);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!test_case.inputs[i] || role_of(test_case, i) != InputRole::data) continue;
    write_value_info(names[i], test_case.inputs[i]->type, test_case.inputs[i]->shape,
                     *model.mutable_graph()->add_input());
  }
  return message_bytes(model);
}

// The process `text` names, if it is a number of one.
pid_t process_named(std::string_view text) {
  pid_t process = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), process);
  return error == std::errc{} && end == text.data() + text.size() ? process : -1;
}

// How the process ended before it said hello, in words.
std::string end_before_hello(const Outcome& end, double seconds) {
  if (const auto* exit = std::get_if<outcome::Exited>(&end)) {
    return fmt::format("ended before it answered, with exit code {}", exit->status);
  }
  if (const auto* crash = std::get_if<outcome::Crashed>(&end)) return "crashed before it answered: " + crash->detail;
  if (const auto* broken = std::get_if<outcome::BrokenInterface>(&end)) return broken->detail;
  if (std::holds_alternative<outcome::TimedOut>(end)) return fmt::format("said nothing within {:g} s", seconds);
  return "took too much memory";
}

Result<void> StreamBackend::hear_hello() {
  const double seconds = kOpenTimes * limits_.timeout;
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
      seconds, 0);
  if (!hello) {
    const std::string& log = child_->log();
    return fail(info_.name, "the program " + end_before_hello(end, seconds) +
                                (log.empty() ? "" : "; its last lines: " + reported_text(log)));
  }
  if (hello->kind != MessageKind::hello) return fail(info_.name, "expected HELO as the first message, got another");
  if (hello->number != kProcessProtocol) {
    return fail(info_.name,
                fmt::format("speaks version {} of the protocol, expected {}", hello->number, kProcessProtocol));
  }
  const std::size_t line = hello->payload.find('\n');
  if (info_.kind == "process") info_.version = reported_text(std::string_view(hello->payload).substr(0, line));
  if (line != std::string::npos) hear_capabilities(hello->payload.substr(line + 1));
  return {};
}

// One capability per line, or a setting that it pins. Unknown ones change nothing.
void StreamBackend::hear_capabilities(const std::string& lines) {
  constexpr std::array<std::string_view, 5> kKnown{"assumes-valid", "channels-last", "units", "plans", "fed-inputs"};
  constexpr std::string_view kMemoryOf = "memory-of ";
  constexpr std::string_view kPinned = "pinned ";
  info_.capabilities.clear();
  info_.pinned.clear();
  std::istringstream text(lines);
  for (std::string word; std::getline(text, word);) {
    if (word.starts_with(kPinned)) info_.pinned.push_back(reported_text(word.substr(kPinned.size())));
    if (word.starts_with(kMemoryOf)) child_->count_memory_of(process_named(word.substr(kMemoryOf.size())));
    if (std::find(kKnown.begin(), kKnown.end(), word) == kKnown.end()) continue;
    if (std::find(info_.capabilities.begin(), info_.capabilities.end(), word) != info_.capabilities.end()) continue;
    info_.capabilities.push_back(word);
    info_.valid_only = info_.valid_only || word == "assumes-valid";
    plans_ = plans_ || word == "plans";
    takes_units_ = takes_units_ || word == "units";
    wants_inputs_ = wants_inputs_ || word == "fed-inputs";
  }
}

Result<void> StreamBackend::open() {
  conversation_ = {};
  QCONFORM_ASSIGN(child_, ChildProcess::start(command_, ChildProcess::Output::piped, {kProtocolVariable}));
  if (auto heard = hear_hello(); !heard) {
    child_.reset();
    return heard;
  }
  at_rest_ = child_->resident();
  return {};
}

// The outcome of a case that cannot be begun.
std::optional<Outcome> StreamBackend::begin(const Case& test_case) {
  if (is_judged_as_graph(test_case) && !takes_units_) {
    return outcome::Unsupported{"takes no " + kind_text(test_case) + ": its HELO has no line units"};
  }
  auto model = case_to_fed_model(test_case, {});
  if (!model) return outcome::Unsupported{"the case is larger than a message: " + model.error().text()};
  if (wants_inputs_) {
    const auto inputs = fed_inputs(test_case);
    if (!inputs) return outcome::Unsupported{"the case has no inputs: " + inputs.error().text()};
    *model += *inputs;
  }
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
  ++number_;
  output_count_ = test_case.output_count();
  outputs_.clear();
  is_planning_ = plans_;
  if (!plans_) {
    send(MessageKind::test_case, *model);
    return std::nullopt;
  }
  auto description = case_to_fed_model(test_case, without_data(test_case));
  if (!description) return outcome::Unsupported{"the case has no description: " + description.error().text()};
  case_model_ = std::move(*model);
  send(MessageKind::plan, *description);
  return std::nullopt;
}

void StreamBackend::send(MessageKind kind, const std::string& payload) {
  request_ = message_header(kind, number_, payload.size()) + payload;
  conversation_.to_send = request_;
  child_->exchange(conversation_.to_send, conversation_.received, std::chrono::milliseconds(0));
}

// Nothing: a further output is to come.
std::optional<Outcome> StreamBackend::take_output(const Message& answer) {
  auto output = output_from(answer.payload);
  if (!output) return broken("its output is not a tensor: " + output.error().text());
  outputs_.push_back(std::move(*output));
  const bool is_last = outputs_.size() == output_count_;
  if (answer.kind == MessageKind::done) {
    if (is_last) return outcome::Produced{std::move(outputs_)};
    return broken(fmt::format("sent DONE with its output {} of {}, expected PART", outputs_.size(), output_count_));
  }
  if (!is_last) return std::nullopt;
  return broken(fmt::format("sent PART with its output {} of {}, expected DONE", outputs_.size(), output_count_));
}

std::optional<Outcome> StreamBackend::outcome_of(const Message& answer) {
  if (answer.number != number_) {
    return broken(fmt::format("answered case {} where case {} was asked", answer.number, number_));
  }
  switch (answer.kind) {
    case MessageKind::unsupported: return outcome::Unsupported{reported_text(answer.payload)};
    case MessageKind::rejected: return outcome::Rejected{reported_text(answer.payload)};
    case MessageKind::taken:
      if (is_planning_) return outcome::Produced{};
      break;
    default: break;
  }
  if (is_planning_) return broken("its answer to PLAN is none of TAKE, SKIP and DENY");
  if (answer.kind == MessageKind::done || answer.kind == MessageKind::part) return take_output(answer);
  return broken("its answer is none of DONE, SKIP and DENY");
}

std::optional<Outcome> StreamBackend::answer_in(std::string& received) {
  for (;;) {
    const auto answer = take_message(received);
    if (!answer) return broken(answer.error().message);
    if (!*answer) return std::nullopt;
    if (!conversation_.to_send.empty()) return broken("answered before it had read the case");
    auto outcome = outcome_of(**answer);
    if (!outcome) continue;
    if (!received.empty()) return broken("wrote after its answer: \"" + reported_text(received) + "\"");
    return outcome;
  }
}

Outcome StreamBackend::answer() {
  return wait_for(
      *child_, conversation_, [&](std::string& received) { return answer_in(received); }, limits_.timeout, at_rest_);
}

Outcome StreamBackend::end_run() {
  if (refused_) return *std::exchange(refused_, std::nullopt);
  Outcome outcome = answer();
  if (is_planning_ && std::holds_alternative<outcome::Produced>(outcome)) {
    is_planning_ = false;
    send(MessageKind::test_case, case_model_);
    outcome = answer();
  }
  outcome.log = child_->log();
  const bool sound = std::holds_alternative<outcome::Produced>(outcome) || is_refusal(outcome);
  if (!sound) {
    child_.reset();
    conversation_ = {};
  }
  return outcome;
}

}  // namespace

Result<std::unique_ptr<Backend>> open_process(std::string_view command, const SandboxLimits& limits, std::string name) {
  if (command.find(kFolderPlace) != std::string_view::npos) {
    return open_folder_process(command, limits, std::move(name));
  }
  return open_process(command, limits, BackendInfo{std::move(name), "", "process"});
}

Result<std::unique_ptr<Backend>> open_process(std::string_view command, const SandboxLimits& limits, BackendInfo info) {
  auto backend = std::make_unique<StreamBackend>(command, limits, std::move(info));
  QCONFORM_TRY(backend->open());
  return backend;
}

}  // namespace qconform::backend

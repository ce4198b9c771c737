#include "harness/backends/process_backend.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/core/limits.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/protobuf.h"

namespace qconform::backend {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kSlice(20);
constexpr milliseconds kBetweenLooksAtMemory(50);
// Time for a process that has closed its stdout to end by itself, so that its status is known.
constexpr std::chrono::seconds kGrace(1);

Outcome outcome_of_end(int status) {
  if (WIFSIGNALED(status)) return outcome::Crashed{WTERMSIG(status), strsignal(WTERMSIG(status))};
  return outcome::Exited{WEXITSTATUS(status)};
}

class ProcessPreparedCase final : public PreparedCase {
 public:
  ProcessPreparedCase(Worker& worker, const Case& test_case) : worker_(worker), test_case_(test_case) {}
  void run(OutputSink& sink) override {
    worker_.start(test_case_);
    Outcome outcome = worker_.finish();
    const auto* produced = std::get_if<outcome::Produced>(&outcome);
    if (produced == nullptr) return sink.refuse(std::move(outcome));
    copy_outputs(*produced, sink);
  }

 private:
  Worker& worker_;
  const Case& test_case_;
};

// Names the signal from outside, or the stall, that may have ended a process; empty where it ended itself.
std::string doubt_about(const Outcome& outcome) {
  if (std::holds_alternative<outcome::TimedOut>(outcome)) return "no answer in time";
  const auto* crash = std::get_if<outcome::Crashed>(&outcome);
  const auto* exit = std::get_if<outcome::Exited>(&outcome);
  // A shell that waits for the command tells its signal so.
  constexpr int kShellsSignal = 128;
  const int number = crash != nullptr ? crash->signal : exit != nullptr ? exit->status - kShellsSignal : 0;
  for (const int outside : {SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM}) {
    if (number == outside) return std::string("ended by SIG") + sigabbrev_np(number);
  }
  return "";
}

}  // namespace

void ProcessBackend::start(const Case& test_case) {
  under_way_ = &test_case;
  begin_run(test_case);
}

Outcome ProcessBackend::finish() {
  Outcome first = end_run();
  std::string doubt = doubt_about(first);
  if (doubt.empty()) return first;
  begin_run(*under_way_);
  Outcome second = end_run();
  if (doubt_about(second).empty()) second.lost = std::move(doubt);
  return second;
}

Preparation ProcessBackend::prepare(const Case& test_case) {
  return std::make_unique<ProcessPreparedCase>(*this, test_case);
}

Outcome ProcessBackend::broken(const std::string& how) {
  return outcome::BrokenInterface{"broke the protocol: " + how};
}

Outcome ProcessBackend::wait_for(ChildProcess& child, Conversation& conversation, const Look& look, double seconds,
                                 std::int64_t at_rest) const {
  const auto begun = Clock::now();
  const auto deadline = begun + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  auto look_at_memory = begun + kSlice;
  std::optional<Clock::time_point> closed;
  for (;;) {
    child.exchange(conversation.to_send, conversation.received, kSlice);
    if (auto found = look(conversation.received)) return std::move(*found);
    if (child.status()) return outcome_of_end(*child.status());
    const auto now = Clock::now();
    if (child.output_closed() && !closed) closed = now;
    if (closed && now - *closed > kGrace) return broken("closed its stdout without an answer");
    if (now > deadline) return outcome::TimedOut{seconds};
    if (limits_.memory <= 0 || now < look_at_memory) continue;
    if (child.resident() - at_rest > limits_.memory) return outcome::OutOfMemory{limits_.memory};
    look_at_memory = now + kBetweenLooksAtMemory;
  }
}

Result<Tensor> ProcessBackend::output_from(std::string_view bytes) {
  onnx::TensorProto proto;
  QCONFORM_TRY(parse_message(bytes, proto));
  return tensor_from_proto(proto, std::nullopt);
}

namespace {

constexpr std::array<std::string_view, 8> kNames{"HELO", "CASE", "DONE", "SKIP", "DENY", "PLAN", "TAKE", "PART"};
constexpr std::size_t kWord = 4;

void append_word(std::string& bytes, std::uint32_t word) {
  for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>((word >> shift) & 0xFFU);
}

std::uint32_t word_at(std::string_view bytes, std::size_t offset) {
  std::uint32_t word = 0;
  for (unsigned i = 0; i < kWord; ++i) {
    word |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
  }
  return word;
}

}  // namespace

std::string message_header(MessageKind kind, std::uint32_t number, std::size_t size) {
  std::string bytes(kNames[static_cast<std::size_t>(kind)]);
  append_word(bytes, number);
  append_word(bytes, static_cast<std::uint32_t>(size));
  return bytes;
}

Result<std::optional<Message>> take_message(std::string& bytes) {
  const std::string_view start = std::string_view(bytes).substr(0, kWord);
  const auto name =
      std::find_if(kNames.begin(), kNames.end(), [&](std::string_view n) { return n.starts_with(start); });
  if (name == kNames.end()) return fail("", fmt::format("expected a message, got \"{}\"", reported_text(bytes)));
  if (bytes.size() < kMessageHeader) return std::nullopt;
  const std::uint32_t size = word_at(bytes, 2 * kWord);
  if (size > kLargestPayload) {
    return fail("", fmt::format("{} announces {} bytes, more than {}", *name, size, kLargestPayload));
  }
  if (bytes.size() - kMessageHeader < size) return std::nullopt;
  Message message{static_cast<MessageKind>(name - kNames.begin()), word_at(bytes, kWord),
                  bytes.substr(kMessageHeader, size)};
  bytes.erase(0, kMessageHeader + size);
  return message;
}

std::string reported_text(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  std::string shown(text.substr(0, kLongest));
  for (char& c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F) c = byte == '\n' || byte == '\t' ? ' ' : '?';
  }
  return text.size() > kLongest ? shown + "..." : shown;
}

namespace {

namespace fs = std::filesystem;

std::string output_file(std::size_t number) {
  return fmt::format("test_data_set_0/output_{}.pb", number);
}

// A new folder below the system's temporary one, removed with everything in it.
class CaseFolder {
 public:
  CaseFolder() {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "qconform-case-XXXXXX").string();
    if (!error && mkdtemp(path.data()) != nullptr) path_ = path;
  }
  CaseFolder(const CaseFolder&) = delete;
  CaseFolder& operator=(const CaseFolder&) = delete;
  ~CaseFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string with_folder(const std::string& command, const fs::path& folder) {
  const std::string word = shell_word(folder.string());
  std::string result;
  for (std::size_t begin = 0;;) {
    const std::size_t place = command.find(kFolderPlace, begin);
    result += command.substr(begin, place - begin);
    if (place == std::string::npos) return result;
    result += word;
    begin = place + kFolderPlace.size();
  }
}

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const std::size_t begin = text.rfind('\n');
  return reported_text(begin == std::string::npos ? text : text.substr(begin + 1));
}

class FolderBackend final : public ProcessBackend {
 public:
  FolderBackend(std::string_view command, const SandboxLimits& limits, std::string name)
      : ProcessBackend(command, limits, {std::move(name), "", "process"}) {
    info_.version = "of unknown version";
  }

 private:
  void begin_run(const Case& test_case) override { refused_ = begin(test_case); }
  [[nodiscard]] Outcome end_run() override {
    Outcome outcome = refused_ ? *std::exchange(refused_, std::nullopt) : ended();
    child_.reset();
    folder_.reset();
    return outcome;
  }

  // The outcome of a case that cannot be begun.
  [[nodiscard]] std::optional<Outcome> begin(const Case& test_case) {
    folder_.emplace();
    output_count_ = test_case.output_count();
    if (folder_->path().empty()) return outcome::Crashed{0, "no temporary folder can be made for the case"};
    if (const auto written = write_case_folder(computation_of(test_case), folder_->path()); !written) {
      return outcome::Unsupported{"the case cannot be written: " + written.error().text()};
    }
    auto started =
        ChildProcess::start(with_folder(command_, folder_->path()), ChildProcess::Output::logged, {kProtocolVariable});
    if (!started) return outcome::Crashed{0, started.error().text()};
    child_ = std::move(*started);
    return std::nullopt;
  }

  [[nodiscard]] Outcome ended() {
    Conversation nothing;
    Outcome outcome = wait_for(
        *child_, nothing, [](std::string&) { return std::nullopt; }, limits_.timeout, 0);
    const std::string log = child_->log();
    if (const auto* exit = std::get_if<outcome::Exited>(&outcome)) outcome = outcome_of_exit(exit->status, log);
    outcome.log = log;
    return outcome;
  }

  [[nodiscard]] Outcome outcome_of_exit(int status, const std::string& log) const {
    if (status == kExitUnsupported) return outcome::Unsupported{last_line(log)};
    if (status == kExitRejected) return outcome::Rejected{last_line(log)};
    if (status != 0) return outcome::Exited{status};
    std::vector<Tensor> outputs;
    for (std::size_t i = 0; i < output_count_; ++i) {
      const fs::path file = folder_->path() / output_file(i);
      std::error_code ignored;
      if (!fs::is_regular_file(fs::symlink_status(file, ignored))) {
        return outcome::LeftUnwritten{fmt::format("ended with status 0 and left no file {}", output_file(i))};
      }
      auto output = read_file(file, limits::kOnnxFileBytes).and_then(output_from);
      if (!output) {
        return broken(fmt::format("{} holds no tensor: {}", output_file(i), output.error().message));
      }
      outputs.push_back(std::move(*output));
    }
    return outcome::Produced{std::move(outputs)};
  }

  std::size_t output_count_ = 1;

  std::optional<CaseFolder> folder_;
  std::unique_ptr<ChildProcess> child_;
  std::optional<Outcome> refused_;
};

}  // namespace

std::unique_ptr<Backend> open_folder_process(std::string_view command, const SandboxLimits& limits, std::string name) {
  return std::make_unique<FolderBackend>(command, limits, std::move(name));
}

}  // namespace qconform::backend

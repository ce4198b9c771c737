#include "harness/backends/process_backend.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "harness/backends/process_messages.h"
#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/core/limits.h"
#include "harness/onnx/case_folder.h"

namespace qconform::backend {
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

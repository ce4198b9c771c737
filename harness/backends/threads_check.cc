#include "harness/backends/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/backends/sandbox/fresh_runs.h"

namespace qconform::backend {
namespace {

// How further outputs differ from those of a run alone; empty if they do not.
std::string difference(const std::vector<Tensor>& alone, const std::optional<std::vector<Tensor>>& further) {
  if (!further || further->size() != alone.size()) return "refused";
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const Tensor& one = alone[i];
    const Tensor& other = (*further)[i];
    if (other.type != one.type || other.shape != one.shape) return "had another type or shape";
    const auto change = std::mismatch(one.bytes.begin(), one.bytes.end(), other.bytes.begin());
    if (change.first == one.bytes.end()) continue;
    return fmt::format("differed from element {} on", (change.first - one.bytes.begin()) * 8 / bits_of(one.type));
  }
  return {};
}

// Passes a run on and keeps its output.
class WatchedSink final : public OutputSink {
 public:
  explicit WatchedSink(OutputSink& sink) : sink_(sink) {}
  std::span<std::byte> allocate(std::size_t output, ElementType type, std::span<const std::int64_t> shape) override {
    if (given_.size() <= output) given_.resize(output + 1);
    given_[output] = {type, {shape.begin(), shape.end()}, sink_.allocate(output, type, shape)};
    return given_[output].memory;
  }
  void refuse(Outcome refusal) override {
    refused_ = true;
    sink_.refuse(std::move(refusal));
  }
  std::span<std::byte> scratch(std::size_t bytes, std::size_t alignment) override {
    return sink_.scratch(bytes, alignment);
  }
  [[nodiscard]] std::optional<std::vector<Tensor>> outputs() const {
    if (refused_ || given_.empty()) return std::nullopt;
    std::vector<Tensor> outputs;
    for (const Given& each : given_)
      outputs.push_back({each.type, each.shape, {each.memory.begin(), each.memory.end()}});
    return outputs;
  }

 private:
  struct Given {
    ElementType type = ElementType::undefined;
    std::vector<std::int64_t> shape;
    std::span<std::byte> memory;
  };

  OutputSink& sink_;
  std::vector<Given> given_;
  bool refused_ = false;
};

class CheckedCase final : public PreparedCase {
 public:
  CheckedCase(Backend& backend, const Case& test_case, std::unique_ptr<PreparedCase> inner, int threads)
      : backend_(backend), test_case_(test_case), inner_(std::move(inner)), threads_(threads) {}

  void run(OutputSink& sink) override {
    WatchedSink watched(sink);
    inner_->run(watched);
    const auto alone = watched.outputs();
    if (!alone) return;
    const auto again = outputs_of(*inner_);
    if (const std::string change = difference(*alone, again); !change.empty()) {
      return sink.refuse(alone_again(*alone, again, "the prepared node, run again alone, " + change));
    }
    const std::vector<std::string> differences = run_at_once(*alone);
    std::string text;
    for (std::size_t i = 0; i < differences.size(); ++i) {
      if (!differences[i].empty())
        text += fmt::format("{}thread {} {}", text.empty() ? "" : ", ", i + 1, differences[i]);
    }
    if (text.empty()) return;
    sink.refuse(outcome::ThreadDependent{fmt::format("of {} threads at once, {}", threads_, text)});
  }

 private:
  // An outcome that has nothing to do with threads.
  [[nodiscard]] Outcome alone_again(const std::vector<Tensor>& first, const std::optional<std::vector<Tensor>>& second,
                                    std::string detail) const {
    const auto happens_again = [&] {
      Preparation preparation = backend_.prepare(test_case_);
      auto* prepared = std::get_if<std::unique_ptr<PreparedCase>>(&preparation);
      return prepared != nullptr && outputs_of(**prepared) == first && outputs_of(**prepared) == second;
    };
    if (remembers(backend_, test_case_, happens_again)) return outcome::DependsOnEarlierRuns{std::move(detail)};
    return outcome::Nondeterministic{std::move(detail)};
  }

  // By thread, what was different in one of its runs.
  std::vector<std::string> run_at_once(const std::vector<Tensor>& alone) {
    std::vector<std::string> differences(static_cast<std::size_t>(threads_));
    std::barrier start(threads_);
    std::vector<std::thread> threads;
    threads.reserve(differences.size());
    for (std::string& found : differences) {
      threads.emplace_back([&] {
        for (int i = 0; i < kThreadRuns; ++i) {
          start.arrive_and_wait();
          const auto outputs = outputs_of(*inner_);
          if (found.empty()) found = difference(alone, outputs);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return differences;
  }

  Backend& backend_;
  const Case& test_case_;
  std::unique_ptr<PreparedCase> inner_;
  int threads_;
};

class ThreadsChecked final : public Backend {
 public:
  ThreadsChecked(std::unique_ptr<Backend> inner, int threads) : inner_(std::move(inner)), threads_(threads) {}

  [[nodiscard]] const BackendInfo& info() const override { return inner_->info(); }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    return checked(test_case, inner_->prepare(test_case));
  }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    return checked(test_case, inner_->prepare_at(test_case, inputs));
  }

 private:
  [[nodiscard]] Preparation checked(const Case& test_case, Preparation preparation) const {
    auto* prepared = std::get_if<std::unique_ptr<PreparedCase>>(&preparation);
    if (prepared == nullptr) return preparation;
    return std::make_unique<CheckedCase>(*inner_, test_case, std::move(*prepared), threads_);
  }

  std::unique_ptr<Backend> inner_;
  int threads_;
};

}  // namespace

std::unique_ptr<Backend> threads_checked(std::unique_ptr<Backend> inner, int threads) {
  return std::make_unique<ThreadsChecked>(std::move(inner), threads);
}

}  // namespace qconform::backend

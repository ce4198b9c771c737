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

// How a further output differs from that of a run alone; empty if it does not.
std::string difference(const Tensor& alone, const std::optional<Tensor>& further) {
  if (!further) return "refused";
  if (further->type != alone.type || further->shape != alone.shape) return "had another type or shape";
  const auto change = std::mismatch(alone.bytes.begin(), alone.bytes.end(), further->bytes.begin());
  if (change.first == alone.bytes.end()) return {};
  return fmt::format("differed from element {} on", (change.first - alone.bytes.begin()) * 8 / bits_of(alone.type));
}

// Passes a run on and keeps what was given for it.
class WatchedSink final : public OutputSink {
 public:
  explicit WatchedSink(OutputSink& sink) : sink_(sink) {}
  std::span<std::byte> allocate(ElementType type, std::span<const std::int64_t> shape) override {
    type_ = type;
    shape_.assign(shape.begin(), shape.end());
    memory_ = sink_.allocate(type, shape);
    return *memory_;
  }
  void refuse(Outcome refusal) override {
    refused_ = true;
    sink_.refuse(std::move(refusal));
  }
  std::span<std::byte> scratch(std::size_t bytes, std::size_t alignment) override {
    return sink_.scratch(bytes, alignment);
  }
  [[nodiscard]] std::optional<Tensor> output() const {
    if (refused_ || !memory_) return std::nullopt;
    return Tensor{type_, shape_, std::vector<std::byte>(memory_->begin(), memory_->end())};
  }

 private:
  OutputSink& sink_;
  ElementType type_ = ElementType::undefined;
  std::vector<std::int64_t> shape_;
  std::optional<std::span<std::byte>> memory_;
  bool refused_ = false;
};

class CheckedCase final : public PreparedCase {
 public:
  CheckedCase(Backend& backend, const Case& test_case, std::unique_ptr<PreparedCase> inner, int threads)
      : backend_(backend), test_case_(test_case), inner_(std::move(inner)), threads_(threads) {}

  void run(OutputSink& sink) override {
    WatchedSink watched(sink);
    inner_->run(watched);
    const auto alone = watched.output();
    if (!alone) return;
    const auto again = output_of(*inner_);
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
  // What it is that has nothing to do with threads.
  [[nodiscard]] Outcome alone_again(const Tensor& first, const std::optional<Tensor>& second,
                                    std::string detail) const {
    const auto happens_again = [&] {
      Preparation preparation = backend_.prepare(test_case_);
      auto* prepared = std::get_if<std::unique_ptr<PreparedCase>>(&preparation);
      return prepared != nullptr && output_of(**prepared) == first && output_of(**prepared) == second;
    };
    if (remembers(backend_, test_case_, happens_again)) return outcome::DependsOnEarlierRuns{std::move(detail)};
    return outcome::Nondeterministic{std::move(detail)};
  }

  // By thread, what was different in one of its runs.
  std::vector<std::string> run_at_once(const Tensor& alone) {
    std::vector<std::string> differences(static_cast<std::size_t>(threads_));
    std::barrier start(threads_);
    std::vector<std::thread> threads;
    threads.reserve(differences.size());
    for (std::string& found : differences) {
      threads.emplace_back([&] {
        for (int i = 0; i < kThreadRuns; ++i) {
          start.arrive_and_wait();
          const auto output = output_of(*inner_);
          if (found.empty()) found = difference(alone, output);
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

#include "harness/backend/threads_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/isolate/fresh_runs.h"

namespace qconform::backend {
namespace {

constexpr int kPoison = 0x66;

// The output of one run, for a thread of its own.
class PrivateSink final : public OutputSink {
 public:
  std::span<std::byte> allocate(ElementType type, std::span<const std::int64_t> shape) override {
    output_.type = type;
    output_.shape.assign(shape.begin(), shape.end());
    output_.bytes.assign(static_cast<std::size_t>(bytes_for(type, elements_of(shape))), std::byte{kPoison});
    return output_.bytes;
  }
  void refuse(Outcome /*refusal*/) override { refused_ = true; }

  // How it differs from the output of a run alone; empty if it does not.
  [[nodiscard]] std::string difference(const Tensor& alone) const {
    if (refused_) return "refused";
    if (output_.type != alone.type || output_.shape != alone.shape) return "had another type or shape";
    const auto change = std::mismatch(alone.bytes.begin(), alone.bytes.end(), output_.bytes.begin());
    if (change.first == alone.bytes.end()) return {};
    return fmt::format("differed from element {} on", (change.first - alone.bytes.begin()) * 8 / bits_of(alone.type));
  }

 private:
  Tensor output_;
  bool refused_ = false;
};

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
    PrivateSink again;
    inner_->run(again);
    if (const std::string difference = again.difference(*alone); !difference.empty()) {
      return sink.refuse(alone_again("the prepared node, run again alone, " + difference));
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
  [[nodiscard]] Outcome alone_again(std::string detail) const {
    if (agree_on_fresh_memory(backend_, test_case_)) return outcome::DependsOnEarlierRuns{std::move(detail)};
    return outcome::Nondeterministic{std::move(detail)};
  }

  // By thread, what was different in one of its runs.
  std::vector<std::string> run_at_once(const Tensor& alone) {
    std::vector<std::string> differences(static_cast<std::size_t>(threads_));
    std::barrier start(threads_);
    std::vector<std::thread> threads;
    threads.reserve(differences.size());
    for (std::string& difference : differences) {
      threads.emplace_back([&] {
        for (int i = 0; i < kThreadRuns; ++i) {
          PrivateSink sink;
          start.arrive_and_wait();
          inner_->run(sink);
          if (difference.empty()) difference = sink.difference(alone);
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

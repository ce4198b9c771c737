#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/backends/kinds.h"
#include "harness/backends/sandbox/guarded_run.h"
#include "harness/backends/select.h"
#include "harness/backends/specification.h"
#include "harness/core/backend.h"

namespace qconform::backend {

// Backends around another one: under an alias, with siblings and switches, for valid nodes alone.

/// Does what the inner backend does; what derives from it changes a part of that.
class Forwarding : public Backend {
 public:
  explicit Forwarding(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] const BackendInfo& info() const override { return inner_->info(); }
  [[nodiscard]] std::optional<CaseGraph> rewritten(const Case& test_case) override {
    return inner_->rewritten(test_case);
  }
  [[nodiscard]] Preparation prepare(const Case& test_case) override { return inner_->prepare(test_case); }
  [[nodiscard]] Preparation prepare_classified(const Case& test_case, const Classification& classification) override {
    return inner_->prepare_classified(test_case, classification);
  }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    return inner_->prepare_at(test_case, inputs);
  }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& wanted) override {
    return inner_->prepare_repeated(test_case, wanted);
  }
  [[nodiscard]] std::span<const std::unique_ptr<Backend>> siblings() override { return inner_->siblings(); }
  [[nodiscard]] std::span<const Switch> switches() const override { return inner_->switches(); }
  [[nodiscard]] std::unique_ptr<Backend> without(std::span<const Switch> off, bool shows_graphs) override {
    return inner_->without(off, shows_graphs);
  }
  [[nodiscard]] Worker* worker() override { return inner_->worker(); }
  [[nodiscard]] CodeCoverage* code_coverage() override { return inner_->code_coverage(); }

 private:
  std::unique_ptr<Backend> inner_;
};

namespace {

class ValidOnly final : public Forwarding {
 public:
  ValidOnly(std::unique_ptr<Backend> inner, std::string name)
      : Forwarding(std::move(inner)), info_(Forwarding::info()) {
    info_.name = std::move(name);
    info_.valid_only = true;
  }
  [[nodiscard]] const BackendInfo& info() const override { return info_; }

 private:
  BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> valid_only(std::unique_ptr<Backend> inner, std::string name) {
  return std::make_unique<ValidOnly>(std::move(inner), std::move(name));
}

namespace {

class WithSettings final : public Forwarding {
 public:
  WithSettings(std::unique_ptr<Backend> inner, OtherSettings others)
      : Forwarding(std::move(inner)), others_(std::move(others)), info_(Forwarding::info()) {
    info_.siblings = others_.siblings;
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] std::span<const std::unique_ptr<Backend>> siblings() override {
    if (is_open_) return opened_;
    is_open_ = true;
    for (const std::string& name : info_.siblings) {
      // One that does not open would fail by itself where the user names it; here there is nothing to ask.
      if (auto sibling = others_.open_sibling(name)) opened_.push_back(std::move(*sibling));
    }
    return opened_;
  }
  [[nodiscard]] std::span<const Switch> switches() const override { return others_.switches; }
  [[nodiscard]] std::unique_ptr<Backend> without(std::span<const Switch> off, bool shows_graphs) override {
    if (!others_.open_without) return nullptr;
    auto opened = others_.open_without(with_switches(info_.on_command_line(), off), shows_graphs);
    return opened ? std::move(*opened) : nullptr;
  }

 private:
  OtherSettings others_;
  BackendInfo info_;
  bool is_open_ = false;
  std::vector<std::unique_ptr<Backend>> opened_;
};

}  // namespace

std::unique_ptr<Backend> with_settings(std::unique_ptr<Backend> inner, OtherSettings others) {
  if (others.siblings.empty() && !others.open_without) return inner;
  return std::make_unique<WithSettings>(std::move(inner), std::move(others));
}

namespace {

class RenamedBackend final : public Forwarding {
 public:
  RenamedBackend(std::unique_ptr<Backend> inner, std::string name, std::string specification)
      : Forwarding(std::move(inner)), info_(Forwarding::info()) {
    info_.name = std::move(name);
    info_.specification = std::move(specification);
  }
  [[nodiscard]] const BackendInfo& info() const override { return info_; }

 private:
  BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> named(std::unique_ptr<Backend> inner, const Specification& what) {
  Specification plain = what;
  plain.alias.clear();
  plain.number = 0;
  std::string name = short_name(what);
  std::string specification = text_of(plain);
  if (name == specification) specification.clear();
  if (name == inner->info().name && specification.empty()) return inner;
  return std::make_unique<RenamedBackend>(std::move(inner), std::move(name), std::move(specification));
}

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
    for (const WatchedTensor& each : given_)
      outputs.push_back({each.type, each.shape, {each.memory.begin(), each.memory.end()}});
    return outputs;
  }

 private:
  struct WatchedTensor {
    ElementType type = ElementType::undefined;
    std::vector<std::int64_t> shape;
    std::span<std::byte> memory;
  };

  OutputSink& sink_;
  std::vector<WatchedTensor> given_;
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

#include "harness/backends/rewriting_program.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "harness/forms/archive/json_archives.h"

namespace qconform::backend {
namespace {

class GraphText final : public PreparedCase {
 public:
  GraphText(std::string bytes, std::size_t outputs) : bytes_(std::move(bytes)), outputs_(outputs) {}
  void run(OutputSink& sink) override {
    for (std::size_t other = 1; other < outputs_; ++other) {
      (void)sink.allocate(other, ElementType::uint8, std::vector<std::int64_t>{0});
    }
    const auto to = sink.allocate(0, ElementType::uint8, std::vector{static_cast<std::int64_t>(bytes_.size())});
    std::memcpy(to.data(), bytes_.data(), std::min(to.size(), bytes_.size()));
  }

 private:
  std::string bytes_;
  std::size_t outputs_;  // of the case: each is asked for
};

class Told final : public Backend {
 public:
  explicit Told(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] const BackendInfo& info() const override { return inner_->info(); }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    const auto graph = inner_->rewritten(test_case);
    if (!graph) return outcome::Unsupported{"it does not show what it computes"};
    return std::make_unique<GraphText>(to_cbor(*graph), test_case.output_count());
  }

 private:
  std::unique_ptr<Backend> inner_;
};

class Asked final : public Backend {
 public:
  explicit Asked(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] const BackendInfo& info() const override { return inner_->info(); }
  [[nodiscard]] Preparation prepare(const Case& /*test_case*/) override {
    return outcome::Unsupported{"it only shows what it would compute"};
  }
  [[nodiscard]] std::optional<CaseGraph> rewritten(const Case& test_case) override {
    Worker& worker = *inner_->worker();
    worker.start(test_case);
    const Outcome outcome = worker.finish();
    const auto* produced = std::get_if<outcome::Produced>(&outcome);
    if (produced == nullptr) return std::nullopt;
    const auto& output = produced->outputs.front().bytes;
    const std::string bytes(reinterpret_cast<const char*>(output.data()), output.size());
    auto graph = from_cbor<CaseGraph>(bytes, "rewritten graph");
    return graph ? std::optional(std::move(*graph)) : std::nullopt;
  }

 private:
  std::unique_ptr<Backend> inner_;
};

}  // namespace

std::unique_ptr<Backend> rewriting_told(std::unique_ptr<Backend> inner) {
  return std::make_unique<Told>(std::move(inner));
}

std::unique_ptr<Backend> rewriting_asked(std::unique_ptr<Backend> inner) {
  return std::make_unique<Asked>(std::move(inner));
}

}  // namespace qconform::backend

#include "harness/bench/memcpy.h"

#include <algorithm>
#include <cstring>

#include "harness/base/aligned_bytes.h"
#include "harness/core/version.h"
#include "harness/operators/operator.h"

namespace qconform::bench {
namespace {

class Copy final : public RepeatedRun {
 public:
  explicit Copy(std::size_t size) : from_(size), to_(size) {}

  void run() override {
    std::memcpy(to_.bytes().data(), from_.bytes().data(), to_.bytes().size());
    asm volatile("" : : "r"(to_.bytes().data()) : "memory");  // the copy is not for nothing
  }
  [[nodiscard]] Outcome outcome() override { return outcome::Produced{}; }
  [[nodiscard]] RunSetting setting() const override { return {}; }

 private:
  AlignedBytes from_;
  AlignedBytes to_;
};

class Memcpy final : public Backend {
 public:
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case&) override { return outcome::Unsupported{"memcpy computes nothing"}; }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case, const RunSetting&) override {
    return std::make_unique<Copy>(static_cast<std::size_t>(memcpy_bytes(test_case)));
  }

 private:
  BackendInfo info_{"memcpy", kVersion, "memcpy"};
};

}  // namespace

std::unique_ptr<Backend> memcpy_backend() {
  return std::make_unique<Memcpy>();
}

std::int64_t memcpy_bytes(const Case& test_case) {
  const auto x_bytes = static_cast<std::int64_t>(test_case.input(0)->bytes.size());
  const Classification classification = classify(test_case);
  if (!classification.lowered) return x_bytes;
  const Lowered& lowered = *classification.lowered;
  return std::max(x_bytes, bytes_for(lowered.output_type(), elements_of(lowered.output_shape())));
}

}  // namespace qconform::bench

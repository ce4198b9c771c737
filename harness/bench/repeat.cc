#include "harness/bench/repeat.h"

#include <utility>

#include "harness/base/aligned_bytes.h"

namespace qconform::bench {
namespace {

// Memory that is allocated at the first run, so that the runs that are timed find it there.
class SteadySink final : public OutputSink {
 public:
  // Layers have one output.
  std::span<std::byte> allocate(std::size_t /*output*/, ElementType type,
                                std::span<const std::int64_t> shape) override {
    const auto size = static_cast<std::size_t>(bytes_for(type, elements_of(shape)));
    if (memory_.bytes().size() != size) memory_ = AlignedBytes(size);
    type_ = type;
    shape_.assign(shape.begin(), shape.end());  // no allocation from the second run on
    allocated_ = true;
    return memory_.bytes();
  }
  void refuse(Outcome refusal) override { refusal_ = std::move(refusal); }

  void begin() {
    allocated_ = false;
    refusal_.reset();
  }
  [[nodiscard]] Outcome outcome() const {
    if (refusal_) return *refusal_;
    if (!allocated_) return outcome::LeftUnwritten{"run ended without asking for an output"};
    const std::span<const std::byte> bytes = memory_.bytes();
    return outcome::Produced{Tensor{type_, shape_, {bytes.begin(), bytes.end()}}};
  }

 private:
  AlignedBytes memory_;
  ElementType type_ = ElementType::undefined;
  std::vector<std::int64_t> shape_;
  bool allocated_ = false;
  std::optional<Outcome> refusal_;
};

class PlainRun final : public RepeatedRun {
 public:
  explicit PlainRun(std::unique_ptr<PreparedCase> prepared) : prepared_(std::move(prepared)) {}

  void run() override {
    sink_.begin();
    prepared_->run(sink_);
  }
  [[nodiscard]] Outcome outcome() override { return sink_.outcome(); }
  [[nodiscard]] RunSetting setting() const override { return {}; }

 private:
  std::unique_ptr<PreparedCase> prepared_;
  SteadySink sink_;
};

}  // namespace

RepeatedPreparation prepare_repeated(Backend& backend, const Case& test_case, const RunSetting& wanted) {
  if (auto own = backend.prepare_repeated(test_case, wanted)) return std::move(*own);
  Preparation prepared = backend.prepare(test_case);
  if (auto* unsupported = std::get_if<outcome::Unsupported>(&prepared)) return std::move(*unsupported);
  if (auto* rejected = std::get_if<outcome::Rejected>(&prepared)) return std::move(*rejected);
  return std::make_unique<PlainRun>(std::move(std::get<std::unique_ptr<PreparedCase>>(prepared)));
}

}  // namespace qconform::bench

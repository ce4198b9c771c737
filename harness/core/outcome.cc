#include "harness/core/outcome.h"

#include <algorithm>
#include <span>

#include "harness/core/backend.h"

namespace qconform {

Outcome::Outcome(const Outcome& other) = default;
Outcome::Outcome(Outcome&& other) noexcept = default;
Outcome& Outcome::operator=(const Outcome& other) = default;
Outcome& Outcome::operator=(Outcome&& other) noexcept = default;
Outcome::~Outcome() = default;

bool is_refusal(const Outcome& outcome) {
  return std::holds_alternative<outcome::Unsupported>(outcome) || std::holds_alternative<outcome::Rejected>(outcome);
}

std::string reason_of(const Outcome& outcome) {
  if (const auto* unsupported = std::get_if<outcome::Unsupported>(&outcome)) return unsupported->reason;
  const auto* rejected = std::get_if<outcome::Rejected>(&outcome);
  return rejected == nullptr ? "" : rejected->reason;
}

const Tensor* output_of(const Outcome& outcome) {
  const auto* produced = std::get_if<outcome::Produced>(&outcome);
  return produced != nullptr && produced->outputs.size() == 1 ? &produced->outputs.front() : nullptr;
}

void copy_outputs(const outcome::Produced& produced, OutputSink& sink) {
  for (std::size_t i = 0; i < produced.outputs.size(); ++i) {
    const Tensor& output = produced.outputs[i];
    const std::span<std::byte> memory = sink.allocate(i, output.type, output.shape);
    std::copy(output.bytes.begin(), output.bytes.end(), memory.begin());
  }
}

}  // namespace qconform

#include "harness/isolate/guarded_run.h"

#include <algorithm>
#include <utility>

#include "harness/core/digest.h"
#include "harness/isolate/float_mode.h"
#include "harness/isolate/guard_bytes.h"

namespace qconform {
namespace {

constexpr std::byte kPoison[2] = {std::byte{0xAA}, std::byte{0x55}};

std::int64_t element_of_byte(const Tensor& tensor, std::size_t byte) {
  return static_cast<std::int64_t>(byte) * 8 / bits_of(tensor.type);
}

// What two runs that both gave an output come to.
Outcome compared(outcome::Produced first, const Tensor& second) {
  const Tensor& y = first.output;
  if (y.type != second.type || y.shape != second.shape) {
    return outcome::Nondeterministic{name_of(y.type) + " " + shape_text(y.shape) + " in one run, " +
                                     name_of(second.type) + " " + shape_text(second.shape) + " in the next"};
  }
  if (y.bytes == second.bytes) return first;
  std::size_t unwritten = 0;
  std::size_t first_unwritten = 0;
  std::optional<std::size_t> first_different;
  for (std::size_t i = 0; i < y.bytes.size(); ++i) {
    if (y.bytes[i] == second.bytes[i]) continue;
    if (y.bytes[i] != kPoison[0] || second.bytes[i] != kPoison[1]) {
      if (!first_different) first_different = i;
    } else if (unwritten++ == 0) {
      first_unwritten = i;
    }
  }
  if (first_different) {
    return outcome::Nondeterministic{"element " + std::to_string(element_of_byte(y, *first_different)) +
                                     " differs between two runs on the same inputs"};
  }
  return outcome::LeftUnwritten{std::to_string(unwritten) + (unwritten == 1 ? " byte" : " bytes") +
                                " of the output not written, first of element " +
                                std::to_string(element_of_byte(y, first_unwritten))};
}

}  // namespace

class GuardedRun::Output final : public OutputSink {
 public:
  Output(GuardedMemory& memory, GuardedMemory::Against against, std::byte poison)
      : memory_(memory), against_(against), poison_(poison) {}

  std::span<std::byte> allocate(ElementType type, std::span<const std::int64_t> shape) override {
    type_ = type;
    shape_.assign(shape.begin(), shape.end());
    bytes_ = memory_.place(static_cast<std::size_t>(bytes_for(type, elements_of(shape))), against_);
    fill_to_edge(bytes_.data(), poison_, bytes_.size());
    allocated_ = true;
    return bytes_;
  }
  void refuse(Outcome refusal) override { refusal_ = std::move(refusal); }

  [[nodiscard]] Outcome result() {
    if (refusal_) return std::move(*refusal_);
    if (!allocated_) return outcome::LeftUnwritten{"run ended without asking for an output"};
    return outcome::Produced{Tensor{type_, std::move(shape_), std::vector<std::byte>(bytes_.begin(), bytes_.end())}};
  }

 private:
  GuardedMemory& memory_;
  GuardedMemory::Against against_;
  std::byte poison_;
  ElementType type_ = ElementType::undefined;
  std::vector<std::int64_t> shape_;
  std::span<std::byte> bytes_;
  bool allocated_ = false;
  std::optional<Outcome> refusal_;
};

bool GuardedRun::is_drawn(const Case& test_case) {
  constexpr std::size_t kLooked = 64;
  constexpr std::uint64_t kOneIn = 32;
  const Tensor* data = test_case.input(0);
  if (data == nullptr) return true;
  Digest digest;
  digest.add(std::uint64_t{data->bytes.size()});
  digest.add(std::span(data->bytes).first(std::min(kLooked, data->bytes.size())));
  return digest.value() % kOneIn == 0;
}

std::optional<Outcome> GuardedRun::violation(std::uint64_t mode_before) const {
  const std::uint64_t mode = float_mode();
  set_float_mode(mode_before);
  if (const auto stray = output_.damage()) return outcome::WroteOutOfBounds{stray->side, stray->offset};
  if (auto violated = inputs_.violation()) return violated;
  if (mode != mode_before) return outcome::ChangedFloatMode{float_mode_change(mode_before, mode)};
  return std::nullopt;
}

Outcome GuardedRun::once(Backend& backend, const Case& test_case, GuardedMemory::Against against, std::byte poison) {
  inputs_.begin(test_case, against);
  Output output(output_, against, poison);
  const std::uint64_t mode = float_mode();
  Outcome result = [&]() -> Outcome {
    Preparation preparation = backend.prepare_at(test_case, inputs_);
    if (auto* unsupported = std::get_if<outcome::Unsupported>(&preparation)) return std::move(*unsupported);
    if (auto* rejected = std::get_if<outcome::Rejected>(&preparation)) return std::move(*rejected);
    std::get<std::unique_ptr<PreparedCase>>(preparation)->run(output);
    return output.result();
  }();
  if (auto violated = violation(mode)) return std::move(*violated);
  return result;
}

Outcome GuardedRun::operator()(Backend& backend, const Case& test_case, bool closely) {
  Outcome first = once(backend, test_case, GuardedMemory::Against::end, kPoison[0]);
  auto* produced = std::get_if<outcome::Produced>(&first);
  if (produced == nullptr || !(closely || is_drawn(test_case))) return first;
  Outcome second = once(backend, test_case, GuardedMemory::Against::start, kPoison[1]);
  const auto* again = std::get_if<outcome::Produced>(&second);
  if (again != nullptr) return compared(std::move(*produced), again->output);
  if (std::holds_alternative<outcome::Unsupported>(second) || std::holds_alternative<outcome::Rejected>(second)) {
    return outcome::Nondeterministic{"computed in one run, refused in the next"};
  }
  return second;
}

void GuardedRun::locate(const void* address, LastWords& words) const {
  if (const auto stray = output_.locate(address)) {
    words.slot = LastWords::kOutput;
    words.offset = stray->offset;
    words.before = stray->side == Side::before;
  } else {
    (void)inputs_.locate(address, words);
  }
}

}  // namespace qconform

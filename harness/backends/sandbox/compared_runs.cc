#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "harness/backends/sandbox/guarded_memory.h"
#include "harness/backends/sandbox/guarded_run.h"
#include "harness/base/bytes.h"
#include "harness/core/tensor.h"
#include "harness/model/operator.h"

namespace qconform {
namespace {

constexpr std::byte kEverySecondBit{0x55};

// One less in the exponent, where the number stays normal.
template <typename Bits>
void halve(std::span<std::byte> bytes, int mantissa_bits, Bits exponent_mask) {
  for (std::size_t i = 0; i + sizeof(Bits) <= bytes.size(); i += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, &bytes[i], sizeof bits);
    const auto lowest = static_cast<Bits>(Bits{1} << mantissa_bits);
    const auto exponent = static_cast<Bits>(bits & exponent_mask);
    if (exponent <= lowest || exponent == exponent_mask) continue;
    bits = static_cast<Bits>(bits - lowest);
    std::memcpy(&bytes[i], &bits, sizeof bits);
  }
}

void invert(Tensor& tensor) {
  const int bits = bits_of(tensor.type);
  const auto step = static_cast<std::size_t>(std::max(bits / 8, 1));
  for (std::size_t i = 0; i < tensor.bytes.size(); i += step) tensor.bytes[i] ^= kEverySecondBit;
  // Bits behind the last element stay 0.
  if (const std::int64_t used = tensor.elements() * bits % 8; used != 0) {
    tensor.bytes.back() &= static_cast<std::byte>((1U << used) - 1);
  }
}

void change(Tensor& tensor) {
  switch (tensor.type) {
    case ElementType::float32: return halve<std::uint32_t>(tensor.bytes, 23, 0x7f800000);
    case ElementType::float16: return halve<std::uint16_t>(tensor.bytes, 10, 0x7c00);
    case ElementType::bfloat16: return halve<std::uint16_t>(tensor.bytes, 7, 0x7f80);
    case ElementType::float8e8m0: return halve<std::uint8_t>(tensor.bytes, 0, 0xff);
    default:
      if (is_integer(tensor.type)) invert(tensor);
  }
}

// Whether the tensor states shapes or axes: int64, and how much larger a Resize makes its data.
bool decides_shape(const Case& test_case, std::size_t input) {
  if (test_case.inputs[input]->type == ElementType::int64) return true;
  if (test_case.input_names.empty()) return false;
  const std::string& name = test_case.input_names[input];
  return std::any_of(test_case.nodes.begin(), test_case.nodes.end(), [&](const Node& node) {
    return node.op_type == "Resize" && !node.inputs.empty() && node.inputs.front() != name &&
           std::find(node.inputs.begin(), node.inputs.end(), name) != node.inputs.end();
  });
}

}  // namespace

void make_neighbour(const Case& test_case, Case& neighbour) {
  neighbour = test_case;
  for (std::size_t i = 0; i < neighbour.inputs.size(); ++i) {
    // Otherwise the node would be no neighbour but nonsense.
    if (neighbour.inputs[i] && !decides_shape(test_case, i)) change(*neighbour.inputs[i]);
  }
}

std::optional<std::size_t> make_other_input(const Case& test_case, Case& other) {
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    if (!test_case.inputs[i] || role_of(test_case, i) != InputRole::data) continue;
    other = test_case;
    change(*other.inputs[i]);
    if (other.inputs[i] == test_case.inputs[i]) return std::nullopt;
    return i;
  }
  return std::nullopt;
}

namespace {

constexpr std::size_t kKept = std::size_t{16} << 20;

// Inputs in memory of their own, which stays where it is.
class FreshInputs final : public InputMemory {
 public:
  FreshInputs(const Case& test_case, GuardedMemory::Against against) : case_(test_case), against_(against) {}

  [[nodiscard]] std::span<std::byte> bytes(std::size_t position) override {
    const auto& given = case_.inputs[position]->bytes;
    const std::span<std::byte> memory = place({position, false}, given.size(), 0);
    std::copy(given.begin(), given.end(), memory.begin());
    return memory;
  }
  [[nodiscard]] std::span<std::byte> converted(std::size_t position, std::size_t size, std::size_t room,
                                               const Fill& fill) override {
    const std::span<std::byte> memory = place({position, true}, size, room);
    fill(*case_.inputs[position], memory);
    return memory;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  // A position has the same memory whenever it is asked for, as it is and converted.
  using Place = std::pair<std::size_t, bool>;

  std::span<std::byte> place(const Place& place, std::size_t size, std::size_t room) {
    const std::size_t behind = against_ == GuardedMemory::Against::start ? 0 : (size + room) % AlignedBytes::kAlignment;
    const std::size_t offset = behind == 0 ? 0 : AlignedBytes::kAlignment - behind;
    const auto [block, is_new] = blocks_.try_emplace(place, offset + size + room);
    size_ += is_new ? offset + size + room : 0;
    return block->second.bytes().subspan(offset, size);
  }

  const Case& case_;
  GuardedMemory::Against against_;
  std::map<Place, AlignedBytes> blocks_;
  std::size_t size_ = 0;
};

std::optional<std::vector<Tensor>> answer(Backend& backend, const Case& test_case, InputMemory& inputs) {
  Preparation preparation = backend.prepare_at(test_case, inputs);
  auto* prepared = std::get_if<std::unique_ptr<PreparedCase>>(&preparation);
  if (prepared == nullptr) return std::nullopt;
  return outputs_of(**prepared);
}

// Never freed, so that the inputs of a later case do not get the same memory.
void keep(std::unique_ptr<FreshInputs> inputs) {
  static auto& kept = *new std::vector<std::unique_ptr<FreshInputs>>;
  static std::size_t bytes = 0;
  if (bytes + inputs->size() > kKept) return;
  bytes += inputs->size();
  kept.push_back(std::move(inputs));
}

// Fills what the heap gives with a pattern: a backend that reads memory that it never wrote answers at random, and
// does not remember earlier runs.
class FilledHeap {
 public:
  explicit FilledHeap(int pattern) { fill(pattern); }
  FilledHeap(const FilledHeap&) = delete;
  FilledHeap& operator=(const FilledHeap&) = delete;
  ~FilledHeap() { fill(0); }

 private:
  static void fill([[maybe_unused]] int pattern) {
#ifdef M_PERTURB
    (void)mallopt(M_PERTURB, pattern);
#endif
  }
};

std::optional<std::vector<Tensor>> answer_on_filled_heap(Backend& backend, const Case& test_case, InputMemory& inputs,
                                                         int pattern) {
  const FilledHeap filled(pattern);
  return answer(backend, test_case, inputs);
}

// Whether two runs agree, each prepared anew on inputs in memory that no case lay in before: one with tensors that end
// at a cache line, one with tensors that begin there, and what is allocated meanwhile filled with other bytes. False
// also where a run gives no output.
bool agree_on_fresh_memory(Backend& backend, const Case& test_case) {
  auto first = std::make_unique<FreshInputs>(test_case, GuardedMemory::Against::end);
  auto second = std::make_unique<FreshInputs>(test_case, GuardedMemory::Against::start);
  const auto one = answer_on_filled_heap(backend, test_case, *first, 0xA5);
  const auto other = answer_on_filled_heap(backend, test_case, *second, 0x5A);
  keep(std::move(first));
  keep(std::move(second));
  return one && other && *one == *other;
}

}  // namespace

bool remembers(Backend& backend, const Case& test_case, const std::function<bool()>& happens_again) {
  constexpr int kRepetitions = 4;
  for (int i = 0; i < kRepetitions; ++i) {
    if (!happens_again() || !agree_on_fresh_memory(backend, test_case)) return false;
  }
  return true;
}

namespace {

// Bytes that are allocated on the heap, large blocks in mappings of their own included. A sanitizer's heap tells none.
std::int64_t allocated_bytes() {
#if defined(__GLIBC__)
  const auto use = mallinfo2();
  return static_cast<std::int64_t>(use.uordblks + use.hblkhd);
#else
  return 0;
#endif
}

// Bytes by which the heap grows with each call, the same in three turns of calls; 0 where it does not: what is kept
// once, or up to a bound, grows less in later turns.
std::int64_t growth_of_each(const std::function<void()>& call) {
  constexpr int kTurns = 4;
  constexpr int kCalls = 6;
  std::int64_t growth = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    const std::int64_t before = allocated_bytes();
    for (int i = 0; i < kCalls; ++i) call();
    const std::int64_t grown = allocated_bytes() - before;
    if (turn > 1 && grown != growth) return 0;
    growth = grown;  // the first turn fills what is kept once
  }
  return growth > 0 ? growth / kCalls : 0;
}

}  // namespace

Outcome memory_growth(Backend& backend, const Case& test_case) {
  FreshInputs inputs(test_case, GuardedMemory::Against::end);
  Preparation preparation = backend.prepare_at(test_case, inputs);
  if (auto end = end_of(preparation)) return std::move(*end);
  const std::unique_ptr<PreparedCase> prepared = std::get<std::unique_ptr<PreparedCase>>(std::move(preparation));
  std::optional<std::vector<Tensor>> outputs = outputs_of(*prepared);
  if (!outputs) return outcome::Unsupported{"refused when it was run"};
  outcome::GrewMemory growth;
  growth.per_run = growth_of_each([&] { (void)outputs_of(*prepared); });
  growth.per_prepare = growth_of_each([&] { (void)backend.prepare_at(test_case, inputs); });
  if (growth.per_run <= 0 && growth.per_prepare <= 0) return outcome::Produced{std::move(*outputs)};
  return growth;
}

}  // namespace qconform

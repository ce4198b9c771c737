#include "harness/backends/sandbox/fresh_runs.h"

#include <malloc.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "harness/backends/sandbox/guarded_memory.h"
#include "harness/base/aligned_bytes.h"

namespace qconform {
namespace {

constexpr std::size_t kKept = std::size_t{16} << 20;

// Inputs in memory of their own.
class FreshInputs final : public InputMemory {
 public:
  FreshInputs(const Case& test_case, GuardedMemory::Against against) : case_(test_case), against_(against) {}

  [[nodiscard]] std::span<std::byte> bytes(std::size_t position) override {
    const auto& given = case_.inputs[position]->bytes;
    const std::span<std::byte> memory = place(given.size(), 0);
    std::copy(given.begin(), given.end(), memory.begin());
    return memory;
  }
  [[nodiscard]] std::span<std::byte> converted(std::size_t position, std::size_t size, std::size_t room,
                                               const Fill& fill) override {
    const std::span<std::byte> memory = place(size, room);
    fill(*case_.inputs[position], memory);
    return memory;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::span<std::byte> place(std::size_t size, std::size_t room) {
    const std::size_t behind = against_ == GuardedMemory::Against::start ? 0 : (size + room) % AlignedBytes::kAlignment;
    const std::size_t offset = behind == 0 ? 0 : AlignedBytes::kAlignment - behind;
    size_ += offset + size + room;
    return blocks_.emplace_back(offset + size + room).bytes().subspan(offset, size);
  }

  const Case& case_;
  GuardedMemory::Against against_;
  std::vector<AlignedBytes> blocks_;
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

}  // namespace qconform

#include "harness/backends/sandbox/guarded_run.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "harness/backends/sandbox/guarded_memory.h"
#include "harness/base/bytes.h"

namespace qconform {

// How the floating-point unit rounds and flushes.

/// The control bits of MXCSR, with the control word of x87 above them, or of FPCR, of this thread, without the flags
/// that calculations raise; 0 on other processors.
[[nodiscard]] std::uint64_t float_mode();
void set_float_mode(std::uint64_t mode);

/// "left flush-to-zero on, rounding changed"
[[nodiscard]] std::string float_mode_change(std::uint64_t before, std::uint64_t after);

namespace {

struct ControlField {
  std::uint64_t bits;
  std::string_view name;
};

#if defined(__x86_64__)
constexpr std::uint64_t kRaisedFlags = 0x3F;
constexpr int kX87Shift = 32;  // its control word stands above MXCSR
constexpr ControlField kFields[] = {{std::uint64_t{0x0300} << kX87Shift, "the precision of the x87 unit"},
                                    {std::uint64_t{0x0C00} << kX87Shift, "the rounding of the x87 unit"},
                                    {std::uint64_t{0x003F} << kX87Shift, "the exception masks of the x87 unit"},
                                    {0x8000, "flush-to-zero (MXCSR.FTZ)"},
                                    {0x0040, "denormals-are-zero (MXCSR.DAZ)"},
                                    {0x6000, "rounding (MXCSR.RC)"},
                                    {0x1F80, "exception masks (MXCSR)"}};
#elif defined(__aarch64__)
constexpr ControlField kFields[] = {{std::uint64_t{1} << 24, "flush-to-zero (FPCR.FZ)"},
                                    {std::uint64_t{1} << 19, "flush-to-zero of float16 (FPCR.FZ16)"},
                                    {std::uint64_t{3} << 22, "rounding (FPCR.RMode)"},
                                    {std::uint64_t{1} << 25, "default NaN (FPCR.DN)"},
                                    {0x9F00, "exception traps (FPCR)"}};
#else
constexpr ControlField kFields[] = {{~std::uint64_t{0}, "mode"}};
#endif

}  // namespace

std::uint64_t float_mode() {
#if defined(__x86_64__)
  std::uint16_t x87 = 0;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (_mm_getcsr() & ~kRaisedFlags) | std::uint64_t{x87} << kX87Shift;
#elif defined(__aarch64__)
  std::uint64_t mode = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
#else
  return 0;
#endif
}

void set_float_mode(std::uint64_t mode) {
#if defined(__x86_64__)
  _mm_setcsr(static_cast<unsigned>(mode));
  const auto x87 = static_cast<std::uint16_t>(mode >> kX87Shift);
  __asm__ volatile("fldcw %0" : : "m"(x87));
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
  static_cast<void>(mode);
#endif
}

std::string float_mode_change(std::uint64_t before, std::uint64_t after) {
  std::string text;
  for (const ControlField& field : kFields) {
    if ((before & field.bits) == (after & field.bits)) continue;
    text += (text.empty() ? "changed " : ", ") + std::string(field.name);
  }
  return text.empty() ? "changed a mode of the floating-point unit" : text + " and left it so";
}

namespace {

constexpr std::byte kPoison[2] = {std::byte{0xAA}, std::byte{0x55}};

std::int64_t element_of_byte(const Tensor& tensor, std::size_t byte) {
  return static_cast<std::int64_t>(byte) * 8 / bits_of(tensor.type);
}

// How a second output differs from the first, as an outcome; nothing where it does not.
std::optional<Outcome> difference(const Tensor& y, const Tensor& second, const std::string& name) {
  if (y.type != second.type || y.shape != second.shape) {
    return outcome::Nondeterministic{fmt::format("{} is {} {}, then {} {}", name, name_of(y.type), shape_text(y.shape),
                                                 name_of(second.type), shape_text(second.shape))};
  }
  if (y.bytes == second.bytes) return std::nullopt;
  std::size_t unwritten = 0;
  std::size_t first_unwritten = 0;
  for (std::size_t i = 0; i < y.bytes.size(); ++i) {
    if (y.bytes[i] == second.bytes[i]) continue;
    if (y.bytes[i] != kPoison[0] || second.bytes[i] != kPoison[1]) {
      return outcome::Nondeterministic{fmt::format("element {} differs", element_of_byte(y, i))};
    }
    if (unwritten++ == 0) first_unwritten = i;
  }
  return outcome::LeftUnwritten{fmt::format("{} byte{} of {} not written, first of element {}", unwritten,
                                            unwritten == 1 ? "" : "s", name, element_of_byte(y, first_unwritten))};
}

std::optional<Outcome> difference(const Case& test_case, const std::vector<Tensor>& first,
                                  const std::vector<Tensor>& second) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (auto found = difference(first[i], second[i], output_text(test_case, i))) return found;
  }
  return std::nullopt;
}

}  // namespace

class GuardedRun::Output final : public OutputSink {
 public:
  Output(GuardedRun& guarded, const Case& test_case, GuardedMemory::Against against, std::byte poison)
      : test_case_(test_case),
        memory_(guarded.outputs_),
        scratch_(guarded.scratch_),
        against_(against),
        poison_(poison),
        given_(test_case.output_count()) {
    scratch_.forget();
    while (memory_.size() < given_.size()) memory_.emplace_back(kOutputCanary);
    for (GuardedMemory& memory : memory_) memory.forget();
  }

  std::span<std::byte> allocate(std::size_t output, ElementType type, std::span<const std::int64_t> shape) override {
    const auto size = static_cast<std::size_t>(bytes_for(type, elements_of(shape)));
    const std::span<std::byte> bytes = memory_[output].place(size, against_);
    fill_to_edge(bytes.data(), poison_, bytes.size());
    given_[output] = {type, {shape.begin(), shape.end()}, bytes};
    return bytes;
  }
  void refuse(Outcome refusal) override { refusal_ = std::move(refusal); }
  std::span<std::byte> scratch(std::size_t bytes, std::size_t alignment) override {
    const std::size_t room = against_ == GuardedMemory::Against::end ? (alignment - bytes % alignment) % alignment : 0;
    const std::span<std::byte> memory = scratch_.place(bytes, against_, room);
    fill_to_edge(memory.data(), poison_, memory.size());
    return memory;
  }

  [[nodiscard]] Outcome result() {
    if (refusal_) return std::move(*refusal_);
    std::vector<Tensor> outputs;
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (!given_[i]) {
        const std::string which = given_.size() == 1 ? "an output" : output_text(test_case_, i);
        return outcome::LeftUnwritten{"run ended without asking for " + which};
      }
      GuardedTensor& given = *given_[i];
      outputs.push_back({given.type, std::move(given.shape), {given.bytes.begin(), given.bytes.end()}});
    }
    return outcome::Produced{std::move(outputs)};
  }

 private:
  struct GuardedTensor {
    ElementType type;
    std::vector<std::int64_t> shape;
    std::span<std::byte> bytes;
  };

  const Case& test_case_;
  std::deque<GuardedMemory>& memory_;
  GuardedMemory& scratch_;
  GuardedMemory::Against against_;
  std::byte poison_;
  std::vector<std::optional<GuardedTensor>> given_;
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

std::optional<Outcome> GuardedRun::violation(const Case& test_case, std::uint64_t mode_before) const {
  const std::uint64_t mode = float_mode();
  if (mode != mode_before) set_float_mode(mode_before);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const auto stray = outputs_[i].damage();
    if (stray) return outcome::WroteOutOfBounds{stray->side, stray->offset, output_text(test_case, i)};
  }
  if (const auto stray = scratch_.damage()) return outcome::WroteOutOfBounds{stray->side, stray->offset, kScratchName};
  if (auto violated = inputs_.violation()) return violated;
  if (auto violated = other_inputs_.violation()) return violated;
  if (mode != mode_before) return outcome::ChangedFloatMode{float_mode_change(mode_before, mode)};
  return std::nullopt;
}

// A case placed and prepared, to be run any number of times.
class GuardedRun::Node {
 public:
  Node(GuardedRun& guarded, Backend& backend, const Case& test_case, GuardedInputs& inputs,
       GuardedMemory::Against against)
      : guarded_(guarded), test_case_(test_case), against_(against) {
    inputs.begin(test_case, against);
    guarded.begins(guarded.is_neighbour_);
    const std::uint64_t mode = float_mode();
    Preparation preparation = backend.prepare_at(test_case, inputs);
    if (auto* prepared = std::get_if<std::unique_ptr<PreparedCase>>(&preparation)) prepared_ = std::move(*prepared);
    end_ = end_of(preparation);
    if (auto violated = guarded.violation(test_case, mode)) end_ = std::move(*violated);
  }

  [[nodiscard]] Outcome run(std::byte poison) {
    if (end_) return *end_;
    guarded_.begins(guarded_.is_neighbour_);
    Output output(guarded_, test_case_, against_, poison);
    const std::uint64_t mode = float_mode();
    prepared_->run(output);
    Outcome result = output.result();
    if (auto violated = guarded_.violation(test_case_, mode)) return std::move(*violated);
    return result;
  }

 private:
  GuardedRun& guarded_;
  const Case& test_case_;
  GuardedMemory::Against against_;
  std::unique_ptr<PreparedCase> prepared_;
  std::optional<Outcome> end_;  ///< the outcome of a preparation after which nothing can be run
};

struct GuardedRun::Look {
  const Case& test_case;
  Outcome first;
  std::optional<Outcome> change = {};  ///< the fault that a further run shows; absent where none does
  std::vector<Tensor> changed = {};    ///< the outputs of the run with the fault
  std::string_view when = {};          ///< "when the prepared node is run again"

  // Takes a further run in.
  void note(Outcome further, std::string_view circumstance) {
    compare(std::get<outcome::Produced>(first).outputs, std::move(further), circumstance);
  }
  // `y` has the first pattern where nothing was written, what `further` gives the second.
  void compare(const std::vector<Tensor>& y, Outcome further, std::string_view circumstance) {
    when = circumstance;
    if (auto* again = std::get_if<outcome::Produced>(&further)) {
      change = difference(test_case, y, again->outputs);
      if (change) changed = std::move(again->outputs);
    } else if (is_refusal(further)) {
      change = outcome::Nondeterministic{"computed first and refused then,"};
    } else {
      change = std::move(further);
    }
  }

  // Whether another look gave the same outputs and showed the same nondeterminism.
  [[nodiscard]] bool repeats(const Look& other) const {
    const auto* one = std::get_if<outcome::Produced>(&first);
    const auto* two = std::get_if<outcome::Produced>(&other.first);
    return one != nullptr && two != nullptr && one->outputs == two->outputs && changed == other.changed &&
           when == other.when && change && std::holds_alternative<outcome::Nondeterministic>(*change);
  }
};

GuardedRun::Look GuardedRun::look(Backend& backend, const Case& test_case, bool closely) {
  other_inputs_.begin(test_case, GuardedMemory::Against::start);
  std::optional<Node> node(std::in_place, *this, backend, test_case, inputs_, GuardedMemory::Against::end);
  Look look{.test_case = test_case, .first = node->run(kPoison[0])};
  if (!std::holds_alternative<outcome::Produced>(look.first) || !closely) return look;
  look.change = run_neighbour(backend, test_case);
  if (look.change) return look;
  look.note(node->run(kPoison[1]), "when the prepared node is run again");
  std::optional<Outcome> on_other_input;
  if (!look.change) on_other_input = run_on_other_input(backend, test_case, *node);
  node.reset();
  if (look.change) return look;
  std::optional<Outcome> alone;
  if (on_other_input) alone = run_elsewhere(backend, other_, kPoison[1]);
  {
    Node in_its_place(*this, backend, test_case, other_inputs_, GuardedMemory::Against::start);
    look.note(in_its_place.run(kPoison[1]), "when the inputs lie where another node's lay");
  }
  if (!look.change && on_other_input) compare_on_other_input(std::move(*on_other_input), std::move(*alone), look);
  return look;
}

// Nothing where the backend takes none, or the case has none.
std::optional<Outcome> GuardedRun::run_on_other_input(const Backend& backend, const Case& test_case, Node& node) {
  if (!backend.info().takes_other_inputs) return std::nullopt;
  other_position_ = make_other_input(test_case, other_);
  if (!other_position_) return std::nullopt;
  inputs_.replace(other_);
  is_neighbour_ = true;
  Outcome outcome = node.run(kPoison[0]);
  is_neighbour_ = false;
  return outcome;
}

Outcome GuardedRun::run_elsewhere(Backend& backend, const Case& test_case, std::byte poison) {
  is_neighbour_ = true;
  Outcome outcome = [&] {
    Node node(*this, backend, test_case, other_inputs_, GuardedMemory::Against::start);
    return node.run(poison);
  }();
  is_neighbour_ = false;
  return outcome;
}

// Compares `again`, the prepared node's outcome on the other input, with that of a newly prepared node.
void GuardedRun::compare_on_other_input(Outcome again, Outcome alone, Look& look) {
  constexpr std::string_view kWhen = "when the prepared node is run with another x";
  auto* produced = std::get_if<outcome::Produced>(&again);
  if (produced == nullptr && !is_refusal(again)) {
    again.of_neighbour = true;
    look.change = std::move(again);
    return;
  }
  if (produced == nullptr) {
    look.when = kWhen;
    if (!is_refusal(alone)) look.change = outcome::Nondeterministic{"refused, though a newly prepared node is not,"};
    return;
  }
  look.compare(produced->outputs, std::move(alone), kWhen);
  if (look.change) return;
  look.first.on_other_input = {*other_position_, std::move(*other_.inputs[*other_position_]),
                               std::move(produced->outputs)};
}

Outcome GuardedRun::operator()(Backend& backend, const Case& test_case, bool closely) {
  Look found = look(backend, test_case, closely || is_drawn(test_case));
  if (!found.change) return std::move(found.first);
  const auto* differs = std::get_if<outcome::Nondeterministic>(&*found.change);
  if (differs == nullptr) return std::move(*found.change);
  const auto happens_again = [&] {
    const bool repeats = look(backend, test_case, true).repeats(found);
    begins(false);
    return repeats;
  };
  if (remembers(backend, test_case, happens_again)) {
    return outcome::DependsOnEarlierRuns{fmt::format("{} {}", differs->detail, found.when)};
  }
  return outcome::Nondeterministic{differs->detail + " between two runs on the same inputs"};
}

// Ignores the output; accesses outside the tensors count.
std::optional<Outcome> GuardedRun::run_neighbour(Backend& backend, const Case& test_case) {
  make_neighbour(test_case, neighbour_);
  Outcome outcome = run_elsewhere(backend, neighbour_, kPoison[0]);
  if (std::holds_alternative<outcome::Produced>(outcome) || is_refusal(outcome) ||
      std::holds_alternative<outcome::LeftUnwritten>(outcome)) {
    return std::nullopt;
  }
  outcome.of_neighbour = true;
  return outcome;
}

void GuardedRun::locate(const void* address, LastWords& words) const {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const auto stray = outputs_[i].locate(address);
    if (!stray) continue;
    words.slot = LastWords::kOutput - static_cast<int>(i);
    words.offset = stray->offset;
    words.before = stray->side == Side::before;
    return;
  }
  if (const auto beside = scratch_.locate(address)) {
    words.slot = LastWords::kScratch;
    words.offset = beside->offset;
    words.before = beside->side == Side::before;
  } else if (!inputs_.locate(address, words)) {
    (void)other_inputs_.locate(address, words);
  }
}

}  // namespace qconform

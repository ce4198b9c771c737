#include "harness/backends/sandbox/guarded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "harness/backends/sandbox/float_mode.h"
#include "harness/backends/sandbox/fresh_runs.h"
#include "harness/backends/sandbox/guarded_memory.h"
#include "harness/backends/sandbox/neighbour.h"
#include "harness/base/digest.h"

namespace qconform {
namespace {

constexpr std::byte kPoison[2] = {std::byte{0xAA}, std::byte{0x55}};

std::int64_t element_of_byte(const Tensor& tensor, std::size_t byte) {
  return static_cast<std::int64_t>(byte) * 8 / bits_of(tensor.type);
}

// How a second output differs from the first, as an outcome; nothing where it does not.
std::optional<Outcome> difference(const Tensor& y, const Tensor& second) {
  if (y.type != second.type || y.shape != second.shape) {
    return outcome::Nondeterministic{fmt::format("the output is {} {}, then {} {}", name_of(y.type),
                                                 shape_text(y.shape), name_of(second.type), shape_text(second.shape))};
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
  return outcome::LeftUnwritten{fmt::format("{} byte{} of the output not written, first of element {}", unwritten,
                                            unwritten == 1 ? "" : "s", element_of_byte(y, first_unwritten))};
}

}  // namespace

class GuardedRun::Output final : public OutputSink {
 public:
  Output(GuardedMemory& memory, GuardedMemory& scratch, GuardedMemory::Against against, std::byte poison)
      : memory_(memory), scratch_(scratch), against_(against), poison_(poison) {
    scratch_.forget();
  }

  std::span<std::byte> allocate(ElementType type, std::span<const std::int64_t> shape) override {
    type_ = type;
    shape_.assign(shape.begin(), shape.end());
    bytes_ = memory_.place(static_cast<std::size_t>(bytes_for(type, elements_of(shape))), against_);
    fill_to_edge(bytes_.data(), poison_, bytes_.size());
    allocated_ = true;
    return bytes_;
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
    if (!allocated_) return outcome::LeftUnwritten{"run ended without asking for an output"};
    return outcome::Produced{Tensor{type_, std::move(shape_), std::vector<std::byte>(bytes_.begin(), bytes_.end())}};
  }

 private:
  GuardedMemory& memory_;
  GuardedMemory& scratch_;
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
      : guarded_(guarded), against_(against) {
    inputs.begin(test_case, against);
    guarded.begins(guarded.is_neighbour_);
    const std::uint64_t mode = float_mode();
    Preparation preparation = backend.prepare_at(test_case, inputs);
    if (auto* prepared = std::get_if<std::unique_ptr<PreparedCase>>(&preparation)) {
      prepared_ = std::move(*prepared);
    } else if (auto* unsupported = std::get_if<outcome::Unsupported>(&preparation)) {
      end_ = std::move(*unsupported);
    } else {
      end_ = std::get<outcome::Rejected>(std::move(preparation));
    }
    if (auto violated = guarded.violation(mode)) end_ = std::move(*violated);
  }

  [[nodiscard]] Outcome run(std::byte poison) {
    if (end_) return *end_;
    guarded_.begins(guarded_.is_neighbour_);
    Output output(guarded_.output_, guarded_.scratch_, against_, poison);
    const std::uint64_t mode = float_mode();
    prepared_->run(output);
    Outcome result = output.result();
    if (auto violated = guarded_.violation(mode)) return std::move(*violated);
    return result;
  }

 private:
  GuardedRun& guarded_;
  GuardedMemory::Against against_;
  std::unique_ptr<PreparedCase> prepared_;
  std::optional<Outcome> end_;  ///< what the preparation came to, where nothing can be run
};

struct GuardedRun::Look {
  Outcome first;
  std::optional<Outcome> change;  ///< what a further run came to, where it is not the first output
  std::optional<Tensor> changed;  ///< its output
  std::string_view when;          ///< "when the prepared node is run again"

  // Takes a further run in.
  void note(Outcome further, std::string_view circumstance) {
    compare(std::get<outcome::Produced>(first).output, std::move(further), circumstance);
  }
  // `y` has the first pattern where nothing was written, what `further` gives the second.
  void compare(const Tensor& y, Outcome further, std::string_view circumstance) {
    when = circumstance;
    if (auto* again = std::get_if<outcome::Produced>(&further)) {
      change = difference(y, again->output);
      if (change) changed = std::move(again->output);
    } else if (std::holds_alternative<outcome::Unsupported>(further) ||
               std::holds_alternative<outcome::Rejected>(further)) {
      change = outcome::Nondeterministic{"computed first and refused then,"};
    } else {
      change = std::move(further);
    }
  }

  // The same outputs as another time.
  [[nodiscard]] bool repeats(const Look& other) const {
    const auto* one = std::get_if<outcome::Produced>(&first);
    const auto* two = std::get_if<outcome::Produced>(&other.first);
    return one != nullptr && two != nullptr && one->output == two->output && changed == other.changed &&
           when == other.when && change && std::holds_alternative<outcome::Nondeterministic>(*change);
  }
};

GuardedRun::Look GuardedRun::look(Backend& backend, const Case& test_case, bool closely) {
  other_inputs_.begin(test_case, GuardedMemory::Against::start);
  std::optional<Node> node(std::in_place, *this, backend, test_case, inputs_, GuardedMemory::Against::end);
  Look look{.first = node->run(kPoison[0]), .change = {}, .changed = {}, .when = {}};
  if (!std::holds_alternative<outcome::Produced>(look.first) || !closely) return look;
  look.change = run_neighbour(backend, test_case);
  if (look.change) return look;
  look.note(node->run(kPoison[1]), "when the prepared node is run again");
  std::optional<Outcome> on_other_input;
  if (!look.change) on_other_input = run_on_other_input(backend, test_case, *node);
  node.reset();
  if (look.change) return look;
  {
    Node in_its_place(*this, backend, test_case, other_inputs_, GuardedMemory::Against::start);
    look.note(in_its_place.run(kPoison[1]), "when the inputs lie where another node's lay");
  }
  if (!look.change && on_other_input) compare_on_other_input(backend, std::move(*on_other_input), look);
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

// What the prepared node gave, against what a newly prepared one gives.
void GuardedRun::compare_on_other_input(Backend& backend, Outcome again, Look& look) {
  constexpr std::string_view kWhen = "when the prepared node is run with another x";
  const auto refused = [](const Outcome& outcome) {
    return std::holds_alternative<outcome::Unsupported>(outcome) || std::holds_alternative<outcome::Rejected>(outcome);
  };
  auto* produced = std::get_if<outcome::Produced>(&again);
  if (produced == nullptr && !refused(again)) {
    again.of_neighbour = true;
    look.change = std::move(again);
    return;
  }
  is_neighbour_ = true;
  Outcome alone = [&] {
    Node node(*this, backend, other_, other_inputs_, GuardedMemory::Against::start);
    return node.run(kPoison[1]);
  }();
  is_neighbour_ = false;
  if (produced == nullptr) {
    look.when = kWhen;
    if (!refused(alone)) look.change = outcome::Nondeterministic{"refused, though a newly prepared node is not,"};
    return;
  }
  look.compare(produced->output, std::move(alone), kWhen);
  if (look.change) return;
  look.first.on_other_input = {*other_position_, std::move(*other_.inputs[*other_position_]),
                               std::move(produced->output)};
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

// What it gives is nobody's concern; what it does outside its tensors is.
std::optional<Outcome> GuardedRun::run_neighbour(Backend& backend, const Case& test_case) {
  make_neighbour(test_case, neighbour_);
  is_neighbour_ = true;
  Outcome outcome = [&] {
    Node node(*this, backend, neighbour_, other_inputs_, GuardedMemory::Against::start);
    return node.run(kPoison[0]);
  }();
  is_neighbour_ = false;
  if (std::holds_alternative<outcome::Produced>(outcome) || std::holds_alternative<outcome::Unsupported>(outcome) ||
      std::holds_alternative<outcome::Rejected>(outcome) || std::holds_alternative<outcome::LeftUnwritten>(outcome)) {
    return std::nullopt;
  }
  outcome.of_neighbour = true;
  return outcome;
}

void GuardedRun::locate(const void* address, LastWords& words) const {
  if (const auto stray = output_.locate(address)) {
    words.slot = LastWords::kOutput;
    words.offset = stray->offset;
    words.before = stray->side == Side::before;
  } else if (const auto beside = scratch_.locate(address)) {
    words.slot = LastWords::kScratch;
    words.offset = beside->offset;
    words.before = beside->side == Side::before;
  } else if (!inputs_.locate(address, words)) {
    (void)other_inputs_.locate(address, words);
  }
}

}  // namespace qconform

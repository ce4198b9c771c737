// Finds which elements of a program's values its outputs need: if an output is a sample of a large value, little else
// is computed.
#include "reference/graph/evaluation.h"

namespace qconform::reference::graph {
namespace {

std::size_t count_of(const Shape& shape) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  return count;
}

// Hands on from the result of a step to its operands.
class DemandOf {
 public:
  DemandOf(const Program& program, const Step& step, WantedElements& wanted)
      : program_(program), step_(step), wanted_(wanted), own_(wanted[step.result]) {}

  void hand_on() {
    std::visit([&](const auto& what) { of(what); }, step_.what);
  }

 private:
  [[nodiscard]] std::size_t elements(std::size_t operand) const {
    return count_of(program_.values[step_.operands[operand]].shape);
  }
  void want(std::size_t operand, std::size_t i) { wanted_[step_.operands[operand]][i] = 1; }
  void want_all(std::size_t operand) {
    std::vector<char>& all = wanted_[step_.operands[operand]];
    all.assign(all.size(), 1);
  }
  template <typename F>
  void for_each_wanted(F f) const {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      if (own_[i] != 0) f(i);
    }
  }
  template <typename What>
  void of_place(const What& /*what*/) {
    for_each_wanted([&](std::size_t i) { want(0, i); });
  }
  void of(const Quantize& what) { of_place(what); }
  void of(const Dequantize& what) { of_place(what); }
  void of(const Requantize& what) { of_place(what); }
  void of(const WeightedSum& what) {
    const auto over = [&](const auto& taps) {
      for_each_wanted([&](std::size_t i) {
        taps.for_each(static_cast<std::int64_t>(i), [&](std::int64_t a, std::int64_t b) {
          want(0, static_cast<std::size_t>(a));
          if (what.has_factor) want(1, static_cast<std::size_t>(b));
        });
        if (!what.c_index.empty()) want(step_.operands.size() - 1, static_cast<std::size_t>(what.c_index[i]));
      });
    };
    std::visit(over, what.taps);
  }
  void of(const Extreme& what) {
    const auto over = [&](const auto& taps) {
      for_each_wanted([&](std::size_t i) {
        taps.for_each(static_cast<std::int64_t>(i),
                      [&](std::int64_t a, std::int64_t) { want(0, static_cast<std::size_t>(a)); });
      });
    };
    std::visit(over, what.taps);
  }
  void of(const Move& what) {
    for_each_wanted([&](std::size_t i) {
      const std::int32_t from = what.operand.empty() ? 0 : what.operand[i];
      if (from < 0) return;
      want(static_cast<std::size_t>(from), what.index.empty() ? i : static_cast<std::size_t>(what.index[i]));
    });
  }
  void of(const Elementwise& what) {
    for_each_wanted([&](std::size_t i) {
      for (std::size_t operand = 0; operand < step_.operands.size(); ++operand) {
        want(operand, what.element_of(operand, i));
      }
    });
  }
  // Rows are computed whole.
  void of(const Softmax&) { want_all(0); }
  void of(const ArgMax&) { want_all(0); }
  void of(const TopK&) { want_all(0); }
  void of(const Normalize& what) {
    const auto length = static_cast<std::size_t>(what.length);
    for_each_wanted([&](std::size_t i) {
      const std::size_t first = i / length * length;
      for (std::size_t k = first; k < first + length; ++k) want(0, k);
    });
  }

  const Program& program_;
  const Step& step_;
  WantedElements& wanted_;
  const std::vector<char>& own_;
};

// Whether an output is a small part of what a step moves there.
bool leaves_out_much(const Program& program) {
  for (const Step& step : program.steps) {
    const auto* move = std::get_if<Move>(&step.what);
    const bool is_output =
        std::find(program.outputs.begin(), program.outputs.end(), step.result) != program.outputs.end();
    if (move == nullptr || !is_output || move->index.empty()) continue;
    if (count_of(program.values[step.operands[0]].shape) > 2 * move->index.size()) return true;
  }
  return false;
}

}  // namespace

WantedElements wanted_elements(const Program& program) {
  if (!leaves_out_much(program)) return {};
  WantedElements wanted;
  for (const Value& value : program.values) wanted.emplace_back(count_of(value.shape), 0);
  for (const ValueId output : program.outputs) wanted[output].assign(wanted[output].size(), 1);
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    DemandOf(program, *step, wanted).hand_on();
  }
  return wanted;
}

}  // namespace qconform::reference::graph

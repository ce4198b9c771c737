// Leaves out of a program what its outputs do not need: if an output is a sample of a large value, little else is left.
#include <algorithm>
#include <numeric>

#include "reference/graph/sets.h"

namespace qconform::reference::graph {
namespace {

std::size_t count_of(const Shape& shape) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  return count;
}

// By value and element: whether an output needs it.
using Wanted = std::vector<std::vector<char>>;

bool is_any(const std::vector<char>& wanted) {
  return std::find(wanted.begin(), wanted.end(), 1) != wanted.end();
}

// Whether the step reads what a backend answered. What only moves values has their own sets.
bool is_answered(const Step& step, ValueId operand, const Answers& given) {
  return !std::holds_alternative<Move>(step.what) && given.contains(operand);
}

// Hands on from the result of a step to its operands.
class DemandOf {
 public:
  DemandOf(const Step& step, const Answers& given, Wanted& wanted)
      : step_(step), given_(given), wanted_(wanted), own_(wanted[step.result]) {}

  void hand_on() {
    if (!is_any(own_)) return;
    std::visit([&](const auto& what) { of(what); }, step_.what);
  }

 private:
  [[nodiscard]] bool is_answered(std::size_t operand) const {
    return graph::is_answered(step_, step_.operands[operand], given_);
  }
  void want(std::size_t operand, std::size_t i) {
    if (!is_answered(operand)) wanted_[step_.operands[operand]][i] = 1;
  }
  void want_all(ValueId value) { std::fill(wanted_[value].begin(), wanted_[value].end(), 1); }
  void want_all_operands() {
    for (std::size_t operand = 0; operand < step_.operands.size(); ++operand) {
      if (!is_answered(operand)) want_all(step_.operands[operand]);
    }
  }
  template <typename F>
  void for_each_wanted(F f) const {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      if (own_[i] != 0) f(i);
    }
  }
  template <typename What>
  void of_place(const What& /*what*/) {
    if (is_answered(0)) return want_all(step_.result);  // answers are whole
    for_each_wanted([&](std::size_t i) { want(0, i); });
  }
  void of(const Quantize& what) { of_place(what); }
  void of(const Dequantize& what) { of_place(what); }
  void of(const Requantize& what) { of_place(what); }
  void of(const WeightedSum& what) {
    if (what.permits_narrow_activations()) return of_whole();  // blocks look at whole rows
    const bool is_whole = std::find(own_.begin(), own_.end(), 0) == own_.end();
    if (const MatrixTaps* product = what.whole_product(); product != nullptr && is_whole)
      return of_product(what, *product);
    for_each_wanted([&](std::size_t i) {
      what.for_each_term(i, [&](std::int64_t a, std::int64_t b) {
        want(0, static_cast<std::size_t>(a));
        if (what.has_factor) want(1, static_cast<std::size_t>(b));
      });
      if (!what.c_index.empty()) want(step_.operands.size() - 1, static_cast<std::size_t>(what.c_index[i]));
    });
  }
  // A product whose elements are all needed reads each element of its factors, once for all of its terms.
  void of_product(const WeightedSum& what, const MatrixTaps& taps) {
    taps.for_each_of_rows([&](std::int64_t row, std::int64_t a, std::int64_t b) {
      want(0, static_cast<std::size_t>(a));
      for (std::int64_t n = 0; n < taps.n && row % taps.m == 0; ++n, b += taps.b_column)
        want(1, static_cast<std::size_t>(b));
    });
    for (const std::int64_t c : what.c_index) want(step_.operands.size() - 1, static_cast<std::size_t>(c));
  }
  void of(const Extreme& what) {
    for_each_wanted([&](std::size_t i) {
      what.for_each_term(i, [&](std::int64_t a, std::int64_t) { want(0, static_cast<std::size_t>(a)); });
    });
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
  void of_whole() {
    want_all(step_.result);
    want_all_operands();
  }
  void of(const Softmax&) { of_whole(); }
  void of(const ArgMax&) { of_whole(); }
  void of(const TopK&) { of_whole(); }
  void of(const Normalize& what) {
    if (is_answered(0)) return want_all(step_.result);
    const auto length = static_cast<std::size_t>(what.length);
    std::vector<char>& own = wanted_[step_.result];
    for (std::size_t first = 0; first < own.size(); first += length) {
      const auto begin = own.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = begin + static_cast<std::ptrdiff_t>(length);
      if (std::find(begin, end, 1) == end) continue;
      std::fill(begin, end, 1);
      for (std::size_t k = first; k < first + length; ++k) want(0, k);
    }
  }

  const Step& step_;
  const Answers& given_;
  Wanted& wanted_;
  const std::vector<char>& own_;
};

// Whether element i of the result is made of element i of the operand alone, so that both have the same elements left.
bool is_by_place(const Step& step) {
  return std::holds_alternative<Quantize>(step.what) || std::holds_alternative<Dequantize>(step.what) ||
         std::holds_alternative<Requantize>(step.what);
}

// Where others want more of the operand than this result needs, the result gets it too; rows become whole, with the
// operand. Returns whether more is wanted now.
bool take_over(const Step& step, const Answers& given, Wanted& wanted) {
  std::vector<char>& own = wanted[step.result];
  const ValueId operand = step.operands.empty() ? step.result : step.operands[0];
  if (!is_any(own) || given.contains(operand) || own == wanted[operand]) return false;
  if (is_by_place(step)) {
    own = wanted[operand];
    return true;
  }
  if (!std::holds_alternative<Normalize>(step.what)) return false;
  std::fill(own.begin(), own.end(), 1);
  std::fill(wanted[operand].begin(), wanted[operand].end(), 1);
  return true;
}

Wanted wanted_by(const std::vector<ValueId>& outputs, const Program& program, const Answers& given) {
  Wanted wanted;
  for (const Value& value : program.values) wanted.emplace_back(count_of(value.shape), 0);
  for (const ValueId output : outputs) std::fill(wanted[output].begin(), wanted[output].end(), 1);
  bool is_stable = false;
  while (!is_stable) {
    for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
      DemandOf(*step, given, wanted).hand_on();
    }
    is_stable = true;
    for (const Step& step : program.steps) is_stable = !take_over(step, given, wanted) && is_stable;
  }
  return wanted;
}

// Whether an output is a small part of what a step moves there.
bool leaves_out_much(const Program& program, const std::vector<ValueId>& outputs) {
  for (const Step& step : program.steps) {
    const auto* move = std::get_if<Move>(&step.what);
    const bool is_output = std::find(outputs.begin(), outputs.end(), step.result) != outputs.end();
    if (move == nullptr || !is_output || move->index.empty()) continue;
    if (count_of(program.values[step.operands[0]].shape) > 2 * move->index.size()) return true;
  }
  return false;
}

// The elements of a value that are left. A value is whole, or a list of these.
struct Left {
  bool is_needed = true;
  bool is_whole = true;
  std::vector<std::int64_t> elements;  // ascending
  std::vector<std::int32_t> places;    // by element of the whole value

  [[nodiscard]] std::int64_t place_of(std::size_t element) const {
    return is_whole ? static_cast<std::int64_t>(element) : std::int64_t{places[element]};
  }
};

Left left_of(const std::vector<char>& wanted) {
  Left left;
  const auto count = static_cast<std::size_t>(std::count(wanted.begin(), wanted.end(), 1));
  left.is_needed = count != 0;
  left.is_whole = count == wanted.size();
  if (left.is_whole) return left;
  left.elements.reserve(count);
  left.places.resize(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0) continue;
    left.places[i] = static_cast<std::int32_t>(left.elements.size());
    left.elements.push_back(static_cast<std::int64_t>(i));
  }
  return left;
}

// Writes the steps for the elements that are left.
class Narrowing {
 public:
  Narrowing(const Program& program, const std::vector<Left>& left, const Answers& given)
      : program_(program), left_(left), given_(given) {}

  [[nodiscard]] Program done() const {
    Program result;
    result.outputs = program_.outputs;
    result.may_be_exact = program_.may_be_exact;
    for (ValueId id = 0; id < program_.values.size(); ++id)
      result.values.push_back(narrowed(program_.values[id], left_[id]));
    for (const Step& step : program_.steps) {
      if (!left_[step.result].is_needed) continue;
      Step& narrow = result.steps.emplace_back(step);
      std::visit([&](auto& what) { write(step, what); }, narrow.what);
    }
    return result;
  }

 private:
  static Value narrowed(const Value& value, const Left& left) {
    if (!left.is_needed) return {value.type, {0}, {}};
    if (left.is_whole) return value;
    Value result{value.type, {static_cast<std::int64_t>(left.elements.size())}, {}};
    if (value.stated.empty()) return result;
    for (const std::int64_t element : left.elements)
      result.stated.push_back(value.stated[static_cast<std::size_t>(element)]);
    return result;
  }

  // The list by element of the result, with places in `operand` where that is given.
  template <typename T>
  void pick(const Step& step, std::vector<T>& list, const Left* operand = nullptr) const {
    const Left& result = left_[step.result];
    const auto place = [&](T element) {
      const bool moves = operand != nullptr && !operand->is_whole && element >= 0;
      return moves ? static_cast<T>(operand->place_of(static_cast<std::size_t>(element))) : element;
    };
    if (result.is_whole) {
      std::transform(list.begin(), list.end(), list.begin(), place);
      return;
    }
    std::vector<T> picked;
    picked.reserve(result.elements.size());
    for (const std::int64_t i : result.elements) picked.push_back(place(list[static_cast<std::size_t>(i)]));
    list = std::move(picked);
  }
  // Answers are whole, whatever is left of the steps that compute such a value.
  [[nodiscard]] const Left& operand(const Step& step, std::size_t number) const {
    const ValueId value = step.operands[number];
    return is_answered(step, value, given_) ? whole_ : left_[value];
  }

  // A list of elements has a scale for each.
  template <typename Linear, typename Zero>
  void write_parameters(const Step& step, Linear& node, std::vector<double>& scale, std::vector<Zero>& zero) const {
    const Left& result = left_[step.result];
    if (result.is_whole) return;
    const QuantizationLayout layout = node.layout;
    const auto count = static_cast<std::int64_t>(result.elements.size());
    node.layout = {.outer = 1, .channels = 1, .inner = count, .block = 0};
    if (layout.parameters() == 1) return;
    node.layout = {.outer = 1, .channels = count, .inner = 1, .block = 0};
    std::vector<double> scales;
    std::vector<Zero> zeros;
    for (const std::int64_t i : result.elements) {
      scales.push_back(scale[layout.parameter_of(i)]);
      zeros.push_back(zero[layout.parameter_of(i)]);
    }
    scale = std::move(scales);
    zero = std::move(zeros);
  }
  void write(const Step& step, Quantize& what) const {
    write_parameters(step, what.node, what.node.y_scale, what.node.y_zero_point);
  }
  void write(const Step& step, Dequantize& what) const {
    write_parameters(step, what.node, what.node.x_scale, what.node.x_zero_point);
  }
  void write(const Step& step, Requantize& what) const {
    const Left& result = left_[step.result];
    if (result.is_whole || what.parameters.size() == 1) return;
    std::vector<Requantization> picked;
    for (const std::int64_t i : result.elements) picked.push_back(what.parameters[static_cast<std::size_t>(i)]);
    what.parameters = std::move(picked);
  }
  [[nodiscard]] std::optional<TapsPart> part(const Step& step, bool has_factor) const {
    TapsPart part{left_[step.result].elements, operand(step, 0).places, {}};
    if (has_factor) part.b = operand(step, 1).places;
    if (part.outputs.empty() && part.a.empty() && part.b.empty()) return std::nullopt;
    return part;
  }
  void write(const Step& step, WeightedSum& what) const {
    what.part = part(step, what.has_factor);
    if (!what.c_index.empty()) pick(step, what.c_index, &operand(step, step.operands.size() - 1));
    if (!what.divisor.empty()) pick(step, what.divisor);
  }
  void write(const Step& step, Extreme& what) const { what.part = part(step, false); }
  void write(const Step& step, Move& what) const {
    const std::size_t elements = count_of(program_.values[step.result].shape);
    if (what.index.empty()) {
      what.index.resize(elements);
      std::iota(what.index.begin(), what.index.end(), 0);
    }
    for (std::size_t i = 0; i < elements; ++i) {
      const std::int32_t from = what.operand.empty() ? 0 : what.operand[i];
      if (from >= 0)
        what.index[i] = operand(step, static_cast<std::size_t>(from)).place_of(static_cast<std::size_t>(what.index[i]));
    }
    pick(step, what.index);
    if (!what.operand.empty()) pick(step, what.operand);
  }
  void write(const Step& step, Elementwise& what) const {
    what.index.resize(step.operands.size());
    for (std::size_t number = 0; number < step.operands.size(); ++number) {
      std::vector<std::int64_t>& list = what.index[number];
      const Left& from = operand(step, number);
      const bool is_whole = from.is_whole && left_[step.result].is_whole;
      if (list.empty() && (is_whole || from.elements == left_[step.result].elements)) continue;
      if (list.size() == 1) {
        list[0] = from.place_of(static_cast<std::size_t>(list[0]));
        continue;
      }
      if (list.empty()) {
        list.resize(count_of(program_.values[step.result].shape));
        std::iota(list.begin(), list.end(), 0);
      }
      pick(step, list, &from);
    }
  }
  // Rows stay whole.
  void write(const Step&, Softmax&) const {}
  void write(const Step&, ArgMax&) const {}
  void write(const Step&, TopK&) const {}
  void write(const Step&, Normalize&) const {}

  const Program& program_;
  const std::vector<Left>& left_;
  const Answers& given_;
  const Left whole_;
};

}  // namespace

std::optional<Program> needed_part(const Program& program, const Answers& given, const std::vector<ValueId>& outputs) {
  if (!leaves_out_much(program, outputs)) return std::nullopt;
  const Wanted wanted = wanted_by(outputs, program, given);
  std::vector<Left> left;
  left.reserve(wanted.size());
  for (const std::vector<char>& one : wanted) left.push_back(left_of(one));
  return Narrowing(program, left, given).done();
}

}  // namespace qconform::reference::graph

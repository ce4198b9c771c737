// DynamicQuantizeLSTM of com.microsoft, step by step: x is quantized once for the whole sequence, the state of a step
// once for the whole batch.
#include <fmt/format.h>

#include <algorithm>

#include "harness/graphs/node_lowering.h"
#include "harness/model/text.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;
using enum ElementType;
using List = std::vector<std::int64_t>;

// Positions of the node's inputs.
enum Input : std::size_t {
  kX,
  kW,
  kR,
  kB,
  kLengths,
  kInitialH,
  kInitialC,
  kPeepholes,
  kWScale,
  kWZero,
  kRScale,
  kRZero
};

struct Extents {
  std::int64_t steps;
  std::int64_t batch;
  std::int64_t input;
  std::int64_t hidden;
  std::int64_t directions;
  bool is_reversed;  // the only direction is backwards
};

bool is_usual(const NodeLowering& node) {
  if (node.has(kLengths)) return node.limit("sequence_lens", "is not judged");
  if (node.has(kPeepholes)) return node.limit("P", "is not judged");
  for (const char* name : {"clip", "activation_alpha", "activation_beta"}) {
    if (node.attribute(name) != nullptr) return node.limit(name, "is not judged");
  }
  if (node.get_or<std::int64_t>("input_forget", 0) != 0) return node.limit("input_forget", "is not judged");
  return true;
}

std::optional<Extents> extents_of(const NodeLowering& node) {
  const std::string direction = node.get_or<std::string>("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    node.violate("direction", fmt::format("expected forward, reverse or bidirectional, got \"{}\"", direction));
    return std::nullopt;
  }
  const Shape& x = node.shape(kX);
  if (x.size() != 3) return node.violate("X", "expected rank 3, got shape " + shape_text(x)), std::nullopt;
  const Extents extents{x[0],
                        x[1],
                        x[2],
                        node.get_or<std::int64_t>("hidden_size", 0),
                        direction == "bidirectional" ? 2 : 1,
                        direction == "reverse"};
  const auto check = [&](std::size_t input, const char* name, const Shape& wanted) {
    return !node.has(input) || node.shape(input) == wanted ||
           node.violate(name,
                        fmt::format("expected shape {}, got {}", shape_text(wanted), shape_text(node.shape(input))));
  };
  if (extents.hidden < 1 || extents.steps < 1 || extents.batch < 1 || extents.input < 1) {
    return node.limit("X", "an empty sequence, batch or state is not judged"), std::nullopt;
  }
  const std::int64_t gates = saturating_product(4, extents.hidden);
  const Shape state{extents.directions, extents.batch, extents.hidden};
  const bool fits = check(kW, "W", {extents.directions, extents.input, gates}) &&
                    check(kR, "R", {extents.directions, extents.hidden, gates}) &&
                    check(kB, "B", {extents.directions, 2 * gates}) && check(kInitialH, "initial_h", state) &&
                    check(kInitialC, "initial_c", state);
  return fits ? std::optional(extents) : std::nullopt;
}

class LstmExpansion {
 public:
  LstmExpansion(const NodeLowering& node, const Extents& extents) : node_(node), extents_(extents), out_(node) {}

  [[nodiscard]] bool run() {
    const std::vector<std::string> x = out_.add_all("DynamicQuantizeLinear", {out_.input(kX)}, 3);
    std::vector<std::vector<std::string>> states;  // by direction, by step in the sequence's order
    std::vector<std::string> last_h;
    std::vector<std::string> last_c;
    for (std::int64_t d = 0; d < extents_.directions && out_.is_right(); ++d) {
      states.push_back(run_direction(x, d));
      last_h.push_back(with_axis(h_, 0));
      last_c.push_back(with_axis(c_, 0));
    }
    const Shape last{extents_.directions, extents_.batch, extents_.hidden};
    return out_.is_right() && finish_sequence(states) && finish_state(last_h, last, 1) && finish_state(last_c, last, 2);
  }

 private:
  std::string list(const List& values) {
    return out_.constant(Tensor::of(int64, {static_cast<std::int64_t>(values.size())}, values));
  }
  std::string index(std::int64_t value) { return out_.constant(Tensor::scalar(int64, value)); }
  // Slice `at` of axis 0.
  std::string taken(const std::string& from, std::int64_t at) {
    return out_.add("Gather", {from, index(at)}, {{"axis", std::int64_t{0}}});
  }
  std::string with_axis(const std::string& value, std::int64_t axis) {
    return out_.add("Unsqueeze", {value, list({axis})});
  }
  std::string initial(std::size_t input, std::int64_t direction) {
    if (node_.has(input)) return taken(out_.input(input), direction);
    const List shape{extents_.batch, extents_.hidden};
    return out_.constant(Tensor::zeros(float32, shape));
  }
  // A parameter of the direction: its row of a list for each direction.
  std::string parameter(std::size_t input, std::int64_t direction) {
    return node_.has(input) && elements_of(node_.shape(input)) != 1 ? taken(out_.input(input), direction)
                                                                    : out_.parameter(input, "scale");
  }

  /// Weights of a direction, less their zero points, and their scale.
  struct Weights {
    ValueId centred;
    std::string scale;
  };

  std::optional<Weights> weights(std::size_t input, std::size_t scale, std::int64_t direction) {
    const std::string w = taken(out_.input(input), direction);
    const std::string zero_point = parameter(scale + 1, direction);
    Weights result{0, parameter(scale, direction)};
    if (!out_.is_right()) return std::nullopt;
    const Shape shape = out_.shape(w);
    const Shape points = out_.shape(zero_point);
    const bool is_one = elements_of(points) == 1;
    if (!is_one && points != Shape{shape.back()}) {
      node_.violate("zero_point", "got shape " + shape_text(points));
      return std::nullopt;
    }
    Elementwise difference{.function = Function::sub, .index = {{}, is_one ? List{0} : broadcast_index(points, shape)}};
    const auto centred = node_.compute(std::move(difference), {node_.id_of(w), node_.id_of(zero_point)}, shape, int32);
    if (!centred) return std::nullopt;
    result.centred = *centred;
    return result;
  }

  // The product of quantized rows [..., k] and weights [k, n], in float.
  std::string product(const std::vector<std::string>& rows, const Weights& w) {
    if (!out_.is_right()) return "";
    const Shape x = out_.shape(rows[0]);
    const Shape columns = node_.shape_of(w.centred);
    const auto centred = node_.compute(Elementwise{.function = Function::sub, .index = {{}, {0}}},
                                       {node_.id_of(rows[0]), node_.id_of(rows[2])}, x, int32);
    if (!centred) return out_.give_up();
    Shape shape = x;
    shape.back() = columns[1];
    MatrixTaps taps{.m = elements_of(shape) / columns[1],
                    .n = columns[1],
                    .k = columns[0],
                    .a_row = columns[0],
                    .a_inner = 1,
                    .b_inner = columns[1],
                    .b_column = 1};
    const auto sum = node_.compute(WeightedSum{.taps = std::move(taps)}, {*centred, w.centred}, shape, int32);
    if (!sum) return out_.give_up();
    const std::string real = out_.add("Cast", {node_.named(*sum)}, {{"to", static_cast<std::int64_t>(float32)}});
    return out_.add("Mul", {real, out_.add("Mul", {rows[1], w.scale})});
  }

  std::string gate(const std::string& gates, std::int64_t number, const char* function) {
    const std::int64_t h = extents_.hidden;
    const std::string part = out_.add("Slice", {gates, list({number * h}), list({(number + 1) * h}), list({1})});
    return out_.add(function, {part});
  }

  void step(const std::string& from_x, const std::string& bias, const Weights& recurrent) {
    const std::vector<std::string> h = out_.add_all("DynamicQuantizeLinear", {h_}, 3);
    std::string gates = out_.add("Add", {from_x, product(h, recurrent)});
    if (!bias.empty()) gates = out_.add("Add", {gates, bias});
    if (!out_.is_right()) return;
    const std::string input = gate(gates, 0, "Sigmoid");
    const std::string output = gate(gates, 1, "Sigmoid");
    const std::string forget = gate(gates, 2, "Sigmoid");
    const std::string cell = gate(gates, 3, "Tanh");
    c_ = out_.add("Add", {out_.add("Mul", {forget, c_}), out_.add("Mul", {input, cell})});
    h_ = out_.add("Mul", {output, out_.add("Tanh", {c_})});
  }

  std::string bias_of(std::int64_t direction) {
    if (!node_.has(kB)) return "";
    const std::string both = taken(out_.input(kB), direction);
    const std::int64_t gates = 4 * extents_.hidden;
    return out_.add("Add", {out_.add("Slice", {both, list({0}), list({gates})}),
                            out_.add("Slice", {both, list({gates}), list({2 * gates})})});
  }

  std::vector<std::string> run_direction(const std::vector<std::string>& x, std::int64_t direction) {
    const auto inputs = weights(kW, kWScale, direction);
    const auto recurrent = weights(kR, kRScale, direction);
    if (!inputs || !recurrent) return out_.give_up(), std::vector<std::string>();
    const std::string from_x = product(x, *inputs);
    const std::string bias = bias_of(direction);
    h_ = initial(kInitialH, direction);
    c_ = initial(kInitialC, direction);
    const bool is_backwards = direction == 1 || extents_.is_reversed;
    std::vector<std::string> states(static_cast<std::size_t>(extents_.steps));
    for (std::int64_t i = 0; i < extents_.steps && out_.is_right(); ++i) {
      const std::int64_t at = is_backwards ? extents_.steps - 1 - i : i;
      step(taken(from_x, at), bias, *recurrent);
      states[static_cast<std::size_t>(at)] = h_;
    }
    return states;
  }

  // Y [steps, directions, batch, hidden], whose elements are the states that the next steps read.
  bool finish_sequence(const std::vector<std::vector<std::string>>& states) {
    std::vector<std::string> parts;
    for (std::size_t step = 0; step < static_cast<std::size_t>(extents_.steps); ++step) {
      for (const auto& direction : states) parts.push_back(direction[step]);
    }
    if (!finish_state(parts, {extents_.steps, extents_.directions, extents_.batch, extents_.hidden}, 0)) return false;
    const bool is_shown = !node_.node().outputs.empty() && !node_.node().outputs[0].empty();
    if (!is_shown) return extents_.steps == 1 || node_.limit("Y", "without it more than one step is not judged");
    const std::int64_t size = extents_.batch * extents_.hidden;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      node_.is_shown_by(node_.id_of(parts[i]), node_.id_of(node_.node().outputs[0]),
                        static_cast<std::int64_t>(i) * size);
    }
    return true;
  }

  // Gives an output the states `parts`, one behind the other.
  bool finish_state(const std::vector<std::string>& parts, const Shape& shape, std::size_t output) {
    if (!node_.claim(shape)) return false;
    std::vector<ValueId> operands;
    Move move;
    const std::int64_t size = extents_.batch * extents_.hidden;
    for (const std::string& part : parts) {
      for (std::int64_t i = 0; i < size; ++i) {
        move.operand.push_back(static_cast<std::int32_t>(operands.size()));
        move.index.push_back(i);
      }
      operands.push_back(node_.id_of(part));
    }
    return node_.emit(std::move(move), std::move(operands), shape, float32, output);
  }

  const NodeLowering& node_;
  const Extents extents_;
  Expansion out_;
  std::string h_;
  std::string c_;
};

bool lower_lstm(const NodeLowering& node) {
  if (!is_usual(node)) return false;
  const auto extents = extents_of(node);
  return extents && LstmExpansion(node, *extents).run();
}

constexpr AttributeSignature kLstm[] = {
    {"activation_alpha", kFloatsAttribute}, {"activation_beta", kFloatsAttribute}, {"clip", kFloatAttribute},
    {"direction", kStringAttribute},        {"hidden_size", kIntAttribute},        {"input_forget", kIntAttribute}};

constexpr NodeOperator kLstmNodes[] = {
    {.name = "DynamicQuantizeLSTM",
     .since = 1,
     .least_inputs = 12,
     .most_inputs = 12,
     .types = TypeSet{float32},
     .attributes = kLstm,
     .lower = lower_lstm,
     .like_first = 1,
     .most_outputs = 3,
     .domain = "com.microsoft",
     .is_quantized = true,
     .optional = 1U << kB | 1U << kLengths | 1U << kInitialH | 1U << kInitialC | 1U << kPeepholes}};

}  // namespace

std::span<const NodeOperator> lstm_nodes() {
  return kLstmNodes;
}

}  // namespace qconform::lowering

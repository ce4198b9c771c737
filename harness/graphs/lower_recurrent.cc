// Recurrent layers, step by step: LSTM and GRU of floats, and DynamicQuantizeLSTM of com.microsoft, where x is
// quantized once for the whole sequence, and the state of a step once for the whole batch.
#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.h"
#include "harness/graphs/node_lowering.h"
#include "harness/model/text.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;
using enum ElementType;
using List = std::vector<std::int64_t>;

enum class Layer { lstm, gru, dynamic_lstm };

// Positions of the node's inputs; those from kInitialC on are no GRU's, and those behind kPeepholes
// DynamicQuantizeLSTM's.
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
  Layer layer;
  std::int64_t steps;
  std::int64_t batch;
  std::int64_t input;
  std::int64_t hidden;
  std::int64_t directions;
  bool is_reversed;  // the only direction is backwards

  [[nodiscard]] std::int64_t gates() const { return layer == Layer::gru ? 3 : 4; }
};

using Names = std::vector<std::string>;

struct RecurrentActivation {
  std::string_view name;
  bool is_judged;  // as the operator of that name, with its defaults
};

// Every activation that ONNX lists for recurrent layers.
constexpr RecurrentActivation kRecurrentActivations[] = {
    {"Affine", false},   {"Elu", false},        {"HardSigmoid", true},     {"LeakyRelu", false},
    {"Relu", true},      {"ScaledTanh", false}, {"Sigmoid", true},         {"Softplus", false},
    {"Softsign", false}, {"Tanh", true},        {"ThresholdedRelu", false}};

bool are_one_but_for_capitals(std::string_view a, std::string_view b) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return small(x) == small(y); });
}

// Returns the activation's name as ONNX spells it. ONNX does not say that other capitals mean the same, which runtimes
// take them to.
std::optional<std::string> activation_named(const NodeLowering& node, const std::string& name) {
  const auto* found = std::find_if(
      std::begin(kRecurrentActivations), std::end(kRecurrentActivations),
      [&](const RecurrentActivation& activation) { return are_one_but_for_capitals(activation.name, name); });
  if (found == std::end(kRecurrentActivations)) {
    return node.violate("activations", "expected names of ONNX's activations, got " + quoted_name(name)), std::nullopt;
  }
  if (!found->is_judged) return node.limit("activations", quoted_name(name) + " is not judged"), std::nullopt;
  if (found->name != name) {
    node.allow("activations", fmt::format("expected ONNX's spelling {}, got {}", found->name, quoted_name(name)));
  }
  return std::string(found->name);
}

// Returns the activations, direction by direction: that of the gates, that of the new cell or state, and an LSTM's of
// its output.
std::optional<Names> activations_of(const NodeLowering& node, const Extents& extents) {
  const Names usual = extents.layer == Layer::gru ? Names{"Sigmoid", "Tanh"} : Names{"Sigmoid", "Tanh", "Tanh"};
  const std::size_t count = static_cast<std::size_t>(extents.directions) * usual.size();
  const Names stated = node.get_or<Names>("activations", {});
  Names result;
  if (stated.empty()) {
    for (std::size_t i = 0; i < count; ++i) result.push_back(usual[i % usual.size()]);
    return result;
  }
  if (stated.size() != count) {
    node.violate("activations",
                 fmt::format("expected {} names, {} for each direction, got {}", count, usual.size(), stated.size()));
    return std::nullopt;
  }
  for (const std::string& name : stated) {
    const auto known = activation_named(node, name);
    if (!known) return std::nullopt;
    result.push_back(*known);
  }
  return result;
}

bool is_usual(const NodeLowering& node, Layer layer) {
  if (node.has(kLengths)) return node.limit("sequence_lens", "is not judged");
  if (layer != Layer::gru && node.has(kPeepholes)) return node.limit("P", "is not judged");
  if (node.get_or<std::int64_t>("layout", 0) != 0) return node.limit("layout", "1 is not judged");
  if (node.type(kX) != float32) return node.limit("X", name_of(node.type(kX)) + " is not judged");
  for (const char* name : {"clip", "activation_alpha", "activation_beta"}) {
    if (node.attribute(name) != nullptr) return node.limit(name, "is not judged");
  }
  if (node.get_or<std::int64_t>("input_forget", 0) != 0) return node.limit("input_forget", "is not judged");
  return true;
}

std::optional<Extents> extents_of(const NodeLowering& node, Layer layer) {
  const std::string direction = node.get_or<std::string>("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    node.violate("direction", fmt::format("expected forward, reverse or bidirectional, got \"{}\"", direction));
    return std::nullopt;
  }
  const Shape& x = node.shape(kX);
  if (x.size() != 3) return node.violate("X", "expected rank 3, got shape " + shape_text(x)), std::nullopt;
  const Extents extents{layer,
                        x[0],
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
  const std::int64_t gates = saturating_product(extents.gates(), extents.hidden);
  const Shape state{extents.directions, extents.batch, extents.hidden};
  const auto matrix = [&](std::int64_t from) {
    return layer == Layer::dynamic_lstm ? Shape{extents.directions, from, gates}
                                        : Shape{extents.directions, gates, from};
  };
  const bool fits = check(kW, "W", matrix(extents.input)) && check(kR, "R", matrix(extents.hidden)) &&
                    check(kB, "B", {extents.directions, saturating_product(2, gates)}) &&
                    check(kInitialH, "initial_h", state) && check(kInitialC, "initial_c", state);
  return fits ? std::optional(extents) : std::nullopt;
}

class RecurrentExpansion {
 public:
  RecurrentExpansion(const NodeLowering& node, const Extents& extents, Names activations)
      : node_(node), extents_(extents), activations_(std::move(activations)), out_(node) {}

  [[nodiscard]] bool run() {
    const std::vector<std::string> x = rows_of(out_.input(kX));
    std::vector<std::vector<std::string>> states;  // by direction, by step in the sequence's order
    std::vector<std::string> last_h;
    std::vector<std::string> last_c;
    for (std::int64_t d = 0; d < extents_.directions && out_.is_right(); ++d) {
      direction_ = d;
      states.push_back(run_direction(x, d));
      last_h.push_back(with_axis(h_, 0));
      if (has_cells()) last_c.push_back(with_axis(c_, 0));
    }
    const Shape last{extents_.directions, extents_.batch, extents_.hidden};
    return out_.is_right() && finish_sequence(states) && finish_state(last_h, last, 1) &&
           (!has_cells() || finish_state(last_c, last, 2));
  }

 private:
  [[nodiscard]] bool is_dynamic() const { return extents_.layer == Layer::dynamic_lstm; }
  [[nodiscard]] bool has_cells() const { return extents_.layer != Layer::gru; }

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
  // Empty where the state begins with zeros.
  std::string initial(std::size_t input, std::int64_t direction) {
    return node_.has(input) ? taken(out_.input(input), direction) : "";
  }
  // a + b, where one that is empty is 0.
  std::string sum(const std::string& a, const std::string& b) {
    if (a.empty() || b.empty()) return a + b;
    return out_.add("Add", {a, b});
  }
  // The product of factors; one that is empty is 0.
  std::string scaled(const std::string& a, const std::string& b) {
    return a.empty() || b.empty() ? "" : out_.add("Mul", {a, b});
  }
  // A parameter of the direction: its row of a list for each direction.
  std::string parameter(std::size_t input, std::int64_t direction) {
    return node_.has(input) && elements_of(node_.shape(input)) != 1 ? taken(out_.input(input), direction)
                                                                    : out_.parameter(input, "scale");
  }

  /// Weights of a direction, [k, n]: floats, or integers less their zero points, and their scale.
  struct Weights {
    std::string real;
    ValueId centred = 0;
    std::string scale = {};
  };

  std::optional<Weights> weights(std::size_t input, std::size_t scale, std::int64_t direction) {
    const std::string w = taken(out_.input(input), direction);
    if (!is_dynamic()) return Weights{out_.add("Transpose", {w})};
    const std::string zero_point = parameter(scale + 1, direction);
    Weights result{"", 0, parameter(scale, direction)};
    if (!out_.is_right()) return std::nullopt;
    const Shape shape = out_.shape(w);
    const Shape points = out_.shape(zero_point);
    const bool is_one = elements_of(points) == 1;
    if (!is_one && points != Shape{shape.back()}) {
      node_.violate("zero_point",
                    fmt::format("expected one element or shape [{}], got {}", shape.back(), shape_text(points)));
      return std::nullopt;
    }
    Elementwise difference{.function = Function::sub, .index = {{}, is_one ? List{0} : broadcast_index(points, shape)}};
    const auto centred = node_.compute(std::move(difference), {node_.id_of(w), node_.id_of(zero_point)}, shape, int32);
    if (!centred) return std::nullopt;
    result.centred = *centred;
    return result;
  }

  // Products take the floats, or their codes, scale and zero point.
  std::vector<std::string> rows_of(const std::string& value) {
    return is_dynamic() && !value.empty() ? out_.add_all("DynamicQuantizeLinear", {value}, 3)
                                          : std::vector<std::string>{value};
  }

  // The product of rows [..., k] and weights [k, n], in float.
  std::string product(const std::vector<std::string>& rows, const Weights& w) {
    if (!out_.is_right() || rows[0].empty()) return "";
    if (!is_dynamic()) return out_.add("MatMul", {rows[0], w.real});
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
    const auto total = node_.compute(WeightedSum{.taps = std::move(taps)}, {*centred, w.centred}, shape, int32);
    if (!total) return out_.give_up();
    const std::string real = out_.add("Cast", {node_.named(*total)}, {{"to", static_cast<std::int64_t>(float32)}});
    return out_.add("Mul", {real, out_.add("Mul", {rows[1], w.scale})});
  }

  // Columns of the gates from number `begin` on.
  std::string columns(const std::string& of, std::int64_t begin, std::int64_t end) {
    const std::int64_t h = extents_.hidden;
    const auto last = static_cast<std::int64_t>(out_.is_right() ? out_.shape(of).size() : 1) - 1;
    return out_.add("Slice", {of, list({begin * h}), list({end * h}), list({last})});
  }
  // Activation `number` of the direction, as activations_of() counts them.
  std::string activated(const std::string& value, std::size_t number) {
    const std::size_t each = activations_.size() / static_cast<std::size_t>(extents_.directions);
    return out_.add(activations_[static_cast<std::size_t>(direction_) * each + number], {value});
  }
  std::string gate(const std::string& gates, std::int64_t number) {
    return activated(columns(gates, number, number + 1), 0);
  }
  /// The biases of a direction, of W's sums and of R's; empty where there are none.
  struct Biases {
    std::string of_w;
    std::string of_r;
  };

  void step(const std::string& from_x, const Biases& biases, const Weights& recurrent) {
    if (has_cells()) return lstm_step(from_x, biases, recurrent);
    gru_step(from_x, biases, recurrent);
  }

  void lstm_step(const std::string& from_x, const Biases& biases, const Weights& recurrent) {
    const std::string gates = sum(sum(from_x, product(rows_of(h_), recurrent)), sum(biases.of_w, biases.of_r));
    if (!out_.is_right()) return;
    const std::string input = gate(gates, 0);
    const std::string output = gate(gates, 1);
    const std::string forget = gate(gates, 2);
    const std::string cell = activated(columns(gates, 3, 4), 1);
    c_ = sum(scaled(forget, c_), scaled(input, cell));
    h_ = scaled(output, activated(c_, 2));
  }

  // Gates: update, reset, hidden.
  void gru_step(const std::string& from_x, const Biases& biases, const Weights& recurrent) {
    const std::string x = sum(from_x, biases.of_w);
    const Weights of_gates{columns(recurrent.real, 0, 2)};
    const Weights of_hidden{columns(recurrent.real, 2, 3)};
    const bool has_bias = !biases.of_r.empty();
    const std::string bias = has_bias ? columns(biases.of_r, 2, 3) : "";
    const std::string recurring = sum(product({h_}, of_gates), has_bias ? columns(biases.of_r, 0, 2) : "");
    const std::string gates = sum(columns(x, 0, 2), recurring);
    if (!out_.is_right()) return;
    const std::string update = gate(gates, 0);
    const std::string reset = gate(gates, 1);
    const bool resets_sum = node_.get_or<std::int64_t>("linear_before_reset", 0) != 0;
    const std::string hidden = resets_sum ? scaled(reset, sum(product({h_}, of_hidden), bias))
                                          : sum(product({scaled(reset, h_)}, of_hidden), bias);
    const std::string next = activated(sum(columns(x, 2, 3), hidden), 1);
    const std::string rest = out_.add("Sub", {out_.constant(Tensor::scalar(float32, 1.0F)), update});
    h_ = sum(scaled(rest, next), scaled(update, h_));
  }

  Biases biases_of(std::int64_t direction) {
    if (!node_.has(kB)) return {};
    const std::string both = taken(out_.input(kB), direction);
    const std::int64_t gates = extents_.gates();
    return {columns(both, 0, gates), columns(both, gates, 2 * gates)};
  }

  std::vector<std::string> run_direction(const std::vector<std::string>& x, std::int64_t direction) {
    const auto inputs = weights(kW, kWScale, direction);
    const auto recurrent = weights(kR, kRScale, direction);
    if (!inputs || !recurrent) return out_.give_up(), std::vector<std::string>();
    const std::string from_x = product(x, *inputs);
    const Biases biases = biases_of(direction);
    h_ = initial(kInitialH, direction);
    if (has_cells()) c_ = initial(kInitialC, direction);
    const bool is_backwards = direction == 1 || extents_.is_reversed;
    std::vector<std::string> states(static_cast<std::size_t>(extents_.steps));
    for (std::int64_t i = 0; i < extents_.steps && out_.is_right(); ++i) {
      const std::int64_t at = is_backwards ? extents_.steps - 1 - i : i;
      step(taken(from_x, at), biases, *recurrent);
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
  const Names activations_;
  Expansion out_;
  std::int64_t direction_ = 0;
  std::string h_;
  std::string c_;
};

template <Layer kLayer>
bool lower_layer(const NodeLowering& node) {
  if (!is_usual(node, kLayer)) return false;
  const auto extents = extents_of(node, kLayer);
  if (!extents) return false;
  auto activations = activations_of(node, *extents);
  return activations && RecurrentExpansion(node, *extents, std::move(*activations)).run();
}

constexpr AttributeSignature kLstm[] = {{"activation_alpha", kFloatsAttribute}, {"activation_beta", kFloatsAttribute},
                                        {"activations", kStringsAttribute},     {"clip", kFloatAttribute},
                                        {"direction", kStringAttribute},        {"hidden_size", kIntAttribute},
                                        {"input_forget", kIntAttribute},        {"layout", kIntAttribute}};
constexpr AttributeSignature kGru[] = {{"activation_alpha", kFloatsAttribute}, {"activation_beta", kFloatsAttribute},
                                       {"activations", kStringsAttribute},     {"clip", kFloatAttribute},
                                       {"direction", kStringAttribute},        {"hidden_size", kIntAttribute},
                                       {"linear_before_reset", kIntAttribute}, {"layout", kIntAttribute}};

constexpr std::size_t kWithoutLayout = 7;  // attributes until version 14

constexpr NodeOperator layer(std::string_view name, std::int64_t since, std::size_t most_inputs,
                             std::span<const AttributeSignature> attributes, bool (*lower)(const NodeLowering&)) {
  const TypeSet types = since >= 22 ? node_types::kFloats13 : node_types::kFloats;
  NodeOperator result = node_operator(name, since, types, 3, most_inputs, attributes, lower);
  result.like_first = ~(1U << kLengths);
  result.most_outputs = name == "GRU" ? 2 : 3;
  return result;
}

constexpr NodeOperator kRecurrentNodes[] = {
    {.name = "DynamicQuantizeLSTM",
     .since = 1,
     .least_inputs = 12,
     .most_inputs = 12,
     .types = TypeSet{float32},
     .attributes = std::span(kLstm).first(kWithoutLayout),
     .lower = lower_layer<Layer::dynamic_lstm>,
     .like_first = 1,
     .most_outputs = 3,
     .domain = "com.microsoft",
     .is_quantized = true,
     .optional = 1U << kB | 1U << kLengths | 1U << kInitialH | 1U << kInitialC | 1U << kPeepholes},
    layer("GRU", 7, 6, std::span(kGru).first(kWithoutLayout), lower_layer<Layer::gru>),
    layer("GRU", 14, 6, kGru, lower_layer<Layer::gru>),
    layer("GRU", 22, 6, kGru, lower_layer<Layer::gru>),
    layer("LSTM", 7, 8, std::span(kLstm).first(kWithoutLayout), lower_layer<Layer::lstm>),
    layer("LSTM", 14, 8, kLstm, lower_layer<Layer::lstm>),
    layer("LSTM", 22, 8, kLstm, lower_layer<Layer::lstm>)};

}  // namespace

std::span<const NodeOperator> recurrent_nodes() {
  return kRecurrentNodes;
}

}  // namespace qconform::lowering

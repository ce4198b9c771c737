#include "harness/suites/model_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "harness/model/operator.h"

namespace qconform {
namespace {

// Neighbours that are taken together along an axis.
constexpr std::int64_t kTile = 16;

// About `wanted` positions of an axis in ascending order: tiles of neighbours, the first and the last one always.
std::vector<std::int64_t> drawn_positions(std::int64_t extent, std::int64_t wanted, Rng& rng) {
  const std::int64_t tile = std::min(kTile, std::max<std::int64_t>(1, wanted / 2));
  const std::int64_t tiles = (extent + tile - 1) / tile;
  std::set<std::int64_t> chosen{0, tiles - 1};
  const auto count = static_cast<std::size_t>(std::min(tiles, std::max<std::int64_t>(2, wanted / tile)));
  while (chosen.size() < count) chosen.insert(rng.between(0, tiles - 1));
  std::vector<std::int64_t> positions;
  for (const std::int64_t first : chosen) {
    for (std::int64_t i = first * tile; i < std::min(extent, (first + 1) * tile); ++i) positions.push_back(i);
  }
  return positions;
}

// Elements at the crossings of positions of each axis, in row-major order: a few columns of weights decide over all of
// them. The longest axes are thinned out first.
std::vector<std::int64_t> drawn_elements(const std::vector<std::int64_t>& shape, std::int64_t most, Rng& rng) {
  std::vector<std::int64_t> counts = shape;
  while (elements_of(counts) > most) {
    auto longest = std::max_element(counts.begin(), counts.end());
    *longest = (*longest + 1) / 2;
    if (*longest <= 2) break;
  }
  std::vector<std::int64_t> elements{0};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool is_whole = counts[axis] == shape[axis];
    std::vector<std::int64_t> positions;
    if (!is_whole) positions = drawn_positions(shape[axis], counts[axis], rng);
    for (std::int64_t i = 0; is_whole && i < shape[axis]; ++i) positions.push_back(i);
    std::vector<std::int64_t> wider;
    wider.reserve(elements.size() * positions.size());
    for (const std::int64_t before : elements) {
      for (const std::int64_t position : positions) wider.push_back(before * shape[axis] + position);
    }
    elements.swap(wider);
  }
  return elements;
}

// The elements at these positions along the axis of length `extent`, `bytes` each.
Tensor taken(const Tensor& tensor, std::int64_t extent, std::size_t bytes, const std::vector<std::int64_t>& positions,
             std::vector<std::int64_t> shape) {
  Tensor result{tensor.type, std::move(shape), {}};
  const std::size_t outer = tensor.bytes.size() / (static_cast<std::size_t>(extent) * bytes);
  result.bytes.reserve(outer * positions.size() * bytes);
  for (std::size_t row = 0; row < outer; ++row) {
    for (const std::int64_t position : positions) {
      const auto begin = tensor.bytes.begin() +
                         static_cast<std::ptrdiff_t>(
                             (row * static_cast<std::size_t>(extent) + static_cast<std::size_t>(position)) * bytes);
      result.bytes.insert(result.bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(bytes));
    }
  }
  return result;
}

std::string fresh_name(const Case& test_case, const std::string& wish) {
  std::set<std::string> names(test_case.input_names.begin(), test_case.input_names.end());
  for (const Node& node : test_case.nodes) names.insert(node.outputs.begin(), node.outputs.end());
  std::string name = wish;
  while (names.contains(name)) name += "_";
  return name;
}

void say(Case& test_case, const std::string& text) {
  test_case.note += (test_case.note.empty() ? "" : "; ") + text;
}

std::string add_indices(Case& test_case, const std::string& wish, const std::vector<std::int64_t>& values) {
  const std::string name = fresh_name(test_case, wish);
  test_case.inputs.emplace_back(Tensor::of(ElementType::int64, {static_cast<std::int64_t>(values.size())}, values));
  test_case.input_names.push_back(name);
  return name;
}

void add_node(Case& test_case, const char* op_type, std::vector<std::string> inputs, const std::string& output,
              std::int64_t opset) {
  Node node;
  node.op_type = op_type;
  node.opset_version = opset;
  node.inputs = std::move(inputs);
  node.outputs = {output};
  test_case.nodes.push_back(std::move(node));
}

// Leaves these elements of an output, in row-major order, in its place.
void gather_output(Case& test_case, std::size_t number, const std::vector<std::int64_t>& positions) {
  const Tensor& answer = test_case.recorded_outputs[number];
  const std::int64_t elements = answer.elements();
  const std::int64_t bits = bits_of(answer.type);
  std::int64_t opset = 13;
  for (const Node& node : test_case.nodes) {
    if (node.domain.empty() || node.domain == "ai.onnx") opset = node.opset_version;
  }
  const std::string whole = test_case.outputs[number];
  const std::string flat = fresh_name(test_case, whole + ".flat");
  add_node(test_case, "Reshape", {whole, add_indices(test_case, whole + ".as_list", {-1})}, flat, opset);
  const std::string sample = fresh_name(test_case, whole + ".sample");
  add_node(test_case, "Gather", {flat, add_indices(test_case, whole + ".positions", positions)}, sample, opset);
  test_case.recorded_outputs[number] = taken(answer, elements, static_cast<std::size_t>(bits / 8), positions,
                                             {static_cast<std::int64_t>(positions.size())});
  test_case.outputs[number] = sample;
  say(test_case, fmt::format("{} of {} elements of {} judged", positions.size(), elements, whole));
}

void sample_output(Case& test_case, std::size_t number, std::int64_t most, Rng& rng) {
  const Tensor& answer = test_case.recorded_outputs[number];
  if (answer.elements() <= most || bits_of(answer.type) % 8 != 0) return;
  gather_output(test_case, number, drawn_elements(answer.shape, most, rng));
}

bool is_sequence(const Node& node) {
  return node.op_type == "DynamicQuantizeLSTM" || node.op_type == "LSTM" || node.op_type == "GRU";
}

// States follow from each other. A sample has every step of a few hidden units, in each output of the node; the states
// themselves stay outputs, by which the sample is judged. Adds the places of the node's outputs to `done`.
void sample_units(Case& test_case, const Node& node, std::int64_t most, Rng& rng, std::set<std::size_t>& done) {
  const auto hidden = node.get_or<std::int64_t>("hidden_size", 0);
  std::vector<std::int64_t> units;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const auto at = std::find(test_case.outputs.begin(), test_case.outputs.end(), node.outputs[i]);
    if (at == test_case.outputs.end()) continue;
    const auto number = static_cast<std::size_t>(at - test_case.outputs.begin());
    done.insert(number);
    const Tensor whole = test_case.recorded_outputs[number];
    if (hidden < 1 || whole.shape.empty() || whole.shape.back() != hidden || whole.elements() == 0) continue;
    const std::int64_t rows = whole.elements() / hidden;
    if (i == 0 && whole.elements() > most) units = drawn_positions(hidden, std::max<std::int64_t>(1, most / rows), rng);
    if (units.empty()) continue;
    std::vector<std::int64_t> positions;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (const std::int64_t unit : units) positions.push_back(row * hidden + unit);
    }
    gather_output(test_case, number, positions);
    if (i != 0) continue;
    done.insert(test_case.outputs.size());
    test_case.outputs.push_back(node.outputs[0]);
    test_case.shown_outputs.push_back(node.outputs[0]);
    test_case.recorded_outputs.push_back(whole);
  }
}

// Columns of a MatMulNBits: each has weights of its own.
bool keep_columns(Case& whole, std::int64_t most, Rng& rng) {
  if (whole.nodes.size() != 1 || whole.node().op_type != "MatMulNBits") return false;
  Case test_case = whole;
  Node& node = test_case.node();
  const auto* columns = node.get<std::int64_t>("N");
  const Tensor& answer = test_case.recorded_outputs.front();
  if (columns == nullptr || *columns < 1 || answer.shape.empty() || answer.shape.back() != *columns) return false;
  const std::int64_t n = *columns;
  const std::int64_t rows = std::max<std::int64_t>(1, answer.elements() / n);
  if (answer.elements() <= most || n <= 2 * kTile) return false;
  const std::vector<std::int64_t> positions = drawn_positions(n, std::max(most / rows, 2 * kTile), rng);
  const auto left = static_cast<std::int64_t>(positions.size());
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const auto at = std::find(test_case.input_names.begin(), test_case.input_names.end(), node.inputs[i]);
    if (node.inputs[i].empty() || at == test_case.input_names.end()) continue;
    Tensor& tensor = *test_case.inputs[static_cast<std::size_t>(at - test_case.input_names.begin())];
    if (tensor.bytes.size() % static_cast<std::size_t>(n) != 0 || tensor.elements() % n != 0) return false;
    std::vector<std::int64_t> shape = tensor.shape;
    if (!shape.empty() && shape[0] == n) {
      shape[0] = left;
    } else {
      shape = {tensor.elements() / n * left};
    }
    tensor = taken(tensor, n, tensor.bytes.size() / static_cast<std::size_t>(n), positions, std::move(shape));
  }
  for (Attribute& attribute : node.attributes) {
    if (attribute.name == "N") attribute.value = left;
  }
  std::vector<std::int64_t> shape = answer.shape;
  shape.back() = left;
  test_case.recorded_outputs.front() =
      taken(answer, n, static_cast<std::size_t>(bits_of(answer.type) / 8), positions, std::move(shape));
  say(test_case, fmt::format("{} of {} columns judged", left, n));
  whole = std::move(test_case);
  return true;
}

// Products of one sum, about: the weights of an output channel, in the node with most of them.
std::int64_t products_of(const Case& test_case) {
  std::int64_t most = 1;
  bool convolves = false;
  for (const Node& node : test_case.nodes) {
    convolves = convolves || node.op_type.find("Conv") != std::string::npos;
    if (const auto* k = node.get<std::int64_t>("K"); k != nullptr && node.op_type == "MatMulNBits") return *k;
  }
  for (std::size_t i = test_case.fed_inputs; i < test_case.inputs.size(); ++i) {
    const Tensor& weights = *test_case.inputs[i];
    if (weights.shape.size() < 2 || weights.elements() == 0) continue;
    most = std::max(most, weights.elements() / (convolves ? weights.shape.front() : weights.shape.back()));
  }
  return most;
}

}  // namespace

Case sampled(Case test_case, std::int64_t most, Rng& rng) {
  if (most < 1 || test_case.recorded_outputs.empty() || !is_judged_as_graph(test_case)) return test_case;
  most = std::min(most, std::max(kLeastSample, kSampledProducts / products_of(test_case)));
  keep_columns(test_case, most, rng);
  std::set<std::size_t> done;
  const std::vector<Node> nodes = test_case.nodes;
  for (const Node& node : nodes) {
    if (is_sequence(node)) sample_units(test_case, node, most, rng, done);
  }
  for (std::size_t i = 0; i < test_case.outputs.size(); ++i) {
    if (!done.contains(i)) sample_output(test_case, i, most, rng);
  }
  return test_case;
}

}  // namespace qconform

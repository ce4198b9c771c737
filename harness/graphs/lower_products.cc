// Gemm, MatMul and Einsum.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "harness/base/text.h"
#include "harness/graphs/node_lowering.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;
using List = std::vector<std::int64_t>;

bool lower_gemm(const NodeLowering& node) {
  const Shape& a = node.shape(0);
  const Shape& b = node.shape(1);
  const bool trans_a = node.get_or<std::int64_t>("transA", 0) != 0;
  const bool trans_b = node.get_or<std::int64_t>("transB", 0) != 0;
  if (a.size() != 2) return node.violate("A", "expected rank 2, got shape " + shape_text(a));
  if (b.size() != 2) return node.violate("B", "expected rank 2, got shape " + shape_text(b));
  MatrixTaps taps{.m = a[trans_a ? 1 : 0], .n = b[trans_b ? 0 : 1], .k = a[trans_a ? 0 : 1]};
  if (b[trans_b ? 1 : 0] != taps.k) {
    return node.violate("B", fmt::format("expected {} rows, got shape {}", taps.k, shape_text(b)));
  }
  taps.a_row = trans_a ? 1 : taps.k;
  taps.a_inner = trans_a ? taps.m : 1;
  taps.b_inner = trans_b ? 1 : taps.n;
  taps.b_column = trans_b ? taps.k : 1;
  Shape shape{taps.m, taps.n};
  const auto elements = node.claim(shape);
  if (!elements) return false;
  const double alpha = node.get_or<float>("alpha", 1);
  const double beta = node.get_or<float>("beta", 1);
  WeightedSum sum{.taps = std::move(taps), .alpha = alpha, .beta = beta};
  std::vector<ValueId> operands{node.id(0), node.id(1)};
  node.multiplies_by(alpha);
  if (node.has(2)) {
    const Shape& c = node.shape(2);
    if (broadcast_shape(c, shape) != shape) {
      return node.violate("C", fmt::format("{} does not broadcast to {}", shape_text(c), shape_text(shape)));
    }
    const bool is_whole = elements_of(c) == elements_of(shape);
    sum.c_index = is_whole ? counted(elements_of(shape)) : broadcast_index(c, shape);
    operands.push_back(node.id(2));
    node.multiplies_by(beta);
  }
  node.check_bias_scales(sum, operands, *elements);
  return node.emit(std::move(sum), std::move(operands), std::move(shape));
}

// For each batch of the product, where its matrix begins.
std::vector<std::int64_t> begins(const Shape& operand, const Shape& batch) {
  const Shape own(operand.begin(), operand.end() - 2);
  const std::int64_t matrix = operand[operand.size() - 2] * operand.back();
  std::vector<std::int64_t> index = broadcast_index(own, batch);
  if (index.empty()) index = counted(elements_of(batch));
  for (std::int64_t& begin : index) begin *= matrix;
  return index;
}

}  // namespace

std::optional<MatrixProduct> matrix_product(const NodeLowering& node, Shape a, Shape b) {
  const auto refused = [&](const char* name, std::string message) {
    node.violate(name, std::move(message));
    return std::nullopt;
  };
  if (a.empty() || b.empty()) return refused(a.empty() ? "A" : "B", "expected rank 1 or more, got a scalar");
  const std::string b_shape = shape_text(b);
  const bool is_row = a.size() == 1;
  const bool is_column = b.size() == 1;
  if (is_row) a.insert(a.begin(), 1);
  if (is_column) b.push_back(1);
  const std::int64_t k = a.back();
  if (b[b.size() - 2] != k) return refused("B", fmt::format("expected {} rows, got shape {}", k, b_shape));
  const auto batch = broadcast_shape({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!batch) return refused("B", fmt::format("{} does not broadcast with {}", shape_text(b), shape_text(a)));
  MatrixTaps taps{
      .m = a[a.size() - 2], .n = b.back(), .k = k, .a_row = k, .a_inner = 1, .b_inner = b.back(), .b_column = 1};
  Shape shape = *batch;
  if (!is_row) shape.push_back(taps.m);
  if (!is_column) shape.push_back(taps.n);
  if (!node.claim(shape) || !node.claim(*batch)) return std::nullopt;
  taps.a_begin = begins(a, *batch);
  taps.b_begin = begins(b, *batch);
  return MatrixProduct{std::move(taps), std::move(shape)};
}

namespace {

bool lower_matmul(const NodeLowering& node) {
  auto product = matrix_product(node, node.shape(0), node.shape(1));
  if (!product) return false;
  return node.emit(WeightedSum{.taps = std::move(product->taps)}, {node.id(0), node.id(1)}, std::move(product->shape));
}

// Einsum of two operands: a product of matrices between transpositions.

/// The labels of both operands and of the output.
struct EinsumTerms {
  std::string a;
  std::string b;
  std::string y;
};

bool has_label(const std::string& term, char label) {
  return term.find(label) != std::string::npos;
}

bool has_label_twice(const std::string& term) {
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.find(term[i], i + 1) != std::string::npos) return true;
  }
  return false;
}

// Without "->", y has the labels that occur once, in alphabetical order. Nothing, with a remark, where an equation is
// of another kind.
std::optional<EinsumTerms> einsum_terms(const NodeLowering& node) {
  std::string equation = node.get_or<std::string>("equation", "");
  std::erase(equation, ' ');
  const auto refused = [&](const char* why) {
    return node.limit("equation", quoted_name(equation) + why), std::nullopt;
  };
  const std::size_t comma = equation.find(',');
  if (comma == std::string::npos || node.inputs() != 2) return refused(" has not two operands: it is not judged");
  const std::size_t arrow = equation.find("->");
  EinsumTerms terms{equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1), {}};
  const std::string labels = terms.a + terms.b;
  if (arrow != std::string::npos) terms.y = equation.substr(arrow + 2);
  for (char label = 'A'; arrow == std::string::npos && label <= 'z'; ++label) {
    if (std::count(labels.begin(), labels.end(), label) == 1) terms.y += label;
  }
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!std::all_of(labels.begin(), labels.end(), is_letter))
    return refused(" has other than letters: it is not judged");
  if (has_label_twice(terms.a) || has_label_twice(terms.b) || has_label_twice(terms.y)) {
    return refused(" has a label twice in one term: it is not judged");
  }
  const bool is_known = std::all_of(terms.y.begin(), terms.y.end(), [&](char c) { return has_label(labels, c); });
  if (!is_known)
    return node.violate("equation", quoted_name(equation) + " has a label in its output that no operand has"),
           std::nullopt;
  const bool is_shared = std::all_of(labels.begin(), labels.end(), [&](char c) {
    return has_label(terms.y, c) || (has_label(terms.a, c) && has_label(terms.b, c));
  });
  if (!is_shared) return refused(" sums one operand alone: it is not judged");
  return terms;
}

// The operand with its labels in this order, as a batch of matrices.
std::string as_matrices(Expansion& out, const std::string& x, const std::string& labels,
                        const std::array<std::string, 3>& order) {
  List permutation;
  List sizes;
  for (const std::string& part : order) {
    std::int64_t size = 1;
    for (const char label : part) {
      const std::size_t axis = labels.find(label);
      permutation.push_back(static_cast<std::int64_t>(axis));
      size *= out.shape(x)[axis];
    }
    sizes.push_back(size);
  }
  return out.reshaped(out.add("Transpose", {x}, {{"perm", permutation}}), sizes);
}

bool lower_einsum(const NodeLowering& node) {
  const auto terms = einsum_terms(node);
  if (!terms) return false;
  std::map<char, std::int64_t> extents;
  for (const std::size_t input : {std::size_t{0}, std::size_t{1}}) {
    const std::string& labels = input == 0 ? terms->a : terms->b;
    const Shape& shape = node.shape(input);
    if (shape.size() != labels.size()) {
      return node.violate("equation", fmt::format("expected a label for each dimension of {}, got {}",
                                                  shape_text(shape), quoted_name(labels)));
    }
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      if (extents.emplace(labels[axis], shape[axis]).first->second == shape[axis]) continue;
      return node.violate("equation", fmt::format("expected dimensions of one size for the label {}, got {} and {}",
                                                  labels[axis], extents[labels[axis]], shape[axis]));
    }
  }
  std::string batch, rows, columns, summed;
  for (const char label : terms->y) {
    (has_label(terms->a, label) ? has_label(terms->b, label) ? batch : rows : columns) += label;
  }
  for (const char label : terms->a) {
    if (!has_label(terms->y, label)) summed += label;
  }
  if (elements_of(node.shape(0)) * elements_of(node.shape(1)) == 0) return node.limit("inputs", "no element is there");
  Expansion out(node);
  const std::string a = as_matrices(out, out.input(0), terms->a, {batch, rows, summed});
  const std::string b = as_matrices(out, out.input(1), terms->b, {batch, summed, columns});
  const std::string labels = batch + rows + columns;
  List sizes;
  for (const char label : labels) sizes.push_back(extents.at(label));
  const std::string product = out.reshaped(out.add("MatMul", {a, b}), sizes);
  List order;
  for (const char label : terms->y) order.push_back(static_cast<std::int64_t>(labels.find(label)));
  return out.finish("Transpose", {product}, {{"perm", order}});
}

using namespace node_types;

constexpr AttributeSignature kGemm[] = {
    {"alpha", kFloatAttribute}, {"beta", kFloatAttribute}, {"transA", kIntAttribute}, {"transB", kIntAttribute}};

constexpr NodeOperator gemm(std::int64_t since, std::size_t least_inputs, TypeSet types) {
  return {.name = "Gemm",
          .since = since,
          .least_inputs = least_inputs,
          .most_inputs = 3,
          .types = types,
          .attributes = kGemm,
          .lower = lower_gemm,
          .computes = true};
}
constexpr NodeOperator matmul(std::int64_t since, TypeSet types) {
  return {.name = "MatMul",
          .since = since,
          .least_inputs = 2,
          .most_inputs = 2,
          .types = types,
          .attributes = {},
          .lower = lower_matmul,
          .computes = true};
}

constexpr AttributeSignature kEinsum[] = {{"equation", kStringAttribute}};
constexpr NodeOperator einsum() {
  NodeOperator result = node_operator("Einsum", 12, kNumbers, 1, kAnyNumber, kEinsum, lower_einsum);
  result.computes = true;
  return result;
}

constexpr NodeOperator kProductNodes[] = {gemm(9, 3, kWide), gemm(11, 2, kWide),  gemm(13, 2, kWide13),
                                          matmul(9, kWide),  matmul(13, kWide13), einsum()};

}  // namespace

std::span<const NodeOperator> product_nodes() {
  return kProductNodes;
}

}  // namespace qconform::lowering

#include "harness/tests/arbitrary_case.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/case_builder.h"

namespace qconform::testing {
namespace {

using List = std::vector<std::int64_t>;

class Draft {
 public:
  Draft(Rng& rng, std::string_view op_type, std::int64_t opset) : rng_(rng) {
    case_.nodes.clear();
    node_.op_type = op_type;
    node_.opset_version = opset;
  }

  Rng& rng() { return rng_; }
  [[nodiscard]] std::int64_t opset() const { return node_.opset_version; }
  std::int64_t between(std::int64_t lo, std::int64_t hi) { return rng_.between(lo, hi); }
  bool chance(std::uint32_t of) { return rng_.chance(1, of); }

  void input(Tensor tensor) {
    const std::string name = "i" + std::to_string(case_.inputs.size());
    case_.inputs.emplace_back(std::move(tensor));
    case_.input_names.push_back(name);
    node_.inputs.push_back(name);
  }
  void omit() { node_.inputs.emplace_back(); }
  void data(const List& shape) {
    std::vector<float> values(static_cast<std::size_t>(elements_of(shape)));
    for (float& value : values) value = static_cast<float>(between(-32, 32)) / 4;
    input(make::float32(shape, values));
  }
  void bytes(const List& shape) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(elements_of(shape)));
    for (std::int64_t& value : values) value = between(0, 255);
    input(make::uint8(shape, values));
  }
  void list(const List& values) {
    input(make::integers(ElementType::int64, {static_cast<std::int64_t>(values.size())}, values));
  }
  template <typename T>
  void set(const char* name, T value) {
    node_.attributes.push_back({name, Attribute::Value(std::move(value))});
  }
  // Until opset `since`, an attribute; then an input.
  void attribute_or_input(const char* name, std::int64_t since, const List& values) {
    if (opset() < since) return set(name, values);
    list(values);
  }

  List shape(std::size_t least, std::size_t most, std::int64_t largest = 4) {
    List result(static_cast<std::size_t>(between(static_cast<std::int64_t>(least), static_cast<std::int64_t>(most))));
    for (std::int64_t& extent : result) extent = between(1, largest);
    return result;
  }
  // A shape that broadcasts with it.
  List broadcast(List shape) {
    for (std::int64_t& extent : shape) {
      if (chance(3)) extent = 1;
    }
    shape.erase(shape.begin(), shape.begin() + between(0, chance(2) ? static_cast<std::int64_t>(shape.size()) : 0));
    return shape;
  }
  std::int64_t axis(std::size_t rank) {
    const auto extent = static_cast<std::int64_t>(rank);
    return between(opset() >= 11 ? -extent : 0, extent - 1);
  }
  List some_axes(std::size_t rank) {
    List all;
    for (std::size_t i = 0; i < rank; ++i) {
      if (!chance(2)) continue;
      const bool from_end = opset() >= 11 && chance(2);
      all.push_back(static_cast<std::int64_t>(i) - (from_end ? static_cast<std::int64_t>(rank) : 0));
    }
    if (all.empty()) all.push_back(0);
    if (chance(2)) std::reverse(all.begin(), all.end());
    return all;
  }

  Case build() {
    for (std::size_t i = 0; i < outputs; ++i) node_.outputs.push_back("o" + std::to_string(i));
    case_.nodes.push_back(node_);
    for (std::size_t i = 0; i < outputs; ++i) {
      const std::string output = "y" + std::to_string(i);
      case_.nodes.push_back({"Identity", "", opset(), {}, {node_.outputs[i]}, {output}});
      case_.outputs.push_back(output);
    }
    case_.fed_inputs = node_.op_type == "Constant" ? 0 : 1;
    return case_;
  }
  std::size_t outputs = 1;

 private:
  Rng& rng_;
  Case case_;
  Node node_;
};

void windows(Draft& d, const List& kernel, bool has_dilations) {
  const std::size_t rank = kernel.size();
  const auto some = [&](std::int64_t lo, std::int64_t hi, std::size_t count) {
    List values(count);
    for (std::int64_t& value : values) value = d.between(lo, hi);
    return values;
  };
  if (!d.chance(3)) d.set("strides", some(1, 3, rank));
  if (has_dilations && d.chance(2)) d.set("dilations", some(1, 2, rank));
  if (d.chance(3)) {
    const char* const ways[] = {"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"};
    d.set("auto_pad", std::string(d.rng().pick(ways)));
  } else if (d.chance(2)) {
    d.set("pads", some(0, 2, 2 * rank));
  }
}

List sized(Draft& d, std::size_t rank, std::int64_t lo, std::int64_t hi) {
  List values(rank);
  for (std::int64_t& value : values) value = d.between(lo, hi);
  return values;
}

void conv(Draft& d, bool is_transposed) {
  const auto rank = static_cast<std::size_t>(d.between(1, 2));
  const std::int64_t group = d.between(1, 2);
  const std::int64_t in = d.between(1, 2);
  const std::int64_t out = d.between(1, 2);
  const List kernel = sized(d, rank, 1, 3);
  List x{d.between(1, 2), group * in};
  List w = is_transposed ? List{group * in, out} : List{group * out, in};
  const List inputs = sized(d, rank, 3, 6);
  x.insert(x.end(), inputs.begin(), inputs.end());
  w.insert(w.end(), kernel.begin(), kernel.end());
  d.data(x);
  d.data(w);
  if (d.chance(2)) d.data({group * out});
  d.set("group", group);
  if (d.chance(2)) d.set("kernel_shape", kernel);
  windows(d, kernel, true);
  if (is_transposed && d.chance(3)) d.set("output_padding", sized(d, rank, 0, 1));
  if (is_transposed && d.chance(5)) d.set("output_shape", sized(d, rank, 3, 8));
}

void pool(Draft& d, bool is_average) {
  const auto rank = static_cast<std::size_t>(d.between(1, 2));
  List x = sized(d, 2, 1, 2);
  const List inputs = sized(d, rank, 3, 7);
  x.insert(x.end(), inputs.begin(), inputs.end());
  d.data(x);
  const List kernel = sized(d, rank, 1, 3);
  d.set("kernel_shape", kernel);
  windows(d, kernel, !is_average || d.opset() >= 19);
  if (d.chance(3)) d.set("ceil_mode", std::int64_t{1});
  if (is_average && d.chance(2)) d.set("count_include_pad", std::int64_t{1});
}

void gemm(Draft& d) {
  const std::int64_t m = d.between(1, 4);
  const std::int64_t n = d.between(1, 4);
  const std::int64_t k = d.between(1, 4);
  const bool a = d.chance(2);
  const bool b = d.chance(2);
  d.data(a ? List{k, m} : List{m, k});
  d.data(b ? List{n, k} : List{k, n});
  if (d.opset() < 11 || d.chance(2)) d.data(d.broadcast({m, n}));
  if (a) d.set("transA", std::int64_t{1});
  if (b) d.set("transB", std::int64_t{1});
  if (d.chance(2)) d.set("alpha", 0.5F);
  if (d.chance(2)) d.set("beta", -2.0F);
}

void matmul(Draft& d) {
  const std::int64_t k = d.between(1, 4);
  const List batch = d.shape(0, 2, 3);
  List a = d.broadcast(batch);
  List b = batch;
  a.insert(a.end(), {d.between(1, 4), k});
  b.insert(b.end(), {k, d.between(1, 4)});
  d.data(d.chance(5) ? List{k} : a);
  d.data(d.chance(5) ? List{k} : b);
}

void einsum(Draft& d) {
  const char* const equations[] = {"bij,bjk->bik", "ij,kj->ik", "bhid,bhjd->bhij", "bthd,bshd->bhts", "i,j", "ij, jk"};
  const std::string equation = d.rng().pick(equations);
  std::map<char, std::int64_t> extents;
  List shape;
  for (const char c : equation.substr(0, equation.find('-')) + ",") {
    if (c == ',') {
      d.data(shape);
      shape.clear();
    } else if (c != ' ') {
      shape.push_back(extents.emplace(c, d.between(1, 3)).first->second);
    }
  }
  d.set("equation", equation);
}

void broadcasting(Draft& d, std::size_t inputs) {
  const List whole = d.shape(0, 3);
  for (std::size_t i = 0; i < inputs; ++i) d.data(d.broadcast(whole));
}

void unary(Draft& d) {
  d.data(d.shape(0, 3));
}

void reduce(Draft& d, std::int64_t input_since) {
  const List x = d.shape(1, 4);
  d.data(x);
  if (!d.chance(4)) d.attribute_or_input("axes", input_since, d.some_axes(x.size()));
  if (d.chance(2)) d.set("keepdims", d.between(0, 1));
  if (d.opset() >= input_since && d.chance(3)) d.set("noop_with_empty_axes", std::int64_t{1});
}

void arg(Draft& d) {
  const List x = d.shape(1, 4);
  d.data(x);
  if (!d.chance(3)) d.set("axis", d.axis(x.size()));
  if (d.chance(2)) d.set("keepdims", d.between(0, 1));
  if (d.opset() >= 12 && d.chance(2)) d.set("select_last_index", std::int64_t{1});
}

void softmax(Draft& d) {
  const List x = d.shape(2, 4);
  d.data(x);
  if (!d.chance(3)) d.set("axis", d.axis(x.size()));
}

void clip(Draft& d) {
  unary(d);
  if (d.opset() < 11) {
    d.set("min", -1.5F);
    d.set("max", 2.25F);
    return;
  }
  if (d.chance(2)) {
    d.input(make::float32(-1.5F));
  } else {
    d.omit();
  }
  if (d.chance(2)) d.input(make::float32(2.25F));
}

void cast(Draft& d) {
  unary(d);
  const std::int64_t types[] = {1, 10, 11, 16};
  d.set("to", types[d.rng().below(d.opset() >= 13 ? 4 : 3)]);
}

void where(Draft& d) {
  const List whole = d.shape(0, 3);
  const List condition = d.broadcast(whole);
  List values(static_cast<std::size_t>(elements_of(condition)));
  for (std::int64_t& value : values) value = d.between(0, 1);
  d.input(make::integers(ElementType::boolean, condition, values));
  d.data(d.broadcast(whole));
  d.data(whole);
}

void concat(Draft& d) {
  List x = d.shape(1, 4);
  const std::int64_t axis = d.axis(x.size());
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.size()) : axis);
  for (std::int64_t i = d.between(1, 3); i > 0; --i) {
    x[at] = d.between(1, 3);
    d.data(x);
  }
  d.set("axis", axis);
}

void split(Draft& d) {
  List x = d.shape(1, 3);
  const std::int64_t axis = d.axis(x.size());
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.size()) : axis);
  d.outputs = static_cast<std::size_t>(d.between(2, 3));
  const auto parts = static_cast<std::int64_t>(d.outputs);
  if (!d.chance(3)) {
    const List lengths = sized(d, d.outputs, 1, 3);
    x[at] = 0;
    for (const std::int64_t length : lengths) x[at] += length;
    d.data(x);
    d.attribute_or_input("split", 13, lengths);
  } else {
    x[at] = parts * d.between(1, 2) + (d.opset() >= 18 ? 1 : 0);
    d.data(x);
    if (d.opset() >= 18) d.set("num_outputs", parts);
  }
  d.set("axis", axis);
}

void slice(Draft& d) {
  const List x = d.shape(1, 4, 6);
  d.data(x);
  const List axes = d.some_axes(x.size());
  d.list(sized(d, axes.size(), -8, 8));
  List ends = sized(d, axes.size(), -8, 8);
  if (d.chance(3)) ends[0] = d.chance(2) ? INT64_MAX : INT64_MIN + 1;
  d.list(ends);
  d.list(axes);
  if (d.chance(2)) return;
  List steps = sized(d, axes.size(), -3, 3);
  for (std::int64_t& step : steps) step = step == 0 ? -1 : step;
  d.list(steps);
}

void pad(Draft& d) {
  const List x = d.shape(1, 4);
  const char* const modes[] = {"constant", "constant", "reflect", "edge", "wrap"};
  const std::string mode = modes[d.rng().below(d.opset() >= 19 ? 5 : 4)];
  d.data(x);
  List pads(2 * x.size());
  for (std::size_t i = 0; i < pads.size(); ++i) {
    const std::int64_t extent = x[i % x.size()];
    pads[i] = d.between(mode == "constant" && d.chance(4) ? -1 : 0, mode == "reflect" ? extent - 1
                                                                    : mode == "wrap"  ? extent
                                                                                      : 3);
    if (extent < 2) pads[i] = std::max<std::int64_t>(pads[i], 0);
  }
  d.attribute_or_input("pads", 11, pads);
  d.set("mode", mode);
  if (d.opset() < 11 && d.chance(2)) d.set("value", 1.5F);
  if (d.opset() >= 11 && d.chance(2)) d.input(make::float32(1.5F));
}

void transpose(Draft& d) {
  const List x = d.shape(0, 4);
  d.data(x);
  if (d.chance(4)) return;
  List perm;
  for (std::size_t i = 0; i < x.size(); ++i)
    perm.insert(perm.begin() + d.between(0, static_cast<std::int64_t>(i)), static_cast<std::int64_t>(i));
  d.set("perm", perm);
}

void reshape(Draft& d) {
  const List x = d.shape(1, 4);
  d.data(x);
  List to = x;
  if (d.chance(2)) to = {elements_of(x)};
  if (d.chance(2)) std::reverse(to.begin(), to.end());
  if (d.chance(2)) to[static_cast<std::size_t>(d.between(0, static_cast<std::int64_t>(to.size()) - 1))] = -1;
  if (d.chance(3)) to = {0, -1};
  if (d.chance(5)) to.insert(to.begin(), 1);
  d.list(to);
}

void flatten(Draft& d) {
  const List x = d.shape(1, 4);
  d.data(x);
  if (!d.chance(3)) d.set("axis", d.chance(4) ? static_cast<std::int64_t>(x.size()) : d.axis(x.size()));
}

void squeeze(Draft& d) {
  List x = d.shape(1, 4);
  List axes = d.some_axes(x.size());
  if (d.opset() < 13) std::sort(axes.begin(), axes.end());  // the library's inference expects them so
  for (const std::int64_t axis : axes)
    x[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.size()) : axis)] = 1;
  d.data(x);
  if (!d.chance(4)) d.attribute_or_input("axes", 13, axes);
}

void unsqueeze(Draft& d) {
  const List x = d.shape(0, 3);
  d.data(x);
  const auto added = static_cast<std::size_t>(d.between(1, 2));
  const auto rank = static_cast<std::int64_t>(x.size() + added);
  List fits = added == 1 ? List{d.axis(static_cast<std::size_t>(rank))} : List{0, rank - 1};
  d.attribute_or_input("axes", 13, fits);
}

void expand(Draft& d) {
  const List whole = d.shape(0, 4);
  d.data(d.broadcast(whole));
  d.list(d.broadcast(whole));
}

void gather(Draft& d) {
  const List x = d.shape(1, 3);
  d.data(x);
  const std::int64_t axis = d.axis(x.size());
  const std::int64_t extent = x[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.size()) : axis)];
  const List shape = d.shape(0, 2);
  List indices(static_cast<std::size_t>(elements_of(shape)));
  for (std::int64_t& index : indices) index = d.between(d.opset() >= 11 ? -extent : 0, extent - 1);
  d.input(make::integers(d.chance(2) ? ElementType::int32 : ElementType::int64, shape, indices));
  d.set("axis", axis);
}

void blocks(Draft& d, bool to_space) {
  const std::int64_t b = d.between(1, 3);
  const std::int64_t wide = to_space ? 1 : b;
  d.data({d.between(1, 2), d.between(1, 2) * (to_space ? b * b : 1), wide * d.between(1, 2), wide * d.between(1, 2)});
  d.set("blocksize", b);
  if (d.opset() >= (to_space ? 11 : 28) && d.chance(2)) d.set("mode", std::string(d.chance(2) ? "CRD" : "DCR"));
}

void resize(Draft& d) {
  const List x{1, d.between(1, 2), d.between(1, 5), d.between(1, 5)};
  d.data(x);
  const bool by_sizes = d.opset() >= 11 && d.chance(3);
  const float factors[] = {0.5F, 1, 2, 2, 3, 1.5F};
  const std::vector<float> scales{1, 1, d.rng().pick(factors), d.rng().pick(factors)};
  if (d.opset() >= 11) d.input(make::float32({0}, {}));
  d.input(by_sizes ? make::float32({0}, {}) : make::float32({4}, scales));
  if (by_sizes) d.list({x[0], x[1], d.between(1, 9), d.between(1, 9)});
  const bool is_cubic = d.opset() >= 11 && d.chance(4);
  if (is_cubic || d.chance(2)) d.set("mode", std::string(is_cubic ? "cubic" : "linear"));
  if (d.opset() < 11) return;
  const char* const coordinates[] = {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"};
  const char* const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  d.set("coordinate_transformation_mode", std::string(d.rng().pick(coordinates)));
  d.set("nearest_mode", std::string(d.rng().pick(nearest)));
}

void constant(Draft& d) {
  switch (d.between(0, 3)) {
    case 0: return d.set("value_float", 1.5F);
    case 1: return d.set("value_int", std::int64_t{3});
    case 2: return d.set("value_floats", std::vector<float>{1.5F, -2});
    default: return d.set("value_ints", List{1, 2, 3});
  }
}

// Draws a product of matrices of bytes, with or without zero points; some of these are per row or column.
void matmul_integer(Draft& d) {
  const List a{d.between(1, 4), d.between(1, 4)};
  const List b{a[1], d.between(1, 4)};
  d.bytes(a);
  d.bytes(b);
  if (d.chance(3)) return;
  d.bytes(d.chance(3) ? List{a[0]} : List{});
  if (d.chance(2)) d.bytes(d.chance(3) ? List{b[1]} : List{});
}

void qlinear_matmul(Draft& d) {
  const List a{d.between(1, 4), d.between(1, 4)};
  const auto scale = [&] { d.input(make::float32(0.25F)); };
  d.bytes(a);
  scale();
  d.bytes({});
  d.bytes({a[1], d.between(1, 4)});
  scale();
  d.bytes({});
  scale();
  d.bytes({});
}

void topk(Draft& d) {
  List x = d.shape(1, 3);
  d.data(x);
  const std::int64_t axis = d.axis(x.size());
  d.list({d.between(1, x[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.size()) : axis)])});
  d.set("axis", axis);
  if (d.opset() >= 11 && d.chance(2)) d.set("largest", std::int64_t{0});
  d.outputs = 2;
}

Tensor truth(Draft& d, const List& shape) {
  List values(static_cast<std::size_t>(elements_of(shape)));
  for (std::int64_t& value : values) value = d.between(0, 1);
  return make::integers(ElementType::boolean, shape, values);
}

void logical(Draft& d) {
  const List whole = d.shape(0, 3);
  d.input(truth(d, d.broadcast(whole)));
  d.input(truth(d, whole));
}

// Parameters of channels, so many of them.
void normalized_channels(Draft& d, int parameters) {
  const List x = d.shape(3, 4);
  d.data(x);
  for (int i = 0; i < parameters; ++i) d.data({x[1]});
}

void group_normalization(Draft& d) {
  const std::int64_t groups = d.between(1, 2);
  List x = d.shape(3, 4);
  x[1] = groups * d.between(1, 2);
  d.data(x);
  const std::int64_t parameters = d.opset() >= 21 ? x[1] : groups;
  d.data({parameters});
  d.data({parameters});
  d.set("num_groups", groups);
}

void layer_normalization(Draft& d, bool has_bias) {
  const List x = d.shape(1, 3);
  d.data(x);
  d.data({x.back()});
  if (has_bias && d.chance(2)) d.data({x.back()});
  if (d.chance(2)) d.set("axis", std::int64_t{-1});
}

// A layer of one direction or of both; the first inputs are those of both layers.
void recurrent(Draft& d, std::int64_t gates) {
  const std::int64_t directions = d.between(1, 2);
  const std::int64_t batch = d.between(1, 3);
  const std::int64_t size = d.between(1, 3);
  const std::int64_t hidden = d.between(1, 3);
  d.data({d.between(1, 3), batch, size});
  d.data({directions, gates * hidden, size});
  d.data({directions, gates * hidden, hidden});
  if (d.chance(2)) {
    d.data({directions, 2 * gates * hidden});
    d.omit();
    d.data({directions, batch, hidden});
  }
  d.set("hidden_size", hidden);
  if (directions == 2) d.set("direction", std::string("bidirectional"));
  d.outputs = gates == 4 ? 3 : 2;
}

using Draw = std::function<void(Draft&)>;

const std::map<std::string_view, Draw>& draws() {
  static const std::map<std::string_view, Draw> all{
      {"Conv", [](Draft& d) { conv(d, false); }},
      {"ConvTranspose", [](Draft& d) { conv(d, true); }},
      {"AveragePool", [](Draft& d) { pool(d, true); }},
      {"MaxPool", [](Draft& d) { pool(d, false); }},
      {"GlobalAveragePool", [](Draft& d) { d.data(d.shape(3, 4)); }},
      {"GlobalMaxPool", [](Draft& d) { d.data(d.shape(3, 4)); }},
      {"Gemm", gemm},
      {"MatMul", matmul},
      {"Einsum", einsum},
      {"Add", [](Draft& d) { broadcasting(d, 2); }},
      {"Sub", [](Draft& d) { broadcasting(d, 2); }},
      {"Mul", [](Draft& d) { broadcasting(d, 2); }},
      {"Div", [](Draft& d) { broadcasting(d, 2); }},
      {"Max", [](Draft& d) { broadcasting(d, static_cast<std::size_t>(d.between(1, 3))); }},
      {"Min", [](Draft& d) { broadcasting(d, static_cast<std::size_t>(d.between(1, 3))); }},
      {"LeakyRelu",
       [](Draft& d) {
         unary(d);
         d.set("alpha", 0.25F);
       }},
      {"Pow", [](Draft& d) { broadcasting(d, 2); }},
      {"PRelu",
       [](Draft& d) {
         const List x = d.shape(1, 4);
         d.data(x);
         d.data(d.broadcast(x));
       }},
      {"Equal", [](Draft& d) { broadcasting(d, 2); }},
      {"Less", [](Draft& d) { broadcasting(d, 2); }},
      {"LessOrEqual", [](Draft& d) { broadcasting(d, 2); }},
      {"Greater", [](Draft& d) { broadcasting(d, 2); }},
      {"GreaterOrEqual", [](Draft& d) { broadcasting(d, 2); }},
      {"And", logical},
      {"Or", logical},
      {"Not", [](Draft& d) { d.input(truth(d, d.shape(0, 3))); }},
      {"LayerNormalization", [](Draft& d) { layer_normalization(d, true); }},
      {"RMSNormalization", [](Draft& d) { layer_normalization(d, false); }},
      {"InstanceNormalization", [](Draft& d) { normalized_channels(d, 2); }},
      {"GroupNormalization", group_normalization},
      {"BatchNormalization", [](Draft& d) { normalized_channels(d, 4); }},
      {"ReduceSum", [](Draft& d) { reduce(d, 13); }},
      {"ReduceMean", [](Draft& d) { reduce(d, 18); }},
      {"ReduceMax", [](Draft& d) { reduce(d, 18); }},
      {"ReduceMin", [](Draft& d) { reduce(d, 18); }},
      {"ArgMax", arg},
      {"ArgMin", arg},
      {"Softmax", softmax},
      {"TopK", topk},
      {"MatMulInteger", matmul_integer},
      {"QLinearMatMul", qlinear_matmul},
      {"DynamicQuantizeLinear",
       [](Draft& d) {
         unary(d);
         d.outputs = 3;
       }},
      {"Clip", clip},
      {"Cast", cast},
      {"Where", where},
      {"Concat", concat},
      {"Split", split},
      {"Slice", slice},
      {"Pad", pad},
      {"Transpose", transpose},
      {"Reshape", reshape},
      {"Flatten", flatten},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Expand", expand},
      {"Gather", gather},
      {"DepthToSpace", [](Draft& d) { blocks(d, true); }},
      {"SpaceToDepth", [](Draft& d) { blocks(d, false); }},
      {"Resize", resize},
      {"LSTM", [](Draft& d) { recurrent(d, 4); }},
      {"GRU", [](Draft& d) { recurrent(d, 3); }},
      {"Constant", constant},
  };
  return all;
}

}  // namespace

Case arbitrary_node(Rng& rng, std::string_view op_type, std::int64_t opset_version) {
  Draft draft(rng, op_type, opset_version);
  const auto found = draws().find(op_type);
  if (found == draws().end()) {
    unary(draft);
  } else {
    found->second(draft);
  }
  return draft.build();
}

}  // namespace qconform::testing

// A case by oneDNN's C++ interface, of version 2 or from 3 on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/backends/issue_program.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/linear/linear.h"

namespace qconform::issue {
namespace {

constexpr std::string_view kOneDnnProgram = R"(// A {op} by oneDNN's {primitive}.
#include <dnnl.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <unordered_map>
#include <vector>

using dnnl::memory;

{arrays}
{check}
int main() try {{
{isa}  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  using Type = memory::data_type;
  using Tag = memory::format_tag;
  dnnl::primitive_attr attributes;
  std::unordered_map<int, memory> arguments;
{attributes}{run}  stream.wait();
  return check(y.data());
}} catch (const dnnl::error& error) {{
  std::printf("refused: %s\n", error.what());
  return {refusal};
}}
)";

constexpr std::string_view kReorder = R"(  const memory::dims shape{shape};
  memory from({{shape, Type::{x_type}, Tag::abc}}, engine, x);
  std::vector<{y_element}> y({elements});
  memory to({{shape, Type::{y_type}, Tag::abc}}, engine, y.data());
  arguments.insert({{{{DNNL_ARG_FROM, from}}, {{DNNL_ARG_TO, to}}}});
  dnnl::reorder(dnnl::reorder::primitive_desc(engine, from.get_desc(), engine, to.get_desc(), attributes))
      .execute(stream, arguments);
)";

constexpr std::string_view kConvolution = R"(  const memory::dims x_shape{x_shape};
  const memory::dims w_shape{w_shape};
  const memory::dims y_shape{y_shape};
  // The library chooses the layouts.
  const memory::desc x_any(x_shape, Type::{x_type}, Tag::any);
  const memory::desc w_any(w_shape, Type::{w_type}, Tag::any);
  const memory::desc y_any(y_shape, Type::{y_type}, Tag::any);
  {descriptor}
  memory x_plain({{x_shape, Type::{x_type}, Tag::{x_tag}}}, engine, x);
  memory w_plain({{w_shape, Type::{w_type}, Tag::{w_tag}}}, engine, w);
  std::vector<{y_element}> y({elements});
  memory y_plain({{y_shape, Type::{y_type}, Tag::{x_tag}}}, engine, y.data());
  memory x_used(chosen.src_desc(), engine), w_used(chosen.weights_desc(), engine), y_used(chosen.dst_desc(), engine);
  dnnl::reorder(x_plain, x_used).execute(stream, x_plain, x_used);
  dnnl::reorder(w_plain, w_used).execute(stream, w_plain, w_used);
  arguments.insert({{{{DNNL_ARG_SRC, x_used}}, {{DNNL_ARG_WEIGHTS, w_used}}, {{DNNL_ARG_DST, y_used}}}});
  dnnl::convolution_forward(chosen).execute(stream, arguments);
  dnnl::reorder(y_used, y_plain).execute(stream, y_used, y_plain);
)";

std::string_view type_text(ElementType type) {
  switch (type) {
    case ElementType::float32: return "f32";
    case ElementType::float16: return "f16";
    case ElementType::bfloat16: return "bf16";
    case ElementType::uint8: return "u8";
    case ElementType::int8: return "s8";
    case ElementType::int32: return "s32";
    default: return "undef";
  }
}

template <typename T>
bool all_are(const std::vector<T>& values, T value) {
  return std::all_of(values.begin(), values.end(), [&](const T& other) { return other == value; });
}

// Statements that give the primitive its parameters, in the words of the library's version.
class Attributes {
 public:
  explicit Attributes(bool is_newer) : is_newer_(is_newer) {}

  [[nodiscard]] const std::string& text() const { return text_; }

  // `mask`: of one parameter for each channel.
  void add_zero_points(const char* argument, std::vector<std::int32_t> values, int mask) {
    if (values.empty() || all_are(values, 0)) return;
    if (all_are(values, values.front())) values.resize(1);
    const int used = values.size() == 1 ? 0 : mask;
    text_ += is_newer_
                 ? fmt::format("  attributes.set_zero_points_mask({}, {});\n", argument, used)
                 : fmt::format("  attributes.set_zero_points({}, {}, {{DNNL_RUNTIME_S32_VAL}});\n", argument, used);
    std::vector<std::string> texts;
    for (const std::int32_t value : values) texts.push_back(std::to_string(value));
    add_argument(fmt::format("DNNL_ARG_ATTR_ZERO_POINTS | {}", argument), "s32", "std::int32_t", texts);
  }
  // Adds scales, from version 3 on.
  void add_scales(const char* argument, const std::vector<float>& values, int mask) {
    text_ += fmt::format("  attributes.set_scales_mask({}, {});\n", argument, values.size() == 1 ? 0 : mask);
    add_argument(fmt::format("DNNL_ARG_ATTR_SCALES | {}", argument), "f32", "float", texts_of(values));
  }
  // Sets the factors of the sums, in version 2.
  void set_output_scales(const std::vector<float>& values, int mask) {
    text_ += fmt::format("  attributes.set_output_scales({}, {{{}}});\n", values.size() == 1 ? 0 : mask,
                         fmt::join(texts_of(values), ", "));
  }
  void add_bias(const std::vector<float>& values) { add_argument("DNNL_ARG_BIAS", "f32", "float", texts_of(values)); }
  void add_bias(const std::vector<std::int32_t>& values) {
    std::vector<std::string> texts;
    for (const std::int32_t value : values) texts.push_back(std::to_string(value));
    add_argument("DNNL_ARG_BIAS", "s32", "std::int32_t", texts);
  }

 private:
  static std::vector<std::string> texts_of(const std::vector<float>& values) {
    std::vector<std::string> texts;
    for (const float value : values) texts.push_back(float_text(value));
    return texts;
  }
  void add_argument(const std::string& argument, const char* type, const char* element,
                    const std::vector<std::string>& values) {
    ++count_;
    text_ += fmt::format("  {} parameter{}[] = {{{}}};\n", element, count_, fmt::join(values, ", "));
    text_ += fmt::format("  arguments.emplace({}, memory({{{{{}}}, Type::{}, Tag::a}}, engine, parameter{}));\n",
                         argument, values.size(), type, count_);
  }

  bool is_newer_;
  int count_ = 0;
  std::string text_;
};

struct ProgramParts {
  std::string primitive;
  std::string arrays;
  std::string attributes;
  std::string run;
};

template <typename Node>
constexpr bool kQuantizes = std::is_same_v<Node, reference::QuantizeLinear>;

template <typename Node>
ProgramParts linear_parts(const Case& test_case, const Node& node, const std::vector<double>& scales, bool is_newer,
                          const Lowered& lowered) {
  const char* argument = kQuantizes<Node> ? "DNNL_ARG_TO" : "DNNL_ARG_FROM";
  const int mask = node.layout.channels == 1 ? 0 : 1 << 1;
  std::vector<float> floats;
  for (const double scale : scales) {
    const auto value = static_cast<float>(scale);
    floats.push_back(!is_newer && kQuantizes<Node> ? 1 / value : value);
  }
  std::vector<std::int32_t> zero_points;
  if constexpr (kQuantizes<Node>) {
    zero_points = node.y_zero_point;
  } else {
    for (const double value : node.x_zero_point) zero_points.push_back(static_cast<std::int32_t>(value));
  }
  Attributes attributes(is_newer);
  if (is_newer) {
    attributes.add_scales(argument, floats, mask);
  } else {
    attributes.set_output_scales(floats, mask);
  }
  attributes.add_zero_points(argument, zero_points, mask);
  const Tensor& x = *test_case.input(0);
  const ElementType y = lowered.output_type();
  return {"reorder", array_text("x", x), attributes.text(),
          fmt::format(fmt::runtime(kReorder),
                      fmt::arg("shape", list_text({node.layout.outer, node.layout.channels, node.layout.inner})),
                      fmt::arg("x_type", type_text(x.type)), fmt::arg("y_type", type_text(y)),
                      fmt::arg("y_element", element_type_text(y)), fmt::arg("elements", node.layout.elements()))};
}

std::string descriptor_text(const reference::ConvolutionGeometry& g, bool has_bias, bool is_newer,
                            std::string_view bias_type) {
  std::vector<std::int64_t> strides, dilations, begins, ends;
  for (const reference::SpatialAxis& axis : g.axes) {
    strides.push_back(axis.stride);
    dilations.push_back(axis.dilation - 1);
    begins.push_back(axis.pad_begin);
    ends.push_back(axis.pad_end);
  }
  const std::string bias =
      has_bias ? fmt::format("memory::desc({{{}}}, Type::{}, Tag::a), ", g.output_channels, bias_type) : "";
  const std::string rest = fmt::format(
      "dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, x_any, w_any, {}y_any,\n"
      "      memory::dims{}, memory::dims{}, memory::dims{}, memory::dims{}",
      bias, list_text(strides), list_text(dilations), list_text(begins), list_text(ends));
  if (is_newer)
    return fmt::format("const dnnl::convolution_forward::primitive_desc chosen(\n      engine, {}, attributes);", rest);
  return fmt::format(
      "const dnnl::convolution_forward::desc wanted(\n      {});\n"
      "  const dnnl::convolution_forward::primitive_desc chosen(wanted, attributes, engine);",
      rest);
}

std::string convolution_text(const Case& test_case, const reference::ConvolutionGeometry& g, std::size_t weights,
                             ElementType y_type, const std::string& descriptor) {
  std::vector<std::int64_t> w{g.group, g.group_output_channels(), g.group_input_channels()};
  for (const reference::SpatialAxis& axis : g.axes) w.push_back(axis.kernel);
  static constexpr std::array kTags{"ncw", "nchw", "ncdhw"};
  static constexpr std::array kWeightTags{"goiw", "goihw", "goidhw"};
  const std::vector<std::int64_t> y = g.output_shape();
  return fmt::format(fmt::runtime(kConvolution), fmt::arg("x_shape", list_text(test_case.input(0)->shape)),
                     fmt::arg("w_shape", list_text(w)), fmt::arg("y_shape", list_text(y)),
                     fmt::arg("x_type", type_text(test_case.input(0)->type)),
                     fmt::arg("w_type", type_text(test_case.input(weights)->type)),
                     fmt::arg("y_type", type_text(y_type)), fmt::arg("y_element", element_type_text(y_type)),
                     fmt::arg("x_tag", kTags[g.axes.size() - 1]), fmt::arg("w_tag", kWeightTags[g.axes.size() - 1]),
                     fmt::arg("elements", elements_of(y)), fmt::arg("descriptor", descriptor));
}

constexpr int kWeightChannels = 1 << 0 | 1 << 1;  // groups, and channels of each

void add_scales(const Case& test_case, const reference::QLinearConv& node, bool is_newer, Attributes& attributes) {
  std::vector<float> w_scale = node.w_scale;
  if (test_case.input(4)->elements() == 1) w_scale.resize(1);
  if (is_newer) {
    attributes.add_scales("DNNL_ARG_SRC", {node.x_scale}, 0);
    attributes.add_scales("DNNL_ARG_WEIGHTS", w_scale, kWeightChannels);
    attributes.add_scales("DNNL_ARG_DST", {node.y_scale}, 0);
    return;
  }
  std::vector<float> multipliers;
  for (const float scale : w_scale) {
    multipliers.push_back(static_cast<float>(static_cast<double>(node.x_scale) * scale / node.y_scale));
  }
  attributes.set_output_scales(multipliers, 1 << 1);
}

ProgramParts convolution_parts(const Case& test_case, const reference::ConvolutionOperands& operands,
                               const reference::QLinearConv* scaled, ElementType y_type, bool is_newer) {
  Attributes attributes(is_newer);
  if (scaled != nullptr) add_scales(test_case, *scaled, is_newer, attributes);
  attributes.add_zero_points("DNNL_ARG_SRC", {operands.x_zero_point}, 0);
  attributes.add_zero_points("DNNL_ARG_WEIGHTS", operands.w_zero_point, kWeightChannels);
  if (scaled != nullptr) attributes.add_zero_points("DNNL_ARG_DST", {scaled->y_zero_point}, 0);
  if (!operands.bias.empty() && is_newer) {
    std::vector<float> bias;  // a real number there
    for (std::size_t m = 0; m < operands.bias.size(); ++m) {
      bias.push_back(static_cast<float>(static_cast<double>(scaled->x_scale) * scaled->w_scale[m] * operands.bias[m]));
    }
    attributes.add_bias(bias);
  } else if (!operands.bias.empty()) {
    attributes.add_bias(operands.bias);
  }
  const std::size_t weights = scaled != nullptr ? 3 : 1;
  const std::string descriptor =
      descriptor_text(operands.geometry, !operands.bias.empty(), is_newer, is_newer ? "f32" : "s32");
  return {"convolution", array_text("x", *test_case.input(0)) + array_text("w", *test_case.input(weights)),
          attributes.text(), convolution_text(test_case, operands.geometry, weights, y_type, descriptor)};
}

// oneDNN has some types of memory, and convolutions of one to three dimensions.
Result<void> check_form(const Case& test_case, const Lowered& lowered) {
  const auto check_type = [](ElementType type) -> Result<void> {
    if (type_text(type) == "undef") return fail("--issue", "oneDNN has no memory of " + name_of(type));
    return {};
  };
  QCONFORM_TRY(check_type(test_case.input(0)->type));
  QCONFORM_TRY(check_type(lowered.output_type()));
  const auto* conv = qlinear_conv_of(lowered);
  const auto* sums = conv_integer_of(lowered);
  if (conv == nullptr && sums == nullptr) return {};
  const std::size_t axes = (conv != nullptr ? conv->operands : sums->operands).geometry.axes.size();
  if (axes < 1 || axes > 3) return fail("--issue", fmt::format("oneDNN has 1 to 3 spatial dimensions, not {}", axes));
  return {};
}

}  // namespace

Result<IssueProgram> onednn_program(const IssueCase& failing) {
  QCONFORM_TRY(check_single(failing));
  const Expected& expected = failing.expected;
  const Case& test_case = *expected.test_case;
  const Lowered* lowered = expected.classification.lowered.get();
  if (lowered == nullptr) return fail("--issue", "oneDNN's interface has no form for a node that is out of contract");
  QCONFORM_TRY(check_form(test_case, *lowered));
  const bool is_newer = !backend::is_older(failing.version, "3");
  ProgramParts parts;
  if (const auto* conv = qlinear_conv_of(*lowered)) {
    parts = convolution_parts(test_case, conv->operands, conv, lowered->output_type(), is_newer);
  } else if (const auto* sums = conv_integer_of(*lowered)) {
    parts = convolution_parts(test_case, sums->operands, nullptr, lowered->output_type(), is_newer);
  } else if (const auto* quantize = quantize_linear_of(*lowered)) {
    parts = linear_parts(test_case, *quantize, quantize->y_scale, is_newer, *lowered);
  } else if (const auto* dequantize = dequantize_linear_of(*lowered)) {
    parts = linear_parts(test_case, *dequantize, dequantize->x_scale, is_newer, *lowered);
  }
  const std::string isa =
      failing.what.word.empty() ? "" : fmt::format("  dnnl::set_max_cpu_isa(dnnl::cpu_isa::{});\n", failing.what.word);
  return IssueProgram{fmt::format(fmt::runtime(kOneDnnProgram), fmt::arg("op", test_case.node().op_type),
                                  fmt::arg("primitive", parts.primitive), fmt::arg("arrays", parts.arrays),
                                  fmt::arg("check", check_text(expected)), fmt::arg("isa", isa),
                                  fmt::arg("attributes", parts.attributes), fmt::arg("run", parts.run),
                                  fmt::arg("refusal", exit_code_of_refusal(expected))),
                      "c++ -std=c++17 case.cc -o case -ldnnl"};
}

}  // namespace qconform::issue

// Reads the node of a qc_graph for a kernel in C++17: the types, shapes, attributes and parameters of QLinearConv,
// ConvInteger, QuantizeLinear and DequantizeLinear, checked and resolved. A kernel is a class, and a plugin is that
// class and one line:
//
//     #include <qconform/node.hpp>
//
//     struct MyKernel {
//       static constexpr const char* name = "mine";
//       static constexpr const char* version = "1.0";
//       static constexpr std::uint64_t capabilities = QC_NEEDS_CHANNELS_LAST;  // or 0: as ONNX has them
//       static void check(const qc::Convolution& c) {  // declines; has no weights
//         qc::only(c.x_type == QC_INT8, "x", "only int8");
//       }
//       explicit MyKernel(const qc::Convolution& c) : c_(c) {}  // packs c.w
//       void run(const qc::Run& run) const;        // from run.x to run.y, with run.scratch
//       const qc::Convolution& c_;                 // lives as long as the kernel
//     };
//     QC_EXPORT_KERNEL(MyKernel)
//
// `std::size_t scratch_bytes() const` asks for scratch memory, aligned to 64 bytes. A kernel of the other operators has
// `using Node = qc::Linear;` and takes that instead of the Convolution.
//
// This header rejects nodes out of contract, and names the field and what was expected of it. It also rejects nodes
// that backends may refuse by ONNX's text and that no kernel wants: empty channels and windows, scales that are no
// positive numbers. A parameter of one element is one value for the whole tensor, in whatever shape. An exception
// thrown here or in the kernel becomes a status: qc::Refusal its own, any other QC_UNSUPPORTED. The header needs the
// standard library only.
#ifndef QCONFORM_NODE_HPP
#define QCONFORM_NODE_HPP

#include <qconform/backend.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace qc {

/// Ends a check or a run with a status of qc_status and a reason.
struct Refusal {
  int status;
  std::string reason;
};

inline std::string text_of(const std::vector<std::int64_t>& list) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(list[i]);
  return text + "]";
}
inline std::string text_of(const char* text) {
  return text;
}
inline std::string text_of(const std::string& text) {
  return text;
}
template <typename Number>
std::string text_of(Number number) {
  return std::to_string(number);
}

/// Declines what a kernel does not implement, unless `holds`: "x: only int8". The text is the parts, one behind the
/// other; it is put together only where it is needed.
template <typename... Parts>
void only(bool holds, const char* field, const Parts&... parts) {
  if (!holds) throw Refusal{QC_UNSUPPORTED, ((text_of(field) + ": ") + ... + text_of(parts))};
}
/// Rejects a node out of contract, unless `holds`.
template <typename Field, typename... Parts>
void expect(bool holds, const Field& field, const Parts&... parts) {
  if (!holds) throw Refusal{QC_REJECTED, ((text_of(field) + ": ") + ... + text_of(parts))};
}

// ---- Tensors and attributes ----

/// Bits of an element; 0 of a type that backend.h does not list.
inline int bits_of(std::int32_t type) {
  switch (type) {
    case QC_FLOAT64:
    case QC_INT64:
    case QC_UINT64: return 64;
    case QC_FLOAT32:
    case QC_INT32:
    case QC_UINT32: return 32;
    case QC_FLOAT16:
    case QC_BFLOAT16:
    case QC_INT16:
    case QC_UINT16: return 16;
    case QC_INT8:
    case QC_UINT8:
    case QC_FLOAT8E4M3FN:
    case QC_FLOAT8E4M3FNUZ:
    case QC_FLOAT8E5M2:
    case QC_FLOAT8E5M2FNUZ:
    case QC_FLOAT8E8M0: return 8;
    case QC_INT4:
    case QC_UINT4:
    case QC_FLOAT4E2M1: return 4;
    case QC_INT2:
    case QC_UINT2: return 2;
    default: return 0;
  }
}

/// The names of a few types, for reasons.
inline std::string name_of(std::int32_t type) {
  switch (type) {
    case QC_FLOAT32: return "float32";
    case QC_FLOAT16: return "float16";
    case QC_BFLOAT16: return "bfloat16";
    case QC_INT8: return "int8";
    case QC_UINT8: return "uint8";
    case QC_INT32: return "int32";
    default: return "type " + std::to_string(type);
  }
}

/// A tensor of the node.
struct Tensor {
  std::int32_t type = 0;
  std::vector<std::int64_t> dims;
  const void* data = nullptr;  ///< null where it has none yet: x, and before `prepare` the weights
  std::size_t bytes = 0;
  bool channels_last = false;

  bool is_scalar() const { return dims.empty(); }
  std::int64_t elements() const {
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    return count;
  }
  /// One element, in shape [], [1], [1, 1] and so on: a parameter of one element is one value for all.
  bool has_one_element() const { return elements() == 1; }
  /// Element `index` of a tensor with data, of type T.
  template <typename T>
  T at(std::int64_t index) const {
    T value;
    std::memcpy(&value, static_cast<const char*>(data) + static_cast<std::size_t>(index) * sizeof value, sizeof value);
    return value;
  }
  /// Bits of element `index`, of at most 16 bits.
  std::uint32_t bits_at(std::int64_t index) const {
    const int bits = bits_of(type);
    if (bits == 16) return at<std::uint16_t>(index);
    const std::uint32_t byte = at<std::uint8_t>(index * bits / 8);
    return byte >> (index * bits % 8) & ((1U << bits) - 1);
  }
  /// Element `index` of an integer type of at most 32 bits, or of float32, float16, bfloat16 and float8e8m0. Of the
  /// other small floats 0 for a zero, and NaN for what is none: they occur as zero points.
  double number_at(std::int64_t index) const {
    switch (type) {
      case QC_FLOAT32: return at<float>(index);
      case QC_INT32: return at<std::int32_t>(index);
      case QC_UINT16:
      case QC_UINT8:
      case QC_UINT4:
      case QC_UINT2: return bits_at(index);
      case QC_INT16:
      case QC_INT8:
      case QC_INT4:
      case QC_INT2: {
        const auto sign = static_cast<std::int32_t>(1U << (bits_of(type) - 1));
        return (static_cast<std::int32_t>(bits_at(index)) ^ sign) - sign;
      }
      case QC_BFLOAT16: {
        const std::uint32_t bits = bits_at(index) << 16;
        float value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
      }
      case QC_FLOAT16: return half(bits_at(index));
      case QC_FLOAT8E8M0:
        return bits_at(index) == 0xFF ? std::nan("") : std::ldexp(1.0, static_cast<int>(bits_at(index)) - 127);
      default: break;
    }
    const bool is_unsigned_zero = type == QC_FLOAT8E4M3FNUZ || type == QC_FLOAT8E5M2FNUZ;
    const std::uint32_t sign = is_unsigned_zero ? 0 : 1U << (bits_of(type) - 1);
    return (bits_at(index) & ~sign) == 0 ? 0 : std::nan("");
  }

 private:
  static double half(std::uint32_t bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const int mantissa = static_cast<int>(bits & 1023);
    const double sign = (bits >> 15) != 0 ? -1 : 1;
    if (exponent == 31) return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
    return sign * std::ldexp(exponent == 0 ? mantissa : mantissa + 1024, std::max(exponent, 1) - 25);
  }
};

/// The node of a graph: its inputs by name, its attributes by name and kind.
class Reader {
 public:
  /// `inputs`: the operator's names, by position. `attributes`: its names, each with its kind. Rejects unknown
  /// attributes, attributes of another kind, and further inputs.
  Reader(const qc_graph& graph, std::initializer_list<const char*> inputs,
         std::initializer_list<std::pair<const char*, std::int32_t>> attributes)
      : graph_(graph), node_(*graph.nodes[0]), names_(inputs) {
    expect(node_.input_count <= names_.size(), "inputs", "expected at most ", names_.size());
    for (std::size_t i = 0; i < node_.attribute_count; ++i) {
      const qc_attribute& attribute = *node_.attributes[i];
      const auto known = std::find_if(attributes.begin(), attributes.end(),
                                      [&](const auto& each) { return std::strcmp(each.first, attribute.name) == 0; });
      expect(known != attributes.end(), attribute.name, "no attribute of this version of the operator");
      expect(attribute.kind == known->second, attribute.name, "of the wrong kind");
      expect(find(attribute.name) == &attribute, attribute.name, "given twice");
    }
  }

  std::int64_t version() const { return node_.opset_version; }
  bool has(const char* name) const { return position_of(name) >= 0; }

  /// An input that the node has; rejects a node that lacks it.
  Tensor input(const char* name) const {
    const std::int32_t position = position_of(name);
    expect(position >= 0, name, "required input is missing");
    const qc_value& value = *graph_.values[position];
    return {value.type,
            {value.dims, value.dims + std::max(value.rank, 0)},
            value.data,
            value.bytes,
            value.layout == QC_LAYOUT_CHANNELS_LAST};
  }

  std::int64_t number(const char* name, std::int64_t absent) const {
    const qc_attribute* attribute = find(name);
    return attribute == nullptr ? absent : attribute->i;
  }
  std::string text(const char* name, const char* absent) const {
    const qc_attribute* attribute = find(name);
    return attribute == nullptr ? std::string(absent) : std::string(attribute->s, attribute->count);
  }
  /// A list with `count` values from `least` to 2^31, all `absent` where it is not stated.
  std::vector<std::int64_t> list(const char* name, std::size_t count, std::int64_t least, std::int64_t absent) const {
    const qc_attribute* attribute = find(name);
    if (attribute == nullptr) return std::vector<std::int64_t>(count, absent);
    std::vector<std::int64_t> values(attribute->ints, attribute->ints + attribute->count);
    expect(values.size() == count, name, "expected ", count, " values, got ", values);
    for (const std::int64_t value : values) {
      expect(value >= least && value <= kMostAttribute, name, "expected values of at least ", least, ", got ", values);
    }
    return values;
  }
  bool states(const char* name) const { return find(name) != nullptr; }
  std::vector<std::int64_t> stated_list(const char* name) const {
    const qc_attribute* attribute = find(name);
    return {attribute->ints, attribute->ints + attribute->count};
  }

  static constexpr std::int64_t kMostAttribute = std::int64_t{1} << 31;

 private:
  const qc_attribute* find(const char* name) const {
    for (std::size_t i = 0; i < node_.attribute_count; ++i) {
      if (std::strcmp(node_.attributes[i]->name, name) == 0) return node_.attributes[i];
    }
    return nullptr;
  }
  std::int32_t position_of(const char* name) const {
    const auto found =
        std::find_if(names_.begin(), names_.end(), [&](const char* each) { return std::strcmp(each, name) == 0; });
    const auto position = static_cast<std::size_t>(found - names_.begin());
    return position < node_.input_count ? node_.inputs[position] : -1;
  }

  const qc_graph& graph_;
  const qc_node& node_;
  std::vector<const char*> names_;
};

/// Declines graphs of several nodes and operators of other domains. Rejects opsets that did not have these operators.
inline std::string operator_of(const qc_graph& graph) {
  only(graph.node_count == 1, "graph", "only one node");
  const qc_node& node = *graph.nodes[0];
  only(std::strcmp(node.domain, "") == 0 || std::strcmp(node.domain, "ai.onnx") == 0, "domain", "only ONNX's own");
  expect(node.opset_version >= 10, "opset", "expected 10 or later");
  return node.op_type;
}

inline void expect_type(const Tensor& tensor, const char* field, std::initializer_list<std::int32_t> types) {
  const bool is_one = std::find(types.begin(), types.end(), tensor.type) != types.end();
  expect(is_one, field, "has an element type that the operator does not take: ", name_of(tensor.type));
}

// ---- Convolutions ----

/// One spatial axis, with auto_pad resolved.
struct Axis {
  std::int64_t input = 0;
  std::int64_t kernel = 0;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;
  std::int64_t output = 0;

  std::int64_t kernel_extent() const { return (kernel - 1) * dilation + 1; }
  /// The index in x at which a window begins: negative in the padding.
  std::int64_t first(std::int64_t position) const { return position * stride - pad_begin; }
};

/// A QLinearConv or ConvInteger. Shapes are ONNX's whatever the layout; parameters have one value for each output
/// channel.
struct Convolution {
  bool is_quantized = false;  ///< QLinearConv: it has scales and a y_zero_point; ConvInteger gives its sums
  std::int32_t x_type = 0;    ///< QC_INT8 or QC_UINT8
  std::int32_t w_type = 0;    ///< QC_INT8 or QC_UINT8
  std::int32_t y_type = 0;    ///< QC_INT8 or QC_UINT8; QC_INT32 of ConvInteger
  bool channels_last = false;
  std::int64_t batch = 0;
  std::int64_t input_channels = 0;
  std::int64_t output_channels = 0;
  std::int64_t groups = 1;
  std::vector<Axis> axes;

  const void* w = nullptr;  ///< null in `check`; [M, C/group, k...], or [M, k..., C/group] with channels last
  std::int32_t x_zero_point = 0;
  std::int32_t y_zero_point = 0;
  std::vector<std::int32_t> w_zero_point;
  float x_scale = 1;
  float y_scale = 1;
  std::vector<float> w_scale;
  std::vector<std::int32_t> bias;  ///< zeros where the node has none
  bool has_bias = false;
  bool has_one_w_scale = true;       ///< for all output channels
  bool has_one_w_zero_point = true;  ///< for all output channels
  std::vector<std::int64_t> y_dims;  ///< in the node's layout

  /// Throws a Refusal: of a node that is no convolution, of a wrong one.
  explicit Convolution(const qc_graph& graph) {
    const std::string operator_name = operator_of(graph);
    is_quantized = operator_name == "QLinearConv";
    only(is_quantized || operator_name == "ConvInteger", "operator", "only convolutions");
    const Reader node = reader_of(graph);
    const Tensor x = node.input("x");
    const Tensor weights = node.input("w");
    expect_type(x, "x", {QC_INT8, QC_UINT8});
    expect_type(weights, "w", {QC_INT8, QC_UINT8});
    x_type = x.type;
    w_type = weights.type;
    w = weights.data;
    channels_last = x.channels_last;
    read_channels(node, channels_first(x), channels_first(weights));
    read_axes(node, channels_first(x), channels_first(weights));
    read_zero_points(node);
    y_type = QC_INT32;
    bias.assign(channels(), 0);
    w_scale.assign(channels(), 1.0F);
    if (is_quantized) read_scales(node);
    y_dims = {batch};
    if (!channels_last) y_dims.push_back(output_channels);
    for (const Axis& axis : axes) y_dims.push_back(axis.output);
    if (channels_last) y_dims.push_back(output_channels);
  }

  std::int64_t group_inputs() const { return input_channels / groups; }
  std::int64_t group_outputs() const { return output_channels / groups; }
  std::int64_t input_pixels() const { return product(&Axis::input); }
  std::int64_t output_pixels() const { return product(&Axis::output); }
  std::int64_t taps() const { return product(&Axis::kernel); }
  bool is_pointwise() const { return taps() == 1; }
  /// One input channel in each group.
  bool is_depthwise() const { return group_inputs() == 1 && groups > 1; }
  /// The factor for a sum of channel `m`: x_scale * w_scale[m] / y_scale, exact but for the roundings of a double.
  double multiplier(std::int64_t m) const {
    return static_cast<double>(x_scale) * static_cast<double>(w_scale[static_cast<std::size_t>(m)]) /
           static_cast<double>(y_scale);
  }

 private:
  std::size_t channels() const { return static_cast<std::size_t>(output_channels); }
  std::int64_t product(std::int64_t Axis::*size) const {
    std::int64_t result = 1;
    for (const Axis& axis : axes) result *= axis.*size;
    return result;
  }

  Reader reader_of(const qc_graph& graph) const {
    const std::initializer_list<std::pair<const char*, std::int32_t>> attributes = {
        {"auto_pad", QC_STRING},   {"dilations", QC_INTS}, {"group", QC_INT},
        {"kernel_shape", QC_INTS}, {"pads", QC_INTS},      {"strides", QC_INTS}};
    if (!is_quantized) return {graph, {"x", "w", "x_zero_point", "w_zero_point"}, attributes};
    return {graph,
            {"x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point", "B"},
            attributes};
  }

  // ONNX's order, whatever the layout.
  static std::vector<std::int64_t> channels_first(const Tensor& tensor) {
    std::vector<std::int64_t> dims = tensor.dims;
    if (tensor.channels_last) std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
    return dims;
  }

  void read_channels(const Reader& node, const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& weights) {
    expect(x.size() >= 3, "x", "expected rank 3 or more, got shape ", x);
    expect(weights.size() == x.size(), "w", "expected the rank of x, got shape ", weights);
    groups = node.number("group", 1);
    expect(groups >= 1 && groups <= Reader::kMostAttribute, "group", "expected at least 1");
    batch = x[0];
    input_channels = x[1];
    output_channels = weights[0];
    expect(input_channels % groups == 0 && group_inputs() == weights[1], "w",
           "expected shape[1] * group = x.shape[1], got ", weights, " and group ", groups);
    expect(output_channels % groups == 0, "group", "expected a divisor of w.shape[0]");
    expect(input_channels > 0, "x", "has no channels");
  }

  void read_axes(const Reader& node, const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& weights) {
    const std::size_t rank = x.size() - 2;
    const auto strides = node.list("strides", rank, 1, 1);
    const auto dilations = node.list("dilations", rank, 1, 1);
    const auto pads = node.list("pads", 2 * rank, 0, 0);
    const std::string auto_pad = node.text("auto_pad", "NOTSET");
    const bool is_same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
    expect(is_same || auto_pad == "NOTSET" || auto_pad == "VALID", "auto_pad", "unknown: ", auto_pad);
    expect(auto_pad == "NOTSET" || !node.states("pads"), "pads", "cannot stand beside auto_pad ", auto_pad);
    if (node.states("kernel_shape")) {
      const auto stated = node.stated_list("kernel_shape");
      expect(stated == std::vector<std::int64_t>(weights.begin() + 2, weights.end()), "kernel_shape",
             "expected w.shape[2:] of ", weights, ", got ", stated);
    }
    for (std::size_t i = 0; i < rank; ++i) {
      Axis axis{x[i + 2], weights[i + 2], strides[i], dilations[i], pads[i], pads[rank + i], 0};
      expect(axis.input > 0, "x", "has an empty dimension: ", x);
      expect(axis.kernel > 0, "w", "has an empty dimension: ", weights);
      if (is_same) pad_to_same(axis, auto_pad == "SAME_UPPER");
      const std::int64_t padded = axis.input + axis.pad_begin + axis.pad_end;
      expect(padded >= axis.kernel_extent(), "w", "a kernel extent of ", axis.kernel_extent(),
             " exceeds the padded input of ", padded);
      axis.output = (padded - axis.kernel_extent()) / axis.stride + 1;
      axes.push_back(axis);
    }
  }

  // The output size comes first, the padding follows from it; a stride beyond the kernel does not crop the input.
  static void pad_to_same(Axis& axis, bool extra_at_end) {
    const std::int64_t output = (axis.input + axis.stride - 1) / axis.stride;
    const std::int64_t total =
        std::max<std::int64_t>(0, (output - 1) * axis.stride + axis.kernel_extent() - axis.input);
    axis.pad_begin = extra_at_end ? total / 2 : total - total / 2;
    axis.pad_end = total - axis.pad_begin;
  }

  void read_zero_points(const Reader& node) {
    w_zero_point.assign(channels(), 0);
    if (node.has("x_zero_point") || is_quantized) {
      x_zero_point = static_cast<std::int32_t>(scalar(node, "x_zero_point", {x_type}).number_at(0));
    }
    if (!node.has("w_zero_point") && !is_quantized) return;
    const Tensor zero_point = node.input("w_zero_point");
    expect_type(zero_point, "w_zero_point", {w_type});
    has_one_w_zero_point = is_one(zero_point, "w_zero_point");
    for (std::size_t m = 0; m < channels(); ++m) {
      w_zero_point[m] =
          static_cast<std::int32_t>(zero_point.number_at(has_one_w_zero_point ? 0 : static_cast<std::int64_t>(m)));
    }
  }

  void read_scales(const Reader& node) {
    x_scale = positive(scalar(node, "x_scale", {QC_FLOAT32}), 0, "x_scale");
    y_scale = positive(scalar(node, "y_scale", {QC_FLOAT32}), 0, "y_scale");
    const Tensor y_zero = scalar(node, "y_zero_point", {QC_INT8, QC_UINT8});
    y_zero_point = static_cast<std::int32_t>(y_zero.number_at(0));
    y_type = y_zero.type;
    const Tensor scale = node.input("w_scale");
    expect_type(scale, "w_scale", {QC_FLOAT32});
    has_one_w_scale = is_one(scale, "w_scale");
    for (std::size_t m = 0; m < channels(); ++m) {
      w_scale[m] = positive(scale, has_one_w_scale ? 0 : static_cast<std::int64_t>(m), "w_scale");
    }
    has_bias = node.has("B");
    if (!has_bias) return;
    const Tensor b = node.input("B");
    expect_type(b, "B", {QC_INT32});
    expect(b.dims == std::vector<std::int64_t>{output_channels}, "B",
           "expected one value for each output channel, got shape ", b.dims);
    for (std::size_t m = 0; m < channels(); ++m) bias[m] = b.at<std::int32_t>(static_cast<std::int64_t>(m));
  }

  static Tensor scalar(const Reader& node, const char* field, std::initializer_list<std::int32_t> types) {
    Tensor tensor = node.input(field);
    expect_type(tensor, field, types);
    expect(tensor.has_one_element(), field, "expected a scalar, got shape ", tensor.dims);
    return tensor;
  }
  // One value for all, or one for each output channel.
  bool is_one(const Tensor& tensor, const char* field) const {
    if (tensor.has_one_element()) return true;
    expect(tensor.dims == std::vector<std::int64_t>{output_channels}, field,
           "expected a scalar or one value for each output channel, got shape ", tensor.dims);
    return false;
  }
  static float positive(const Tensor& tensor, std::int64_t index, const char* field) {
    const auto value = tensor.at<float>(index);
    expect(std::isfinite(value) && value > 0, field, "expected a positive number, got ", value);
    return value;
  }
};

// ---- QuantizeLinear and DequantizeLinear ----

/// A QuantizeLinear or DequantizeLinear. x is [outer, channels, inner]; its elements are in ONNX's order.
struct Linear {
  bool is_quantize = false;
  std::int64_t version = 10;  ///< the operator's version in the node's opset
  std::int32_t x_type = 0;
  std::int32_t scale_type = 0;
  std::int32_t y_type = 0;
  std::int32_t precision = 0;  ///< the type in which QuantizeLinear divides; 0: not stated
  bool saturate = true;        ///< whether QuantizeLinear to float8 saturates
  std::vector<std::int64_t> x_dims;
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t inner = 1;
  std::int64_t block = 0;          ///< neighbours along the axis that share a parameter; 0: one for each channel
  std::vector<double> scale;       ///< one for each parameter
  std::vector<double> zero_point;  ///< one for each parameter; 0 where the node has none
  std::vector<std::int64_t> y_dims;

  /// Throws a Refusal: of a node that is neither, of a wrong one.
  explicit Linear(const qc_graph& graph) {
    const std::string operator_name = operator_of(graph);
    is_quantize = operator_name == "QuantizeLinear";
    only(is_quantize || operator_name == "DequantizeLinear", "operator", "only QuantizeLinear and DequantizeLinear");
    version = version_at(graph.nodes[0]->opset_version);
    const Reader node = reader_of(graph);
    const Tensor x = node.input("x");
    const Tensor scales = node.input(is_quantize ? "y_scale" : "x_scale");
    x_type = x.type;
    scale_type = scales.type;
    y_dims = x_dims = x.dims;
    expect((is_quantize ? reals() : codes()).has(x_type), "x", "has an element type that the version does not take");
    const Types scale_types = version < 19 ? Types{QC_FLOAT32} : is_quantize ? with_e8m0(reals()) : with_e8m0(floats());
    expect(scale_types.has(scale_type), scale_field(), "has an element type that the version does not take");
    const bool has_one_type = is_quantize && (version == 19 || version == 21);
    expect(!has_one_type || scale_type == x_type, scale_field(), "expected the element type of x");
    read_types(node);
    place(node, scales);
    read_parameters(node, scales);
  }

  std::int64_t elements() const { return outer * channels * inner; }
  /// The parameter of element `index`.
  std::size_t parameter_of(std::int64_t index) const {
    const std::int64_t channel = index / inner % channels;
    if (block == 0) return static_cast<std::size_t>(channel);
    const std::int64_t row = index / inner / channels * blocks() + channel / block;
    return static_cast<std::size_t>(row * inner + index % inner);
  }

 private:
  struct Types {
    std::uint64_t bits = 0;
    Types(std::initializer_list<std::int32_t> types) {
      for (const std::int32_t type : types) bits |= std::uint64_t{1} << type;
    }
    bool has(std::int64_t type) const { return type > 0 && type < 64 && (bits >> type & 1) != 0; }
    Types with(const Types& other) const {
      Types result = *this;
      result.bits |= other.bits;
      return result;
    }
  };

  static std::int64_t version_at(std::int64_t opset) {
    std::int64_t current = 10;
    for (const std::int64_t version : {13, 19, 21, 23, 24, 25}) current = opset >= version ? version : current;
    return current;
  }
  Types floats() const { return {QC_FLOAT32, QC_FLOAT16, QC_BFLOAT16}; }
  Types reals() const {
    const Types first{QC_FLOAT32, QC_INT32};
    return version < 19 ? first : first.with(floats());
  }
  Types with_e8m0(const Types& types) const { return version < 24 ? types : types.with({QC_FLOAT8E8M0}); }
  // The quantized types.
  Types codes() const {
    Types types{QC_UINT8, QC_INT8};
    if (!is_quantize) types = types.with({QC_INT32});
    if (version >= 19) types = types.with({QC_FLOAT8E4M3FN, QC_FLOAT8E4M3FNUZ, QC_FLOAT8E5M2, QC_FLOAT8E5M2FNUZ});
    if (version >= 21) types = types.with({QC_UINT16, QC_INT16, QC_UINT4, QC_INT4});
    if (version >= 23) types = types.with({QC_FLOAT4E2M1});
    if (version >= 25) types = types.with({QC_UINT2, QC_INT2});
    return types;
  }

  const char* scale_field() const { return is_quantize ? "y_scale" : "x_scale"; }
  const char* zero_point_field() const { return is_quantize ? "y_zero_point" : "x_zero_point"; }
  std::int64_t blocks() const { return (channels + block - 1) / block; }

  Reader reader_of(const qc_graph& graph) const {
    const std::initializer_list<const char*> inputs = {"x", scale_field(), zero_point_field()};
    if (version < 13) return {graph, inputs, {}};
    if (version < 19) return {graph, inputs, {{"axis", QC_INT}}};
    if (!is_quantize) {
      if (version < 21) return {graph, inputs, {{"axis", QC_INT}}};
      if (version < 23) return {graph, inputs, {{"axis", QC_INT}, {"block_size", QC_INT}}};
      return {graph, inputs, {{"axis", QC_INT}, {"block_size", QC_INT}, {"output_dtype", QC_INT}}};
    }
    if (version < 21) return {graph, inputs, {{"axis", QC_INT}, {"saturate", QC_INT}}};
    if (version < 23) {
      return {
          graph, inputs, {{"axis", QC_INT}, {"saturate", QC_INT}, {"block_size", QC_INT}, {"output_dtype", QC_INT}}};
    }
    return {graph,
            inputs,
            {{"axis", QC_INT},
             {"saturate", QC_INT},
             {"block_size", QC_INT},
             {"output_dtype", QC_INT},
             {"precision", QC_INT}}};
  }

  void read_types(const Reader& node) {
    const std::int64_t stated = node.number("output_dtype", 0);
    const Types outputs = is_quantize ? codes() : version < 19 ? Types{QC_FLOAT32} : floats();
    expect(stated == 0 || outputs.has(stated), "output_dtype", "names a type that the version does not give");
    if (is_quantize) {
      y_type = stated == 0 ? std::int32_t{QC_UINT8} : static_cast<std::int32_t>(stated);
      if (node.has("y_zero_point")) {
        y_type = node.input("y_zero_point").type;
        expect(outputs.has(y_type), "y_zero_point", "has an element type that the version does not give");
        expect(stated == 0 || stated == y_type, "output_dtype", "expected the element type of y_zero_point");
      }
      const std::int64_t divides_in = node.number("precision", 0);
      expect(divides_in == 0 || floats().has(divides_in), "precision", "expected float32, float16 or bfloat16");
      precision = static_cast<std::int32_t>(divides_in);
      expect(precision != 0 || scale_type != QC_INT32, "y_scale", "of int32 without a precision");
      const std::int64_t saturates = node.number("saturate", 1);
      expect(saturates == 0 || saturates == 1, "saturate", "expected 0 or 1");
      saturate = saturates == 1;
      return;
    }
    if (node.has("x_zero_point")) expect_type(node.input("x_zero_point"), "x_zero_point", {x_type});
    y_type = stated == 0 ? scale_type : static_cast<std::int32_t>(stated);
    expect(outputs.has(y_type), "output_dtype", "has to be stated beside this scale");
  }

  // Along an axis of x: one for each position, or one for each block.
  std::vector<std::int64_t> dims_of_parameters(std::int64_t stated_axis) const {
    const auto rank = static_cast<std::int64_t>(x_dims.size());
    const auto axis = static_cast<std::size_t>(stated_axis < 0 ? stated_axis + rank : stated_axis);
    if (block == 0) return {x_dims[axis]};
    std::vector<std::int64_t> dims = x_dims;
    dims[axis] = x_dims[axis] / block + (x_dims[axis] % block != 0 ? 1 : 0);
    return dims;
  }

  // One parameter, one for each position of an axis, or one for each block along it.
  void place(const Reader& node, const Tensor& scales) {
    block = node.number("block_size", 0);
    const std::int64_t stated_axis = node.number("axis", 1);
    const auto rank = static_cast<std::int64_t>(x_dims.size());
    const bool has_axis = version >= 13 && stated_axis >= -rank && stated_axis < rank;
    expect(block >= 0, "block_size", "expected at least 0");
    const std::vector<std::int64_t> expected = has_axis ? dims_of_parameters(stated_axis) : std::vector<std::int64_t>{};
    const bool is_one_block = block > 0 && has_axis && scales.dims == expected;
    if (scales.has_one_element() && !is_one_block) {
      expect(block == 0, "block_size", "unused beside one scale");
      expect(has_axis || stated_axis == 1, "axis", "outside the rank of x");
      for (const std::int64_t dim : x_dims) inner *= dim;
      return;
    }
    expect(version >= 13, scale_field(), "expected a scalar at this version");
    expect(has_axis, "axis", "outside the rank of x");
    const auto axis = static_cast<std::size_t>(stated_axis < 0 ? stated_axis + rank : stated_axis);
    for (std::size_t i = 0; i < x_dims.size(); ++i) (i < axis ? outer : i == axis ? channels : inner) *= x_dims[i];
    expect(scales.dims == expected, scale_field(), "expected shape ", expected, ", got ", scales.dims);
  }

  void read_parameters(const Reader& node, const Tensor& scales) {
    for (std::int64_t i = 0; i < scales.elements(); ++i) {
      scale.push_back(scales.number_at(i));
      expect(std::isfinite(scale.back()) && scale.back() != 0, scale_field(), "expected finite numbers other than 0");
      expect(scale.back() > 0 || !is_quantize, scale_field(), "expected positive numbers");
    }
    zero_point.assign(scale.size(), 0);
    if (!node.has(zero_point_field())) return;
    const Tensor zero_points = node.input(zero_point_field());
    const bool is_one_each = scales.has_one_element() && zero_points.has_one_element();
    expect(is_one_each || zero_points.dims == scales.dims, zero_point_field(), "expected the shape of the scale, got ",
           zero_points.dims);
    for (std::size_t i = 0; i < zero_point.size(); ++i) {
      zero_point[i] = zero_points.number_at(static_cast<std::int64_t>(i));
      const bool may_be_nonzero = zero_points.type != QC_INT32 && !std::isnan(zero_point[i]);
      expect(zero_point[i] == 0 || may_be_nonzero, zero_point_field(), "expected 0");
    }
  }
};

// ---- The plugin ----

/// The memory that a kernel runs on.
struct Run {
  const void* x;
  void* y;
  void* scratch;  ///< null where the kernel asks for none
};

namespace detail {

template <typename Kernel, typename = void>
struct NodeOf {
  using Type = Convolution;
};
template <typename Kernel>
struct NodeOf<Kernel, std::void_t<typename Kernel::Node>> {
  using Type = typename Kernel::Node;
};

template <typename Kernel, typename = void>
struct HasScratch : std::false_type {};
template <typename Kernel>
struct HasScratch<Kernel, std::void_t<decltype(std::declval<const Kernel&>().scratch_bytes())>> : std::true_type {};

/// Runs `work`, and makes a status of what it throws.
template <typename Work>
int guarded(qc_reason* reason, Work work) noexcept {
  const auto explain = [&](const char* text) { std::snprintf(reason->text, reason->text_size, "%s", text); };
  try {
    work();
    return QC_OK;
  } catch (const Refusal& refusal) {
    explain(refusal.reason.c_str());
    return refusal.status;
  } catch (const std::exception& error) {
    explain(error.what());
  } catch (...) {
    explain("an exception of no known type");
  }
  return QC_UNSUPPORTED;
}

template <typename Kernel>
class Plugin {
 public:
  static const qc_backend* backend() {
    static const qc_backend functions = [] {
      qc_backend result{};
      result.size = sizeof result;
      result.name = Kernel::name;
      result.version = Kernel::version;
      result.capabilities = Kernel::capabilities;
      result.supports = supports;
      result.prepare = prepare;
      result.release = release;
      result.run = run;
      return result;
    }();
    return &functions;
  }

 private:
  using Node = typename NodeOf<Kernel>::Type;

  struct Prepared {
    explicit Prepared(const qc_graph& graph) : node(graph), kernel(node) {}
    Node node;
    Kernel kernel;
  };

  static int supports(void* /*state*/, const qc_graph* graph, qc_reason* reason) {
    return guarded(reason, [&] {
      const Node node(*graph);
      Kernel::check(node);
    });
  }
  static int prepare(void* /*state*/, const qc_graph* graph, qc_prepared* prepared, qc_reason* reason) {
    return guarded(reason, [&] {
      auto made = std::make_unique<Prepared>(*graph);
      if constexpr (HasScratch<Kernel>::value) {
        prepared->scratch_bytes = made->kernel.scratch_bytes();
        prepared->scratch_alignment = 64;
      }
      prepared->node = made.release();
    });
  }
  static void release(void* /*state*/, void* node) { delete static_cast<Prepared*>(node); }
  static int run(void* /*state*/, void* node, const qc_run* run, qc_reason* reason) {
    return guarded(reason, [&] {
      const auto& prepared = *static_cast<const Prepared*>(node);
      const std::vector<std::int64_t>& dims = prepared.node.y_dims;
      void* y =
          run->allocate(run->context, 0, prepared.node.y_type, static_cast<std::int32_t>(dims.size()), dims.data());
      expect(y != nullptr, "y", "no tensor that qconform can hold: ", dims);
      prepared.kernel.run(Run{run->inputs[0]->data, y, run->scratch});
    });
  }
};

}  // namespace detail
}  // namespace qc

/// Exports class `Kernel` as a plugin.
#define QC_EXPORT_KERNEL(Kernel)                                                               \
  extern "C" __attribute__((visibility("default"))) const qc_backend* qconform_backend(void) { \
    return qc::detail::Plugin<Kernel>::backend();                                              \
  }

#endif

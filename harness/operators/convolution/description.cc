#include "harness/operators/convolution/description.h"

#include "harness/model/case_builder.h"
#include "harness/model/family.h"
#include "harness/operators/convolution/convolution.h"

namespace qconform {
namespace {

using Zeros = ParameterValues<std::int64_t>;

ParameterValues<float> scales_in(const Tensor& tensor) {
  return {float_values(tensor), tensor.shape};
}

Zeros zero_points_in(const Tensor& tensor) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(tensor.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = integer_at(tensor, static_cast<std::int64_t>(i));
  return {std::move(values), tensor.shape};
}

std::optional<Zeros> zero_points_in(const Tensor* tensor) {
  return tensor == nullptr ? std::nullopt : std::optional(zero_points_in(*tensor));
}

template <typename T>
void read_stated(const Case& test_case, std::string_view name, std::optional<T>& value) {
  if (const Attribute* attribute = test_case.attribute(name)) value = std::get<T>(attribute->value);
}

template <typename T>
void put_stated(std::string_view name, std::optional<T>& value, Node& node) {
  if (value) node.attributes.push_back({std::string(name), std::move(*value)});
}

// Calls visit(name, member) for each attribute, in the order of their names.
template <typename Visit>
void visit_attributes(Convolution& convolution, Visit visit) {
  visit("auto_pad", convolution.auto_pad);
  visit("dilations", convolution.dilations);
  visit("group", convolution.group);
  visit("kernel_shape", convolution.kernel_shape);
  visit("pads", convolution.pads);
  visit("strides", convolution.strides);
}

Tensor parameter_tensor(ParameterValues<float> scale) {
  return Tensor::of(ElementType::float32, std::move(scale.shape), scale.values);
}

Tensor parameter_tensor(ElementType type, Zeros zeros) {
  return make::integers(type, std::move(zeros.shape), zeros.values);
}

std::optional<Tensor> parameter_tensor(ElementType type, std::optional<Zeros> zeros) {
  return zeros ? std::optional(parameter_tensor(type, std::move(*zeros))) : std::nullopt;
}

reference::ConvolutionAttributes reference_attributes(const Convolution& convolution) {
  return {.auto_pad = convolution.auto_pad.value_or("NOTSET"),
          .group = convolution.group.value_or(1),
          .kernel_shape = convolution.kernel_shape,
          .strides = convolution.strides,
          .dilations = convolution.dilations,
          .pads = convolution.pads};
}

}  // namespace

std::optional<Convolution> read_convolution(const Case& test_case) {
  if (family_of(test_case) != &convolution_family() || !classify(test_case).lowered) return std::nullopt;
  return lowered_convolution(test_case);
}

Convolution lowered_convolution(const Case& test_case) {
  Convolution result;
  result.is_quantized = test_case.node().op_type == qlinear_conv_operator().name;
  result.opset_version = test_case.node().opset_version;
  visit_attributes(result, [&](std::string_view name, auto& value) { read_stated(test_case, name, value); });
  const auto& inputs = test_case.inputs;
  result.x = *inputs[0];
  result.x_zero_point = zero_points_in(test_case.input(2));
  result.w = *inputs[result.is_quantized ? 3 : 1];
  result.w_zero_point = zero_points_in(test_case.input(result.is_quantized ? 5 : 3));
  if (!result.is_quantized) return result;
  result.x_scale = scales_in(*inputs[1]);
  result.w_scale = scales_in(*inputs[4]);
  result.y_scale = scales_in(*inputs[6]);
  result.y_type = inputs[7]->type;
  result.y_zero_point = zero_points_in(*inputs[7]);
  if (const Tensor* bias = test_case.input(8)) result.bias = int32_values(*bias);
  return result;
}

Case build_convolution(Convolution c) {
  Case result;
  Node& node = result.node();
  node.op_type = std::string(c.is_quantized ? qlinear_conv_operator().name : conv_integer_operator().name);
  node.opset_version = c.opset_version;
  node.attributes.reserve(6);
  visit_attributes(c, [&](std::string_view name, auto& value) { put_stated(name, value, node); });
  const ElementType x_type = c.x.type;
  const ElementType w_type = c.w.type;
  auto& inputs = result.inputs;
  inputs.reserve(9);
  inputs.emplace_back(std::move(c.x));
  if (!c.is_quantized) {
    inputs.emplace_back(std::move(c.w));
    inputs.push_back(parameter_tensor(x_type, std::move(c.x_zero_point)));
    inputs.push_back(parameter_tensor(w_type, std::move(c.w_zero_point)));
    while (!inputs.back()) inputs.pop_back();
    return result;
  }
  inputs.emplace_back(parameter_tensor(std::move(c.x_scale)));
  inputs.emplace_back(parameter_tensor(x_type, std::move(c.x_zero_point).value_or(0)));
  inputs.emplace_back(std::move(c.w));
  inputs.emplace_back(parameter_tensor(std::move(c.w_scale)));
  inputs.emplace_back(parameter_tensor(w_type, std::move(c.w_zero_point).value_or(0)));
  inputs.emplace_back(parameter_tensor(std::move(c.y_scale)));
  inputs.emplace_back(parameter_tensor(c.y_type, std::move(c.y_zero_point)));
  if (c.bias) {
    inputs.emplace_back(Tensor::of(ElementType::int32, {static_cast<std::int64_t>(c.bias->size())}, *c.bias));
  }
  return result;
}

void set_sizes(Convolution& convolution, const reference::ConvolutionGeometry& sizes) {
  const std::size_t rank = sizes.axes.size();
  const auto spatial = [&](std::int64_t reference::SpatialAxis::*member, Convolution::List list) {
    list.reserve(list.size() + rank);
    for (const reference::SpatialAxis& axis : sizes.axes) list.push_back(axis.*member);
    return list;
  };
  using reference::SpatialAxis;
  convolution.x.shape = spatial(&SpatialAxis::input, {sizes.batch, sizes.input_channels});
  convolution.w.shape = spatial(&SpatialAxis::kernel, {sizes.output_channels, sizes.group_input_channels()});
  convolution.dilations = spatial(&SpatialAxis::dilation, {});
  convolution.group = sizes.group;
  convolution.kernel_shape = spatial(&SpatialAxis::kernel, {});
  convolution.pads.reset();
  if (!convolution.has_auto_pad()) {
    convolution.pads = spatial(&SpatialAxis::pad_end, spatial(&SpatialAxis::pad_begin, {}));
  }
  convolution.strides = spatial(&SpatialAxis::stride, {});
}

std::optional<reference::ConvolutionGeometry> geometry_of(const Convolution& convolution) {
  reference::Contract contract;
  return resolve_geometry(convolution.x.shape, convolution.w.shape, reference_attributes(convolution), contract);
}

ConvolutionSums exact_sums(const Convolution& convolution) {
  auto geometry = geometry_of(convolution);
  if (!geometry) return {};
  const std::vector<std::int64_t> none{0};
  const auto& w_zeros = convolution.w_zero_point ? convolution.w_zero_point->values : none;
  const auto channels = static_cast<std::size_t>(geometry->output_channels);
  const auto positions = static_cast<std::size_t>(geometry->output_positions());
  const reference::ConvolutionOperands operands{
      .geometry = std::move(*geometry),
      .x_type = convolution.x.type,
      .w_type = convolution.w.type,
      .x_zero_point = static_cast<std::int32_t>(convolution.x_zero()),
      .w_zero_point =
          expand(std::vector<std::int32_t>(w_zeros.begin(), w_zeros.end()), static_cast<std::int64_t>(channels)),
      .bias = convolution.is_quantized && convolution.bias ? *convolution.bias : std::vector<std::int32_t>{}};
  return {exact_sums(operands, convolution.x, convolution.w), positions, channels};
}

}  // namespace qconform

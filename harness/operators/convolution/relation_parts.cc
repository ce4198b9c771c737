#include "harness/operators/convolution/relation_parts.h"

#include <algorithm>

#include "harness/model/case_builder.h"
#include "harness/model/operator.h"
#include "harness/operators/convolution/convolution.h"

namespace qconform::relations {

namespace {

template <typename T>
PerChannel<T> per_channel(const Tensor& tensor, std::vector<T> values, std::int64_t output_channels) {
  return {std::move(values), tensor.shape != Values{output_channels}};
}

template <typename T>
Values parameter_shape(const PerChannel<T>& parameter) {
  return parameter.is_scalar ? Values{} : Values{static_cast<std::int64_t>(parameter.values.size())};
}

std::vector<float> floats(const Tensor& tensor) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values.push_back(float_at(tensor, i));
  return values;
}

void read_geometry(const Case& test_case, Convolution& convolution) {
  reference::Contract contract;
  NodeReader reader(test_case, operator_of(test_case)->inputs, contract);
  auto operands = read_operands(reader, contract);
  convolution.geometry = std::move(operands->geometry);
  const auto& axes = convolution.geometry.axes;
  convolution.group = convolution.geometry.group;
  for (const auto& axis : axes) convolution.strides.push_back(axis.stride);
  for (const auto& axis : axes) convolution.dilations.push_back(axis.dilation);
  for (const auto& axis : axes) convolution.pads.push_back(axis.pad_begin);
  for (const auto& axis : axes) convolution.pads.push_back(axis.pad_end);
}

void read_zero_points(const Tensor* x_zero_point, const Tensor* w_zero_point, Convolution& convolution) {
  convolution.states_x_zero_point = x_zero_point != nullptr;
  if (x_zero_point != nullptr) convolution.x_zero_point = integer_at(*x_zero_point, 0);
  convolution.states_w_zero_point = w_zero_point != nullptr;
  convolution.w_zero_point = w_zero_point == nullptr ? PerChannel<std::int64_t>{{0}, true}
                                                     : per_channel(*w_zero_point, integer_values(*w_zero_point),
                                                                   convolution.geometry.output_channels);
}

// The case is within the contract: every required input is there, and has its type and shape.
Convolution read_case(const Case& test_case) {
  Convolution result;
  result.frame = test_case;
  result.frame.inputs.clear();
  forget_answers(result.frame);
  result.is_quantized = test_case.node().op_type == qlinear_conv_operator().name;
  read_geometry(test_case, result);
  const auto& inputs = test_case.inputs;
  result.x = grid_of(*inputs[0]);
  result.w = grid_of(*inputs[result.is_quantized ? 3 : 1]);
  if (!result.is_quantized) {
    read_zero_points(test_case.input(2), test_case.input(3), result);
    return result;
  }
  read_zero_points(test_case.input(2), test_case.input(5), result);
  result.x_scale = float_at(*inputs[1], 0);
  result.w_scale = per_channel(*inputs[4], floats(*inputs[4]), result.geometry.output_channels);
  result.y_scale = float_at(*inputs[6], 0);
  result.y_type = inputs[7]->type;
  result.y_zero_point = integer_at(*inputs[7], 0);
  if (const Tensor* bias = test_case.input(8)) result.bias = integer_values(*bias);
  return result;
}

void state_attributes(const Convolution& convolution, Case& result) {
  const bool had_kernel_shape = result.attribute("kernel_shape") != nullptr;
  result.node().attributes.clear();
  const Values kernel(convolution.w.shape.begin() + 2, convolution.w.shape.end());
  if (had_kernel_shape) set_attribute(result, "kernel_shape", kernel);
  set_attribute(result, "dilations", convolution.dilations);
  set_attribute(result, "group", convolution.group);
  set_attribute(result, "pads", convolution.pads);
  set_attribute(result, "strides", convolution.strides);
}

}  // namespace

bool Convolution::has_auto_pad() const {
  const Attribute* attribute = frame.attribute("auto_pad");
  return attribute != nullptr && std::get<std::string>(attribute->value) != "NOTSET";
}

Case Convolution::build(const std::string& suffix) const {
  Case result = frame;
  result.id += suffix;
  if (restated) {
    state_attributes(*this, result);
  } else if (group != geometry.group) {
    set_attribute(result, "group", group);
  }
  const Tensor w_zero_points = make::integers(w.type, parameter_shape(w_zero_point), w_zero_point.values);
  const Tensor x_zero = make::integer(x.type, x_zero_point);
  if (is_quantized) {
    result.inputs = {x.tensor(),
                     make::float32(x_scale),
                     x_zero,
                     w.tensor(),
                     make::float32(parameter_shape(w_scale), w_scale.values),
                     w_zero_points,
                     make::float32(y_scale),
                     make::integer(y_type, y_zero_point)};
    if (bias) result.inputs.emplace_back(make::int32({static_cast<std::int64_t>(bias->size())}, *bias));
    return result;
  }
  result.inputs = {x.tensor(), w.tensor()};
  if (states_x_zero_point || states_w_zero_point) {
    result.inputs.push_back(states_x_zero_point ? std::optional(x_zero) : std::nullopt);
  }
  if (states_w_zero_point) result.inputs.emplace_back(w_zero_points);
  return result;
}

const Convolution* convolution_of(const RelationSubject& subject) {
  return dynamic_cast<const Convolution*>(subject.parts.get());
}

std::unique_ptr<const Parts> take_convolution_apart(const Case& test_case, const Lowered& /*lowered*/) {
  return std::make_unique<Convolution>(read_case(test_case));
}

void select_output_channels(Convolution& convolution, const Values& channels) {
  Values shape = convolution.w.shape;
  shape[0] = static_cast<std::int64_t>(channels.size());
  convolution.w = rearranged(convolution.w, shape, [&](Values index) {
    index[0] = channels[at(index[0])];
    return index;
  });
  convolution.w_zero_point = selected(convolution.w_zero_point, channels);
  convolution.w_scale = selected(convolution.w_scale, channels);
  if (!convolution.bias) return;
  Values bias;
  for (const std::int64_t channel : channels) bias.push_back((*convolution.bias)[at(channel)]);
  convolution.bias = std::move(bias);
}

void select_input_channels(Convolution& convolution, const Values& channels) {
  Values shape = convolution.x.shape;
  shape[1] = static_cast<std::int64_t>(channels.size());
  convolution.x = rearranged(convolution.x, shape, [&](Values index) {
    index[1] = channels[at(index[1])];
    return index;
  });
}

void select_images(Convolution& convolution, const Values& images) {
  Values shape = convolution.x.shape;
  shape[0] = static_cast<std::int64_t>(images.size());
  convolution.x = rearranged(convolution.x, shape, [&](Values index) {
    index[0] = images[at(index[0])];
    return index;
  });
}

namespace {

constexpr NotApplicable kNoAxes{"no spatial axes"};
constexpr NotApplicable kAutoPad{"auto_pad places the padding"};

// A further spatial axis of size 1 before axis `before`.
Case with_axis(const Convolution& convolution, std::size_t before, const char* suffix) {
  Convolution derived = convolution;
  const auto insert = [](Values& values, std::size_t position, std::int64_t value) {
    values.insert(values.begin() + static_cast<std::ptrdiff_t>(position), value);
  };
  insert(derived.x.shape, 2 + before, 1);
  insert(derived.w.shape, 2 + before, 1);
  insert(derived.strides, before, 1);
  insert(derived.dilations, before, 1);
  insert(derived.pads, convolution.spatial_rank() + before, 0);  // the end first: it lies behind
  insert(derived.pads, before, 0);
  derived.restated = true;
  return derived.build(suffix);
}

Applied raise_rank(const RelationSubject& subject) {
  const Convolution& base = *convolution_of(subject);
  if (base.has_auto_pad()) return kAutoPad;
  if (base.x.shape.size() >= 8) return NotApplicable{"x has as many axes as are handled"};
  std::vector<Case> derived{with_axis(base, 0, "/rank-raised-in-front"),
                            with_axis(base, base.spatial_rank(), "/rank-raised-behind")};
  return Derivation([derived = std::move(derived)](const Tensor& y) {
    return Application{derived, links_to_all(derived.size(), y.elements()), nullptr};
  });
}

Values reversed_behind(const Values& values, std::size_t first) {
  Values result = values;
  std::reverse(result.begin() + static_cast<std::ptrdiff_t>(first), result.end());
  return result;
}

Grid with_reversed_axes(const Grid& grid) {
  return rearranged(grid, reversed_behind(grid.shape, 2),
                    [](const Values& index) { return reversed_behind(index, 2); });
}

Applied swap_axes(const RelationSubject& subject) {
  Convolution derived = *convolution_of(subject);
  const std::size_t rank = derived.spatial_rank();
  if (rank < 2) return NotApplicable{"one spatial axis"};
  if (derived.has_auto_pad()) return kAutoPad;
  derived.x = with_reversed_axes(derived.x);
  derived.w = with_reversed_axes(derived.w);
  std::reverse(derived.strides.begin(), derived.strides.end());
  std::reverse(derived.dilations.begin(), derived.dilations.end());
  const auto middle = derived.pads.begin() + static_cast<std::ptrdiff_t>(rank);
  std::reverse(derived.pads.begin(), middle);
  std::reverse(middle, derived.pads.end());
  derived.restated = true;
  const Values shape = derived.geometry.output_shape();
  return Derivation([swapped = derived.build("/axes-swapped"), shape](const Tensor&) {
    const Values derived_shape = reversed_behind(shape, 2);
    return Application{
        {swapped},
        links_for(shape, derived_shape,
                  [](const Values& index) { return std::pair(std::size_t{0}, reversed_behind(index, 2)); }),
        nullptr};
  });
}

Grid mirrored(const Grid& grid, const Values& shape) {
  return rearranged(grid, shape, [&](Values index) {
    for (std::size_t i = 2; i < index.size(); ++i) index[i] = shape[i] - 1 - index[i];
    return index;
  });
}

// The last window leaves `unreached` elements behind it. Read backwards, they must not be there: they
// are taken from the padding first, then from x.
Applied mirror(const RelationSubject& subject) {
  Convolution derived = *convolution_of(subject);
  if (derived.has_auto_pad()) return kAutoPad;
  const std::size_t rank = derived.spatial_rank();
  Values x_shape = derived.x.shape;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const reference::SpatialAxis& a = derived.geometry.axes[axis];
    const std::int64_t unreached = (a.input + a.pad_begin + a.pad_end - a.kernel_extent()) % a.stride;
    derived.pads[axis] = std::max<std::int64_t>(0, a.pad_end - unreached);
    derived.pads[rank + axis] = a.pad_begin;
    x_shape[2 + axis] -= std::max<std::int64_t>(0, unreached - a.pad_end);
    if (x_shape[2 + axis] < 1) return NotApplicable{"no window reaches x"};
  }
  derived.x = mirrored(derived.x, x_shape);
  derived.w = mirrored(derived.w, derived.w.shape);
  derived.restated = true;
  const Values shape = derived.geometry.output_shape();
  return Derivation([reflected = derived.build("/mirrored"), shape](const Tensor&) {
    return Application{{reflected},
                       links_for(shape, shape,
                                 [&](Values index) {
                                   for (std::size_t i = 2; i < index.size(); ++i) index[i] = shape[i] - 1 - index[i];
                                   return std::pair(std::size_t{0}, index);
                                 }),
                       nullptr};
  });
}

constexpr FamilyRelation kAxisRelations[] = {
    {{Topic::axes, "rank-raised",
      "A further spatial axis of size 1, in front or behind, changes nothing: 1-D as 2-D, 2-D as 3-D.",
      "The sums are the same ones."},
     "QLinearConv, ConvInteger",
     raise_rank},
    {{Topic::axes, "axes-swapped",
      "x, w and the attributes with their spatial axes in reverse order give y with its axes in reverse order.",
      "The sums are the same ones, in another order: exact in integers."},
     "QLinearConv, ConvInteger",
     swap_axes},
    {{Topic::axes, "mirrored", "x and w mirrored in every spatial axis, pads exchanged, give y mirrored.",
      "The sums are the same ones, in another order: exact in integers."},
     "QLinearConv, ConvInteger",
     mirror},
};

}  // namespace

std::span<const FamilyRelation> axis_relations() {
  return kAxisRelations;
}

}  // namespace qconform::relations

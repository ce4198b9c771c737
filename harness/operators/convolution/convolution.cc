#include "harness/operators/convolution/convolution.h"

#include <algorithm>
#include <array>
#include <string>

#include "harness/model/layers.h"
#include "harness/operators/convolution/diagnosis.h"
#include "harness/operators/convolution/hooks.h"
#include "harness/operators/convolution/relation_parts.h"
#include "reference/kernels/kernels.h"

namespace qconform {

namespace {

Case draw_convolution_for(Rng& rng, const Operator& known, CornerCase corner_case, const Swarm& swarm) {
  return directed::draw_convolution(rng, known.name, corner_case, swarm);
}

std::span<const sweep::SweptModel> swept_convolution_models() {
  static const std::array models{sweep::swept_convolutions()};
  return models;
}

std::span<const relations::FamilyRelation> convolution_relations() {
  using namespace relations;
  static const std::vector<FamilyRelation> all =
      joined({signedness_relations(), padding_relations(), kernel_relations(), axis_relations(), channel_relations(),
              batch_relations(), requantization_relations()});
  return all;
}

std::span<const shrink::Reduction> convolution_reductions() {
  static constexpr std::array all{
      shrink::Reduction{shrink::ReductionStage::element, "one window", shrink::jump_to_window},
      shrink::Reduction{shrink::ReductionStage::element, "one output of each image", shrink::one_output_an_image},
      shrink::Reduction{shrink::ReductionStage::indices, "one tap at the same outputs", shrink::one_tap},
      shrink::Reduction{shrink::ReductionStage::sums, "fewer, larger products", shrink::fewer_larger_products},
      shrink::Reduction{shrink::ReductionStage::sums, "few products of extreme values", shrink::few_extreme_products},
      shrink::Reduction{shrink::ReductionStage::sums, "sum into bias", shrink::sum_into_bias},
      shrink::Reduction{shrink::ReductionStage::attributes, "plain strides and dilations", shrink::plain_strides},
      shrink::Reduction{shrink::ReductionStage::attributes, "smaller pads", shrink::smaller_pads},
      shrink::Reduction{shrink::ReductionStage::attributes, "padding as values", shrink::padding_as_values},
      shrink::Reduction{shrink::ReductionStage::attributes, "gaps as taps", shrink::gaps_as_taps},
  };
  return all;
}

constexpr std::array<std::string_view, 6> kConvolutionAttributes{"pads",  "strides",  "dilations",
                                                                 "group", "auto_pad", "kernel_shape"};

}  // namespace

const Family& convolution_family() {
  static const std::array operators{qlinear_conv_operator(), conv_integer_operator()};
  static const Family family{
      .name = "convolution",
      .operators = operators,
      .draws = {.features = feature::kConvolution, .draw_for = draw_convolution_for},
      .swept_models = swept_convolution_models,
      .nodes = {.data_shape = convolution_data_shape, .parameter_shape = convolution_parameter_shape},
      .mutation = {.attributes = kConvolutionAttributes,
                   .change = mutation::change_convolution,
                   .solve_tie = mutation::solve_convolution_tie},
      .relations = {.list = convolution_relations, .take_apart = relations::take_convolution_apart},
      .shrinking = {.reductions = convolution_reductions,
                    .extents = shrink::convolution_extents,
                    .without_dimension = shrink::without_spatial_axis,
                    .parameter_index = shrink::channel_of_wrong_element,
                    .with_gathered_scales = shrink::with_gathered_multiplier},
      .layer_sets = bench::convolution_layer_sets,
      .diagnosis = {.run = diagnose::run_convolution,
                    .use_profile = diagnose::use_requantization,
                    .defects = diagnose::convolution_defects,
                    .expressions = diagnose::convolution_slots,
                    .case_features = diagnose::convolution_case_features,
                    .sizes = diagnose::convolution_sizes,
                    .draw_like = diagnose::draw_convolution_like,
                    .coordinates = diagnose::convolution_coordinates,
                    .place = diagnose::place_in_convolution},
      .arithmetic = {.arithmetics = diagnose::requantization_arithmetics,
                     .choices = diagnose::convolution_choices,
                     .experiments = diagnose::convolution_experiments,
                     .layouts = diagnose::kLayouts,
                     .layout_of = diagnose::layout_of_convolution,
                     .profile_of = diagnose::profile_of_requantization}};
  return family;
}

const reference::ConvolutionOperands* operands_of(const Lowered& lowered) {
  const auto* convolution = dynamic_cast<const LoweredConvolution*>(&lowered);
  return convolution == nullptr ? nullptr : &convolution->operands();
}

namespace {

constexpr AttributeSignature kAttributes[] = {{"auto_pad", kStringAttribute}, {"dilations", kIntsAttribute},
                                              {"group", kIntAttribute},       {"kernel_shape", kIntsAttribute},
                                              {"pads", kIntsAttribute},       {"strides", kIntsAttribute}};

reference::ConvolutionAttributes read_attributes(const NodeReader& reader) {
  return {.auto_pad = reader.string_attribute("auto_pad", "NOTSET"),
          .group = reader.int_attribute("group", 1),
          .kernel_shape = reader.ints_attribute("kernel_shape"),
          .strides = reader.ints_attribute("strides"),
          .dilations = reader.ints_attribute("dilations"),
          .pads = reader.ints_attribute("pads")};
}

}  // namespace

bool check_weight_parameter(NodeReader& reader, std::string_view name, std::int64_t output_channels,
                            reference::Contract& contract) {
  const Tensor* tensor = reader.input(name);
  if (tensor == nullptr || tensor->elements() == 1) return true;
  if (tensor->shape.size() == 1 && tensor->shape[0] == output_channels) return true;
  return contract.violate("C11", std::string(name),
                          "expected a scalar or shape [" + std::to_string(output_channels) +
                              "] (one value per output channel), got shape " + shape_text(tensor->shape));
}

reference::ConvolutionAttributes stated_attributes(const Case& test_case) {
  reference::Contract unused;
  return read_attributes(NodeReader(test_case, {}, unused));
}

std::span<const AttributeSignature> convolution_attributes() {
  return kAttributes;
}

std::optional<reference::ConvolutionOperands> read_operands(NodeReader& reader, reference::Contract& contract) {
  if (!reader.check_type("x", {ElementType::uint8, ElementType::int8}, "C14")) return std::nullopt;
  if (!reader.check_type("w", {ElementType::uint8, ElementType::int8}, "C14")) return std::nullopt;
  if (!reader.check_same_type("x_zero_point", "x", "C16")) return std::nullopt;
  if (!reader.check_same_type("w_zero_point", "w", "C16")) return std::nullopt;
  const Tensor& x = *reader.input("x");
  const Tensor& w = *reader.input("w");
  auto geometry = resolve_geometry(x.shape, w.shape, read_attributes(reader), contract);
  if (!geometry) return std::nullopt;
  if (!reader.check_scalar("x_zero_point")) return std::nullopt;
  if (!check_weight_parameter(reader, "w_zero_point", geometry->output_channels, contract)) return std::nullopt;
  const Tensor* w_zero_point = reader.input("w_zero_point");
  const std::int64_t channels = geometry->output_channels;
  return reference::ConvolutionOperands{
      .geometry = std::move(*geometry),
      .x_type = x.type,
      .w_type = w.type,
      .x_zero_point = scalar_or(reader.input("x_zero_point"), 0),
      .w_zero_point =
          expand(w_zero_point == nullptr ? std::vector<std::int32_t>{0} : int32_values(*w_zero_point), channels),
      .bias = {}};
}

bool has_same_padding(const NodeReader& reader) {
  return reader.string_attribute("auto_pad", "NOTSET").starts_with("SAME");
}

std::optional<reference::ConvolutionGeometry> geometry_of(const Case& test_case) {
  if (family_of(test_case) != &convolution_family()) return std::nullopt;
  reference::Contract contract;
  NodeReader reader(test_case, operator_of(test_case)->inputs, contract);
  if (!reader.check_signature(kAttributes)) return std::nullopt;
  return resolve_geometry(reader.input("x")->shape, reader.input("w")->shape, read_attributes(reader), contract);
}

namespace {

std::size_t output_elements_of(const reference::ConvolutionGeometry& geometry) {
  return static_cast<std::size_t>(geometry.batch * geometry.output_channels * geometry.output_positions());
}

}  // namespace

std::vector<std::int64_t> exact_sums(const reference::ConvolutionOperands& operands, const Tensor& x, const Tensor& w) {
  std::vector<std::int64_t> sums(output_elements_of(operands.geometry));
  reference::fast_sums(operands, x.bytes, w.bytes, sums);
  return sums;
}

std::vector<std::int64_t> sums_of_magnitudes(const reference::ConvolutionOperands& operands, const Tensor& x,
                                             const Tensor& w) {
  std::vector<std::int64_t> sums(output_elements_of(operands.geometry));
  reference::fast_sums_of_magnitudes(operands, x.bytes, w.bytes, sums);
  return sums;
}

namespace {

using reference::ConvolutionGeometry;

struct AxisPart {
  std::int64_t begin;
  std::int64_t extent;
};

// Returns the part of the input that the windows of `outputs` read.
AxisPart part_read_by(const reference::SpatialAxis& axis, AxisPart outputs) {
  const std::int64_t first = outputs.begin * axis.stride - axis.pad_begin;
  const std::int64_t end = first + (outputs.extent - 1) * axis.stride + axis.kernel_extent();
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, axis.input);
  return {begin, std::clamp<std::int64_t>(end, begin, axis.input) - begin};
}

Box windows_of(const ConvolutionGeometry& geometry, const Box& output) {
  const std::int64_t first_group = output.begin[1] / geometry.group_output_channels();
  const std::int64_t last_group = (output.begin[1] + output.extent[1] - 1) / geometry.group_output_channels();
  Box box{{output.begin[0], first_group * geometry.group_input_channels()},
          {output.extent[0], (last_group - first_group + 1) * geometry.group_input_channels()}};
  for (std::size_t i = 0; i < geometry.axes.size(); ++i) {
    const AxisPart range = part_read_by(geometry.axes[i], {output.begin[i + 2], output.extent[i + 2]});
    box.begin.push_back(range.begin);
    box.extent.push_back(range.extent);
  }
  return box;
}

Box filters_of(const ConvolutionGeometry& geometry, const Box& output) {
  Box box{{output.begin[1], 0}, {output.extent[1], geometry.group_input_channels()}};
  for (const reference::SpatialAxis& axis : geometry.axes) {
    box.begin.push_back(0);
    box.extent.push_back(axis.kernel);
  }
  return box;
}

}  // namespace

std::int64_t LoweredConvolution::work() const {
  const ConvolutionGeometry& g = operands().geometry;
  std::int64_t work = saturating_product(Lowered::work(), std::max<std::int64_t>(g.group_input_channels(), 1));
  for (const reference::SpatialAxis& axis : g.axes) {
    work = saturating_product(work, std::max<std::int64_t>(axis.kernel, 1));
  }
  return work;
}

std::optional<Box> LoweredConvolution::read_by(InputRole role, const Box& output) const {
  switch (role) {
    case InputRole::parameter: return Box{{output.begin[1]}, {output.extent[1]}};
    case InputRole::weight: return filters_of(operands().geometry, output);
    case InputRole::data: break;
  }
  return windows_of(operands().geometry, output);
}

std::optional<WindowGeometry> window_geometry_of(const Lowered& lowered) {
  const reference::ConvolutionOperands* operands = operands_of(lowered);
  if (operands == nullptr) return std::nullopt;
  const ConvolutionGeometry& g = operands->geometry;
  WindowGeometry result{g.group_input_channels(), g.group_output_channels(), {}};
  for (const reference::SpatialAxis& axis : g.axes) {
    result.axes.push_back({axis.input, axis.kernel, axis.stride, axis.dilation, axis.pad_begin, axis.pad_end});
  }
  return result;
}

}  // namespace qconform

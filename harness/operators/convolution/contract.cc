#include "harness/operators/convolution/contract.h"

#include <string>

#include "harness/operators/convolution/convolution.h"
#include "reference/kernels/fast_sums.h"

namespace qconform {
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

std::optional<reference::ConvolutionOperands> read_convolution(NodeReader& reader, reference::Contract& contract) {
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
      .x_type = integer8_of(x.type),
      .w_type = integer8_of(w.type),
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

std::vector<std::int64_t> exact_sums(const reference::ConvolutionOperands& operands, const Tensor& x, const Tensor& w) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(elements_of(operands.geometry.output_shape())));
  reference::fast_sums(operands, x.bytes, w.bytes, sums);
  return sums;
}

std::vector<std::int64_t> sums_of_magnitudes(const reference::ConvolutionOperands& operands, const Tensor& x,
                                             const Tensor& w) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(elements_of(operands.geometry.output_shape())));
  reference::fast_sums_of_magnitudes(operands, x.bytes, w.bytes, sums);
  return sums;
}

}  // namespace qconform

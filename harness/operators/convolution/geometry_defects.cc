// Defects in where windows lie and which element a tap reads.
#include <algorithm>

#include "harness/operators/convolution/diagnosis.h"

namespace qconform::diagnose {
using reference::SpatialAxis;

namespace {

// The output size that follows from the pads; false when the window does not fit.
bool resize(SpatialAxis& axis) {
  const std::int64_t padded = axis.input + axis.pad_begin + axis.pad_end;
  if (padded < axis.kernel_extent()) return false;
  axis.output = (padded - axis.kernel_extent()) / axis.stride + 1;
  return true;
}

}  // namespace

bool resize_all(ConvolutionGeometry& geometry) {
  return std::all_of(geometry.axes.begin(), geometry.axes.end(), resize);
}

bool is_same(const StatedGeometry& stated) {
  return stated.attributes.auto_pad == "SAME_UPPER" || stated.attributes.auto_pad == "SAME_LOWER";
}

void split_padding(SpatialAxis& axis, std::int64_t total, const StatedGeometry& stated) {
  // Rounded down also where the total is negative.
  const std::int64_t half = (total - ((total % 2 + 2) % 2)) / 2;
  axis.pad_begin = stated.attributes.auto_pad == "SAME_LOWER" ? total - half : half;
  axis.pad_end = total - axis.pad_begin;
}

std::int64_t same_total(std::int64_t input, std::int64_t extent, std::int64_t stride) {
  return ((input + stride - 1) / stride - 1) * stride + extent - input;
}

namespace {

bool symmetrise_pads(ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  if (stated.attributes.auto_pad != "NOTSET") return true;
  for (SpatialAxis& axis : geometry.axes) axis.pad_end = axis.pad_begin;
  return resize_all(geometry);
}

bool symmetrise_pads_of_one_axis(ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  return geometry.axes.size() != 1 || symmetrise_pads(geometry, stated);
}

bool swap_same(ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  if (!is_same(stated)) return true;
  for (SpatialAxis& axis : geometry.axes) std::swap(axis.pad_begin, axis.pad_end);
  return true;
}

bool pad_lower_as_upper(ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  return stated.attributes.auto_pad != "SAME_LOWER" || swap_same(geometry, stated);
}

// SAME computed from the first dimensions of x, which are batch and channels.
bool pad_by_batch_and_channels(ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  if (!is_same(stated)) return true;
  for (std::size_t a = 0; a < geometry.axes.size(); ++a) {
    SpatialAxis& axis = geometry.axes[a];
    split_padding(axis, same_total(stated.x_shape[a], axis.kernel, axis.stride), stated);
  }
  return resize_all(geometry);
}

bool pad_valid(ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  if (stated.attributes.auto_pad != "VALID") return true;
  for (SpatialAxis& axis : geometry.axes) {
    split_padding(axis, std::max<std::int64_t>(0, same_total(axis.input, axis.kernel_extent(), axis.stride)), stated);
  }
  return resize_all(geometry);
}

bool crop_same(ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  if (!is_same(stated)) return true;
  for (SpatialAxis& axis : geometry.axes) {
    split_padding(axis, same_total(axis.input, axis.kernel_extent(), axis.stride), stated);
  }
  return true;
}

bool pad_without_dilation(ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  if (!is_same(stated)) return true;
  for (SpatialAxis& axis : geometry.axes) {
    split_padding(axis, std::max<std::int64_t>(0, same_total(axis.input, axis.kernel, axis.stride)), stated);
  }
  return true;
}

bool dilate_alike(ConvolutionGeometry& geometry, const StatedGeometry&) {
  for (SpatialAxis& axis : geometry.axes) axis.dilation = geometry.axes.back().dilation;
  return true;
}

// A window that begins above the input takes its first row alone as padding; any other one, its last row alone where
// that lies below the input. A window that reaches out on both sides reads what lies behind the input, the next
// channel.
std::int64_t locate_with_one_row_padded(const ConvolutionGeometry& geometry, std::span<const std::int64_t> position,
                                        std::int64_t tap) {
  if (!has_depthwise_rows(geometry)) return locate_in_input(geometry, position, tap);
  const std::int64_t columns = geometry.axes[1].input;
  const std::int64_t kernel_row = tap / geometry.axes[1].kernel;
  const std::int64_t first_row = position[0] - kernel_row * geometry.axes[0].dilation;
  const bool is_row_padded = first_row < 0 ? kernel_row == 0 : kernel_row == 2 && position[0] >= geometry.axes[0].input;
  if (is_row_padded || position[1] < 0 || position[1] >= columns) return kInPadding;
  return position[0] * columns + position[1];
}

constexpr Defect kGeometryDefects[] = {
    {.id = "dil-x-for-y",
     .description = "the last axis' dilation serves every axis",
     .operators = kConvolutions,
     .trigger = "dilations that differ",
     .rule = "formula",
     .evidence = "MNN#155",
     .corner_cases = {CornerCase::dilations_differ},
     .needs = {"dilations differ"},
     .replace = [](Stages& s) { s.set(stage::dilations, dilate_alike); }},
    {.id = "pads-order",
     .description = "pads [begins, ends] read as a begin and an end for each axis",
     .operators = kConvolutions,
     .trigger = "pads that differ between axes or sides",
     .rule = "formula",
     .evidence = "onnxruntime#17325",
     .corner_cases = {CornerCase::pads_asymmetric},
     .slot = "pads.index",
     .computes = "axis * 2 + side"},
    {.id = "asym-pads-symmetrised",
     .description = "the pads at the end are those at the beginning",
     .operators = kConvolutions,
     .trigger = "pads that differ between sides",
     .rule = "formula",
     .evidence = "TVM#6646",
     .corner_cases = {CornerCase::pads_asymmetric},
     .needs = {"pads differ by side"},
     .replace = [](Stages& s) { s.set(stage::pads, symmetrise_pads); }},
    {.id = "asym-pads-symmetrised-1d",
     .description = "along one dimension the pad at the end is that at the beginning",
     .operators = kConvolutions,
     .trigger = "one spatial dimension, pads that differ between its sides",
     .rule = "formula",
     .evidence = "OpenCV 4.6.0",
     .corner_cases = {CornerCase::pads_asymmetric},
     .needs = {"1 spatial dimension", "pads differ by side"},
     .replace = [](Stages& s) { s.set(stage::pads, symmetrise_pads_of_one_axis); }},
    {.id = "same-swap",
     .description = "SAME_UPPER and SAME_LOWER exchanged",
     .operators = kConvolutions,
     .trigger = "auto_pad SAME with an odd total",
     .rule = "formula",
     .evidence = "root#21793, onnxruntime#5368",
     .corner_cases = {CornerCase::same_odd_padding},
     .needs = {"auto_pad SAME", "pads differ by side"},
     .replace = [](Stages& s) { s.set(stage::same_side, swap_same); }},
    {.id = "same-lower-as-upper",
     .description = "SAME_LOWER pads like SAME_UPPER",
     .operators = kConvolutions,
     .trigger = "auto_pad SAME_LOWER with an odd total",
     .rule = "formula",
     .evidence = "OpenCV 4.6.0",
     .corner_cases = {CornerCase::same_odd_padding},
     .needs = {"auto_pad SAME_LOWER", "pads differ by side"},
     .replace = [](Stages& s) { s.set(stage::same_side, pad_lower_as_upper); }},
    {.id = "autopad-nc-dims",
     .description = "SAME pads computed from batch and channels instead of the spatial sizes",
     .operators = kConvolutions,
     .trigger = "auto_pad SAME",
     .rule = "C4",
     .evidence = "onnx reference evaluator, op_conv.py",
     .needs = {"auto_pad SAME"},
     .replace = [](Stages& s) { s.set(stage::auto_pad, pad_by_batch_and_channels); }},
    {.id = "autopad-valid-as-same",
     .description = "VALID pads like SAME_UPPER",
     .operators = kConvolutions,
     .trigger = "auto_pad VALID with a window wider than its stride",
     .rule = "C4",
     .evidence = "onnx reference evaluator, op_conv.py",
     .needs = {"auto_pad VALID"},
     .replace = [](Stages& s) { s.set(stage::auto_pad, pad_valid); }},
    {.id = "autopad-no-clamp",
     .description = "SAME with a negative total crops the input",
     .operators = kConvolutions,
     .trigger = "auto_pad SAME with a stride longer than the window",
     .rule = "C3",
     .evidence = "onnxruntime#10086",
     .corner_cases = {CornerCase::same_short_kernel},
     .replace = [](Stages& s) { s.set(stage::auto_pad, crop_same); }},
    {.id = "autopad-ignores-dilation",
     .description = "SAME counts the kernel's size, not its dilated extent",
     .operators = kConvolutions,
     .trigger = "auto_pad SAME with a dilation",
     .rule = "C2",
     .evidence = "nnabla#1102",
     .needs = {"auto_pad SAME", "a dilation > 1"},
     .replace = [](Stages& s) { s.set(stage::auto_pad, pad_without_dilation); }},
    {.id = "batch0-buffer",
     .description = "every image is computed from the first one",
     .operators = kConvolutions,
     .trigger = "a batch of 2 or more",
     .rule = "formula",
     .evidence = "QNNPACK commit e876e8d",
     .corner_cases = {CornerCase::batch},
     .needs = {"batch > 1"},
     .slot = "image",
     .computes = "0"},
    {.id = "pointwise-group-base",
     .description = "1x1 kernels read the first group's channels for every group",
     .operators = kConvolutions,
     .trigger = "a 1x1 kernel with 2 groups or more",
     .rule = "formula",
     .evidence = "onnxruntime#7885",
     .corner_cases = {CornerCase::grouped_pointwise},
     .needs = {"1x1 kernel", "group > 1"},
     .slot = "group.base",
     .computes = "taps == 1 ? 0 : group * channels"},
    {.id = "pad-reads-neighbour",
     .description = "a column outside the input reads the neighbouring row",
     .operators = kConvolutions,
     .trigger = "padding along the last axis, 2 rows or more",
     .rule = "C1",
     .evidence = "oneDNN#5080",
     .slot = "tap.place",
     .computes = "rows_inside * in_plane ? offset : padding"},
    {.id = "pad-reads-next-channel",
     .description =
         "depthwise 3x3: of a window that begins above the input, a row below it is read in the next channel",
     .operators = {"QLinearConv"},
     .trigger = "groups of one channel in and out, a 3x3 kernel, 16 columns beside its extent, one row",
     .rule = "C1",
     .evidence = "OpenCV 4.6.0",
     .replace = [](Stages& s) { s.set(stage::locate, locate_with_one_row_padded); }},
    {.id = "kernel-flipped",
     .description = "true convolution: the kernel is mirrored along every spatial axis",
     .operators = kConvolutions,
     .trigger = "a kernel that differs when it is mirrored",
     .rule = "formula",
     .needs = {"kernel of more than one tap"},
     .slot = "weight.tap",
     .computes = "taps - 1 - tap"},
    {.id = "kernel-transposed",
     .description = "the kernel's rows and columns exchanged",
     .operators = kConvolutions,
     .trigger = "a 2-D kernel that differs when rows and columns are exchanged",
     .rule = "formula",
     .slot = "weight.tap",
     .computes = "axes == 2 ? counted_by_columns : tap"},
};

}  // namespace

std::span<const Defect> geometry_defects() {
  return kGeometryDefects;
}

}  // namespace qconform::diagnose

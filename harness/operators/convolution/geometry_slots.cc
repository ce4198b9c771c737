// Lists the places in a convolution's geometry, and in the choice of the element that a tap reads, at which expressions
// may stand.
#include <algorithm>

#include "harness/operators/convolution/diagnosis.h"

namespace qconform::diagnose {
namespace {

using reference::SpatialAxis;

constexpr std::int64_t kLargest = std::int64_t{1} << 20;  // largest value that a stride, a dilation or a pad may become

struct AxisContext : StageContext {
  const std::vector<SpatialAxis>& axes;
  std::size_t index;
  std::int64_t side;   // 0: begin, 1: end
  std::int64_t total;  // the sum of the pads that auto_pad gives, negative ones too
  bool is_lower;

  [[nodiscard]] const SpatialAxis& axis() const { return axes[index]; }
};

const AxisContext& at(const StageContext& context) {
  return as<AxisContext>(context);
}

constexpr Variable kAxis{"axis",
                         [](const StageContext& c, std::int64_t) { return static_cast<std::int64_t>(at(c).index); }};
constexpr Variable kAxes{
    "axes", [](const StageContext& c, std::int64_t) { return static_cast<std::int64_t>(at(c).axes.size()); }};
constexpr Variable kKernel{"kernel", [](const StageContext& c, std::int64_t) { return at(c).axis().kernel; }};
constexpr Variable kExtent{"extent", [](const StageContext& c, std::int64_t) { return at(c).axis().kernel_extent(); }};
constexpr Variable kStride{"stride", [](const StageContext& c, std::int64_t) { return at(c).axis().stride; }};
constexpr Variable kDilation{"dilation", [](const StageContext& c, std::int64_t) { return at(c).axis().dilation; }};
constexpr Variable kBegin{"begin", [](const StageContext& c, std::int64_t) { return at(c).axis().pad_begin; }};
constexpr Variable kEnd{"end", [](const StageContext& c, std::int64_t) { return at(c).axis().pad_end; }};
constexpr Variable kTotal{"total", [](const StageContext& c, std::int64_t) { return at(c).total; }};
constexpr Variable kLower{"lower", [](const StageContext& c, std::int64_t) { return at(c).is_lower ? 1L : 0L; }};

constexpr Variable kDilations[] = {
    kDilation,
    {"first_dilation", [](const StageContext& c, std::int64_t) { return at(c).axes.front().dilation; }},
    {"last_dilation", [](const StageContext& c, std::int64_t) { return at(c).axes.back().dilation; }},
    kStride,
    kKernel,
    kAxis,
    kAxes};
constexpr Variable kStrides[] = {
    kStride,
    {"first_stride", [](const StageContext& c, std::int64_t) { return at(c).axes.front().stride; }},
    {"last_stride", [](const StageContext& c, std::int64_t) { return at(c).axes.back().stride; }},
    kDilation,
    kKernel,
    kAxis,
    kAxes};
constexpr Variable kPads[] = {kBegin, kEnd, kAxis, kAxes, kKernel, kExtent, kStride, kDilation};
constexpr Variable kPadIndices[] = {
    {"side", [](const StageContext& c, std::int64_t) { return at(c).side; }}, kAxis, kAxes};
constexpr Variable kSameSides[] = {kBegin, kEnd, kTotal, kLower, kAxis};
constexpr Variable kExtents[] = {kExtent, kKernel, kDilation, kStride};
constexpr Variable kTotals[] = {kTotal, kExtent, kKernel, kStride};

// Each axis as it was before any of them changed.
template <typename Change>
bool change_axes(ConvolutionGeometry& geometry, const StatedGeometry& stated, const Change& change) {
  const std::vector<SpatialAxis> axes = geometry.axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t total = same_total(axes[i].input, axes[i].kernel_extent(), axes[i].stride);
    const AxisContext context{{}, axes, i, 0, total, stated.attributes.auto_pad == "SAME_LOWER"};
    if (!change(geometry.axes[i], context)) return false;
  }
  return true;
}

bool is_size(std::int64_t value) {
  return value >= 1 && value <= kLargest;
}

bool is_pad(std::int64_t value) {
  return value >= -kLargest && value <= kLargest;
}

template <std::int64_t SpatialAxis::*Member, bool kResizes>
bool change_size(const Expression& e, ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  const bool is_possible = change_axes(geometry, stated, [&](SpatialAxis& axis, const AxisContext& context) {
    axis.*Member = e.evaluate(context);
    return is_size(axis.*Member);
  });
  return is_possible && (!kResizes || resize_all(geometry));
}

bool has_pads(const StatedGeometry& stated) {
  return stated.attributes.auto_pad == "NOTSET";
}

template <std::int64_t SpatialAxis::*Member>
bool change_pad(const Expression& e, ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  if (!has_pads(stated)) return true;
  const bool is_possible = change_axes(geometry, stated, [&](SpatialAxis& axis, const AxisContext& context) {
    axis.*Member = e.evaluate(context);
    return is_pad(axis.*Member);
  });
  return is_possible && resize_all(geometry);
}

bool change_pad_index(const Expression& e, ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  if (!has_pads(stated) || !stated.attributes.pads) return true;
  const std::vector<std::int64_t>& pads = *stated.attributes.pads;
  return change_axes(geometry, stated, [&](SpatialAxis& axis, AxisContext context) {
    const auto begin = static_cast<std::int64_t>(context.index);
    axis.pad_begin = pads[index_or(begin, e.evaluate(context), pads.size())];
    context.side = 1;
    const auto end = begin + static_cast<std::int64_t>(context.axes.size());
    axis.pad_end = pads[index_or(end, e.evaluate(context), pads.size())];
    return true;
  });
}

bool change_side(const Expression& e, ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  if (!is_same(stated)) return true;
  return change_axes(geometry, stated, [&](SpatialAxis& axis, AxisContext context) {
    context.total = axis.pad_begin + axis.pad_end;
    axis.pad_begin = e.evaluate(context);
    axis.pad_end = context.total - axis.pad_begin;
    return is_pad(axis.pad_begin);
  });
}

bool change_extent(const Expression& e, ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  if (!is_same(stated)) return true;
  return change_axes(geometry, stated, [&](SpatialAxis& axis, const AxisContext& context) {
    const std::int64_t extent = e.evaluate(context);
    if (!is_pad(extent)) return false;
    split_padding(axis, std::max<std::int64_t>(0, same_total(axis.input, extent, axis.stride)), stated);
    return true;
  });
}

bool change_total(const Expression& e, ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  return change_axes(geometry, stated, [&](SpatialAxis& axis, const AxisContext& context) {
    const std::int64_t total = e.evaluate(context);
    if (is_pad(total)) split_padding(axis, total, stated);
    return is_pad(total);
  });
}

bool change_same_total(const Expression& e, ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  return !is_same(stated) || change_total(e, geometry, stated);
}

bool change_valid_total(const Expression& e, ConvolutionGeometry& geometry, const StatedGeometry& stated) {
  if (stated.attributes.auto_pad != "VALID") return true;
  return change_total(e, geometry, stated) && resize_all(geometry);
}

template <const stage::Geometry& kStage, auto kChange>
void set_geometry(Stages& stages, const Expression& expression) {
  stages.set(kStage, {kChange, expression});
}

struct IndexContext : StageContext {
  std::int64_t index;
  const ConvolutionGeometry* geometry = nullptr;
};

std::int64_t index_of(const StageContext& c, std::int64_t) {
  return as<IndexContext>(c).index;
}

const ConvolutionGeometry& geometry_of(const StageContext& c) {
  return *as<IndexContext>(c).geometry;
}

constexpr Variable kImages[] = {{"image", index_of}};
constexpr Variable kGroups[] = {
    {"group", index_of},
    {"groups", [](const StageContext& c, std::int64_t) { return geometry_of(c).group; }},
    {"channels", [](const StageContext& c, std::int64_t) { return geometry_of(c).group_input_channels(); }},
    {"output_channels", [](const StageContext& c, std::int64_t) { return geometry_of(c).group_output_channels(); }},
    {"taps", [](const StageContext& c, std::int64_t) { return geometry_of(c).kernel_taps(); }}};

std::int64_t columns_of(const StageContext& c) {
  return geometry_of(c).axes.back().kernel;
}

constexpr Variable kTaps[] = {
    {"tap", index_of},
    {"taps", [](const StageContext& c, std::int64_t) { return geometry_of(c).kernel_taps(); }},
    {"row", [](const StageContext& c, std::int64_t) { return as<IndexContext>(c).index / columns_of(c); }},
    {"rows", [](const StageContext& c, std::int64_t) { return geometry_of(c).kernel_taps() / columns_of(c); }},
    {"column", [](const StageContext& c, std::int64_t) { return as<IndexContext>(c).index % columns_of(c); }},
    {"columns", [](const StageContext& c, std::int64_t) { return columns_of(c); }},
    {"counted_by_columns",
     [](const StageContext& c, std::int64_t) {
       const std::int64_t tap = as<IndexContext>(c).index;
       return tap % columns_of(c) * (geometry_of(c).kernel_taps() / columns_of(c)) + tap / columns_of(c);
     }},
    {"axes",
     [](const StageContext& c, std::int64_t) { return static_cast<std::int64_t>(geometry_of(c).axes.size()); }}};

void set_image(Stages& stages, const Expression& expression) {
  stages.set(stage::image, {[](const Expression& e, std::int64_t n) {
                              return e.evaluate(IndexContext{{}, n});
                            },
                            expression});
}

void set_group_base(Stages& stages, const Expression& expression) {
  stages.set(stage::group_base, {[](const Expression& e, const ConvolutionGeometry& geometry, std::int64_t group) {
                                   return e.evaluate(IndexContext{{}, group, &geometry});
                                 },
                                 expression});
}

void set_weight_tap(Stages& stages, const Expression& expression) {
  stages.set(stage::weight_tap, {[](const Expression& e, const ConvolutionGeometry& geometry, std::int64_t tap) {
                                   const std::int64_t other = e.evaluate(IndexContext{{}, tap, &geometry});
                                   return static_cast<std::int64_t>(
                                       index_or(tap, other, static_cast<std::size_t>(geometry.kernel_taps())));
                                 },
                                 expression});
}

struct LocateContext : StageContext {
  const ConvolutionGeometry& geometry;
  std::span<const std::int64_t> position;

  [[nodiscard]] bool is_inside(std::size_t first, std::size_t end) const {
    for (std::size_t a = first; a < end; ++a) {
      if (position[a] < 0 || position[a] >= geometry.axes[a].input) return false;
    }
    return true;
  }
  template <typename Coordinate>
  [[nodiscard]] std::int64_t offset(const Coordinate& coordinate) const {
    std::int64_t offset = 0;
    for (std::size_t a = 0; a < position.size(); ++a) {
      offset = offset * geometry.axes[a].input + coordinate(position[a], geometry.axes[a].input);
    }
    return offset;
  }
};

const LocateContext& place(const StageContext& c) {
  return as<LocateContext>(c);
}

std::int64_t offset_of(const StageContext& c, std::int64_t) {
  return place(c).offset([](std::int64_t at, std::int64_t) { return at; });
}

constexpr Variable kPlaces[] = {
    {"offset", offset_of, 0, false},
    {"padding", [](const StageContext&, std::int64_t) { return kInPadding; }, 0, false},
    {"clamped",
     [](const StageContext& c, std::int64_t) {
       return place(c).offset(
           [](std::int64_t at, std::int64_t size) { return std::max(std::int64_t{0}, std::min(at, size - 1)); });
     },
     0, false},
    {"wrapped",
     [](const StageContext& c, std::int64_t) {
       return place(c).offset(
           [](std::int64_t at, std::int64_t size) { return size == 0 ? 0 : (at % size + size) % size; });
     },
     0, false},
    {"inside",
     [](const StageContext& c, std::int64_t) { return place(c).is_inside(0, place(c).position.size()) ? 1L : 0L; }},
    {"rows_inside",
     [](const StageContext& c, std::int64_t) { return place(c).is_inside(0, place(c).position.size() - 1) ? 1L : 0L; }},
    {"column_inside",
     [](const StageContext& c, std::int64_t) {
       return place(c).is_inside(place(c).position.size() - 1, place(c).position.size()) ? 1L : 0L;
     }},
    {"in_plane", [](const StageContext& c, std::int64_t) {
       const std::int64_t offset = offset_of(c, 0);
       return offset >= 0 && offset < place(c).geometry.input_positions() ? 1L : 0L;
     }}};

void set_locate(Stages& stages, const Expression& expression) {
  stages.set(stage::locate, {[](const Expression& e, const ConvolutionGeometry& geometry,
                                std::span<const std::int64_t> position, std::int64_t) {
                               return e.evaluate(LocateContext{{}, geometry, position});
                             },
                             expression});
}

const ExpressionSlot kGeometrySlots[] = {
    {"image",
     "the image of x that an image of y is computed from",
     kConvolutions,
     "image",
     Operators::indices,
     kImages,
     {},
     set_image},
    {"group.base",
     "the first input channel of a group",
     kConvolutions,
     "group * channels",
     Operators::indices,
     kGroups,
     {},
     set_group_base},
    {"weight.tap",
     "which weight of a channel a tap has",
     kConvolutions,
     "tap",
     Operators::indices,
     kTaps,
     {2},
     set_weight_tap},
    {"tap.place",
     "which element of a channel's plane a tap reads",
     kConvolutions,
     "inside ? offset : padding",
     Operators::choices,
     kPlaces,
     {},
     set_locate},
    {"taps.dilation",
     "an axis' dilation, where the output keeps its size",
     kConvolutions,
     "dilation",
     Operators::indices,
     kDilations,
     {},
     set_geometry<stage::dilations, change_size<&SpatialAxis::dilation, false>>},
    {"shape.dilation",
     "an axis' dilation",
     kConvolutions,
     "dilation",
     Operators::indices,
     kDilations,
     {},
     set_geometry<stage::dilations, change_size<&SpatialAxis::dilation, true>>},
    {"taps.stride",
     "an axis' stride, where the output keeps its size",
     kConvolutions,
     "stride",
     Operators::indices,
     kStrides,
     {},
     set_geometry<stage::dilations, change_size<&SpatialAxis::stride, false>>},
    {"shape.stride",
     "an axis' stride",
     kConvolutions,
     "stride",
     Operators::indices,
     kStrides,
     {},
     set_geometry<stage::dilations, change_size<&SpatialAxis::stride, true>>},
    {"pads.begin",
     "a stated pad at an axis' begin",
     kConvolutions,
     "begin",
     Operators::indices,
     kPads,
     {},
     set_geometry<stage::pads, change_pad<&SpatialAxis::pad_begin>>},
    {"pads.end",
     "a stated pad at an axis' end",
     kConvolutions,
     "end",
     Operators::indices,
     kPads,
     {},
     set_geometry<stage::pads, change_pad<&SpatialAxis::pad_end>>},
    {"pads.index",
     "where a pad stands in the attribute, where the output keeps its size",
     kConvolutions,
     "side * axes + axis",
     Operators::indices,
     kPadIndices,
     {2},
     set_geometry<stage::pads, change_pad_index>},
    {"same.begin",
     "of the pads that SAME gives, those at the begin",
     kConvolutions,
     "begin",
     Operators::indices,
     kSameSides,
     {2},
     set_geometry<stage::same_side, change_side>},
    {"same.extent",
     "the window's extent as SAME counts it",
     kConvolutions,
     "extent",
     Operators::indices,
     kExtents,
     {},
     set_geometry<stage::auto_pad, change_extent>},
    {"same.total",
     "the pads that SAME gives, where the output keeps its size",
     kConvolutions,
     "max(total, 0)",
     Operators::indices,
     kTotals,
     {},
     set_geometry<stage::auto_pad, change_same_total>},
    {"valid.total",
     "the pads that VALID gives",
     kConvolutions,
     "0",
     Operators::indices,
     kTotals,
     {},
     set_geometry<stage::auto_pad, change_valid_total>},
};

}  // namespace

std::span<const ExpressionSlot> geometry_slots() {
  return kGeometrySlots;
}

}  // namespace qconform::diagnose

#include "reference/convolution/geometry.h"

#include <algorithm>
#include <cstddef>

#include "reference/numerics/integers.h"

namespace qconform::reference {
namespace {

std::int64_t product(const std::vector<SpatialAxis>& axes, std::int64_t SpatialAxis::*size) {
  std::int64_t result = 1;
  for (const SpatialAxis& axis : axes) result *= axis.*size;
  return result;
}

std::string list(std::span<const std::int64_t> values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  return text + "]";
}

bool check_ranks(std::span<const std::int64_t> x, std::span<const std::int64_t> w, Contract& contract) {
  if (x.size() < 3) {
    return contract.violate("C8", "x",
                            "expected rank 3 or more (batch, channels, spatial dimensions), got shape " + list(x));
  }
  if (w.size() != x.size()) {
    return contract.violate("C8", "w",
                            "expected the rank of x (" + std::to_string(x.size()) + "), got shape " + list(w));
  }
  return true;
}

bool check_channels(std::span<const std::int64_t> x, std::span<const std::int64_t> w, std::int64_t group,
                    Contract& contract) {
  if (group < 1) return contract.violate("C8", "group", "expected at least 1, got " + std::to_string(group));
  if (group > kMaxAttributeValue) {
    return contract.violate(
        "limit", "group", "expected at most " + std::to_string(kMaxAttributeValue) + ", got " + std::to_string(group));
  }
  const std::int64_t channels = x[1];
  // Compared by division: w.shape[1] * group may not fit 64 bits in a hostile file.
  if (channels % group != 0 || channels / group != w[1]) {
    return contract.violate("C8", "w",
                            "expected shape[1] * group = x.shape[1], got " + std::to_string(w[1]) + " * " +
                                std::to_string(group) + " and " + std::to_string(channels));
  }
  if (w[0] % group != 0) {
    return contract.violate("C8", "group",
                            "expected a divisor of the output channels w.shape[0] = " + std::to_string(w[0]) +
                                ", got " + std::to_string(group));
  }
  return true;
}

// One attribute with one value per spatial dimension (or two, for pads) and a smallest value.
bool check_list(const char* field, const std::optional<std::vector<std::int64_t>>& values, std::size_t rank,
                std::size_t values_per_axis, std::int64_t smallest, Contract& contract) {
  if (!values) return true;
  const std::size_t expected = values_per_axis * rank;
  if (values->size() != expected) {
    const std::string meaning = std::to_string(rank) + " spatial dim" + (rank == 1 ? "" : "s") +
                                (values_per_axis == 1 ? "" : ", begin and end");
    return contract.violate(
        "C8", field,
        "expected " + std::to_string(expected) + " values (" + meaning + "), got " + std::to_string(values->size()));
  }
  for (const std::int64_t value : *values) {
    if (value < smallest) {
      return contract.violate("C8", field,
                              "expected values of at least " + std::to_string(smallest) + ", got " + list(*values));
    }
    if (value > kMaxAttributeValue) {
      return contract.violate(
          "limit", field,
          "expected values of at most " + std::to_string(kMaxAttributeValue) + ", got " + list(*values));
    }
  }
  return true;
}

bool check_attributes(const ConvolutionAttributes& a, std::span<const std::int64_t> w_shape, Contract& contract) {
  const std::size_t rank = w_shape.size() - 2;
  if (!check_list("strides", a.strides, rank, 1, 1, contract)) return false;
  if (!check_list("dilations", a.dilations, rank, 1, 1, contract)) return false;
  if (!check_list("pads", a.pads, rank, 2, 0, contract)) return false;
  if (a.auto_pad != "NOTSET" && a.auto_pad != "SAME_UPPER" && a.auto_pad != "SAME_LOWER" && a.auto_pad != "VALID") {
    return contract.violate("C8", "auto_pad",
                            "expected NOTSET, SAME_UPPER, SAME_LOWER or VALID, got \"" + a.auto_pad + "\"");
  }
  if (a.auto_pad != "NOTSET" && a.pads) {
    if (std::any_of(a.pads->begin(), a.pads->end(), [](std::int64_t pad) { return pad != 0; })) {
      return contract.violate("C5", "pads",
                              "cannot be used together with auto_pad " + a.auto_pad + ", got " + list(*a.pads));
    }
    contract.allow("C5", "pads", "all zero beside auto_pad " + a.auto_pad);
  }
  if (a.kernel_shape &&
      !std::equal(a.kernel_shape->begin(), a.kernel_shape->end(), w_shape.begin() + 2, w_shape.end())) {
    return contract.violate("C7", "kernel_shape",
                            "expected w.shape[2:] = " + list(w_shape.subspan(2)) + ", got " + list(*a.kernel_shape));
  }
  return true;
}

void note_empty_dimensions(std::span<const std::int64_t> x, std::span<const std::int64_t> w, Contract& contract) {
  if (x[1] == 0) contract.allow("C10", "x", "no input channels: every output is the bias");
  for (std::size_t i = 2; i < x.size(); ++i) {
    if (x[i] == 0) contract.allow("C10", "x", "spatial dimension " + std::to_string(i - 2) + " is empty");
    if (w[i] == 0) contract.allow("C10", "w", "kernel dimension " + std::to_string(i - 2) + " is empty");
  }
}

// SAME_*: the output size comes first, the padding follows from it. The total is clamped at zero
// (rule C3): a stride longer than the kernel's extent must not crop the input.
void resolve_same(SpatialAxis& axis, bool extra_at_end) {
  axis.output = ceil_div(axis.input, axis.stride);
  const std::int64_t reach = (axis.output - 1) * axis.stride + axis.kernel_extent();
  const std::int64_t total = std::max<std::int64_t>(0, reach - axis.input);
  axis.pad_begin = extra_at_end ? total / 2 : total - total / 2;
  axis.pad_end = total - axis.pad_begin;
}

bool resolve_explicit(SpatialAxis& axis, std::size_t index, Contract& contract) {
  const std::int64_t padded = axis.input + axis.pad_begin + axis.pad_end;
  if (padded < axis.kernel_extent()) {
    return contract.violate("C6", "w",
                            "kernel extent " + std::to_string(axis.kernel_extent()) + " in spatial dimension " +
                                std::to_string(index) + " exceeds the padded input " + std::to_string(padded));
  }
  axis.output = (padded - axis.kernel_extent()) / axis.stride + 1;
  return true;
}

bool within_limit(std::span<const std::int64_t> shape, std::int64_t limit = kMaxElements) {
  std::int64_t elements = 1;
  for (const std::int64_t dimension : shape) {
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(dimension, 1), &elements)) return false;
    if (elements > limit) return false;
  }
  return true;
}

std::int64_t value_or(const std::optional<std::vector<std::int64_t>>& values, std::size_t index, std::int64_t absent) {
  return values ? (*values)[index] : absent;
}

bool resolve_axes(std::span<const std::int64_t> x_shape, std::span<const std::int64_t> w_shape,
                  const ConvolutionAttributes& a, std::vector<SpatialAxis>& axes, Contract& contract) {
  const std::size_t rank = x_shape.size() - 2;
  axes.reserve(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    SpatialAxis axis{.input = x_shape[i + 2],
                     .kernel = w_shape[i + 2],
                     .stride = value_or(a.strides, i, 1),
                     .dilation = value_or(a.dilations, i, 1),
                     .pad_begin = 0,
                     .pad_end = 0,
                     .output = 0};
    if (a.auto_pad == "SAME_UPPER" || a.auto_pad == "SAME_LOWER") {
      resolve_same(axis, a.auto_pad == "SAME_UPPER");
    } else {
      axis.pad_begin = value_or(a.pads, i, 0);
      axis.pad_end = value_or(a.pads, rank + i, 0);
      if (!resolve_explicit(axis, i, contract)) return false;
    }
    axes.push_back(axis);
  }
  return true;
}

}  // namespace

TapRange SpatialAxis::taps_inside(std::int64_t position) const {
  const std::int64_t first = position * stride - pad_begin;
  if (first >= 0 && first + kernel_extent() <= input) return {0, kernel};  // without divisions: most are inside
  const std::int64_t end = std::clamp<std::int64_t>(ceil_div(input - first, dilation), 0, kernel);
  return {std::clamp<std::int64_t>(ceil_div(-first, dilation), 0, end), end};
}

std::int64_t ConvolutionGeometry::input_positions() const {
  return product(axes, &SpatialAxis::input);
}
std::int64_t ConvolutionGeometry::output_positions() const {
  return product(axes, &SpatialAxis::output);
}
std::int64_t ConvolutionGeometry::kernel_taps() const {
  return product(axes, &SpatialAxis::kernel);
}

std::vector<std::int64_t> ConvolutionGeometry::output_shape() const {
  std::vector<std::int64_t> shape;
  shape.reserve(2 + axes.size());
  shape.assign({batch, output_channels});
  for (const SpatialAxis& axis : axes) shape.push_back(axis.output);
  return shape;
}

std::optional<ConvolutionGeometry> resolve_geometry(std::span<const std::int64_t> x_shape,
                                                    std::span<const std::int64_t> w_shape,
                                                    const ConvolutionAttributes& attributes, Contract& contract) {
  if (!check_ranks(x_shape, w_shape, contract)) return std::nullopt;
  if (!within_limit(x_shape) || !within_limit(w_shape)) {
    contract.violate("limit", within_limit(x_shape) ? "w" : "x",
                     "more than " + std::to_string(kMaxElements) + " elements");
    return std::nullopt;
  }
  if (!check_channels(x_shape, w_shape, attributes.group, contract)) return std::nullopt;
  if (!check_attributes(attributes, w_shape, contract)) return std::nullopt;
  note_empty_dimensions(x_shape, w_shape, contract);

  ConvolutionGeometry geometry{.batch = x_shape[0],
                               .input_channels = x_shape[1],
                               .output_channels = w_shape[0],
                               .group = attributes.group,
                               .axes = {}};
  if (!resolve_axes(x_shape, w_shape, attributes, geometry.axes, contract)) return std::nullopt;
  if (!within_limit(geometry.output_shape(), kMaxOutputElements)) {
    contract.violate("limit", "y",
                     "shape " + list(geometry.output_shape()) + " has more than " + std::to_string(kMaxOutputElements) +
                         " elements");
    return std::nullopt;
  }
  return geometry;
}

namespace {

// Writes those of the taps in `outer` that have one axis' taps too, and gives their end.
Tap* refine(std::span<const Tap> outer, const SpatialAxis& axis, std::int64_t output, Tap* out) {
  const TapRange inside = axis.taps_inside(output);
  const std::int64_t first = output * axis.stride - axis.pad_begin;
  for (const Tap& tap : outer) {
    auto weight = static_cast<std::int32_t>(tap.weight * axis.kernel + inside.begin);
    auto input = static_cast<std::int32_t>(tap.input * axis.input + first + inside.begin * axis.dilation);
    for (std::int64_t i = inside.begin; i < inside.end; ++i) {
      *out++ = {weight++, input};
      input += static_cast<std::int32_t>(axis.dilation);
    }
  }
  return out;
}

}  // namespace

TapsInside::TapsInside(const std::vector<SpatialAxis>& axes) : axes_(axes) {
  for (const SpatialAxis& axis : axes_) most_ *= static_cast<std::size_t>(std::min(axis.kernel, axis.input));
}

void TapsInside::select(std::int64_t first, std::int64_t count) {
  const std::size_t room = static_cast<std::size_t>(count) * most_;
  if (room > room_) taps_ = std::make_unique_for_overwrite<Tap[]>(room_ = room);
  ends_.resize(static_cast<std::size_t>(count) + 1);
  const SpatialAxis& last = axes_.back();
  std::int64_t row = first / last.output;
  std::int64_t output = first % last.output;
  locate_row(row);
  Tap* end = taps_.get();
  for (std::int64_t i = 0; i < count; ++i, ++output) {
    if (output == last.output) {
      locate_row(++row);
      output = 0;
    }
    end = refine(row_, last, output, end);
    ends_[static_cast<std::size_t>(i) + 1] = static_cast<std::size_t>(end - taps_.get());
  }
}

void TapsInside::locate_row(std::int64_t row) {
  row_.assign(1, {0, 0});
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < axes_.size(); ++i) rows *= axes_[i].output;
  for (std::size_t i = 0; i + 1 < axes_.size(); ++i) {
    rows /= axes_[i].output;
    outer_.swap(row_);
    row_.resize(outer_.size() * static_cast<std::size_t>(std::min(axes_[i].kernel, axes_[i].input)));
    const Tap* const end = refine(outer_, axes_[i], row / rows % axes_[i].output, row_.data());
    row_.resize(static_cast<std::size_t>(end - row_.data()));
  }
}

}  // namespace qconform::reference

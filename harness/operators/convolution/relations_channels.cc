#include <algorithm>

#include "harness/operators/convolution/relation_parts.h"

namespace qconform::relations {

namespace {

constexpr NotApplicable kNoChannels{"no convolution"};
constexpr NotApplicable kOneGroup{"one group"};

// A link for each element from a function of its channel alone: which derived case, which channel of it.
template <typename PlaceOf>
std::vector<Link> links_by_channel(const Values& shape, std::int64_t derived_channels, PlaceOf place_of) {
  Values derived_shape = shape;
  derived_shape[1] = derived_channels;
  return links_for(shape, derived_shape, [&](Values index) {
    const auto [derived, channel] = place_of(index[1]);
    index[1] = channel;
    return std::pair(static_cast<std::size_t>(derived), index);
  });
}

Applied split_groups(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  if (base.sizes.group == 1) return kOneGroup;
  const std::int64_t inputs = base.sizes.group_input_channels();
  const std::int64_t outputs = base.sizes.group_output_channels();
  std::vector<Case> derived;
  for (std::int64_t g = 0; g < base.sizes.group; ++g) {
    Convolution part = base.stated;
    select_input_channels(part, counting(g * inputs, inputs));
    select_output_channels(part, counting(g * outputs, outputs));
    part.group = 1;
    derived.push_back(base.derive(std::move(part), "/group-" + std::to_string(g)));
  }
  const Values shape = base.sizes.output_shape();
  return Derivation([derived = std::move(derived), shape, outputs](const Tensor&) {
    return Application{
        derived,
        links_by_channel(shape, outputs,
                         [&](std::int64_t channel) { return std::pair(channel / outputs, channel % outputs); }),
        nullptr};
  });
}

Applied groups_as_blocks(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  Convolution derived = base.stated;
  if (base.sizes.group == 1) return kOneGroup;
  const std::int64_t inputs = base.sizes.group_input_channels();
  const std::int64_t outputs = base.sizes.group_output_channels();
  const Tensor& w = base.stated.w;
  Values shape = w.shape;
  shape[1] = base.sizes.input_channels;
  derived.w = tensor_from(w.type, shape, [&](Values index) {
    const std::int64_t first = index[0] / outputs * inputs;
    if (index[1] < first || index[1] >= first + inputs) return base.stated.w_zero(index[0]);
    index[1] -= first;
    return value_at(w, index);
  });
  derived.group = 1;
  return same_output(base.derive(std::move(derived), "/group-as-blocks"));
}

// The whole order of output channels is reversed, and with it the order of groups; within its group
// every input channel keeps its place.
Applied reverse_outputs(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  Convolution derived = base.stated;
  const std::int64_t channels = base.sizes.output_channels;
  if (channels < 2) return NotApplicable{"one output channel"};
  const std::int64_t inputs = base.sizes.group_input_channels();
  Values order;
  for (std::int64_t g = base.sizes.group; g-- > 0;) {
    for (std::int64_t c = 0; c < inputs; ++c) order.push_back(g * inputs + c);
  }
  select_input_channels(derived, order);
  select_output_channels(derived, counting_down(channels));
  const Values shape = base.sizes.output_shape();
  return Derivation(
      [reversed = base.derive(std::move(derived), "/output-channels-reversed"), shape, channels](const Tensor&) {
        return Application{
            {reversed},
            links_by_channel(shape, channels,
                             [&](std::int64_t channel) { return std::pair(std::int64_t{0}, channels - 1 - channel); }),
            nullptr};
      });
}

Applied split_outputs(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  const std::int64_t channels = base.sizes.output_channels;
  if (base.sizes.group != 1) return NotApplicable{"more than one group"};
  if (channels < 2) return NotApplicable{"one output channel"};
  std::vector<Case> derived;
  for (const std::int64_t channel : {std::int64_t{0}, channels - 1}) {
    Convolution part = base.stated;
    select_output_channels(part, {channel});
    derived.push_back(base.derive(std::move(part), "/output-channel-" + std::to_string(channel)));
  }
  return Derivation([derived = std::move(derived), base_shape = base.sizes.output_shape(), channels](const Tensor&) {
    Application result{derived, {}, nullptr};
    const std::vector<Link> all = links_by_channel(
        base_shape, 1, [](std::int64_t channel) { return std::pair(channel == 0 ? 0 : 1, std::int64_t{0}); });
    const std::int64_t positions = elements_of(base_shape) / base_shape[0] / channels;
    for (const Link& link : all) {
      const std::int64_t channel = link.base / positions % channels;
      if (channel == 0 || channel == channels - 1) result.links.push_back(link);
    }
    return result;
  });
}

Applied reverse_inputs(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  Convolution derived = base.stated;
  const std::int64_t inputs = base.sizes.group_input_channels();
  if (inputs < 2) return NotApplicable{"one input channel in a group"};
  Values order;
  for (std::int64_t g = 0; g < base.sizes.group; ++g) {
    for (std::int64_t c = inputs; c-- > 0;) order.push_back(g * inputs + c);
  }
  select_input_channels(derived, order);
  derived.w = rearranged(derived.w, derived.w.shape, [&](Values index) {
    index[1] = inputs - 1 - index[1];
    return index;
  });
  return same_output(base.derive(std::move(derived), "/input-channels-reversed"));
}

// One more input channel in each group that holds nothing but x's zero point; its weights lie as far
// from theirs as the type allows.
Applied add_silent_channel(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  Convolution derived = base.stated;
  const std::int64_t inputs = base.sizes.group_input_channels();
  const Tensor& x = base.stated.x;
  const Tensor& w = base.stated.w;
  const IntegerEnds ends = ends_of(w.type);
  Values x_shape = x.shape;
  x_shape[1] += base.sizes.group;
  derived.x = tensor_from(x.type, x_shape, [&](Values index) {
    if (index[1] % (inputs + 1) == inputs) return base.stated.x_zero();
    index[1] = index[1] / (inputs + 1) * inputs + index[1] % (inputs + 1);
    return value_at(x, index);
  });
  Values w_shape = w.shape;
  ++w_shape[1];
  derived.w = tensor_from(w.type, w_shape, [&](const Values& index) {
    if (index[1] < inputs) return value_at(w, index);
    const std::int64_t zero_point = base.stated.w_zero(index[0]);
    return zero_point - ends.lo > ends.hi - zero_point ? ends.lo : ends.hi;
  });
  return same_output(base.derive(std::move(derived), "/silent-channel"));
}

constexpr FamilyRelation kChannelRelations[] = {
    {{RelationTopic::channels, "group-split", "y is the concatenation of what each group gives by itself.",
      "No sum crosses a group."},
     "QLinearConv, ConvInteger",
     split_groups},
    {{RelationTopic::channels, "group-as-blocks",
      "Groups give what one group gives whose weights are zero points outside the blocks on the diagonal.",
      "A weight that is the zero point contributes 0: exact in integers."},
     "QLinearConv, ConvInteger",
     groups_as_blocks},
    {{RelationTopic::channels, "output-channels-reversed",
      "Output channels in reverse order, with their weights and parameters, give y's channels in reverse order.",
      "No output channel depends on another."},
     "QLinearConv, ConvInteger",
     reverse_outputs},
    {{RelationTopic::channels, "output-channel-alone",
      "The first and the last output channel are what each gives by itself.", "No output channel depends on another."},
     "QLinearConv, ConvInteger",
     split_outputs},
    {{RelationTopic::channels, "input-channels-reversed",
      "Input channels in reverse order within their group, in x and in w, leave y as it is.",
      "The terms of a sum are exact integers; their order does not matter."},
     "QLinearConv, ConvInteger",
     reverse_inputs},
    {{RelationTopic::channels, "silent-channel",
      "A further input channel that holds x's zero point leaves y as it is, whatever its weights.",
      "It contributes 0: exact in integers."},
     "QLinearConv, ConvInteger",
     add_silent_channel},
};

}  // namespace

std::span<const FamilyRelation> channel_relations() {
  return kChannelRelations;
}

namespace {

constexpr NotApplicable kNoImages{"no convolution"};
constexpr NotApplicable kOneImage{"one image"};

Applied split_batch(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  const std::int64_t images = base.sizes.batch;
  if (images < 2) return kOneImage;
  std::vector<Case> derived;
  for (std::int64_t image = 0; image < images; ++image) {
    Convolution part = base.stated;
    select_images(part, {image});
    derived.push_back(base.derive(std::move(part), "/image-" + std::to_string(image)));
  }
  const Values shape = base.sizes.output_shape();
  return Derivation([derived = std::move(derived), shape](const Tensor&) {
    return Application{derived,
                       links_for(shape, shape,
                                 [](Values index) {
                                   const auto image = static_cast<std::size_t>(index[0]);
                                   index[0] = 0;
                                   return std::pair(image, index);
                                 }),
                       nullptr};
  });
}

Applied reverse_images(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  Convolution derived = base.stated;
  const std::int64_t images = base.sizes.batch;
  if (images < 2) return kOneImage;
  select_images(derived, counting_down(images));
  const Values shape = base.sizes.output_shape();
  return Derivation([reversed = base.derive(std::move(derived), "/images-reversed"), shape, images](const Tensor&) {
    return Application{{reversed},
                       links_for(shape, shape,
                                 [&](Values index) {
                                   index[0] = images - 1 - index[0];
                                   return std::pair(std::size_t{0}, index);
                                 }),
                       nullptr};
  });
}

constexpr FamilyRelation kBatchRelations[] = {
    {{RelationTopic::batch, "batch-split", "Each image of a batch gives what it gives by itself.",
      "No image depends on another."},
     "QLinearConv, ConvInteger",
     split_batch},
    {{RelationTopic::batch, "images-reversed", "Images in reverse order give y's images in reverse order.",
      "No image depends on another."},
     "QLinearConv, ConvInteger",
     reverse_images},
};

}  // namespace

std::span<const FamilyRelation> batch_relations() {
  return kBatchRelations;
}

namespace {

constexpr NotApplicable kNoKernel{"no kernel"};
constexpr NotApplicable kAutoPadOfKernel{"auto_pad depends on the kernel and the stride"};

// The derived outputs of stride 1 are larger; beyond this they would cost more than they show.
constexpr std::int64_t kMaxOutputs = 1 << 18;

// The sizes with a kernel on a finer grid: every tap `spread` apart, zero points between them and in `extra` taps
// behind.
Convolution with_stuffed_kernel(const ConvolutionParts& base, const reference::ConvolutionGeometry& sizes,
                                const Values& spread) {
  const Tensor& w = base.stated.w;
  Convolution result = base.resized(sizes);
  result.w = tensor_from(w.type, result.w.shape, [&](Values index) {
    for (std::size_t axis = 0; axis < spread.size(); ++axis) {
      const std::int64_t position = index[2 + axis];
      index[2 + axis] = position / spread[axis];
      if (position % spread[axis] != 0 || index[2 + axis] >= w.shape[2 + axis]) return base.stated.w_zero(index[0]);
    }
    return value_at(w, index);
  });
  return result;
}

Applied undo_dilation(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  if (base.has_auto_pad()) return kAutoPadOfKernel;
  reference::ConvolutionGeometry sizes = base.sizes;
  if (std::none_of(sizes.axes.begin(), sizes.axes.end(),
                   [](const auto& a) { return a.dilation > 1 && a.kernel > 1; })) {
    return NotApplicable{"nothing is dilated"};
  }
  Values spread;
  for (reference::SpatialAxis& a : sizes.axes) {
    spread.push_back(a.dilation);
    a.kernel = a.kernel_extent();
    a.dilation = 1;
  }
  return same_output(base.derive(with_stuffed_kernel(base, sizes, spread), "/dilation-stuffed"));
}

Applied extend_kernel(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  if (base.has_auto_pad()) return kAutoPadOfKernel;
  reference::ConvolutionGeometry sizes = base.sizes;
  for (reference::SpatialAxis& a : sizes.axes) {
    ++a.kernel;
    a.pad_end += a.dilation;
  }
  const Values spread(sizes.axes.size(), 1);
  return same_output(base.derive(with_stuffed_kernel(base, sizes, spread), "/kernel-extended"));
}

Applied undo_stride(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  if (base.has_auto_pad()) return kAutoPadOfKernel;
  reference::ConvolutionGeometry sizes = base.sizes;
  if (std::all_of(sizes.axes.begin(), sizes.axes.end(), [](const auto& a) { return a.stride == 1; })) {
    return NotApplicable{"all strides are 1"};
  }
  Values strides;
  for (reference::SpatialAxis& a : sizes.axes) {
    strides.push_back(std::exchange(a.stride, 1));
    a.output = a.input + a.pad_begin + a.pad_end - a.kernel_extent() + 1;
  }
  const Values base_shape = base.sizes.output_shape();
  const Values shape = sizes.output_shape();
  if (elements_of(shape) > kMaxOutputs) return NotApplicable{"y would be too large"};
  const Case unstrided = base.derive(base.resized(sizes), "/stride-subsampled");
  return Derivation([unstrided, strides, base_shape, shape](const Tensor&) {
    return Application{{unstrided},
                       links_for(base_shape, shape,
                                 [&](Values index) {
                                   for (std::size_t axis = 0; axis < strides.size(); ++axis)
                                     index[2 + axis] *= strides[axis];
                                   return std::pair(std::size_t{0}, index);
                                 }),
                       nullptr};
  });
}

constexpr FamilyRelation kKernelRelations[] = {
    {{RelationTopic::kernel, "dilation-stuffed",
      "A dilated kernel gives what the kernel with zero points between its taps gives undilated.",
      "A tap that is the zero point contributes 0: exact in integers."},
     "QLinearConv, ConvInteger",
     undo_dilation},
    {{RelationTopic::kernel, "kernel-extended",
      "A row of zero-point taps behind each end of the kernel, with pads for it, leaves y as it is.",
      "A tap that is the zero point contributes 0; the taps keep their places."},
     "QLinearConv, ConvInteger",
     extend_kernel},
    {{RelationTopic::kernel, "stride-subsampled", "A strided y is every stride-th element of the y of stride 1.",
      "The windows are the same ones; nothing is computed differently."},
     "QLinearConv, ConvInteger",
     undo_stride},
};

}  // namespace

std::span<const FamilyRelation> kernel_relations() {
  return kKernelRelations;
}

namespace {

// The derived case grows with its pads; beyond this many elements it would cost more than it shows.
constexpr std::int64_t kMaxElements = 1 << 22;

Applied write_out_pads(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  if (base.has_auto_pad()) return NotApplicable{"auto_pad places the padding"};
  if (!has_pads(base.sizes)) return NotApplicable{"all pads are 0"};
  reference::ConvolutionGeometry sizes = base.sizes;
  for (reference::SpatialAxis& a : sizes.axes) {
    a.input += a.pad_begin + a.pad_end;
    a.pad_begin = a.pad_end = 0;
  }
  Convolution derived = base.resized(sizes);
  if (elements_of(derived.x.shape) > kMaxElements) return NotApplicable{"x would be too large"};
  const Tensor& x = base.stated.x;
  derived.x = tensor_from(x.type, derived.x.shape, [&](Values index) {
    for (std::size_t axis = 0; axis < base.spatial_rank(); ++axis) {
      index[2 + axis] -= base.sizes.axes[axis].pad_begin;
      if (index[2 + axis] < 0 || index[2 + axis] >= x.shape[2 + axis]) return base.stated.x_zero();
    }
    return value_at(x, index);
  });
  return same_output(base.derive(std::move(derived), "/pads-written-out"));
}

Applied state_pads(const RelationSubject& subject) {
  const ConvolutionParts& base = *convolution_of(subject);
  if (!base.has_auto_pad()) return NotApplicable{"auto_pad is NOTSET"};
  return same_output(base.derive(base.resized(base.sizes), "/auto-pad-as-pads"));
}

constexpr FamilyRelation kPaddingRelations[] = {
    {{RelationTopic::padding, "pads-written-out", "Padding with zero points written into x gives what pads gives.",
      "A padded tap is the zero point and contributes 0 (C1): exact in integers."},
     "QLinearConv, ConvInteger",
     write_out_pads},
    {{RelationTopic::padding, "auto-pad-as-pads", "The pads that auto_pad stands for, stated, give the same y.",
      "auto_pad names pads, nothing else (C2, C3)."},
     "QLinearConv, ConvInteger",
     state_pads},
};

}  // namespace

std::span<const FamilyRelation> padding_relations() {
  return kPaddingRelations;
}

}  // namespace qconform::relations

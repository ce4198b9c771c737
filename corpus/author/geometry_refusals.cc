// Out of contract by shapes and attributes: a clear error is required.
#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

// A right 2-D convolution: x [1,1,3,3], w [1,1,2,2].
template <typename Builder>
Builder right(std::string id, std::string note, std::string rule) {
  return vector<Builder>(std::move(id), std::move(note), {std::move(rule)}, {"refusal"})
      .x(pattern(ElementType::uint8, {1, 1, 3, 3}, 1, 1))
      .w(pattern(ElementType::int8, {1, 1, 2, 2}, 1, 1));
}

template <typename Builder>
void write_sizes(Topic& topic) {
  topic.refused(right<Builder>("kernel-larger-than-input", "no window fits: 4 taps over 3 elements", "C6")
                    .w(pattern(ElementType::int8, {1, 1, 4, 2}, 1, 1)));
  topic.refused(right<Builder>("dilated-kernel-larger-than-input", "2 taps at distance 3 span 4 of 3 elements", "C6")
                    .dilations({1, 3}));
  topic.refused(right<Builder>("kernel-larger-than-padded-input", "padding by 1 leaves 4 elements for 5 taps", "C6")
                    .w(pattern(ElementType::int8, {1, 1, 5, 2}, 1, 1))
                    .pads({1, 0, 0, 0}));
  topic.refused(right<Builder>("kernel-larger-than-input-under-valid", "VALID pads nothing: no window fits", "C6")
                    .w(pattern(ElementType::int8, {1, 1, 2, 4}, 1, 1))
                    .auto_pad("VALID"));
  topic.refused(
      right<Builder>("kernel-shape-differs", "kernel_shape [3, 3] beside a 2x2 kernel", "C7").kernel_shape({3, 3}));
  topic.refused(right<Builder>("kernel-shape-exchanged", "kernel_shape [1, 2] beside a 2x1 kernel", "C7")
                    .w(pattern(ElementType::int8, {1, 1, 2, 1}, 1, 1))
                    .kernel_shape({1, 2}));
  topic.refused(right<Builder>("kernel-shape-too-long", "kernel_shape [2, 2, 1] beside a 2x2 kernel", "C7")
                    .kernel_shape({2, 2, 1}));
  topic.refused(
      right<Builder>("kernel-shape-too-short", "kernel_shape [2] beside a 2x2 kernel", "C7").kernel_shape({2}));
}

template <typename Builder>
void write_attributes(Topic& topic) {
  topic.refused(right<Builder>("pads-of-three", "two spatial dimensions need four pads", "C8").pads({1, 1, 1}));
  topic.refused(right<Builder>("pads-of-two", "begins without ends", "C8").pads({1, 1}));
  topic.refused(right<Builder>("pads-negative", "a pad cannot crop", "C8").pads({0, -1, 0, 0}));
  topic.refused(right<Builder>("pads-of-five", "one pad too many", "C8").pads({0, 0, 0, 0, 0}));
  topic.refused(right<Builder>("pads-empty", "an empty list is no default", "C8").pads({}));
  topic.refused(right<Builder>("pads-negative-at-the-end", "a pad cannot crop", "C8").pads({1, 0, 0, -1}));
  topic.refused(right<Builder>("strides-of-one", "two spatial dimensions need two strides", "C8").strides({2}));
  topic.refused(right<Builder>("strides-of-three", "two spatial dimensions need two strides", "C8").strides({1, 1, 1}));
  topic.refused(right<Builder>("stride-zero", "a stride of 0 never leaves the first window", "C8").strides({1, 0}));
  topic.refused(right<Builder>("stride-negative", "a stride cannot go backwards", "C8").strides({-1, 1}));
  topic.refused(
      right<Builder>("dilations-of-three", "two spatial dimensions need two dilations", "C8").dilations({1, 1, 1}));
  topic.refused(right<Builder>("dilations-of-one", "two spatial dimensions need two dilations", "C8").dilations({1}));
  topic.refused(right<Builder>("dilation-zero", "a dilation of 0 reads one element twice", "C8").dilations({0, 1}));
  topic.refused(right<Builder>("dilation-negative", "a dilation cannot go backwards", "C8").dilations({1, -1}));
  topic.refused(right<Builder>("auto-pad-unknown", "SAME is not SAME_UPPER", "C8").auto_pad("SAME"));
  topic.refused(right<Builder>("auto-pad-empty", "the empty string is none of the four values", "C8").auto_pad(""));
  topic.refused(right<Builder>("group-of-another-kind", "group is an integer, not a list", "signature")
                    .attribute("group", std::vector<std::int64_t>{1}));
  topic.refused(right<Builder>("attribute-unknown", "count_include_pad belongs to pooling", "signature")
                    .attribute("count_include_pad", std::int64_t{0}));
  topic.refused(right<Builder>("auto-pad-lower-case", "the values are upper case", "C8").auto_pad("same_upper"));
}

template <typename Builder>
void write_channels(Topic& topic) {
  topic.refused(right<Builder>("group-zero", "group 0 divides nothing", "C8").group(0));
  topic.refused(right<Builder>("group-negative", "group -1 is no count", "C8").group(-1));
  topic.refused(right<Builder>("group-beyond-the-channels", "3 groups of 1 channel", "C8").group(3));
  topic.refused(right<Builder>("channels-differ", "x has 1 channel, w wants 2", "C8")
                    .w(pattern(ElementType::int8, {1, 2, 2, 2}, 1, 1)));
  topic.refused(right<Builder>("channels-differ-by-group", "x has 2 channels, w wants 2 for each of 2 groups", "C8")
                    .x(pattern(ElementType::uint8, {1, 2, 3, 3}, 1, 1))
                    .w(pattern(ElementType::int8, {2, 2, 2, 2}, 1, 1))
                    .group(2));
  topic.refused(right<Builder>("group-does-not-divide-outputs", "3 output channels in 2 groups", "C8")
                    .x(pattern(ElementType::uint8, {1, 2, 3, 3}, 1, 1))
                    .w(pattern(ElementType::int8, {3, 1, 2, 2}, 1, 1))
                    .group(2));
  topic.refused(right<Builder>("group-does-not-divide-inputs", "3 input channels in 2 groups", "C8")
                    .x(pattern(ElementType::uint8, {1, 3, 3, 3}, 1, 1))
                    .w(pattern(ElementType::int8, {2, 1, 2, 2}, 1, 1))
                    .group(2));
  topic.refused(right<Builder>("rank-two", "no spatial dimension", "C8")
                    .x(pattern(ElementType::uint8, {1, 1}, 1, 1))
                    .w(pattern(ElementType::int8, {1, 1}, 1, 1)));
  topic.refused(right<Builder>("rank-one", "a list is no image", "C8").x(pattern(ElementType::uint8, {9}, 1, 1)));
  topic.refused(right<Builder>("filter-rank-zero", "w is a scalar", "C8").w(make::integer(ElementType::int8, 1)));
  topic.refused(right<Builder>("ranks-differ-in-favour-of-the-filter", "x has one spatial dimension, w has two", "C8")
                    .x(pattern(ElementType::uint8, {1, 1, 3}, 1, 1)));
  topic.refused(right<Builder>("rank-zero", "x is a scalar", "C8").x(make::integer(ElementType::uint8, 1)));
  topic.refused(right<Builder>("ranks-differ", "x has two spatial dimensions, w has one", "C8")
                    .w(pattern(ElementType::int8, {1, 1, 2}, 1, 1)));
}

template <typename Builder>
void write_geometry_refusal_vectors(Topic& topic) {
  write_sizes<Builder>(topic);
  write_attributes<Builder>(topic);
  write_channels<Builder>(topic);
}

}  // namespace

void write_geometry_refusals(Topics& topics) {
  write_both(topics, "geometry_refusals",
             []<typename Builder>(Topic& topic) { write_geometry_refusal_vectors<Builder>(topic); });
}

}  // namespace qconform::author

#include "reference/convolution/geometry.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "reference/oracle/definitions.h"

namespace qconform::reference {
namespace {

using Shape = std::vector<std::int64_t>;

struct Resolved {
  std::optional<ConvolutionGeometry> geometry;
  Contract contract;

  // The violation as a user reads it; empty where there is none.
  [[nodiscard]] std::string violation() const { return contract.violation ? contract.violation->text() : ""; }
};

Resolved resolve(const Shape& x, const Shape& w, const ConvolutionAttributes& attributes) {
  Resolved result;
  result.geometry = resolve_geometry(x, w, attributes, result.contract);
  return result;
}

ConvolutionAttributes with_auto_pad(const char* auto_pad) {
  ConvolutionAttributes attributes;
  attributes.auto_pad = auto_pad;
  return attributes;
}

// One spatial dimension: input, kernel, stride, dilation; what becomes of it.
struct AxisCase {
  const char* what;
  const char* auto_pad;
  std::int64_t input, kernel, stride, dilation;
  std::vector<std::int64_t> pads;  // empty: absent
  std::int64_t output, pad_begin, pad_end;
};

void expect_axis(const AxisCase& c) {
  SCOPED_TRACE(c.what);
  ConvolutionAttributes attributes = with_auto_pad(c.auto_pad);
  attributes.strides = {c.stride};
  attributes.dilations = {c.dilation};
  if (!c.pads.empty()) attributes.pads = c.pads;
  const Resolved r = resolve({1, 1, c.input}, {1, 1, c.kernel}, attributes);
  ASSERT_TRUE(r.geometry.has_value()) << r.violation();
  EXPECT_TRUE(r.contract.implementation_defined.empty());
  const SpatialAxis& axis = r.geometry->axes.at(0);
  EXPECT_EQ(axis.output, c.output);
  EXPECT_EQ(axis.pad_begin, c.pad_begin);
  EXPECT_EQ(axis.pad_end, c.pad_end);
}

TEST(Geometry, ResolvesAnAxis) {
  const AxisCase cases[] = {

      {"plain", "NOTSET", 5, 3, 1, 1, {}, 3, 0, 0},
      {"the kernel as long as the input", "NOTSET", 3, 3, 1, 1, {}, 1, 0, 0},
      {"the last input elements unused", "NOTSET", 6, 3, 2, 1, {}, 2, 0, 0},
      {"padding on one side only", "NOTSET", 5, 3, 1, 1, {0, 2}, 5, 0, 2},
      {"dilation", "NOTSET", 7, 3, 1, 2, {}, 3, 0, 0},
      {"windows wholly in padding (C9)", "NOTSET", 1, 2, 1, 1, {3, 3}, 6, 3, 3},
      {"VALID", "VALID", 6, 3, 2, 1, {}, 2, 0, 0},
      {"VALID with dilation", "VALID", 6, 2, 1, 4, {}, 2, 0, 0},
      {"SAME_UPPER, even total", "SAME_UPPER", 5, 3, 1, 1, {}, 5, 1, 1},
      {"SAME_UPPER, odd total: the extra one at the end", "SAME_UPPER", 5, 2, 1, 1, {}, 5, 0, 1},
      {"SAME_LOWER, odd total: the extra one at the beginning", "SAME_LOWER", 5, 2, 1, 1, {}, 5, 1, 0},
      {"SAME_UPPER with stride: ceil(6/4)", "SAME_UPPER", 6, 3, 4, 1, {}, 2, 0, 1},
      {"SAME_LOWER with stride", "SAME_LOWER", 6, 3, 4, 1, {}, 2, 1, 0},
      {"SAME_UPPER with dilation (C2)", "SAME_UPPER", 5, 3, 1, 2, {}, 5, 2, 2},
      {"SAME_LOWER with dilation and odd total (C2)", "SAME_LOWER", 5, 2, 1, 3, {}, 5, 2, 1},
      {"SAME_UPPER, kernel shorter than the stride: never negative (C3)", "SAME_UPPER", 6, 1, 3, 1, {}, 2, 0, 0},
      {"SAME_LOWER, kernel shorter than the stride: never negative (C3)", "SAME_LOWER", 6, 1, 4, 1, {}, 2, 0, 0}};
  for (const AxisCase& c : cases) expect_axis(c);
}

TEST(Geometry, DescribesAllOfAConvolution) {
  ConvolutionAttributes attributes;
  attributes.group = 2;
  attributes.kernel_shape = {3, 2};
  attributes.strides = {1, 2};
  attributes.pads = {1, 0, 2, 1};
  const Resolved r = resolve({2, 6, 5, 4}, {8, 3, 3, 2}, attributes);
  ASSERT_TRUE(r.geometry.has_value()) << r.violation();
  const ConvolutionGeometry& g = *r.geometry;
  EXPECT_EQ(g.output_shape(), (Shape{2, 8, 6, 2}));
  EXPECT_EQ(g.axes[0].pad_begin, 1);
  EXPECT_EQ(g.axes[0].pad_end, 2);
  EXPECT_EQ(g.axes[1].pad_begin, 0);
  EXPECT_EQ(g.axes[1].pad_end, 1);
  EXPECT_EQ(g.group_input_channels(), 3);
  EXPECT_EQ(g.group_output_channels(), 4);
  EXPECT_EQ(g.input_positions(), 20);
  EXPECT_EQ(g.output_positions(), 12);
  EXPECT_EQ(g.kernel_taps(), 6);
  EXPECT_EQ(g.depth(), 18);
}

TEST(Geometry, DefaultsAreOnes) {
  const Resolved r = resolve({1, 1, 4, 4, 4}, {1, 1, 2, 2, 2}, {});
  ASSERT_TRUE(r.geometry.has_value());
  EXPECT_EQ(r.geometry->output_shape(), (Shape{1, 1, 3, 3, 3}));
}

TEST(Geometry, EmptyBatchOrOutputChannelsGiveAnEmptyOutput) {
  const Resolved batch = resolve({0, 1, 4}, {2, 1, 3}, {});
  ASSERT_TRUE(batch.geometry.has_value());
  EXPECT_EQ(batch.geometry->output_shape(), (Shape{0, 2, 2}));
  EXPECT_TRUE(batch.contract.implementation_defined.empty());
  const Resolved channels = resolve({1, 1, 4}, {0, 1, 3}, {});
  ASSERT_TRUE(channels.geometry.has_value());
  EXPECT_EQ(channels.geometry->output_shape(), (Shape{1, 0, 2}));
  EXPECT_TRUE(channels.contract.implementation_defined.empty());
}

struct RemarkCase {
  Shape x, w;
  ConvolutionAttributes attributes;
  std::string text;
};

TEST(Geometry, NotesWhatIsImplementationDefined) {
  ConvolutionAttributes same_with_pads = with_auto_pad("SAME_UPPER");
  same_with_pads.pads = {0, 0};
  ConvolutionAttributes padded;
  padded.pads = {1, 1};
  const RemarkCase cases[] = {
      {{1, 1, 4}, {1, 1, 3}, same_with_pads, "pads: all zero beside auto_pad SAME_UPPER [rule C5]"},
      {{1, 0, 4}, {1, 0, 3}, {}, "x: no input channels: every output is the bias [rule C10]"},
      {{1, 1, 0}, {1, 1, 2}, padded, "x: spatial dimension 0 is empty [rule C10]"},
      {{1, 1, 4}, {1, 1, 0}, {}, "w: kernel dimension 0 is empty [rule C10]"},
  };
  for (const RemarkCase& c : cases) {
    const Resolved r = resolve(c.x, c.w, c.attributes);
    EXPECT_TRUE(r.geometry.has_value()) << r.violation();
    ASSERT_EQ(r.contract.implementation_defined.size(), 1U) << c.text;
    EXPECT_EQ(r.contract.implementation_defined[0].text(), c.text);
  }
}

struct ViolationCase {
  Shape x, w;
  ConvolutionAttributes attributes;
  std::string text;
};

// A plain 2-D convolution with one attribute changed.
ViolationCase planar(ConvolutionAttributes attributes, std::string text) {
  return {{1, 4, 5, 5}, {6, 4, 3, 3}, std::move(attributes), std::move(text)};
}

std::vector<ViolationCase> wrong_shapes() {
  ConvolutionAttributes pads;
  pads.pads = {0, 0, 1, 0};
  ConvolutionAttributes dilated;
  dilated.dilations = {1, 3};
  return {
      {{1, 4},
       {6, 4},
       {},
       "x: expected rank 3 or more (batch, channels, spatial dimensions), got shape [1, 4] [rule C8]"},
      {{1, 4, 5, 5}, {6, 4, 3}, {}, "w: expected the rank of x (4), got shape [6, 4, 3] [rule C8]"},
      {{1, 4, 5, 5}, {6, 3, 3, 3}, {}, "w: expected shape[1] * group = x.shape[1], got 3 * 1 and 4 [rule C8]"},
      {{1, 1, 5, 5},
       {1, 1, 6, 3},
       {},
       "w: kernel extent 6 in spatial dimension 0 exceeds the padded input 5 [rule C6]"},
      {{1, 1, 4, 5},
       {1, 1, 6, 3},
       pads,
       "w: kernel extent 6 in spatial dimension 0 exceeds the padded input 5 [rule C6]"},
      {{1, 1, 6, 6},
       {1, 1, 3, 3},
       dilated,
       "w: kernel extent 7 in spatial dimension 1 exceeds the padded input 6 [rule C6]"},
      {{1, 1, 2},
       {1, 1, 3},
       with_auto_pad("VALID"),
       "w: kernel extent 3 in spatial dimension 0 exceeds the padded input 2 [rule C6]"},
  };
}

std::vector<ViolationCase> wrong_attributes() {
  const auto attribute = [](auto member, auto value) {
    ConvolutionAttributes attributes;
    attributes.*member = value;
    return attributes;
  };
  using A = ConvolutionAttributes;
  ConvolutionAttributes both = with_auto_pad("SAME_LOWER");
  both.pads = Shape{0, 0, 0, 1};
  ConvolutionAttributes indivisible;
  indivisible.group = 4;
  return {
      planar(attribute(&A::pads, Shape{0, 0, 0}),
             "pads: expected 4 values (2 spatial dims, begin and end), got 3 [rule C8]"),
      planar(attribute(&A::pads, Shape{0, 0, -1, 0}),
             "pads: expected values of at least 0, got [0, 0, -1, 0] [rule C8]"),
      planar(attribute(&A::strides, Shape{1}), "strides: expected 2 values (2 spatial dims), got 1 [rule C8]"),
      planar(attribute(&A::strides, Shape{1, 0}), "strides: expected values of at least 1, got [1, 0] [rule C8]"),
      planar(attribute(&A::dilations, Shape{1, 1, 1}),
             "dilations: expected 2 values (2 spatial dims), got 3 [rule C8]"),
      planar(attribute(&A::dilations, Shape{-1, 1}), "dilations: expected values of at least 1, got [-1, 1] [rule C8]"),
      planar(with_auto_pad("SAME"),
             "auto_pad: expected NOTSET, SAME_UPPER, SAME_LOWER or VALID, got \"SAME\" [rule C8]"),
      planar(with_auto_pad(""), "auto_pad: expected NOTSET, SAME_UPPER, SAME_LOWER or VALID, got \"\" [rule C8]"),
      planar(both, "pads: cannot be used together with auto_pad SAME_LOWER, got [0, 0, 0, 1] [rule C5]"),
      planar(attribute(&A::kernel_shape, Shape{3, 2}),
             "kernel_shape: expected w.shape[2:] = [3, 3], got [3, 2] [rule C7]"),
      planar(attribute(&A::kernel_shape, Shape{3}), "kernel_shape: expected w.shape[2:] = [3, 3], got [3] [rule C7]"),
      planar(attribute(&A::group, std::int64_t{0}), "group: expected at least 1, got 0 [rule C8]"),
      planar(attribute(&A::group, std::int64_t{-2}), "group: expected at least 1, got -2 [rule C8]"),
      planar(attribute(&A::group, std::int64_t{2}),
             "w: expected shape[1] * group = x.shape[1], got 4 * 2 and 4 [rule C8]"),
      {{1, 4, 5},
       {6, 1, 3},
       indivisible,
       "group: expected a divisor of the output channels w.shape[0] = 6, got 4 [rule C8]"},
  };
}

std::vector<ViolationCase> beyond_the_limits() {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  ConvolutionAttributes pads;
  pads.pads = {0, kHuge};
  ConvolutionAttributes strides;
  strides.strides = {kMaxAttributeValue + 1};
  ConvolutionAttributes group;
  group.group = kHuge;
  ConvolutionAttributes wide;
  wide.pads = {kMaxAttributeValue, kMaxAttributeValue};
  return {
      {{1, 1, kHuge}, {1, 1, 1}, {}, "x: more than 1073741824 elements [rule limit]"},
      {{0, 1, kHuge}, {1, 1, 1}, {}, "x: more than 1073741824 elements [rule limit]"},
      {{1, 1, 1}, {kHuge, 1, kHuge}, {}, "w: more than 1073741824 elements [rule limit]"},
      {{1, 1, 1},
       {1, 1, 1},
       pads,
       "pads: expected values of at most 2147483648, got [0, 4611686018427387904] [rule limit]"},
      {{1, 1, 1}, {1, 1, 1}, strides, "strides: expected values of at most 2147483648, got [2147483649] [rule limit]"},
      {{1, 0, 1}, {0, 0, 1}, group, "group: expected at most 2147483648, got 4611686018427387904 [rule limit]"},
      {{1, 1, 1}, {1, 1, 1}, wide, "y: shape [1, 1, 4294967297] has more than 134217728 elements [rule limit]"},
  };
}

void expect_violations(const std::vector<ViolationCase>& cases) {
  for (const ViolationCase& c : cases) {
    const Resolved r = resolve(c.x, c.w, c.attributes);
    EXPECT_FALSE(r.geometry.has_value()) << c.text;
    EXPECT_EQ(r.violation(), c.text);
  }
}

TEST(Geometry, RefusesWrongShapes) {
  expect_violations(wrong_shapes());
}
TEST(Geometry, RefusesWrongAttributes) {
  expect_violations(wrong_attributes());
}
TEST(Geometry, RefusesWhatExceedsTheLimits) {
  expect_violations(beyond_the_limits());
}

// Any axis, against windows that are counted over the padded axis.
RC_GTEST_PROP(GeometryProperty, WindowsOfExplicitPaddingAreThoseThatFit, ()) {
  const auto input = *rc::gen::inRange<std::int64_t>(1, 20);
  const auto kernel = *rc::gen::inRange<std::int64_t>(1, 7);
  const auto stride = *rc::gen::inRange<std::int64_t>(1, 6);
  const auto dilation = *rc::gen::inRange<std::int64_t>(1, 5);
  const auto begin = *rc::gen::inRange<std::int64_t>(0, 12);
  const auto end = *rc::gen::inRange<std::int64_t>(0, 12);
  ConvolutionAttributes attributes;
  attributes.strides = {stride};
  attributes.dilations = {dilation};
  attributes.pads = {begin, end};
  const Resolved r = resolve({1, 1, input}, {1, 1, kernel}, attributes);
  const std::int64_t windows = oracle::count_windows(begin + input + end, (kernel - 1) * dilation + 1, stride);
  RC_CLASSIFY(windows == 0, "no window fits");
  if (windows == 0) {
    RC_ASSERT(r.contract.violation.has_value());
    RC_ASSERT(r.contract.violation->rule == "C6");
  } else {
    RC_ASSERT(r.geometry.has_value());
    RC_ASSERT(r.geometry->axes[0].output == windows);
    RC_ASSERT(r.geometry->axes[0].pad_begin == begin);
    RC_ASSERT(r.geometry->axes[0].pad_end == end);
  }
}

RC_GTEST_PROP(GeometryProperty, SamePaddingIsTheLeastThatFits, ()) {
  const auto input = *rc::gen::inRange<std::int64_t>(1, 30);
  const auto kernel = *rc::gen::inRange<std::int64_t>(1, 8);
  const auto stride = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto dilation = *rc::gen::inRange<std::int64_t>(1, 5);
  const bool upper = *rc::gen::arbitrary<bool>();
  ConvolutionAttributes attributes = with_auto_pad(upper ? "SAME_UPPER" : "SAME_LOWER");
  attributes.strides = {stride};
  attributes.dilations = {dilation};
  const Resolved r = resolve({1, 1, input}, {1, 1, kernel}, attributes);
  RC_ASSERT(r.geometry.has_value());
  const SpatialAxis& axis = r.geometry->axes[0];
  const oracle::SamePadding expected = oracle::same_padding(input, axis.kernel_extent(), stride, upper);
  RC_CLASSIFY(axis.kernel_extent() < stride, "kernel shorter than the stride");
  RC_ASSERT(axis.output == expected.output);
  RC_ASSERT(axis.pad_begin == expected.begin);
  RC_ASSERT(axis.pad_end == expected.end);
  RC_ASSERT(oracle::count_windows(input + axis.pad_begin + axis.pad_end, axis.kernel_extent(), stride) == axis.output);
}

}  // namespace
}  // namespace qconform::reference

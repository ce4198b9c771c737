// Defects that the suites were not made for: each survived an earlier conformance suite, or was killed by luck. A plain
// kernel has them as replaced steps, and cases of the default run must tell it from the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/judge/judge.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/linear/linear.h"
#include "harness/suites/select.h"
#include "reference/convolution/convolution.h"
#include "reference/numerics/element.h"
#include "reference/numerics/integers.h"
#include "reference/numerics/requantize.h"

namespace qconform {
namespace {

using reference::ConvolutionGeometry;
using reference::QLinearConv;
using Indices = std::vector<std::int64_t>;

// The elements that a tap of an output element joins; a defect changes them.
struct KernelTap {
  const QLinearConv& node;
  std::int64_t image = 0;
  std::int64_t output_channel = 0;
  Indices output = {};
  Indices kernel = {};
  Indices x = {};  // the position in the input, which may lie in the padding
  std::int64_t w_zero_point = 0;
  bool counts = true;

  [[nodiscard]] const ConvolutionGeometry& geometry() const { return node.operands.geometry; }
  [[nodiscard]] bool is_depthwise() const { return geometry().group > 1 && geometry().group_input_channels() == 1; }
};

// Steps of the kernel; those of the reference where a defect has none.
struct HeldOutDefect {
  std::string name;
  std::function<void(KernelTap&)> tap = [](KernelTap&) {};
  std::function<std::int64_t(const QLinearConv&, std::int64_t)> scale_channel = [](const QLinearConv&, std::int64_t m) {
    return m;
  };
  std::function<double(double)> multiplier = [](double m) { return m; };
  std::function<std::int64_t(const QLinearConv&, std::int64_t sum, std::int64_t bias)> total =
      [](const QLinearConv&, std::int64_t sum, std::int64_t bias) { return sum + bias; };
};

// The next position, the last axis fastest; false behind the last.
bool advance(Indices& position, const Indices& sizes) {
  for (std::size_t a = position.size(); a-- > 0;) {
    if (++position[a] < sizes[a]) return true;
    position[a] = 0;
  }
  return false;
}

std::int64_t offset(const Indices& position, const Indices& sizes) {
  std::int64_t offset = 0;
  for (std::size_t a = 0; a < position.size(); ++a) offset = offset * sizes[a] + position[a];
  return offset;
}

bool is_inside(const Indices& position, const Indices& sizes) {
  for (std::size_t a = 0; a < position.size(); ++a) {
    if (position[a] < 0 || position[a] >= sizes[a]) return false;
  }
  return true;
}

std::vector<std::int64_t> values_of(const Tensor& tensor) {
  std::vector<std::int64_t> values;
  const std::int64_t count = tensor.elements();
  for (std::int64_t i = 0; i < count; ++i) values.push_back(integer_at(tensor, i));
  return values;
}

class PlainKernel {
 public:
  PlainKernel(const QLinearConv& node, const Case& test_case, const HeldOutDefect& defect)
      : node_(node),
        x_(values_of(*test_case.inputs[0])),
        w_(values_of(*test_case.inputs[3])),
        defect_(defect),
        tap_{node} {
    for (const reference::SpatialAxis& axis : node.operands.geometry.axes) {
      inputs_.push_back(axis.input);
      outputs_.push_back(axis.output);
      kernel_.push_back(axis.kernel);
    }
    taps_ = elements_of(kernel_);
    positions_ = elements_of(inputs_);
  }

  Tensor run(const Tensor& like) {
    Tensor y = like;
    std::size_t next = 0;
    const ConvolutionGeometry& g = node_.operands.geometry;
    for (std::int64_t n = 0; n < g.batch; ++n) {
      for (std::int64_t m = 0; m < g.output_channels; ++m) {
        Indices position(outputs_.size(), 0);
        do y.bytes[next++] = element(n, m, position);
        while (advance(position, outputs_));
      }
    }
    return y;
  }

 private:
  std::byte element(std::int64_t n, std::int64_t m, const Indices& position) {
    const auto& bias = node_.operands.bias;
    std::int64_t sum = 0;
    for (std::int64_t c = 0; c < node_.operands.geometry.group_input_channels(); ++c) {
      Indices kernel(kernel_.size(), 0);
      do sum += product(n, m, c, position, kernel);
      while (advance(kernel, kernel_));
    }
    const std::int64_t total = defect_.total(node_, sum, bias.empty() ? 0 : bias[static_cast<std::size_t>(m)]);
    const auto p = node_.requantization(static_cast<std::size_t>(defect_.scale_channel(node_, m)));
    const double multiplier = static_cast<double>(p.x_scale) * p.w_scale / p.y_scale;
    const double changed = defect_.multiplier(multiplier);
    std::int32_t value =
        reference::requantize(reference::RoundingProfile::correctly_rounded, reference::wrap_to_int32(total), p);
    if (changed != multiplier) {
      const double rounded = std::nearbyint(static_cast<double>(total) * changed) + p.y_zero_point;
      value = static_cast<std::int32_t>(
          std::clamp(rounded, static_cast<double>(p.y_range.lo), static_cast<double>(p.y_range.hi)));
    }
    return reference::store8(value);
  }

  std::int64_t product(std::int64_t n, std::int64_t m, std::int64_t c, const Indices& position, const Indices& kernel) {
    const ConvolutionGeometry& g = node_.operands.geometry;
    tap_.image = n;
    tap_.output_channel = m;
    tap_.output = position;
    tap_.kernel = tap_.x = kernel;
    tap_.w_zero_point = node_.operands.w_zero_point[static_cast<std::size_t>(m)];
    tap_.counts = true;
    for (std::size_t a = 0; a < kernel.size(); ++a) {
      const reference::SpatialAxis& axis = g.axes[a];
      tap_.x[a] = position[a] * axis.stride - axis.pad_begin + kernel[a] * axis.dilation;
    }
    defect_.tap(tap_);
    if (!tap_.counts) return 0;
    const std::int64_t w_at = (m * g.group_input_channels() + c) * taps_ + offset(kernel, kernel_);
    std::int64_t x_difference = 0;
    if (is_inside(tap_.x, inputs_)) {
      const std::int64_t input_channel = m / g.group_output_channels() * g.group_input_channels() + c;
      const std::int64_t x_at = (tap_.image * g.input_channels + input_channel) * positions_ + offset(tap_.x, inputs_);
      x_difference = x_[static_cast<std::size_t>(x_at)] - node_.operands.x_zero_point;
    }
    return x_difference * (w_[static_cast<std::size_t>(w_at)] - tap_.w_zero_point);
  }

  const QLinearConv& node_;
  std::vector<std::int64_t> x_, w_;
  const HeldOutDefect& defect_;
  KernelTap tap_;
  Indices inputs_, outputs_, kernel_;
  std::int64_t taps_ = 0;
  std::int64_t positions_ = 0;
};

struct JudgedCase {
  Case test_case;
  Expected expected;
  std::int64_t work = 0;
};

// Cases of two suites of the default run.
const std::deque<JudgedCase>& cases() {
  static const std::deque<JudgedCase> all = [] {
    std::deque<JudgedCase> list;
    // Extents are what makes the suite sizes large; of the other the small cases do.
    const std::pair<const char*, std::int64_t> suites[] = {{"sizes", 60'000}, {"directed", 4'000}};
    for (const auto& [suite, most_work] : suites) {
      auto opened = open_suite(suite, {});
      EXPECT_TRUE(opened) << opened.error().text();
      while (auto test_case = *(*opened)[0]->next()) {
        if (test_case->node().op_type != "QLinearConv") continue;
        list.push_back({std::move(*test_case), {}, 0});
        list.back().expected = expect(list.back().test_case, Policy{});
        const auto& lowered = list.back().expected.classification.lowered;
        if (!lowered || !list.back().expected.output || lowered->work() > most_work) {
          list.pop_back();
        } else {
          list.back().work = lowered->work();
        }
      }
    }
    return list;
  }();
  return all;
}

// The first case that tells the kernel from the reference; empty where none does. Of cases with so many products, both
// ends included.
std::string first_kill(const HeldOutDefect& defect, std::int64_t least, std::int64_t most) {
  for (const auto& [test_case, expected, own_work] : cases()) {
    if (own_work < least || own_work > most) continue;
    const QLinearConv* node = qlinear_conv_of(*expected.classification.lowered);
    Tensor y = PlainKernel(*node, test_case, defect).run(*expected.output);
    if (is_failure(judge(expected, outcome::Produced(std::move(y))).kind)) return test_case.id;
  }
  return {};
}

bool is_kernel(const ConvolutionGeometry& g, std::int64_t size) {
  return std::all_of(g.axes.begin(), g.axes.end(), [&](const auto& axis) { return axis.kernel == size; });
}

const std::vector<HeldOutDefect> kHeldOutDefects{
    {.name = "w zero points of the second block of 128 channels are those of the first",
     .tap =
         [](KernelTap& t) {
           t.w_zero_point = t.node.operands.w_zero_point[static_cast<std::size_t>(t.output_channel % 128)];
         }},
    {.name = "scales of the second 64 channels are those of the first",
     .scale_channel = [](const QLinearConv&, std::int64_t m) { return m % 64; }},
    {.name = "column index of 8 bits at stride 1",
     .tap =
         [](KernelTap& t) {
           if (t.geometry().axes.back().stride == 1 && t.x.back() >= 0) t.x.back() &= 255;
         }},
    {.name = "dilation kept in two bits",
     .tap =
         [](KernelTap& t) {
           for (std::size_t a = 0; a < t.x.size(); ++a) {
             const auto& axis = t.geometry().axes[a];
             t.x[a] -= t.kernel[a] * (axis.dilation - (axis.dilation & 3));
           }
         }},
    {.name = "no more than 8 taps in a row", .tap = [](KernelTap& t) { t.counts = t.kernel.back() < 8; }},
    {.name = "the fourth image is the first",
     .tap = [](KernelTap& t) { t.image = t.geometry().batch >= 4 && t.image == 3 ? 0 : t.image; }},
    {.name = "multiplier of 1 and more truncated", .multiplier = [](double m) { return m >= 1 ? std::trunc(m) : m; }},
    {.name = "3x3 depthwise of stride 2 drops the last column of an odd width",
     .tap =
         [](KernelTap& t) {
           const auto& axis = t.geometry().axes.back();
           if (t.is_depthwise() && is_kernel(t.geometry(), 3) && axis.stride == 2 && axis.input % 2 == 1) {
             t.counts = t.x.back() != axis.input - 1;
           }
         }},
    {.name = "1x1 of stride 2 ignores its pads",
     .tap =
         [](KernelTap& t) {
           for (std::size_t a = 0; a < t.x.size(); ++a) {
             if (is_kernel(t.geometry(), 1) && t.geometry().axes[a].stride == 2)
               t.x[a] += t.geometry().axes[a].pad_begin;
           }
         }},
    {.name = "1x1 with pads at the end alone reads the last column there",
     .tap =
         [](KernelTap& t) {
           const auto& axis = t.geometry().axes.back();
           if (is_kernel(t.geometry(), 1) && axis.pad_begin == 0 && t.x.back() == axis.input) --t.x.back();
         }},
    {.name = "the second of two output channels is not computed at the last of an odd number of pixels of a 1x1",
     .tap =
         [](KernelTap& t) {
           const auto& axis = t.geometry().axes.back();
           const bool odd = axis.output % 2 == 1 && t.output.back() == axis.output - 1;
           if (is_kernel(t.geometry(), 1) && t.geometry().output_channels % 2 == 0 && odd) {
             t.counts = t.output_channel % 2 == 0;
           }
         }},
    {.name = "the fifth output of a depth multiplier has the first one's zero point and scale",
     .scale_channel =
         [](const QLinearConv& node, std::int64_t m) {
           const ConvolutionGeometry& g = node.operands.geometry;
           const bool fifth = g.group > 1 && g.group_input_channels() == 1 && m % g.group_output_channels() == 4;
           return fifth ? m - 4 : m;
         }},
    {.name = "depthwise kernels of more than 16 taps in a row",
     .tap = [](KernelTap& t) { t.counts = !t.is_depthwise() || t.kernel.back() < 16; }},
    {.name = "stride kept in 7 bits",
     .tap =
         [](KernelTap& t) {
           for (std::size_t a = 0; a < t.x.size(); ++a) t.x[a] -= t.output[a] * (t.geometry().axes[a].stride & ~127);
         }},
    {.name = "pad kept in 7 bits",
     .tap =
         [](KernelTap& t) {
           for (std::size_t a = 0; a < t.x.size(); ++a) t.x[a] += t.geometry().axes[a].pad_begin & ~127;
         }},
    {.name = "without a bias, sums begin at 1",
     .total = [](const QLinearConv& node, std::int64_t sum,
                 std::int64_t bias) { return sum + (node.operands.bias.empty() ? 1 : bias); }},
    {.name = "a small bias is lost",
     .total = [](const QLinearConv&, std::int64_t sum,
                 std::int64_t bias) { return bias > -8 && bias < 8 ? sum : sum + bias; }},
    {.name = "strided 1x1: rows of the second image begin at those of the first",
     .tap =
         [](KernelTap& t) {
           if (is_kernel(t.geometry(), 1) && t.geometry().axes.back().stride > 1 && t.x.size() > 1 && t.output[0] > 0) {
             t.image = 0;
           }
         }},
    {.name = "the least int32 is taken for an overflow, in int8 and below a multiplier of 1",
     .total =
         [](const QLinearConv& node, std::int64_t sum, std::int64_t bias) {
           const bool is_int8 = node.operands.x_type == ElementType::int8 && node.operands.w_type == ElementType::int8;
           return is_int8 && sum + bias == INT32_MIN ? std::int64_t{INT32_MAX} : sum + bias;
         }},
    {.name = "tail channels of a 3x3 depthwise ignore two rows of padding",
     .tap =
         [](KernelTap& t) {
           const auto& g = t.geometry();
           const bool in_tail = g.output_channels > 4 && t.output_channel >= g.output_channels / 4 * 4;
           if (t.is_depthwise() && is_kernel(g, 3) && in_tail && g.axes[0].pad_begin == 2 && t.x[0] == -2) t.x[0] = 0;
         }},
};

TEST(HeldOut, ThePlainKernelIsRight) {
  EXPECT_EQ(first_kill({.name = "none"}, 0, 2'000), "");
}

TEST(HeldOut, EveryDefectIsKilledByTheDefaultRun) {
  for (const HeldOutDefect& defect : kHeldOutDefects) {
    // Small cases kill most.
    const bool is_killed = !first_kill(defect, 0, 3'999).empty() || !first_kill(defect, 4'000, 39'999).empty() ||
                           !first_kill(defect, 40'000, 60'000).empty();
    EXPECT_TRUE(is_killed) << defect.name;
  }
}

// Each in the cases of one large size.
TEST(HeldOut, DefectsOfLargeSizesAreKilled) {
  const std::pair<const char*, HeldOutDefect> defects[] = {
      {"size=line 2049",
       {.name = "no halo between tiles of 1,024",
        .tap =
            [](KernelTap& t) {
              t.counts = t.output[0] % 1024 != 1023 || t.kernel[0] + 1 < t.geometry().axes[0].kernel;
            }}},
      {"size=row 5000",
       {.name = "columns in 12 bits",
        .tap = [](KernelTap& t) { t.x.back() = t.x.back() < 4096 ? t.x.back() : t.x.back() - 4096; }}},
      {"size=weights 262145",
       {.name = "beyond 256 KiB of weights the zero point of x is lost",
        .total = [](const QLinearConv& node, std::int64_t sum,
                    std::int64_t bias) { return sum + bias + (node.operands.x_zero_point != 0 ? 1 << 20 : 0); }}},
  };
  auto opened = open_suite("sizes", {});
  ASSERT_TRUE(opened) << opened.error().text();
  std::set<std::string> killed;
  while (const auto test_case = *(*opened)[0]->next()) {
    for (const auto& [size, defect] : defects) {
      if (test_case->tags[0] != size || test_case->node().op_type != "QLinearConv") continue;
      const Expected expected = expect(*test_case, Policy{});
      const QLinearConv* node = qlinear_conv_of(*expected.classification.lowered);
      Tensor y = PlainKernel(*node, *test_case, defect).run(*expected.output);
      if (is_failure(judge(expected, outcome::Produced(std::move(y))).kind)) killed.insert(size);
    }
  }
  EXPECT_EQ(killed.size(), std::size(defects)) << ::testing::PrintToString(killed);
}

// Cases of an operator of one input until a kernel that computes `wrong` of them is told from the reference.
template <typename Compute>
std::string first_kill_of(const std::string& op_type, Compute compute) {
  for (const char* suite : {"directed", "sweep"}) {
    auto opened = open_suite(suite, {});
    EXPECT_TRUE(opened) << opened.error().text();
    while (const auto test_case = *(*opened)[0]->next()) {
      if (test_case->node().op_type != op_type) continue;
      const Expected expected = expect(*test_case, Policy{});
      if (!expected.output) continue;
      Tensor y = *expected.output;
      if (!compute(*test_case, *expected.classification.lowered, y)) continue;
      if (is_failure(judge(expected, outcome::Produced(std::move(y))).kind)) return test_case->id;
    }
  }
  return {};
}

TEST(HeldOut, AbsoluteValueOfTheLowestInt32IsKilled) {
  const auto without_sign = [](const Case& test_case, const Lowered&, Tensor& y) {
    const Tensor& x = *test_case.inputs[0];
    if (x.type != ElementType::int32 || y.type != ElementType::float32) return false;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      // The sign bit of the result.
      if (integer_at(x, i) == INT32_MIN) y.bytes[static_cast<std::size_t>(i) * 4 + 3] &= std::byte{0x7F};
    }
    return true;
  };
  EXPECT_NE(first_kill_of("DequantizeLinear", without_sign), "");
}

TEST(HeldOut, Float16ReciprocalThatUnderflowsIsKilled) {
  const auto flushed = [](const Case& test_case, const Lowered& lowered, Tensor& y) {
    const Tensor& scale = *test_case.inputs[1];
    const reference::QuantizeLinear* node = quantize_linear_of(lowered);
    if (scale.type != ElementType::float16 || (y.type != ElementType::uint8 && y.type != ElementType::int8))
      return false;
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const auto parameter = static_cast<std::size_t>(node->layout.parameter_of(i));
      if (std::fabs(node->y_scale[parameter]) <= 0x1p14) continue;
      y.bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(node->y_zero_point[parameter] & 0xFF);
    }
    return true;
  };
  EXPECT_NE(first_kill_of("QuantizeLinear", flushed), "");
}

}  // namespace
}  // namespace qconform

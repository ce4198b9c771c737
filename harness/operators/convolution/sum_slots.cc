// Lists the places in the factors and the sum of a convolution's products at which expressions may stand.
#include <algorithm>
#include <string>

#include "harness/model/defects/expression.h"
#include "harness/operators/convolution/diagnosis.h"
#include "reference/numerics/integers.h"

namespace qconform::diagnose {
namespace {

struct FactorContext : StageContext {
  const ConvolutionOperands* operands;
  std::int64_t value;  // as the reference has it
  std::int64_t zero_point;
  bool touches_padding = false;
};

const FactorContext& factor(const StageContext& c) {
  return as<FactorContext>(c);
}

std::int64_t is_type(ElementType type, ElementType wanted) {
  return type == wanted ? 1 : 0;
}

constexpr Variable kXUnsigned{"x_unsigned", [](const StageContext& c, std::int64_t) {
                                return is_type(factor(c).operands->x_type, ElementType::uint8);
                              }};
constexpr Variable kWUnsigned{"w_unsigned", [](const StageContext& c, std::int64_t) {
                                return is_type(factor(c).operands->w_type, ElementType::uint8);
                              }};
constexpr Variable kXSigned{"x_signed", [](const StageContext& c, std::int64_t) {
                              return is_type(factor(c).operands->x_type, ElementType::int8);
                            }};
constexpr Variable kWSigned{"w_signed", [](const StageContext& c, std::int64_t) {
                              return is_type(factor(c).operands->w_type, ElementType::int8);
                            }};
constexpr Variable kZeroPoint{"zero_point", [](const StageContext& c, std::int64_t) { return factor(c).zero_point; }};

constexpr Variable kPad[] = {kZeroPoint, kXUnsigned};
constexpr Variable kXZeroPoint[] = {
    kZeroPoint,
    {"touches_padding", [](const StageContext& c, std::int64_t) { return factor(c).touches_padding ? 1L : 0L; }},
    kXUnsigned};
constexpr Variable kDifference[] = {{"x", [](const StageContext& c, std::int64_t) { return factor(c).value; }},
                                    kZeroPoint};
constexpr Variable kWeight[] = {{"w", [](const StageContext& c, std::int64_t) { return factor(c).value; }},
                                kXUnsigned,
                                kWUnsigned,
                                kXSigned,
                                kWSigned};
constexpr Variable kWZeroPoint[] = {kZeroPoint, kXUnsigned, kWUnsigned};

void set_pad(Stages& stages, const Expression& expression) {
  stages.set(stage::pad, {[](const Expression& e, const ConvolutionOperands& o, std::int32_t zero_point) {
                            const IntegerRange range = reference::range_of(o.x_type);
                            const auto value = e.evaluate(FactorContext{{range}, &o, 0, zero_point});
                            return static_cast<std::int32_t>(wrapped_in(range, value));
                          },
                          expression});
}

std::int32_t narrowed(std::int64_t value) {
  return reference::wrap_to_int32(value);
}

void set_x_zero_point(Stages& stages, const Expression& expression) {
  stages.set(stage::x_zero_point, {[](const Expression& e, const ConvolutionOperands& o, bool touches_padding) {
                                     return narrowed(e.evaluate(FactorContext{
                                         {reference::range_of(o.x_type)}, &o, 0, o.x_zero_point, touches_padding}));
                                   },
                                   expression});
}

void set_x_difference(Stages& stages, const Expression& expression) {
  stages.set(stage::x_difference,
             {[](const Expression& e, std::int32_t x, std::int32_t zero_point) {
                return narrowed(e.evaluate(FactorContext{{{INT8_MIN, INT8_MAX}}, nullptr, x, zero_point}));
              },
              expression});
}

void set_w_value(Stages& stages, const Expression& expression) {
  stages.set(stage::w_value, {[](const Expression& e, const ConvolutionOperands& o, std::byte stored) {
                                const std::int32_t w = reference::load8(o.w_type, stored);
                                return narrowed(e.evaluate(FactorContext{{reference::range_of(o.w_type)}, &o, w, 0}));
                              },
                              expression});
}

void set_w_zero_point(Stages& stages, const Expression& expression) {
  stages.set(stage::w_zero_point,
             {[](const Expression& e, const ConvolutionOperands& o, std::int64_t channel) {
                const std::int32_t own = o.w_zero_point[static_cast<std::size_t>(channel)];
                return narrowed(e.evaluate(FactorContext{{reference::range_of(o.w_type)}, &o, 0, own}));
              },
              expression});
}

void set_w_zero_point_index(Stages& stages, const Expression& expression) {
  stages.set(stage::w_zero_point, {[](const Expression& e, const ConvolutionOperands& o, std::int64_t channel) {
                                     const auto index = e.evaluate(ChannelContext{{}, channel, &o.geometry});
                                     return o.w_zero_point[index_or(channel, index, o.w_zero_point.size())];
                                   },
                                   expression});
}

struct WindowContext : StageContext {
  const Window& window;
};

const Window& window_of(const StageContext& c) {
  return as<WindowContext>(c).window;
}

// How a sum of products may be formed: in runs of some of them, each stored in a type.
enum class SumType : std::uint8_t { wrap8, wrap16, saturate16, float16, float32 };
// Products of a run; `tap`: of one tap, all channels; `channel`: of one channel, all taps.
enum class RunOf : std::uint8_t { one, pair, pair_of_tap, four, tap, channel, all };

constexpr std::string_view kSumTypes[] = {"wrap8", "wrap16", "saturate16", "float16", "float32"};
constexpr std::string_view kRuns[] = {"each", "pairs", "pairs_of_tap", "fours", "by_tap", "by_channel", "all"};
constexpr std::string_view kTerms[] = {"", "_raw"};

// An integer type holds whole sums; a float type may have overflowed to infinity.
double stored_as(SumType type, double value) {
  const auto bits = [&] { return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)); };
  switch (type) {
    case SumType::wrap8: return static_cast<std::int8_t>(bits() & 0xFFU);
    case SumType::wrap16: return static_cast<std::int16_t>(bits() & 0xFFFFU);
    case SumType::saturate16: return std::clamp<double>(value, INT16_MIN, INT16_MAX);
    case SumType::float16: return rounded_to(reference::float_format(ElementType::float16), value);
    case SumType::float32: break;
  }
  return static_cast<float>(value);
}

struct SumFolding {
  RunOf run;
  SumType type;
  bool is_raw;  // x and w as stored; what their zero points contribute is added apart, and right
};

SumFolding folding_of(std::int64_t which) {
  return {static_cast<RunOf>(which % std::int64_t{std::size(kRuns)}),
          static_cast<SumType>(which / std::int64_t{std::size(kRuns)} % std::int64_t{std::size(kSumTypes)}),
          which >= std::int64_t{std::size(kRuns) * std::size(kSumTypes)}};
}

// Returns the end of the run that begins at product `begin`.
std::size_t end_of_run(RunOf run, std::size_t begin, std::size_t taps, std::size_t channels) {
  const std::size_t depth = taps * channels;
  switch (run) {
    case RunOf::one: return begin + 1;
    case RunOf::pair: return std::min(depth, begin + 2);
    case RunOf::pair_of_tap: return std::min((begin / channels + 1) * channels, begin + 2);
    case RunOf::four: return std::min(depth, begin + 4);
    case RunOf::tap: return begin + channels;
    case RunOf::channel: return begin + taps;
    case RunOf::all: break;
  }
  return depth;
}

// Within a run channels are innermost, as in kernels that keep channels last; runs of one channel and the whole sum go
// through the taps as they come.
std::int64_t folded(const StageContext& context, std::int64_t which) {
  const Window& window = window_of(context);
  const SumFolding folding = folding_of(which);
  const auto taps = static_cast<std::size_t>(window.operands.geometry.kernel_taps());
  const auto channels = static_cast<std::size_t>(window.operands.geometry.group_input_channels());
  const bool is_in_order = folding.run == RunOf::channel || folding.run == RunOf::all;
  double sum = 0;
  std::int64_t apart = 0;
  for (std::size_t begin = 0; begin < window.w.size();) {
    const std::size_t end = end_of_run(folding.run, begin, taps, channels);
    double run = 0;
    for (; begin < end; ++begin) {
      const std::size_t k = is_in_order ? begin : begin % channels * taps + begin / channels;
      const std::int64_t product = folding.is_raw ? std::int64_t{window.x[k]} * window.w[k] : window.product(k);
      apart += window.product(k) - product;
      const bool is_float = folding.type >= SumType::float16;
      run = is_float ? stored_as(folding.type, run + stored_as(folding.type, static_cast<double>(product)))
                     : run + static_cast<double>(product);
    }
    sum += stored_as(folding.type, run);
  }
  const double most = 0x1p62;
  return static_cast<std::int64_t>(std::clamp(sum, -most, most)) + apart;
}

std::int64_t without_tail(const StageContext& context, std::int64_t which) {
  const Window& window = window_of(context);
  std::int64_t sum = 0;
  const auto unit = static_cast<std::size_t>(which);
  for (std::size_t k = 0; k < window.w.size() / unit * unit; ++k) sum += window.product(k);
  return sum;
}

std::int64_t window_type(const StageContext& c, std::int64_t which) {
  const ConvolutionOperands& o = window_of(c).operands;
  return is_type(which < 2 ? o.x_type : o.w_type, which % 2 == 0 ? ElementType::uint8 : ElementType::int8);
}

std::span<const Variable> sum_variables() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const std::string_view term : kTerms) {
      for (const std::string_view type : kSumTypes) {
        for (const std::string_view run : kRuns) names.push_back(std::string(run) + "_" + std::string(type) += term);
      }
    }
    return names;
  }();
  static const std::vector<Variable> kVariables = [] {
    std::vector<Variable> all{{"sum", [](const StageContext& c, std::int64_t) { return window_of(c).sum(); }, 0, false},
                              {"without_tail_of_2", without_tail, 2, false},
                              {"without_tail_of_4", without_tail, 4, false},
                              {"without_tail_of_8", without_tail, 8, false},
                              {"without_tail_of_16", without_tail, 16, false},
                              {"x_unsigned", window_type, 0},
                              {"x_signed", window_type, 1},
                              {"w_unsigned", window_type, 2},
                              {"w_signed", window_type, 3}};
    for (std::size_t i = 0; i < kNames.size(); ++i)
      all.push_back({kNames[i], folded, static_cast<std::int64_t>(i), false});
    return all;
  }();
  return kVariables;
}

void set_sum(Stages& stages, const Expression& expression) {
  stages.set(stage::accumulate, {[](const Expression& e, const Window& window) {
                                   return e.evaluate(WindowContext{{}, window});
                                 },
                                 expression});
}

std::int64_t total_of(std::span<const std::int32_t> values) {
  std::int64_t total = 0;
  for (const std::int32_t value : values) total += value;
  return total;
}

// The sum of products written out: x w - x_term - w_term + cross_term.
constexpr Variable kTermVariables[] = {
    {"cross_term",
     [](const StageContext& c, std::int64_t) {
       const Window& w = window_of(c);
       return std::int64_t{w.x_zero_point} * w.w_zero_point * static_cast<std::int64_t>(w.w.size());
     }},
    {"x_term",
     [](const StageContext& c, std::int64_t) { return window_of(c).w_zero_point * total_of(window_of(c).x); }},
    {"w_term",
     [](const StageContext& c, std::int64_t) { return window_of(c).x_zero_point * total_of(window_of(c).w); }}};

void set_correction(Stages& stages, const Expression& expression) {
  stages.set(stage::correction, {[](const Expression& e, const Window& window) {
                                   return e.evaluate(WindowContext{{}, window});
                                 },
                                 expression});
}

struct EmptyContext : StageContext {
  std::int64_t sum;
  std::int64_t previous;
};

constexpr Variable kEmpty[] = {
    {"sum", [](const StageContext& c, std::int64_t) { return as<EmptyContext>(c).sum; }},
    {"previous", [](const StageContext& c, std::int64_t) { return as<EmptyContext>(c).previous; }}};

void set_empty_window(Stages& stages, const Expression& expression) {
  stages.set(stage::empty_window, {[](const Expression& e, std::int64_t sum, std::int64_t previous) {
                                     return e.evaluate(EmptyContext{{}, sum, previous});
                                   },
                                   expression});
}

struct TotalContext : StageContext {
  std::int64_t sum;
  const ConvolutionOperands& operands;
  std::int64_t channel;
};

const TotalContext& totalled(const StageContext& c) {
  return as<TotalContext>(c);
}

// The biases' bytes read as numbers of so many; little endian.
std::int64_t bias_read_as(const StageContext& c, std::int64_t bytes) {
  const ConvolutionOperands& operands = totalled(c).operands;
  const std::int64_t channel = totalled(c).channel;
  if (operands.bias.empty()) return 0;
  const std::int64_t in_word = 4 / bytes;
  const auto word = static_cast<std::uint32_t>(operands.bias[static_cast<std::size_t>(channel / in_word)]);
  const auto part = word >> static_cast<std::uint32_t>(channel % in_word * bytes * 8);
  return bytes == 1 ? std::int64_t{static_cast<std::int8_t>(part & 0xFFU)}
                    : std::int64_t{static_cast<std::int16_t>(part & 0xFFFFU)};
}

constexpr Variable kTotalVariables[] = {
    {"sum", [](const StageContext& c, std::int64_t) { return totalled(c).sum; }},
    {"bias", [](const StageContext& c, std::int64_t) { return bias_of(totalled(c).operands, totalled(c).channel); }},
    {"bias_read_as_int8", bias_read_as, 1},
    {"bias_read_as_int16", bias_read_as, 2}};

// As the accumulator's 32 bits hold it.
void set_total(Stages& stages, const Expression& expression) {
  stages.set(stage::bias,
             {[](const Expression& e, std::int64_t sum, const ConvolutionOperands& operands, std::int64_t channel) {
                return std::int64_t{narrowed(e.evaluate(TotalContext{{}, sum, operands, channel}))};
              },
              expression});
  stages.set(stage::keep, [](std::int64_t total) { return total; });
}

void set_bias_index(Stages& stages, const Expression& expression) {
  stages.set(stage::bias,
             {[](const Expression& e, std::int64_t sum, const ConvolutionOperands& operands, std::int64_t channel) {
                const auto index = e.evaluate(ChannelContext{{}, channel, &operands.geometry});
                const std::size_t place = index_or(channel, index, operands.bias.size());
                return std::int64_t{narrowed(sum + bias_of(operands, static_cast<std::int64_t>(place)))};
              },
              expression});
  stages.set(stage::keep, [](std::int64_t total) { return total; });
}

constexpr Variable kTotalForms[] = {
    {"int32", [](const StageContext&, std::int64_t which) { return which; }, 0, false},
    {"float32", [](const StageContext&, std::int64_t which) { return which; }, 1, false}};

void set_total_form(Stages& stages, const Expression& expression) {
  if (expression.evaluate({}) == 1) add_bias_in_float32(stages);
}

const ExpressionSlot kSumSlots[] = {
    {"pad",
     "what a padded tap reads, as a byte of x's type",
     kConvolutions,
     "zero_point",
     Operators::values,
     kPad,
     {128},
     set_pad,
     true},
    {"x_zero_point",
     "x_zero_point as windows have it",
     kConvolutions,
     "zero_point",
     Operators::values,
     kXZeroPoint,
     {128},
     set_x_zero_point},
    {"x_difference",
     "x less its zero point",
     kConvolutions,
     "x - zero_point",
     Operators::values,
     kDifference,
     {},
     set_x_difference},
    {"w_value", "a weight as it is read", kConvolutions, "w", Operators::values, kWeight, {2, 128}, set_w_value},
    {"w_zero_point",
     "the zero point of a channel's weights",
     kConvolutions,
     "zero_point",
     Operators::values,
     kWZeroPoint,
     {128},
     set_w_zero_point},
    {"w_zero_point.index",
     "which w_zero_point an output channel has",
     kConvolutions,
     "channel",
     Operators::indices,
     kChannelVariables,
     {2, 4, 8},
     set_w_zero_point_index},
    {"sum", "the products' sum", kConvolutions, "sum", Operators::choices, sum_variables(), {}, set_sum},
    {"correction",
     "what is added to the products' sum",
     kConvolutions,
     "0",
     Operators::values,
     kTermVariables,
     {},
     set_correction},
    {"empty_window",
     "the sum of a window wholly in padding",
     kConvolutions,
     "sum",
     Operators::values,
     kEmpty,
     {},
     set_empty_window},
    {"total",
     "sum and bias as the accumulator holds them",
     kConvolutions,
     "wrap32(sum + bias)",
     Operators::values,
     kTotalVariables,
     {},
     set_total,
     true},
    {"bias.index",
     "which bias an output channel has",
     {"QLinearConv"},
     "channel",
     Operators::indices,
     kChannelVariables,
     {2},
     set_bias_index},
    {"total.type",
     "the type that sum and bias are added in",
     {"QLinearConv"},
     "int32",
     Operators::none,
     kTotalForms,
     {},
     set_total_form},
};

}  // namespace

std::span<const ExpressionSlot> sum_slots() {
  return kSumSlots;
}

}  // namespace qconform::diagnose

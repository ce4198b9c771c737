// Lists the places between a convolution's sum and its scaled value at which expressions may stand.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "harness/operators/convolution/diagnosis.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"
#include "reference/numerics/requantize.h"

namespace qconform::diagnose {
namespace {

void set_w_scale_index(Stages& stages, const Expression& expression) {
  stages.set(stage::w_scale, {[](const Expression& e, const QLinearConv& node, std::int64_t channel) {
                                const auto index = e.evaluate(ChannelContext{{}, channel, &node.operands.geometry});
                                return node.w_scale[index_or(channel, index, node.w_scale.size())];
                              },
                              expression});
}

enum class Shift : std::uint8_t { down, half_up, half_away, half_even };
constexpr std::string_view kShifts[] = {"down", "half_up", "half_away", "half_even"};
constexpr int kWidths[] = {31, 15};
constexpr std::size_t kFirsts = std::size(kShifts) + 1;  // or none

// value / 2^bits, |value| <= 2^62
std::int64_t shifted(std::int64_t value, int bits, Shift shift) {
  if (bits <= 0) return value;
  if (bits > 62) return 0;
  const std::int64_t floor = value >> bits;
  const std::int64_t rest = value - floor * (std::int64_t{1} << bits);
  const std::int64_t half = std::int64_t{1} << (bits - 1);
  if (rest != half) return floor + (shift != Shift::down && rest > half ? 1 : 0);
  const bool is_up = shift == Shift::half_up || (shift == Shift::half_away && value > 0) ||
                     (shift == Shift::half_even && floor % 2 != 0);
  return floor + (is_up ? 1 : 0);
}

// Fixed point with a multiplier of so many bits, and one rounding or two (reference/numerics/requantize.h).
template <std::size_t kWhich>
Quotient fixed_product(std::int64_t accumulator, const Requantization& p, const reference::FloatExpression*) {
  constexpr int kWidth = kWidths[kWhich / (kFirsts * std::size(kShifts))];
  constexpr std::size_t kFirst = kWhich / std::size(kShifts) % kFirsts;
  constexpr Shift kLast = static_cast<Shift>(kWhich % std::size(kShifts));
  constexpr IntegerRange kInt32{INT32_MIN, INT32_MAX};
  const reference::FixedPointMultiplier multiplier = reference::fixed_point_multiplier(p);
  const std::int64_t mantissa = shifted(multiplier.mantissa, 31 - kWidth, Shift::half_away);
  const std::int64_t sum = reference::wrap_to_int32(accumulator);
  const auto saturated = [&](std::int64_t value) { return quotient_of_float(reference::saturate(value, kInt32)); };
  if constexpr (kFirst == 0) {
    const int bits = kWidth - multiplier.exponent;
    if (bits <= 0) return quotient_of_float(sum * mantissa == 0 ? 0.0 : sum * mantissa > 0 ? 0x1p31 : -0x1p31);
    return saturated(shifted(sum * mantissa, bits, kLast));
  } else {
    const int left = std::clamp(multiplier.exponent, 0, 16);
    const std::int64_t widened = reference::saturate(sum * (std::int64_t{1} << left), kInt32);
    const std::int64_t high = shifted(widened * mantissa, kWidth, static_cast<Shift>(kFirst - 1));
    return saturated(shifted(high, std::max(0, -multiplier.exponent), kLast));
  }
}

// Every operation in a narrow type.
template <ElementType kType>
Quotient narrow_product(std::int64_t accumulator, const Requantization& p, const reference::FloatExpression*) {
  const auto& format = reference::float_format(kType);
  const double multiplier = rounded_to(format, double{p.x_scale} * p.w_scale / p.y_scale);
  return quotient_of_float(rounded_to(format, rounded_to(format, static_cast<double>(accumulator)) * multiplier));
}

using ProductForm = decltype(Product::form);
constexpr std::size_t kFixed = std::size(kWidths) * kFirsts * std::size(kShifts);

constexpr std::array<ProductForm, kFixed> fixed_forms() {
  return []<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
    return std::array<ProductForm, kFixed>{fixed_product<kIndices>...};
  }
  (std::make_index_sequence<kFixed>());
}

struct ProductForms {
  std::vector<std::string> names{"exact", "float16", "bfloat16"};
  std::vector<ProductForm> forms{exact_product, narrow_product<ElementType::float16>,
                                 narrow_product<ElementType::bfloat16>};
  std::vector<Variable> variables;

  ProductForms() {
    const auto fixed = fixed_forms();
    for (std::size_t i = 0; i < kFixed; ++i) {
      const std::size_t first = i / std::size(kShifts) % kFirsts;
      std::string name = "q" + std::to_string(kWidths[i / (kFirsts * std::size(kShifts))]) + "_";
      if (first > 0) name += std::string(kShifts[first - 1]) + "_then_";
      names.push_back(name + std::string(kShifts[i % std::size(kShifts)]));
      forms.push_back(fixed[i]);
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      variables.push_back({names[i], [](const StageContext&, std::int64_t which) { return which; },
                           static_cast<std::int64_t>(i), false});
    }
  }
};

const ProductForms& product_forms() {
  static const ProductForms kForms;
  return kForms;
}

void set_product(Stages& stages, const Expression& expression) {
  stages.set(stage::product, {product_forms().forms[static_cast<std::size_t>(expression.evaluate({}))]});
}

const ExpressionSlot kRequantizationSlots[] = {{"w_scale.index",
                                                "which w_scale an output channel has",
                                                {"QLinearConv"},
                                                "channel",
                                                Operators::indices,
                                                kChannelVariables,
                                                {2, 4, 8},
                                                set_w_scale_index},
                                               {"product",
                                                "the sum times its scales",
                                                {"QLinearConv"},
                                                "exact",
                                                Operators::none,
                                                product_forms().variables,
                                                {},
                                                set_product}};

}  // namespace

std::span<const ExpressionSlot> convolution_slots() {
  static const std::vector<ExpressionSlot> kSlots = [] {
    std::vector<ExpressionSlot> all;
    for (const std::span<const ExpressionSlot> slots :
         {geometry_slots(), sum_slots(), std::span<const ExpressionSlot>(kRequantizationSlots)}) {
      all.insert(all.end(), slots.begin(), slots.end());
    }
    return all;
  }();
  return kSlots;
}

}  // namespace qconform::diagnose

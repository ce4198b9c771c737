#include "reference/graph/interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>

#include "reference/numerics/element.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"
#include "reference/numerics/shape.h"

namespace qconform::reference::graph {
namespace {

using Elements = std::vector<double>;

// To the nearest number of the type; numbers that are no floats stay as they are.
double round_to(ElementType type, double value) {
  if (type == ElementType::float32) return static_cast<float>(value);
  if (type == ElementType::undefined || type == ElementType::float64 || is_integer(type)) return value;
  return rounded_to(float_format(type), value);
}

template <typename T>
T flushed(T value, bool flush) {
  constexpr auto kSmallest = static_cast<T>(std::numeric_limits<float>::min());
  return flush && std::abs(value) < kSmallest ? std::copysign(T{0}, value) : value;
}

// The terms of one sum, in arithmetic T: float, or double where the sum is rounded once.
template <typename T>
class ProductSum {
 public:
  explicit ProductSum(const InterpreterArithmetic& arithmetic)
      : arithmetic_(arithmetic), flush_(arithmetic.flush_subnormals && sizeof(T) == sizeof(float)) {}

  void clear() { terms_.clear(); }
  void add(double a, double b) { terms_.push_back({flush(static_cast<T>(a)), flush(static_cast<T>(b))}); }

  [[nodiscard]] T total() const {
    T total = 0;
    switch (arithmetic_.order) {
      case SumOrder::forward:
        for (const ProductTerm& term : terms_) total = plus(total, term);
        return total;
      case SumOrder::backward:
        for (std::size_t i = terms_.size(); i-- > 0;) total = plus(total, terms_[i]);
        return total;
      case SumOrder::pairwise: return terms_.empty() ? 0 : halves(0, terms_.size());
      case SumOrder::blocked: break;
    }
    T partial[8] = {};
    for (std::size_t i = 0; i < terms_.size(); ++i) partial[i % 8] = plus(partial[i % 8], terms_[i]);
    for (const T part : partial) total = flush(total + part);
    return total;
  }
  [[nodiscard]] T flush(T value) const { return flushed(value, flush_); }
  /// factor * value + added
  [[nodiscard]] T multiply_add(T factor, T value, T added) const {
    return arithmetic_.fma ? flush(std::fma(factor, value, added)) : flush(flush(factor * value) + added);
  }

 private:
  struct ProductTerm {
    T a;
    T b;
  };

  [[nodiscard]] T plus(T total, const ProductTerm& term) const { return multiply_add(term.a, term.b, total); }
  [[nodiscard]] T halves(std::size_t begin, std::size_t end) const {
    if (end - begin == 1) return flush(terms_[begin].a * terms_[begin].b);
    const std::size_t middle = begin + (end - begin) / 2;
    if (end - begin == 2) return plus(halves(begin, middle), terms_[middle]);
    return flush(halves(begin, middle) + halves(middle, end));
  }

  const InterpreterArithmetic& arithmetic_;
  bool flush_;
  std::vector<ProductTerm> terms_;
};

float exp32(float x) {
  return static_cast<float>(std::exp(static_cast<double>(x)));
}
float tanh32(float x) {
  return static_cast<float>(std::tanh(static_cast<double>(x)));
}
float erf32(float x) {
  return static_cast<float>(std::erf(static_cast<double>(x)));
}

float gelu32(float x) {
  constexpr auto kRootOfTwo = static_cast<float>(std::numbers::sqrt2);
  return 0.5F * x * (1 + erf32(x / kRootOfTwo));
}

float gelu_tanh32(float x) {
  const auto factor = static_cast<float>(std::sqrt(2 / std::numbers::pi));
  return 0.5F * x * (1 + tanh32(factor * (x + 0.044715F * (x * x * x))));
}

template <typename T>
T combined(Function function, T a, T b) {
  switch (function) {
    case Function::add: return a + b;
    case Function::sub: return a - b;
    case Function::mul: return a * b;
    case Function::pow: return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
    case Function::prelu: return a < 0 ? b * a : a;
    default: return a / b;
  }
}

bool is_true(Function function, double a, double b) {
  switch (function) {
    case Function::equal: return a == b;
    case Function::less: return a < b;
    case Function::less_or_equal: return a <= b;
    case Function::logical_and: return a != 0 && b != 0;
    default: return a != 0 || b != 0;
  }
}

float dynamic_scale(float largest, float least) {
  const float scale = (largest - least) / 255;
  return scale == 0 ? 1 : scale;
}

// NaN gives the zero point, as in QuantizeLinear.
double saturated_sum(double quotient, double zero_point, IntegerRange range) {
  const double limited = std::isnan(quotient) ? 0 : std::clamp(quotient, -0x1p32, 0x1p32);
  return std::clamp(round_half_even(limited) + zero_point, static_cast<double>(range.lo),
                    static_cast<double>(range.hi));
}

// Returns whether a function rounds nothing and is the same in every type.
bool rounds_nothing(Function function) {
  return function == Function::neg || function == Function::abs || function == Function::relu ||
         function == Function::clip;
}

double chosen_exactly(const Elementwise& what, double x) {
  if (what.function == Function::neg) return -x;
  if (what.function == Function::abs) return std::abs(x);
  if (what.function == Function::relu) return x < 0 ? 0 : x;
  const double raised = x < what.alpha ? what.alpha : x;
  return raised > what.beta ? what.beta : raised;
}

float applied32(const Elementwise& what, float x, bool fma) {
  const auto alpha = static_cast<float>(what.alpha);
  const auto beta = static_cast<float>(what.beta);
  switch (what.function) {
    case Function::leaky_relu: return x < 0 ? alpha * x : x;
    case Function::hard_sigmoid: {
      const float line = fma ? std::fma(alpha, x, beta) : alpha * x + beta;
      return std::max(0.0F, std::min(1.0F, line));
    }
    case Function::sigmoid: return 1 / (1 + exp32(-x));
    case Function::tanh: return tanh32(x);
    case Function::erf: return erf32(x);
    case Function::gelu: return gelu32(x);
    case Function::gelu_tanh: return gelu_tanh32(x);
    case Function::sqrt: return std::sqrt(x);
    case Function::exp: return exp32(x);
    case Function::log: return static_cast<float>(std::log(static_cast<double>(x)));
    default: return x;
  }
}

// Calls f(first element, distance of neighbours) for each row along the axis.
template <typename What, typename F>
void for_each_row(const What& what, std::size_t elements, F f) {
  const auto length = static_cast<std::size_t>(what.length);
  const auto inner = static_cast<std::size_t>(what.inner);
  if (elements == 0) return;
  for (std::size_t outer = 0; outer < elements / (length * inner); ++outer) {
    for (std::size_t i = 0; i < inner; ++i) f(outer * length * inner + i, outer * inner + i);
  }
}

class Interpreter {
 public:
  Interpreter(const Program& program, const InterpreterArithmetic& arithmetic)
      : program_(program), arithmetic_(arithmetic), values_(program.values.size()) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = program.values[i].stated;
  }

  // `instead` is empty or has an entry for each step.
  std::vector<Elements> run(std::span<const StepResult> instead) {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      if (!instead.empty() && instead[i]) {
        values_[step.result] = instead[i](values_);
        continue;
      }
      step_ = &step;
      const Value& result = program_.values[step.result];
      type_ = result.type;
      count_ = static_cast<std::size_t>(elements_of(result.shape));
      values_[step.result] = std::visit([&](const auto& what) { return compute(what); }, step.what);
    }
    return std::move(values_);
  }

 private:
  [[nodiscard]] const Elements& operand(std::size_t i) const { return values_[step_->operands[i]]; }
  [[nodiscard]] double flush(double value) const { return flushed(value, arithmetic_.flush_subnormals); }
  [[nodiscard]] float narrow(double value) const {
    return flushed(static_cast<float>(value), arithmetic_.flush_subnormals);
  }
  [[nodiscard]] double stored(double value) const { return flush(round_to(type_, flush(value))); }

  template <typename Node>
  Elements linear(const Node& node, void (*single)(const Node&, std::span<const std::byte>, std::span<std::byte>)) {
    Elements x = operand(0);
    if (!is_integer(node.x_type) && arithmetic_.flush_subnormals) {
      for (double& element : x) element = flush(element);
    }
    const std::vector<std::byte> from = to_bytes(node.x_type, x);
    std::vector<std::byte> to(static_cast<std::size_t>(bytes_for(static_cast<std::int64_t>(count_), bits_of(type_))));
    single(node, from, to);
    return from_bytes(type_, to, count_);
  }

  Elements compute(const Quantize& what) { return linear(what.node, quantize_linear); }
  Elements compute(const Dequantize& what) {
    Elements y = linear(what.node, dequantize_linear);
    for (double& element : y) element = flush(element);
    return y;
  }

  Elements compute(const WeightedSum& sum) {
    const bool is_exact = arithmetic_.double_sums || is_integer(type_);
    return is_exact ? weighted_sum<double>(sum) : weighted_sum<float>(sum);
  }

  // Sums of integers are exact in any order: b is read in its own. Empty where that is not neighbour by neighbour.
  [[nodiscard]] Elements integer_sums(const WeightedSum& what) const {
    const MatrixTaps* taps = what.whole_product();
    if (taps == nullptr || !is_integer(type_) || taps->b_column != 1) return {};
    const Elements& a = operand(0);
    const Elements& b = operand(1);
    const auto columns = static_cast<std::size_t>(taps->n);
    Elements sums(count_);
    taps->for_each_of_rows([&](std::int64_t row, std::int64_t at, std::int64_t first) {
      double* const into = sums.data() + static_cast<std::size_t>(row) * columns;
      const double* const from = b.data() + first;
      const double factor = a[static_cast<std::size_t>(at)];
      for (std::size_t j = 0; j < columns; ++j) into[j] += factor * from[j];
    });
    return sums;
  }

  template <typename T>
  Elements weighted_sum(const WeightedSum& what) {
    Elements y(count_);
    const Elements integers = integer_sums(what);
    ProductSum<T> sum(arithmetic_);
    const Elements& a = operand(0);
    const Elements* b = what.has_factor ? &operand(1) : nullptr;
    const Elements* c = what.c_index.empty() ? nullptr : &values_[step_->operands.back()];
    const auto alpha = static_cast<T>(what.alpha);
    const auto add = [&](std::int64_t at, std::int64_t by) {
      sum.add(a[static_cast<std::size_t>(at)], b == nullptr ? 1 : (*b)[static_cast<std::size_t>(by)]);
    };
    for (std::size_t i = 0; i < count_; ++i) {
      sum.clear();
      if (integers.empty()) what.for_each_term(i, add);
      T total = integers.empty() ? sum.total() : static_cast<T>(integers[i]);
      if (c == nullptr) {
        total = sum.flush(alpha * total);
      } else {
        const T bias = sum.flush(static_cast<T>((*c)[static_cast<std::size_t>(what.c_index[i])]));
        total = sum.multiply_add(alpha, total, sum.flush(static_cast<T>(what.beta) * bias));
      }
      if (!what.divisor.empty()) total = sum.flush(total / static_cast<T>(what.divisor[i]));
      y[i] = stored(static_cast<double>(total));
    }
    return y;
  }

  Elements compute(const Extreme& what) {
    Elements y(count_);
    const Elements& x = operand(0);
    for (std::size_t i = 0; i < count_; ++i) {
      double best = what.smallest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
      const auto take = [&](std::int64_t at, std::int64_t) {
        const double element = x[static_cast<std::size_t>(at)];
        if (std::isnan(element) || (what.smallest ? element < best : element > best)) best = element;
      };
      what.for_each_term(i, take);
      y[i] = best;
    }
    return y;
  }

  Elements compute(const Move& what) {
    if (what.operand.empty() && what.index.empty() && count_ != 0) return operand(0);
    Elements y(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      const std::int32_t from = what.operand.empty() ? 0 : what.operand[i];
      const std::size_t at = what.index.empty() ? i : static_cast<std::size_t>(what.index[i]);
      y[i] = from < 0 ? 0 : operand(static_cast<std::size_t>(from))[at];
    }
    return y;
  }

  [[nodiscard]] double element(const Elementwise& what, std::size_t which, std::size_t i) const {
    return operand(which)[what.element_of(which, i)];
  }

  Elements compute(const Elementwise& what) {
    Elements y(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      const double x = element(what, 0, i);
      switch (what.function) {
        case Function::add:
        case Function::sub:
        case Function::mul:
        case Function::div:
        case Function::pow:
        case Function::prelu:
          y[i] = is_integer(type_) ? combined(what.function, x, element(what, 1, i))
                                   : stored(combined(what.function, narrow(x), narrow(element(what, 1, i))));
          break;
        case Function::equal:
        case Function::less:
        case Function::less_or_equal:
        case Function::logical_and:
        case Function::logical_or: y[i] = is_true(what.function, x, element(what, 1, i)) ? 1 : 0; break;
        case Function::logical_not: y[i] = x != 0 ? 0 : 1; break;
        case Function::max:
        case Function::min: y[i] = extreme(what, i); break;
        case Function::wrap32: y[i] = static_cast<double>(wrap_to_int32(integer_or_zero(x))); break;
        case Function::dynamic_scale: y[i] = stored(dynamic_scale(narrow(x), narrow(element(what, 1, i)))); break;
        case Function::round_saturate: y[i] = saturated_sum(x, element(what, 1, i), range_of(type_)); break;
        case Function::where: y[i] = element(what, x != 0 ? 1 : 2, i); break;
        case Function::either: y[i] = x; break;
        case Function::cast: y[i] = type_ == ElementType::float32 ? stored(x) : round_to(type_, x); break;
        default:
          y[i] = rounds_nothing(what.function) ? chosen_exactly(what, x)
                                               : stored(applied32(what, narrow(x), arithmetic_.fma));
          break;
      }
    }
    return y;
  }

  [[nodiscard]] double extreme(const Elementwise& what, std::size_t i) const {
    double best = element(what, 0, i);
    for (std::size_t which = 1; which < step_->operands.size(); ++which) {
      const double other = element(what, which, i);
      if (std::isnan(other) || (what.function == Function::max ? other > best : other < best)) best = other;
    }
    return best;
  }

  Elements compute(const Softmax& what) {
    const Elements& x = operand(0);
    Elements y(x.size());
    const auto length = static_cast<std::size_t>(what.length);
    const auto inner = static_cast<std::size_t>(what.inner);
    ProductSum<float> sum(arithmetic_);
    std::vector<float> row(length);
    for_each_row(what, x.size(), [&](std::size_t first, std::size_t) {
      float largest = -std::numeric_limits<float>::infinity();
      for (std::size_t k = 0; k < length; ++k) largest = std::max(largest, narrow(x[first + k * inner]));
      sum.clear();
      for (std::size_t k = 0; k < length; ++k) {
        row[k] = narrow(exp32(narrow(narrow(x[first + k * inner]) - largest)));
        sum.add(row[k], 1);
      }
      const float total = sum.total();
      for (std::size_t k = 0; k < length; ++k) y[first + k * inner] = stored(row[k] / total);
    });
    return y;
  }

  Elements compute(const Normalize& what) {
    const Elements& x = operand(0);
    Elements y(x.size());
    const auto length = static_cast<std::size_t>(what.length);
    const auto count = static_cast<float>(what.length);
    ProductSum<float> sum(arithmetic_);
    for (std::size_t first = 0; first + length <= x.size() && length > 0; first += length) {
      sum.clear();
      for (std::size_t k = 0; k < length; ++k) sum.add(narrow(x[first + k]), 1);
      const float mean = what.centred ? sum.total() / count : 0;
      sum.clear();
      for (std::size_t k = 0; k < length; ++k) {
        const float difference = narrow(x[first + k]) - mean;
        sum.add(difference, difference);
      }
      const float deviation = std::sqrt(sum.total() / count + static_cast<float>(what.epsilon));
      for (std::size_t k = 0; k < length; ++k) y[first + k] = stored((narrow(x[first + k]) - mean) / deviation);
    }
    return y;
  }

  Elements compute(const ArgMax& what) {
    const Elements& x = operand(0);
    Elements y(count_);
    for_each_row(what, x.size(), [&](std::size_t first, std::size_t result) {
      double best = x[first];
      for (std::size_t k = 1; k < static_cast<std::size_t>(what.length); ++k) {
        const double element = x[first + k * static_cast<std::size_t>(what.inner)];
        const bool is_better = what.smallest ? element < best : element > best;
        if (!is_better && !(what.select_last_index && element == best)) continue;
        best = element;
        y[result] = static_cast<double>(k);
      }
    });
    return y;
  }

  Elements compute(const Requantize& what) {
    Elements y(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      const Requantization& parameters = what.parameters[what.parameters.size() == 1 ? 0 : i];
      y[i] = requantize(RoundingProfile::ort_f32, static_cast<std::int64_t>(operand(0)[i]), parameters);
    }
    return y;
  }

  Elements compute(const TopK& what) {
    const Elements& x = operand(0);
    Elements y(count_);
    const auto inner = static_cast<std::size_t>(what.inner);
    std::vector<std::size_t> order(static_cast<std::size_t>(what.length));
    for_each_row(what, x.size(), [&](std::size_t first, std::size_t row) {
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const double left = x[first + a * inner];
        const double right = x[first + b * inner];
        return what.smallest ? left < right : left > right;
      });
      for (std::size_t place = 0; place < static_cast<std::size_t>(what.k); ++place) {
        const std::size_t at = (row / inner * static_cast<std::size_t>(what.k) + place) * inner + row % inner;
        y[at] = what.indices ? static_cast<double>(order[place]) : x[first + order[place] * inner];
      }
    });
    return y;
  }

  const Program& program_;
  const InterpreterArithmetic& arithmetic_;
  std::vector<Elements> values_;
  // The step under way, with the type of its result and the number of its elements.
  const Step* step_ = nullptr;
  ElementType type_ = ElementType::undefined;
  std::size_t count_ = 0;
};

std::uint64_t bits_for(ElementType type, double value) {
  if (is_integer(type)) return static_cast<std::uint64_t>(integer_or_zero(value));
  return encode(float_format(type), value, Overflow::special);
}

}  // namespace

std::vector<std::byte> to_bytes(ElementType type, const std::vector<double>& elements) {
  const auto count = static_cast<std::int64_t>(elements.size());
  std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_for(count, bits_of(type))));
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = elements[static_cast<std::size_t>(i)];
    if (type == ElementType::float32) {
      const auto narrow = static_cast<float>(value);
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof narrow, &narrow, sizeof narrow);
    } else {
      store_bits(bytes, bits_of(type), i, bits_for(type, value));
    }
  }
  return bytes;
}

std::vector<double> from_bytes(ElementType type, std::span<const std::byte> bytes, std::size_t count) {
  std::vector<double> elements(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (type == ElementType::float32) {
      float narrow = 0;
      std::memcpy(&narrow, bytes.data() + i * sizeof narrow, sizeof narrow);
      elements[i] = narrow;
    } else {
      elements[i] = value_at(type, bytes, static_cast<std::int64_t>(i));
    }
  }
  return elements;
}

std::vector<std::vector<double>> interpret(const Program& program, const InterpreterArithmetic& arithmetic) {
  return interpret(program, arithmetic, {});
}

std::vector<std::vector<double>> interpret(const Program& program, const InterpreterArithmetic& arithmetic,
                                           std::span<const StepResult> instead) {
  return Interpreter(program, arithmetic).run(instead);
}

}  // namespace qconform::reference::graph

#include "reference/oracle/graph.h"

#include <limits>

namespace qconform::oracle {
namespace {

using namespace reference::graph;
using Real = std::optional<Ball>;

std::size_t count_of(const Shape& shape) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  return count;
}

// Half to even. Nothing where the ball holds a tie and is not exact.
Real rounded(const Ball& value) {
  Ball floor;
  arb_floor(floor.get(), value.get(), Ball::kPrecision);
  if (!floor.is_exact()) {
    // The ball is about an integer, or about nothing that can be rounded.
    arb_add(floor.get(), value.get(), Ball(0.5).get(), Ball::kPrecision);
    arb_floor(floor.get(), floor.get(), Ball::kPrecision);
    return floor.is_exact() ? Real(floor) : std::nullopt;
  }
  const Ball fraction = value - floor;
  const Ball half(0.5);
  if (fraction > half) return floor + Ball(1);
  if (half > fraction) return floor;
  if (!(fraction == half)) return std::nullopt;
  Ball middle = floor / Ball(2);
  return arb_is_int(middle.get()) != 0 ? Real(floor) : Real(floor + Ball(1));
}

// One step of the program on what is known of its operands.
class StepEvaluation {
 public:
  StepEvaluation(const Program& program, std::vector<Balls>& values, const Step& step)
      : result_(program.values[step.result]), y_(count_of(result_.shape)) {
    for (const ValueId operand : step.operands) operands_.push_back(&values[operand]);
  }

  Balls run(const Step& step) {
    std::visit([&](const auto& what) { compute(what); }, step.what);
    const auto* chosen = std::get_if<Elementwise>(&step.what);
    if (chosen != nullptr && (chosen->function == Function::where || chosen->function == Function::either)) {
      return std::move(y_);  // these hand -infinity on to a Softmax
    }
    for (Real& y : y_) {
      if (y && !y->is_finite()) y.reset();
    }
    return std::move(y_);
  }

 private:
  [[nodiscard]] const Real& x(std::size_t operand, std::size_t i) const { return (*operands_[operand])[i]; }

  void compute(const Quantize& what) {
    const auto& node = what.node;
    if (!is_integer(node.y_type)) return;
    const auto range = reference::range_of(node.y_type);
    for (std::size_t i = 0; i < y_.size(); ++i) {
      const std::size_t at = node.layout.parameter_of(static_cast<std::int64_t>(i));
      if (!x(0, i)) continue;
      const Ball quotient = *x(0, i) / Ball(node.y_scale[at]);
      if (!quotient.is_finite()) continue;
      const Real integer = rounded(quotient);
      if (!integer) continue;
      y_[i] = max(Ball(range.lo), min(Ball(range.hi), *integer + Ball(node.y_zero_point[at])));
    }
  }

  void compute(const Dequantize& what) {
    const auto& node = what.node;
    for (std::size_t i = 0; i < y_.size(); ++i) {
      const std::size_t at = node.layout.parameter_of(static_cast<std::int64_t>(i));
      if (x(0, i)) y_[i] = (*x(0, i) - Ball(node.x_zero_point[at])) * Ball(node.x_scale[at]);
    }
  }

  void compute(const WeightedSum& what) {
    for (std::size_t i = 0; i < y_.size(); ++i) {
      Ball sum;
      bool is_known = true;
      const auto take = [&](std::int64_t a, std::int64_t b) {
        const Real& left = x(0, static_cast<std::size_t>(a));
        const Real right = what.has_factor ? x(1, static_cast<std::size_t>(b)) : Real(1.0);
        is_known = is_known && left && right;
        if (is_known) sum += *left * *right;
      };
      what.for_each_term(i, take);
      if (!is_known) continue;
      sum = sum * Ball(what.alpha);
      if (!what.c_index.empty()) {
        const Real& c = (*operands_.back())[static_cast<std::size_t>(what.c_index[i])];
        if (!c) continue;
        sum += Ball(what.beta) * *c;
      }
      y_[i] = what.divisor.empty() ? sum : sum / Ball(what.divisor[i]);
    }
  }

  void compute(const Extreme& what) {
    for (std::size_t i = 0; i < y_.size(); ++i) {
      bool is_known = true;
      const auto take = [&](std::int64_t at, std::int64_t) {
        const Real& next = x(0, static_cast<std::size_t>(at));
        is_known = is_known && next;
        if (!is_known) return;
        y_[i] = !y_[i] ? *next : what.smallest ? min(*y_[i], *next) : max(*y_[i], *next);
      };
      what.for_each_term(i, take);
      if (!is_known) y_[i].reset();
    }
  }

  void compute(const Move& what) {
    for (std::size_t i = 0; i < y_.size(); ++i) {
      const std::int32_t from = what.operand.empty() ? 0 : what.operand[i];
      const std::size_t at = what.index.empty() ? i : static_cast<std::size_t>(what.index[i]);
      y_[i] = from < 0 ? Real(0.0) : x(static_cast<std::size_t>(from), at);
    }
  }

  void compute(const Elementwise& what) {
    std::vector<Ball> args(operands_.size());
    for (std::size_t i = 0; i < y_.size(); ++i) {
      bool is_known = true;
      for (std::size_t operand = 0; operand < args.size(); ++operand) {
        const Real& value = x(operand, what.element_of(operand, i));
        is_known = is_known && value;
        if (is_known) args[operand] = *value;
      }
      if (!is_known) continue;
      if (what.function == Function::round_saturate) {
        const auto range = reference::range_of(result_.type);
        const Real integer = rounded(args[0]);
        if (integer) y_[i] = max(Ball(range.lo), min(Ball(range.hi), *integer + args[1]));
        continue;
      }
      y_[i] = of(what, args);
    }
  }

  [[nodiscard]] static Ball of(const Elementwise& what, const std::vector<Ball>& args) {
    const Ball& a = args[0];
    const Ball zero(0);
    const Ball one(1);
    const Ball half(0.5);
    switch (what.function) {
      case Function::add: return a + args[1];
      case Function::sub: return a - args[1];
      case Function::mul: return a * args[1];
      case Function::div: return a / args[1];
      case Function::max:
      case Function::min: {
        Ball best = a;
        for (const Ball& other : args) best = what.function == Function::max ? max(best, other) : min(best, other);
        return best;
      }
      case Function::neg: return zero - a;
      case Function::abs: return abs(a);
      case Function::relu: return max(a, zero);
      case Function::leaky_relu: return max(a, zero) + Ball(what.alpha) * min(a, zero);
      case Function::hard_sigmoid: return max(zero, min(one, Ball(what.alpha) * a + Ball(what.beta)));
      case Function::clip: return min(max(a, Ball(what.alpha)), Ball(what.beta));
      case Function::sigmoid: return one / (one + exp(zero - a));
      case Function::tanh: return tanh(a);
      case Function::erf: return erf(a);
      case Function::gelu: return half * a * (one + erf(a / sqrt(Ball(2))));
      case Function::gelu_tanh:
        return half * a * (one + tanh(sqrt(Ball(2) / Ball::pi()) * (a + Ball::decimal("0.044715") * a * a * a)));
      case Function::wrap32: {
        Ball periods;
        arb_floor(periods.get(), ((a + Ball(0x1p31)) / Ball(0x1p32)).get(), Ball::kPrecision);
        return a - periods * Ball(0x1p32);
      }
      case Function::sqrt: return sqrt(a);
      case Function::exp: return exp(a);
      case Function::log: return log(a);
      case Function::pow: return pow(a, args[1]);
      case Function::prelu: return max(a, zero) + args[1] * min(a, zero);
      case Function::equal: return a == args[1] ? one : zero;
      case Function::less: return args[1] > a ? one : zero;
      case Function::less_or_equal: return a > args[1] ? zero : one;
      case Function::logical_and: return a == zero || args[1] == zero ? zero : one;
      case Function::logical_or: return a == zero && args[1] == zero ? zero : one;
      case Function::logical_not: return a == zero ? one : zero;
      case Function::dynamic_scale: return a == args[1] ? one / zero : (a - args[1]) / Ball(255);
      case Function::round_saturate: return one / zero;  // below: it has a type
      case Function::where: return a == zero ? args[2] : args[1];
      case Function::either:
      case Function::cast: return a;
    }
    return zero / zero;
  }

  void compute(const Softmax& what) {
    const auto length = static_cast<std::size_t>(what.length);
    const auto inner = static_cast<std::size_t>(what.inner);
    for (std::size_t i = 0; i < y_.size(); ++i) {
      const std::size_t first = i / (length * inner) * length * inner + i % inner;
      Ball sum;
      bool is_known = x(0, i).has_value();
      for (std::size_t k = 0; k < length; ++k) {
        const Real& other = x(0, first + k * inner);
        is_known = is_known && other;
        if (is_known) sum += exp(*other - *x(0, i));
      }
      // A masked element, -infinity, gets 0.
      if (!is_known) continue;
      y_[i] = x(0, i)->is_finite() ? Ball(1) / sum : Ball(0);
    }
  }

  void compute(const Normalize& what) {
    const auto length = static_cast<std::size_t>(what.length);
    for (std::size_t i = 0; i < y_.size(); ++i) {
      const std::size_t first = i / length * length;
      Ball sum;
      bool is_known = true;
      for (std::size_t k = 0; k < length; ++k) is_known = is_known && x(0, first + k);
      if (!is_known) continue;
      const Ball count(static_cast<double>(length));
      for (std::size_t k = 0; what.centred && k < length; ++k) sum += *x(0, first + k);
      const Ball mean = sum / count;
      Ball squares;
      for (std::size_t k = 0; k < length; ++k) squares += (*x(0, first + k) - mean) * (*x(0, first + k) - mean);
      y_[i] = (*x(0, i) - mean) / sqrt(squares / count + Ball(what.epsilon));
    }
  }

  void compute(const ArgMax& what) {
    const auto length = static_cast<std::size_t>(what.length);
    const auto inner = static_cast<std::size_t>(what.inner);
    for (std::size_t i = 0; i < y_.size(); ++i) {
      const std::size_t first = i / inner * length * inner + i % inner;
      std::size_t best = 0;
      bool is_known = true;
      for (std::size_t k = 0; k < length && is_known; ++k) {
        const Real& next = x(0, first + k * inner);
        const Real& leader = x(0, first + best * inner);
        is_known = next && leader;
        if (!is_known || k == best) continue;
        const bool is_better = what.smallest ? *leader > *next : *next > *leader;
        const bool is_equal = *next == *leader;
        is_known = is_better || is_equal || (what.smallest ? *next > *leader : *leader > *next);
        if (is_better || (is_equal && what.select_last_index)) best = k;
      }
      if (is_known) y_[i] = Ball(static_cast<double>(best));
    }
  }

  void compute(const Requantize& what) {
    for (std::size_t i = 0; i < y_.size(); ++i) {
      const auto& p = what.parameters[what.parameters.size() == 1 ? 0 : i];
      if (!x(0, i)) continue;
      const Real integer = rounded(*x(0, i) * Ball(p.x_scale) * Ball(p.w_scale) / Ball(p.y_scale));
      if (integer) y_[i] = max(Ball(p.y_range.lo), min(Ball(p.y_range.hi), *integer + Ball(p.y_zero_point)));
    }
  }

  // One by one, the largest that is left: its place, or the element. Nothing where balls overlap and are not the same.
  void compute(const TopK& what) {
    const auto length = static_cast<std::size_t>(what.length);
    const auto inner = static_cast<std::size_t>(what.inner);
    const auto k = static_cast<std::size_t>(what.k);
    for (std::size_t i = 0; i < y_.size(); ++i) {
      const std::size_t first = i / (k * inner) * length * inner + i % inner;
      const std::size_t place = i / inner % k;
      for (std::size_t j = 0; j < length; ++j) {
        std::size_t before = 0;
        bool is_known = true;
        for (std::size_t other = 0; other < length && is_known; ++other) {
          const Real& own = x(0, first + j * inner);
          const Real& next = x(0, first + other * inner);
          is_known = own && next;
          if (!is_known || other == j) continue;
          const bool is_first = what.smallest ? *own > *next : *next > *own;
          const bool is_last = what.smallest ? *next > *own : *own > *next;
          is_known = is_first || is_last || *own == *next;
          before += is_first || (*own == *next && other < j) ? 1 : 0;
        }
        if (is_known && before == place) y_[i] = what.indices ? Ball(static_cast<double>(j)) : *x(0, first + j * inner);
      }
    }
  }

  const Value& result_;
  Balls y_;
  std::vector<const Balls*> operands_;
};

}  // namespace

std::vector<Balls> exact_values(const Program& program) {
  std::vector<Balls> values(program.values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const double element : program.values[i].stated) {
      const bool is_masked = element == -std::numeric_limits<double>::infinity();
      const Ball ball(element);
      values[i].push_back(is_masked || ball.is_finite() ? Real(ball) : std::nullopt);
    }
  }
  for (const Step& step : program.steps) values[step.result] = StepEvaluation(program, values, step).run(step);
  return values;
}

Ball magnitude_of(const WeightedSum& sum, const std::vector<const Balls*>& operands, std::size_t i) {
  Ball magnitude;
  const auto take = [&](std::int64_t a, std::int64_t b) {
    const Ball left = (*operands[0])[static_cast<std::size_t>(a)].value();
    magnitude += abs(sum.has_factor ? left * (*operands[1])[static_cast<std::size_t>(b)].value() : left);
  };
  sum.for_each_term(i, take);
  magnitude = magnitude * abs(Ball(sum.alpha));
  if (!sum.c_index.empty()) {
    magnitude += abs(Ball(sum.beta) * (*operands.back())[static_cast<std::size_t>(sum.c_index[i])].value());
  }
  return sum.divisor.empty() ? magnitude : magnitude / Ball(sum.divisor[i]);
}

}  // namespace qconform::oracle

// Reductions of values: x, weights, biases.
#include <algorithm>

#include "harness/model/reductions/edits.h"
#include "harness/model/reductions/reductions.h"
#include "harness/model/reductions/roles.h"
#include "harness/model/text.h"
#include "reference/numerics/small_float.h"

namespace qconform::shrink {
namespace {

// Beyond this many, single values are not worth a run each.
constexpr std::size_t kSingleValues = 64;

// The values of one input that are not neutral: their positions.
class Values {
 public:
  Values(const Case& test_case, std::size_t position) : case_(test_case) {
    for (const Role& role : roles_of(test_case)) {
      if (role.position == position && role.part == Part::data) role_ = role;
    }
    if (!role_ || !is_number(tensor().type)) return;
    const std::int64_t elements = tensor().elements();
    for (std::int64_t i = 0; i < elements; ++i) {
      if (complexity(tensor().type, bits_at(tensor(), i), neutral(i)) != 0) contributing_.push_back(i);
    }
  }

  [[nodiscard]] const Tensor& tensor() const { return *case_.input(role_->position); }
  [[nodiscard]] std::int64_t neutral(std::int64_t index) const { return neutral_value(case_, *role_, index); }
  [[nodiscard]] std::uint64_t neutral_bits(std::int64_t index) const {
    return is_integer(tensor().type) ? integer_bits(tensor().type, neutral(index)) : 0;
  }
  [[nodiscard]] const std::vector<std::int64_t>& contributing() const { return contributing_; }

 private:
  const Case& case_;
  std::optional<Role> role_;
  std::vector<std::int64_t> contributing_;
};

// The element as far from its neutral value as `magnitude` says, on the same side.
std::uint64_t at_distance(const Values& values, std::int64_t index, std::uint64_t magnitude) {
  const std::int64_t value = integer_at(values.tensor(), index);
  const std::int64_t neutral = values.neutral(index);
  const auto distance = static_cast<std::int64_t>(magnitude);
  return integer_bits(values.tensor().type, value > neutral ? neutral + distance : neutral - distance);
}

bool offer_element(Subject& subject, std::size_t position, std::int64_t index, std::uint64_t bits) {
  Case candidate = subject.current();
  set_bits_at(*candidate.inputs[position], index, bits);
  return subject.offer(std::move(candidate));
}

// The smallest magnitude that is taken, as far as binary search finds it.
void search_integer(Subject& subject, std::size_t position, std::int64_t index) {
  std::uint64_t refused = 0;
  while (!subject.exhausted()) {
    const Values values(subject.current(), position);
    const std::uint64_t magnitude =
        complexity(values.tensor().type, bits_at(values.tensor(), index), values.neutral(index));
    if (magnitude <= refused + 1) return;
    const std::uint64_t middle = refused == 0 ? 1 : refused + (magnitude - refused) / 2;
    if (!offer_element(subject, position, index, at_distance(values, index, middle))) refused = middle;
  }
}

// Plainer floats: 1, then shorter mantissas, then exponents nearer to 1's, then without the sign.
void simplify_float(Subject& subject, std::size_t position, std::int64_t index) {
  const ElementType type = subject.current().input(position)->type;
  const reference::FloatFormat& format = reference::float_format(element_of(type));
  for (bool taken = true; taken && !subject.exhausted();) {
    taken = false;
    const std::uint64_t bits = bits_at(*subject.current().input(position), index);
    std::vector<std::uint64_t> plainer{one_bits(type), one_bits(type) | format.sign_bit()};
    for (int digits = 0; digits < format.mantissa_bits; digits = digits < 4 ? digits + 1 : digits * 2) {
      plainer.push_back(bits & ~((std::uint64_t{1} << (format.mantissa_bits - digits)) - 1));
    }
    const std::uint64_t mantissa = bits & ((std::uint64_t{1} << format.mantissa_bits) - 1);
    const auto exponent = static_cast<std::int64_t>((bits & ~format.sign_bit()) >> format.mantissa_bits);
    for (const std::int64_t nearer : {(exponent + format.bias) / 2, exponent + (exponent > format.bias ? -1 : 1)}) {
      plainer.push_back((bits & format.sign_bit()) | static_cast<std::uint64_t>(nearer) << format.mantissa_bits |
                        mantissa);
    }
    plainer.push_back(bits & ~format.sign_bit());
    for (const std::uint64_t candidate : plainer) {
      if (complexity(type, candidate, 0) >= complexity(type, bits, 0)) continue;
      taken = offer_element(subject, position, index, candidate);
      if (taken) break;
    }
  }
}

bool is_too_fine(std::size_t chunk, std::size_t count) {
  const auto length = static_cast<std::int64_t>(count);
  return static_cast<std::int64_t>(chunk) * most_pieces(length) < length;
}

// Sets runs of contributing values to neutral ones: all, halves, quarters, ..., single ones.
void zero_input(Subject& subject, std::size_t position) {
  std::vector<std::int64_t> left = Values(subject.current(), position).contributing();
  for (std::size_t chunk = left.size(); chunk >= 1 && !is_too_fine(chunk, left.size()) && !subject.exhausted();
       chunk = std::min(chunk / 2, left.size())) {
    for (std::size_t begin = 0; begin < left.size();) {
      if (subject.exhausted()) return;
      const std::size_t end = std::min(begin + chunk, left.size());
      Case candidate = subject.current();
      const Values values(subject.current(), position);
      for (std::size_t i = begin; i < end; ++i) {
        set_bits_at(*candidate.inputs[position], left[i], values.neutral_bits(left[i]));
      }
      if (subject.offer(std::move(candidate))) {
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(begin), left.begin() + static_cast<std::ptrdiff_t>(end));
      } else {
        begin = end;
      }
    }
  }
}

// Halves the magnitude of all integers of an input at once, or makes all of them 1.
void halve_input(Subject& subject, std::size_t position) {
  for (bool taken = true; taken && !subject.exhausted();) {
    taken = false;
    const Values values(subject.current(), position);
    if (values.contributing().size() < 2 || !is_integer(values.tensor().type)) return;
    for (const bool to_one : {true, false}) {
      Case candidate = subject.current();
      for (const std::int64_t index : values.contributing()) {
        const std::uint64_t magnitude =
            complexity(values.tensor().type, bits_at(values.tensor(), index), values.neutral(index));
        const std::uint64_t smaller = to_one ? 1 : std::max<std::uint64_t>(1, magnitude / 2);
        set_bits_at(*candidate.inputs[position], index, at_distance(values, index, smaller));
      }
      taken = subject.offer(std::move(candidate));
      if (taken) break;
    }
  }
}

}  // namespace

void zero_values(Subject& subject) {
  for (std::size_t position = subject.current().inputs.size(); position-- > 0;) zero_input(subject, position);
}

void small_values(Subject& subject) {
  for (std::size_t position = subject.current().inputs.size(); position-- > 0;) {
    halve_input(subject, position);
    const std::vector<std::int64_t> contributing = Values(subject.current(), position).contributing();
    if (contributing.size() > kSingleValues) continue;
    for (const std::int64_t index : contributing) {
      if (is_integer(subject.current().input(position)->type)) {
        search_integer(subject, position, index);
      } else {
        simplify_float(subject, position, index);
      }
    }
  }
}

}  // namespace qconform::shrink

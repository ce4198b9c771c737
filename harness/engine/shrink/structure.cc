// Reductions of shapes (indices of the extents, dimensions, optional inputs) and of values.
#include <algorithm>
#include <array>

#include "harness/model/family.h"
#include "harness/model/operator.h"
#include "harness/model/reductions/reductions.h"
#include "harness/model/text.h"
#include "reference/numerics/floats.h"

namespace qconform::shrink {

namespace {

using Indices = std::vector<std::int64_t>;
using List = std::vector<Extent> (*)(const Subject&);

std::vector<Extent> own_extents(const Subject& subject) {
  const Family* family = family_of(subject.current());
  if (family == nullptr) return {};
  if (family->shrinking.extents == nullptr) return single_axes_of(subject.current());
  return family->shrinking.extents(subject.current(), subject.wrong_element());
}

std::vector<Extent> single_axes(const Subject& subject) {
  return single_axes_of(subject.current());
}

// The extent of that name as the case is now; indices may have gone with those of another.
std::optional<Extent> find_extent(const Subject& subject, List list, const std::string& name) {
  for (Extent& extent : list(subject)) {
    if (extent.name == name) return std::move(extent);
  }
  return std::nullopt;
}

Indices without(std::int64_t length, std::int64_t begin, std::int64_t count) {
  Indices keep;
  for (std::int64_t i = 0; i < length; ++i) {
    if (i < begin || i >= begin + count) keep.push_back(i);
  }
  return keep;
}

// From this length on the number of indices is searched before which of them matter.
constexpr std::int64_t kLong = 64;

// The fewest of the first indices that are enough, as far as binary search finds them: of thousands
// that are alike, no more than that can be told.
void cut_to_prefix(Subject& subject, List list, const std::string& name) {
  std::int64_t refused = 0;
  for (auto extent = find_extent(subject, list, name); extent && !subject.exhausted();) {
    if (extent->length < kLong || extent->length - refused <= 1) return;
    const std::int64_t middle = refused == 0 ? 1 : refused + (extent->length - refused) / 2;
    if (subject.offer(extent->cut(subject.current(), positions(middle)))) {
      extent = find_extent(subject, list, name);
    } else {
      refused = middle;
    }
  }
}

// In a list of at most kShort indices, runs of at most kFew neighbouring ones are tried wherever they lie.
constexpr std::int64_t kShort = 16;
constexpr std::int64_t kFew = 3;

// Keeps a few neighbouring indices. Halves alone do not suffice: with an even length needed, 14 never comes to 2 by
// halves: 7 are left, or 11, or 13.
void cut_to_few(Subject& subject, List list, const std::string& name) {
  const auto extent = find_extent(subject, list, name);
  if (!extent || extent->length > kShort) return;
  for (std::int64_t count = 1; count <= std::min(kFew, extent->length - 1); ++count) {
    for (std::int64_t begin = 0; begin + count <= extent->length; ++begin) {
      std::vector<std::int64_t> keep = positions(count);
      for (std::int64_t& index : keep) index += begin;
      if (subject.exhausted() || subject.offer(extent->cut(subject.current(), keep))) return;
    }
  }
}

// Delta debugging: halves, quarters, ... left out.
void cut_pieces(Subject& subject, List list, const std::string& name) {
  auto extent = find_extent(subject, list, name);
  if (!extent) return;
  for (std::int64_t chunk = (extent->length + 1) / 2;
       chunk * most_pieces(extent->length) >= extent->length && !subject.exhausted();) {
    for (std::int64_t begin = 0; extent && begin < extent->length && chunk < extent->length;) {
      if (subject.exhausted()) return;
      if (subject.offer(extent->cut(subject.current(), without(extent->length, begin, chunk)))) {
        extent = find_extent(subject, list, name);
      } else {
        begin += chunk;
      }
    }
    if (!extent || chunk == 1) return;
    chunk = std::min(chunk / 2, extent->length / 2);
  }
}

// The one index that matters, or as few as are found.
void cut_extent(Subject& subject, List list, const std::string& name) {
  const auto extent = find_extent(subject, list, name);
  if (!extent) return;
  if (extent->focus >= 0 && subject.offer(extent->cut(subject.current(), {extent->focus}))) return;
  cut_to_prefix(subject, list, name);
  cut_pieces(subject, list, name);
  cut_to_few(subject, list, name);
}

void cut_all(Subject& subject, List list) {
  std::vector<std::string> names;
  for (const Extent& extent : list(subject)) names.push_back(extent.name);
  for (const std::string& name : names) cut_extent(subject, list, name);
}

}  // namespace

void cut_extents(Subject& subject) {
  cut_all(subject, own_extents);
}

void cut_single_axes(Subject& subject) {
  // Inputs that fit together leave no room to shrink one of them alone.
  if (classify(subject.current()).lowered == nullptr) cut_all(subject, single_axes);
}

void drop_dimensions(Subject& subject) {
  const Family* family = family_of(subject.current());
  const Tensor* x = subject.current().input(0);
  if (family == nullptr || family->shrinking.without_dimension == nullptr || x == nullptr) return;
  for (std::size_t dimension = x->shape.size(); dimension-- > 0;) {
    if (auto candidate = family->shrinking.without_dimension(subject.current(), dimension))
      subject.offer(std::move(*candidate));
  }
}

void drop_inputs(Subject& subject) {
  if (is_judged_as_graph(subject.current())) return;  // omitting one is up to each node that reads it
  for (std::size_t position = subject.current().inputs.size(); position-- > 0;) {
    Case candidate = subject.current();
    if (position + 1 >= candidate.inputs.size()) {
      candidate.inputs.resize(position);
      if (subject.offer(std::move(candidate))) continue;
      candidate = subject.current();
    }
    if (position >= candidate.inputs.size() || !candidate.inputs[position]) continue;
    candidate.inputs[position].reset();
    subject.offer(std::move(candidate));
  }
}

namespace {

// The integers that are tried in place of `value`, plainest first: `plain`, then half way there, then
// one step. Repetitions cost nothing: the search asks about a case once.
std::array<std::int64_t, 3> towards(std::int64_t value, std::int64_t plain) {
  return {plain, value / 2, value + (value > plain ? -1 : 1)};
}

}  // namespace

void reduce_entry(Subject& subject, const char* name, std::size_t entry, std::int64_t plain) {
  for (bool taken = true; taken && !subject.exhausted();) {
    taken = false;
    const auto* values = integers_of(subject.current(), name);
    if (values == nullptr || entry >= values->size() || (*values)[entry] == plain) return;
    for (const std::int64_t value : towards((*values)[entry], plain)) {
      Case candidate = subject.current();
      (*integers_of(candidate, name))[entry] = value;
      taken = subject.offer(std::move(candidate));
      if (taken) break;
    }
  }
}

namespace {

void drop_attributes_of(Subject& subject, std::size_t node) {
  const std::vector<Attribute> attributes = subject.current().nodes[node].attributes;
  if (attributes.empty()) return;
  Case bare = subject.current();
  bare.nodes[node].attributes.clear();
  if (subject.offer(std::move(bare))) return;
  for (const Attribute& attribute : attributes) {
    Case candidate = subject.current();
    std::erase_if(candidate.nodes[node].attributes, [&](const Attribute& a) { return a.name == attribute.name; });
    subject.offer(std::move(candidate));
  }
}

void smaller_integers_of(Subject& subject, std::size_t node) {
  const std::size_t count = subject.current().nodes[node].attributes.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto* value = std::get_if<std::int64_t>(&subject.current().nodes[node].attributes[i].value);
    if (value == nullptr) continue;
    for (const std::int64_t candidate_value : towards(*value, 0)) {
      Case candidate = subject.current();
      candidate.nodes[node].attributes[i].value = candidate_value;
      if (subject.offer(std::move(candidate))) break;
    }
  }
}

}  // namespace

void drop_attributes(Subject& subject) {
  for (std::size_t node = 0; node < subject.current().nodes.size(); ++node) drop_attributes_of(subject, node);
}

void smaller_integers(Subject& subject) {
  for (std::size_t node = 0; node < subject.current().nodes.size(); ++node) smaller_integers_of(subject, node);
}

// Values: x, weights, biases.

namespace {

// Beyond this many, single values are not worth a run each.
constexpr std::size_t kSingleValues = 64;

// The values of one input that are not neutral: their positions.
class ContributingValues {
 public:
  ContributingValues(const Case& test_case, std::size_t position) : case_(test_case) {
    for (const Role& role : roles_of(test_case)) {
      if (role.position == position && role.part == InputPart::data) role_ = role;
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
std::uint64_t at_distance(const ContributingValues& values, std::int64_t index, std::uint64_t magnitude) {
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
    const ContributingValues values(subject.current(), position);
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
  const reference::FloatFormat& format = reference::float_format(type);
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
  std::vector<std::int64_t> left = ContributingValues(subject.current(), position).contributing();
  for (std::size_t chunk = left.size(); chunk >= 1 && !is_too_fine(chunk, left.size()) && !subject.exhausted();
       chunk = std::min(chunk / 2, left.size())) {
    for (std::size_t begin = 0; begin < left.size();) {
      if (subject.exhausted()) return;
      const std::size_t end = std::min(begin + chunk, left.size());
      Case candidate = subject.current();
      const ContributingValues values(subject.current(), position);
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
    const ContributingValues values(subject.current(), position);
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
    const std::vector<std::int64_t> contributing = ContributingValues(subject.current(), position).contributing();
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

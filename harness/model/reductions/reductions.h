// The steps that make a case simpler, each of which keeps a valid case valid, and the edits of which they are made.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/tensor.h"

namespace qconform::shrink {

// Small changes to cases: elements of tensors of any type, attributes, extents, and the inputs that have a role.

/// The tensor with only the positions `keep` of `axis` (below its rank), in that order.
[[nodiscard]] Tensor with_positions(const Tensor& tensor, std::size_t axis, std::span<const std::int64_t> keep);

/// Element `index` as a scalar.
[[nodiscard]] Tensor element_as_scalar(const Tensor& tensor, std::int64_t index);

/// 0, 1, ..., count - 1.
[[nodiscard]] std::vector<std::int64_t> positions(std::int64_t count);

/// Whether the type's elements are numbers that can be made simpler: integers and floats of up to 64 bits.
[[nodiscard]] bool is_number(ElementType type);

/// An integer's bit pattern in its type, clamped to the type's range.
[[nodiscard]] std::uint64_t integer_bits(ElementType type, std::int64_t value);

/// The bits of the type's 1.
[[nodiscard]] std::uint64_t one_bits(ElementType type);

/// How far a number is from the plainest one. Integers: the distance to `neutral`. Floats: 0 for zero,
/// 1 for 1.0, more for other exponents, longer mantissas and a sign; `neutral` is not used.
[[nodiscard]] std::uint64_t complexity(ElementType type, std::uint64_t bits, std::int64_t neutral);

/// The attribute's list of integers; null when it is absent or of another type.
[[nodiscard]] std::vector<std::int64_t>* integers_of(Case& test_case, std::string_view name);
[[nodiscard]] const std::vector<std::int64_t>* integers_of(const Case& test_case, std::string_view name);

// The inputs of a case by their roles, from the names in the signatures of the operators that read them.

enum class InputPart : std::uint8_t { data, scale, zero_point };

struct Role {
  std::size_t position;  ///< among the case's inputs, where it is present
  InputPart part;
  const Tensor* zero_point;  ///< the zero point that data have of their own; null where there is none
};

/// One for each input that is there, in the order of the inputs; those of int64, such as shapes, are not listed. The
/// case must outlive the result.
[[nodiscard]] std::vector<Role> roles_of(const Case& test_case);

/// The value that contributes nothing: the element's zero point, where it has one, else 0.
[[nodiscard]] std::int64_t neutral_value(const Case& test_case, const Role& role, std::int64_t index);

/// The position of the input with that name in the operator's signature.
[[nodiscard]] std::optional<std::size_t> position_of(const Case& test_case, std::string_view name);

/// The case's tensor of that name, or null.
[[nodiscard]] const Tensor* tensor_named(const Case& test_case, std::string_view name);

// The index spaces of a case: images, groups, channels, positions, taps, blocks. Removing indices
// from one of them gives a smaller case that is still put together rightly.

struct Extent {
  std::string name;     ///< unique within the case: "input channel", "tap 0"
  std::int64_t length;  ///< how many indices the space has
  std::int64_t focus;   ///< the index that the wrong element belongs to; -1 when not known
  /// The case with only the indices `keep` (not empty, ascending) of [0, length). Refers to nothing.
  std::function<Case(const Case&, const std::vector<std::int64_t>& keep)> cut;
};

/// Every axis of every input by itself.
[[nodiscard]] std::vector<Extent> single_axes_of(const Case& test_case);

/// The indices, below `length`, of the blocks that `keep` names, each of `size` neighbouring ones.
[[nodiscard]] std::vector<std::int64_t> expand_blocks(const std::vector<std::int64_t>& keep, std::int64_t size,
                                                      std::int64_t length);

/// The indices that `keep` names within a block, in each of `blocks` blocks of `size`.
[[nodiscard]] std::vector<std::int64_t> repeat_in_blocks(const std::vector<std::int64_t>& keep, std::int64_t size,
                                                         std::int64_t blocks);

// Reductions: the steps themselves.

/// The subject of a reduction: a case, and a judge of which simpler cases still show the same failure.
class Subject {
 public:
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;

  [[nodiscard]] virtual const Case& current() const = 0;
  /// A place where the output is wrong, an index for each dimension; empty where none is known.
  [[nodiscard]] virtual const std::vector<std::int64_t>& wrong_element() const = 0;
  /// Offers a simpler case. True when it shows the same: it is current() then.
  virtual bool offer(Case candidate) = 0;
  /// No further offer will be taken.
  [[nodiscard]] virtual bool exhausted() const = 0;
};

/// When a reduction is tried: what removes most comes first.
enum class ReductionStage : std::uint8_t {
  element,     ///< from the whole output to the element that is wrong, with what it is computed from
  indices,     ///< fewer attributes, fewer indices of the inputs
  sums,        ///< fewer terms of a sum
  dimensions,  ///< dimensions, optional inputs, one parameter in place of many
  attributes,  ///< plainer attributes
  values,      ///< simpler values of parameters and data
};

/// Families have reductions of their own, which see the cases of all operators and leave alone what they do not
/// understand.
struct Reduction {
  ReductionStage stage;
  std::string_view name;  ///< for the reader: "strides to 1"
  void (*apply)(Subject&);
};

/// By stages; those of families, in their order, before those of any case.
[[nodiscard]] std::span<const Reduction> reductions();

/// Every case that one step makes of this one: of the same expectation, and smaller by measure().
/// For property tests that shrink by themselves; at most `limit`.
[[nodiscard]] std::vector<Case> simpler(const Case& test_case, std::size_t limit = 500);

/// Into how many pieces at most a search divides `length` things, leaving out one piece at a time. Each
/// trial costs in proportion to the length: of tens of thousands, small pieces are not worth a run each.
[[nodiscard]] constexpr std::int64_t most_pieces(std::int64_t length) {
  return length <= 2048 ? 512 : length <= 131072 ? (std::int64_t{1} << 20) / length : 8;
}

/// One integer of a list attribute towards `plain`, until nothing plainer is taken.
void reduce_entry(Subject& subject, const char* name, std::size_t entry, std::int64_t plain);

/// Every scale and zero point that is no scalar as the one that the wrong element uses, or the first; without axis and
/// block_size.
[[nodiscard]] Case with_scalar_parameters(const Subject& subject);

// The reductions of any case, by what they change.

void cut_extents(Subject& subject);        ///< images, groups, channels, positions, taps, blocks: fewer
void cut_single_axes(Subject& subject);    ///< any axis of one input alone: for cases that fit no operator
void drop_dimensions(Subject& subject);    ///< dimensions of length 1
void drop_inputs(Subject& subject);        ///< optional inputs
void drop_attributes(Subject& subject);    ///< attributes, all and one by one
void smaller_integers(Subject& subject);   ///< attributes' integers towards 0
void scalar_parameters(Subject& subject);  ///< per-channel, per-axis and blocked parameters to scalars
void zero_zero_points(Subject& subject);   ///< zero points to 0, with the values shifted or not
void plain_scales(Subject& subject);       ///< scales to 1, to powers of two, to short mantissas
void zero_values(Subject& subject);        ///< values to those that contribute nothing, by halves
void small_values(Subject& subject);       ///< values towards those, by binary search

}  // namespace qconform::shrink

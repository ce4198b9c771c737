// The steps that make a case simpler. Each keeps a valid case valid, or the caller refuses it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/core/case.h"

namespace qconform::shrink {

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
enum class Stage : std::uint8_t {
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
  Stage stage;
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

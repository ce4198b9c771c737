// The ways to make a case simpler. Each keeps a valid case valid, or is refused by whoever is asked.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/core/case.h"

namespace qconform::shrink {

/// What a reduction works on: a case, and someone who says which simpler ones still show the same.
class Subject {
 public:
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;

  [[nodiscard]] virtual const Case& current() const = 0;
  /// Where the output is wrong, an index for each dimension; empty where that is not known.
  [[nodiscard]] virtual const std::vector<std::int64_t>& wrong_element() const = 0;
  /// Offers a simpler case. True when it shows the same: it is current() then.
  virtual bool offer(Case candidate) = 0;
  /// No further offer will be taken.
  [[nodiscard]] virtual bool exhausted() const = 0;
};

struct Reduction {
  std::string_view name;  ///< for the reader: "strides to 1"
  void (*apply)(Subject&);
};

/// In the order in which they are best tried: what removes most comes first.
[[nodiscard]] std::span<const Reduction> reductions();

/// Every case that one step makes of this one: of the same expectation, and smaller by measure().
/// For property tests that shrink by themselves; at most `limit`.
[[nodiscard]] std::vector<Case> simpler(const Case& test_case, std::size_t limit = 500);

/// Into how many pieces at most a search divides `length` things, leaving out one piece at a time. Each
/// trial costs in proportion to the length: of tens of thousands, small pieces are not worth a run each.
[[nodiscard]] constexpr std::int64_t most_pieces(std::int64_t length) {
  return length <= 2048 ? 512 : length <= 131072 ? (std::int64_t{1} << 20) / length : 8;
}

// The reductions, by what they change.

void jump_to_window(Subject& subject);         ///< one output element of a convolution with what it reads
void jump_to_element(Subject& subject);        ///< one element of an element-wise operator, its parameters scalar
void cut_extents(Subject& subject);            ///< images, groups, channels, positions, taps, blocks: fewer
void cut_single_axes(Subject& subject);        ///< any axis of one input alone: for cases that fit no operator
void fewer_larger_products(Subject& subject);  ///< a long sum by the largest products that there are
void sum_into_bias(Subject& subject);          ///< a long sum to one tap, the rest of it as the bias
void drop_dimensions(Subject& subject);        ///< dimensions of length 1
void drop_inputs(Subject& subject);            ///< optional inputs
void drop_attributes(Subject& subject);        ///< attributes, all and one by one
void plain_strides(Subject& subject);          ///< strides and dilations to 1, the output as large as before
void smaller_pads(Subject& subject);           ///< auto_pad to pads, pads to fewer
void smaller_integers(Subject& subject);       ///< any other attribute's integers towards 0
void scalar_parameters(Subject& subject);      ///< per-channel, per-axis and blocked parameters to scalars
void zero_zero_points(Subject& subject);       ///< zero points to 0, with the values shifted or not
void plain_scales(Subject& subject);           ///< scales to 1, to powers of two, to short mantissas
void zero_values(Subject& subject);            ///< values to those that contribute nothing, by halves
void small_values(Subject& subject);           ///< values towards those, by binary search

}  // namespace qconform::shrink

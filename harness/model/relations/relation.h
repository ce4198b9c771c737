// Relations: what two or more answers of one backend must have to do with each other, whoever is right.
//
// A relation makes further cases from a case, and says which elements of their outputs follow from
// which elements of the first output. No reference answer enters: a relation checks the reference as
// well as any kernel, and sees what a misunderstanding that both share would hide.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/model/case_builder.h"

namespace qconform {
struct Family;
}  // namespace qconform

namespace qconform::relations {

/// A case taken apart, as its family's relations need it.
class Parts {
 public:
  Parts() = default;
  virtual ~Parts() = default;

 protected:
  Parts(const Parts&) = default;
  Parts(Parts&&) = default;
  Parts& operator=(const Parts&) = default;
  Parts& operator=(Parts&&) = default;
};

/// A case within the contract, not implementation-defined.
struct RelationSubject {
  const Case* base = nullptr;
  const Family* family = nullptr;
  std::shared_ptr<const Parts> parts;  ///< null where the family takes nothing apart

  [[nodiscard]] bool is(std::string_view op_type) const { return base->node().op_type == op_type; }
};

/// Takes a case apart; the case must outlive the subject. The error says why no relation speaks of the
/// case: it is out of contract, or its answer is open.
[[nodiscard]] Result<RelationSubject> subject_of(const Case& test_case);

/// An element of the base case's output and one of a derived case's output that it decides.
struct Link {
  std::int64_t base;     ///< flat index
  std::size_t derived;   ///< position of the derived case in Application::derived
  std::int64_t element;  ///< flat index into that case's output
};

/// How two linked elements must agree. The tensors have the type and shape of their cases' outputs.
class Agreement {
 public:
  Agreement() = default;
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;
  virtual ~Agreement() = default;

  [[nodiscard]] virtual bool holds(const Tensor& base, const Tensor& derived, const Link& link) const = 0;
  /// The value that the derived element must have, given the base's, for the reader: "17", "-0.5 to 0.5".
  [[nodiscard]] virtual std::string required(const Tensor& base, const Link& link) const = 0;
};

/// A relation applied to one case. Of cases of several outputs it speaks of the first.
struct Application {
  std::vector<Case> derived;
  /// Empty: the outputs of the base and of each derived case agree element by element.
  std::vector<Link> links;
  /// Null: linked elements are equal, bit for bit.
  std::shared_ptr<const Agreement> agreement;
  /// The only derived case is the base, to be run on each sibling of the backend (backend::siblings_of()).
  bool on_siblings = false;
};

/// Why a relation says nothing about a case.
struct NotApplicable {
  std::string_view reason;
};

/// Makes the derived cases once the base's output is known. Most relations do not look at it; it has
/// the type and shape of the base's output. Refers to the subject, which must outlive it.
using Derivation = std::function<Application(const Tensor& base_output)>;

using Applied = std::variant<Derivation, NotApplicable>;

/// The topic by which relations are listed.
enum class RelationTopic : std::uint8_t {
  signedness,  ///< int8 and uint8, zero points
  padding,     ///< pads, auto_pad
  kernel,      ///< dilation, stride, taps
  axes,        ///< number, order, direction of spatial axes
  channels,    ///< groups, input and output channels
  batch,       ///< images
  scales,
  requantization,  ///< zero point, bias, accumulator
  elements,        ///< element-wise operators: axis, blocks, order
  graphs,          ///< graphs of several nodes: forms, contexts, levels of optimization
  round_trip,      ///< to another operator and back
  repetition,      ///< runs of one case again
};

/// A statement that must hold between a base case and its derived cases.
struct Claim {
  RelationTopic topic;
  std::string_view id;         ///< "x-shift-128"
  std::string_view statement;  ///< one sentence
  std::string_view reason;     ///< why it is so, and under which arithmetics
  /// Whether refusals must agree too: the base and the derived cases are either all refused or none. Deriving them does
  /// not look at the base's output, which is empty where the base was refused.
  bool compares_refusals = false;
};

/// A claim as one family makes it.
struct FamilyRelation {
  Claim claim;
  std::string_view operators;                        ///< names of the family's operators: "QLinearConv, ConvInteger"
  Applied (*apply)(const RelationSubject& subject);  ///< the subject is of the family
};

/// All relations of a family in one list.
[[nodiscard]] std::vector<FamilyRelation> joined(std::initializer_list<std::span<const FamilyRelation>> parts);

/// A claim with every family that it concerns.
struct Relation : Claim {
  std::string operators;  ///< "QLinearConv, ConvInteger, DequantizeLinear"
  /// Null stands for any family.
  std::vector<std::pair<const Family*, Applied (*)(const RelationSubject&)>> by_family;

  [[nodiscard]] Applied apply(const RelationSubject& subject) const;
};

/// Every relation, in the order of docs/relations.md.
[[nodiscard]] std::span<const Relation> relations();

/// Null when there is none of that id.
[[nodiscard]] const Relation* find_relation(std::string_view id);

// Claims that several families make.

inline constexpr Claim kXShift{RelationTopic::signedness, "x-shift-128",
                               "x and its zero point moved by 128 into the other 8-bit type leave y as it is.",
                               "x enters as x - zero point only: exact in integers."};

inline constexpr Claim kYShift{RelationTopic::signedness, "y-shift-128",
                               "With y's zero point moved by 128 into the other 8-bit type, y moves by 128.",
                               "The zero point is added to a rounded integer, and the range moves with it."};

inline constexpr Claim kScalesPowerOfTwo{
    RelationTopic::scales, "scales-power-of-two",
    "Scales multiplied by a power of two on both sides of the quotient leave it as it is.",
    "Exact in real numbers, and in any fixed float expression too: a power of two moves the exponent only, as long "
    "as nothing over- or underflows."};

inline constexpr Claim kYZeroPointMoved{
    RelationTopic::requantization, "y-zero-point-moved",
    "With a zero point one step further, y lies one step further, or stays saturated.",
    "The zero point is added after rounding (C19, Q2), whatever was rounded."};

/// The power of two.
inline constexpr float kScaleFactor = 8;
inline constexpr NotApplicable kFarScales{"a scale is so far from 1 that float32 might over- or underflow"};

/// Within it, and with a factor of 8 beside it, no association of the scales leaves the normal numbers.
[[nodiscard]] inline bool is_moderate(float scale) {
  return scale >= 0x1p-26F && scale <= 0x1p+26F;
}

// Building blocks of the derived cases: tensors made from tensors, and links between outputs.

using Values = std::vector<std::int64_t>;

[[nodiscard]] Values integer_values(const Tensor& tensor);

/// The 8-bit type of the other signedness, and what its numbers have to be moved by.
[[nodiscard]] std::int64_t shift_to_other_sign(ElementType type);
/// The numbers of an 8-bit tensor, moved by that.
[[nodiscard]] Tensor shifted(const Tensor& tensor);

[[nodiscard]] inline std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

/// Calls visit(index) for every index of a shape, in row-major order.
template <typename Visit>
void for_each_index(const Values& shape, Visit visit) {
  const std::int64_t count = elements_of(shape);
  Values index(shape.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    visit(std::as_const(index));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

/// The element of an integer tensor at `index`.
[[nodiscard]] inline std::int64_t value_at(const Tensor& tensor, const Values& index) {
  return integer_at(tensor, flat_index(index, tensor.shape));
}

/// A tensor of an integer type whose elements are value_of(index).
template <typename ValueOf>
[[nodiscard]] Tensor tensor_from(ElementType type, Values shape, ValueOf value_of) {
  Values values;
  values.reserve(at(elements_of(shape)));
  for_each_index(shape, [&](const Values& index) { values.push_back(value_of(index)); });
  return make::integers(type, std::move(shape), values);
}

/// The elements of an integer tensor at source_of(index), in a tensor of another shape.
template <typename SourceOf>
[[nodiscard]] Tensor rearranged(const Tensor& source, Values shape, SourceOf source_of) {
  return tensor_from(source.type, std::move(shape),
                     [&](const Values& index) { return value_at(source, source_of(index)); });
}

/// A link for every element of the base's output, in order: link_of(index) gives the derived case and
/// the index into its output, whose shape is shape_of(derived case).
template <typename PlaceOf>
[[nodiscard]] std::vector<Link> links_for(const Values& base_shape, const Values& derived_shape, PlaceOf place_of) {
  std::vector<Link> links;
  for_each_index(base_shape, [&](const Values& index) {
    const std::pair<std::size_t, Values> place = place_of(index);
    links.push_back({static_cast<std::int64_t>(links.size()), place.first, flat_index(place.second, derived_shape)});
  });
  return links;
}

/// Element by element, for several derived cases whose outputs all look like the base's.
[[nodiscard]] std::vector<Link> links_to_all(std::size_t derived_cases, std::int64_t elements);

/// One derived case whose output equals the base's.
[[nodiscard]] inline Applied same_output(Case derived) {
  return Derivation([derived = std::move(derived)](const Tensor&) { return Application{{derived}, {}, nullptr}; });
}

/// Integer outputs: the derived one is the base's plus `offset`.
[[nodiscard]] Applied shifted_output(Case derived, std::int64_t offset);

/// The derived case has its output's zero point moved by `step`, 1 or -1; `ends` are those of the output's type.
/// Elements that were not saturated move with the zero point, others may move less.
[[nodiscard]] Applied moved_output(Case derived, IntegerEnds ends, std::int64_t step);

/// first, first + 1, ..., first + count - 1
[[nodiscard]] Values counting(std::int64_t first, std::int64_t count);

/// count - 1, ..., 0
[[nodiscard]] Values counting_down(std::int64_t count);

}  // namespace qconform::relations

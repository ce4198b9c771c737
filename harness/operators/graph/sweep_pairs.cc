// The sweep's model of nodes with two operands between quantizations: Add, Concat and their like.
#include "harness/operators/graph/sweep_units.h"

namespace qconform::unit {

namespace swept_pairs_model {
namespace {

using enum ElementType;
using sweep::Constraint;
using sweep::implies;
using sweep::Row;

enum OwnPairPosition : std::size_t {
  kOtherType = kCommonPositions,
  kOtherZeroPoint,
  kOtherAlike,
  kOtherIs,
  kBroadcastPosition,
  kPairActivation,
  kPairPath,
  kPairWidth,
};

enum PairClass : std::uint8_t { kAddClass, kSubClass, kMulClass, kDivClass, kMaxClass, kMinClass, kConcatClass };

bool reads_x(const UnitView& v) {
  return v.compute->inputs[0] == v.compute->inputs[1];
}

std::uint8_t broadcast_of(const UnitView& v) {
  const auto& shape = v.shape(v.compute->inputs[1]);
  return shape.empty() ? kScalar : shape.size() == 1 ? kRow : shape.size() == 2 ? kChannels : kSameShape;
}

std::vector<Column> own_columns() {
  return {
      // The type and zero point of b are x's where b is x.
      {{"b type", names_of(kTypes), 0, sweep::ParameterRole::core},
       [](Unit& u, std::uint8_t c) { u.w.type = kTypes[c]; },
       [](const UnitView& v) { return class_of(kTypes, v.type((reads_x(v) ? v.x : v.other)->inputs[0])); }},
      {{"b zero point", {"low end", "middle", "high end", "other", "omitted"}, kMiddle},
       [](Unit& u, std::uint8_t c) { u.w.zero_point = static_cast<ZeroPoint>(c); },
       [](const UnitView& v) -> std::uint8_t { return v.zero_point(reads_x(v) ? *v.x : *v.other); }},
      {{"scales of a and b", {"differ", "alike", "one initializer"}},
       [](Unit& u, std::uint8_t c) { u.alike = static_cast<Alike>(c); },
       [](const UnitView& v) -> std::uint8_t { return reads_x(v) ? kDiffer : v.alike(v.other); }},
      {{"b is", {"an input", "an initializer", "a", "a's tensor dequantized again"}},
       [](Unit& u, std::uint8_t c) { u.other = static_cast<Other>(c); },
       [](const UnitView& v) -> std::uint8_t {
         if (reads_x(v)) return kSameReal;
         if (v.other->inputs[0] == v.x->inputs[0]) return kSameQuantized;
         return v.is_fed(v.other->inputs[0]) ? kOtherFed : kOtherStorage;
       }},
      {{"b has", {"a's shape", "channels", "one element", "a row"}, 0, sweep::ParameterRole::geometry},
       [](Unit& u, std::uint8_t c) { u.broadcast = static_cast<Broadcast>(c); },
       broadcast_of},
      {{"activation", {"none", "Relu", "Clip", "Clip where y saturates", "Clip reversed", "LeakyRelu"}},
       [](Unit& u, std::uint8_t c) { u.activation = static_cast<Activation>(c); },
       [](const UnitView& v) -> std::uint8_t { return activation_of(v); }},
      {{"before a",
        {"nothing", "Transpose", "Reshape", "Slice", "Pad", "Squeeze or Unsqueeze", "Identity", "QuantizeLinear"}},
       [](Unit& u, std::uint8_t c) { u.path = static_cast<InputPath>(c); },
       [](const UnitView& v) -> std::uint8_t { return path_of(v); }},
      {{"width", texts_of(kSizes), 2, sweep::ParameterRole::extent},
       [](Unit& u, std::uint8_t c) { u.width = kSizes[c]; },
       [](const UnitView& v) { return class_of(kSizes, v.shape(v.compute->inputs[0]).back()); }},
  };
}

const std::vector<Column>& columns() {
  static const std::vector<Column> all = [] {
    std::vector<Column> list = narrow_columns(kFirstPair, kFirstUnary);
    for (Column& column : own_columns()) list.push_back(std::move(column));
    return list;
  }();
  return all;
}

std::vector<Constraint> constraints() {
  std::vector<Constraint> list = common_constraints();
  const std::vector<Constraint> own{
      {"the version knows the type of b",
       {kOpset, kOtherType},
       [](const Row& r) { return r[kOpset] >= opset_of(kTypes[r[kOtherType]]); }},
      {"float b has a zero point of 0 or none",
       {kOtherType, kOtherZeroPoint},
       [](const Row& r) {
         return is_integer(kTypes[r[kOtherType]]) || r[kOtherZeroPoint] == kMiddle || r[kOtherZeroPoint] == kOmitted;
       }},
      {"16-bit b overflows float16",
       {kReal, kOtherType},
       [](const Row& r) {
         return r[kReal] == kFloat32 || opset_of(kTypes[r[kOtherType]]) != k21 || kTypes[r[kOtherType]] == int4;
       }},
      {"where b is a's tensor, it has a's type",
       {kXType, kOtherType, kOtherIs},
       [](const Row& r) { return implies(r[kOtherIs] >= kSameReal, r[kOtherType] == r[kXType]); }},
      {"where b is a, it has a's zero point, and nothing to be alike",
       {kXZeroPoint, kOtherZeroPoint, kOtherIs, kOtherAlike},
       [](const Row& r) {
         return implies(r[kOtherIs] == kSameReal, r[kOtherZeroPoint] == r[kXZeroPoint] && r[kOtherAlike] == kDiffer);
       }},
      {"where b is a's tensor, it has a's shape, and nothing else moves it",
       {kOtherIs, kBroadcastPosition, kPairPath},
       [](const Row& r) {
         return implies(r[kOtherIs] >= kSameReal, r[kBroadcastPosition] == kSameShape) &&
                implies(r[kOtherIs] == kSameQuantized, r[kPairPath] == kDirect);
       }},
      {"operands that are one tensor leave something of the node",
       {kComputePosition, kOtherIs},
       [](const Row& r) {
         const bool vanishes = r[kComputePosition] == kSubClass || r[kComputePosition] == kDivClass;
         return !(r[kOtherIs] == kSameReal && vanishes) && !(r[kOtherIs] == kSameQuantized && vanishes);
       }},
      {"Concat broadcasts nothing",
       {kComputePosition, kBroadcastPosition},
       [](const Row& r) { return implies(r[kComputePosition] == kConcatClass, r[kBroadcastPosition] == kSameShape); }},
      {"scales that are alike are one each",
       {kXLayout, kOtherAlike},
       [](const Row& r) { return implies(r[kOtherAlike] != kDiffer, r[kXLayout] == kPerTensor); }},
      {"bounds that are exchanged mean something from version 13 on",
       {kOpset, kPairActivation},
       [](const Row& r) { return implies(r[kPairActivation] == kReversedClip, r[kOpset] >= k13); }},
      {"a is quantized again in float",
       {kReal, kPairPath},
       [](const Row& r) { return implies(r[kPairPath] == kRequantized, r[kReal] == kFloat32); }},
  };
  list.insert(list.end(), own.begin(), own.end());
  return list;
}

const sweep::Model& model() {
  static const sweep::Model built = model_of("QDQ pairs", columns(), constraints());
  return built;
}

Case realise_pair(const Row& row, std::uint64_t seed, std::uint64_t index) {
  return realise(pair_unit(row), seed, index);
}

Row classify_pair(const Case& test_case, const sweep::Asked& /*asked*/) {
  return classify(columns(), kFirstPair, test_case);
}

}  // namespace
}  // namespace swept_pairs_model

Unit pair_unit(const sweep::Row& row) {
  return unit_of(swept_pairs_model::columns(), kFirstPair, row);
}

const sweep::SweptModel& swept_pairs() {
  static const sweep::SweptModel swept{swept_pairs_model::model, swept_pairs_model::realise_pair,
                                       swept_pairs_model::classify_pair};
  return swept;
}

// The sweep's model of nodes with one operand between quantizations: pools, activations, movement.

namespace swept_unary_model {
namespace {

using sweep::Constraint;
using sweep::Row;

enum OwnUnaryPosition : std::size_t { kYAlike = kCommonPositions, kUnaryWidth };

Compute compute_at(const Row& r) {
  return static_cast<Compute>(kFirstUnary + r[kComputePosition]);
}

// The first class of opsets that knows the node.
std::uint8_t first_opset_of(Compute compute) {
  switch (compute) {
    case kLayerNormalization: return k19;
    case kGelu: return k21;
    case kRmsNormalization: return k23;
    case kSwish: return k25;
    default: return k10;
  }
}

// Returns whether results for small numbers are of another size, or nearly the same for all of them.
bool is_bounded(Compute compute) {
  return compute >= kSoftmax && compute <= kGelu;
}

// Whether y's zero point leaves no room for what the node makes of x: x at one end of its zero point, y at the other.
bool is_all_saturated(const Row& r) {
  const Compute compute = compute_at(r);
  const bool has_no_positive = r[kYZeroPoint] == kHigh;
  const bool has_no_negative = r[kYZeroPoint] == kLow || r[kYZeroPoint] == kOmitted;
  const bool is_positive = (compute >= kSoftmax && compute <= kSigmoid) || compute == kHardSigmoid || compute == kAbs;
  if (is_positive) return has_no_positive;
  if (compute == kRelu) return has_no_positive || r[kXZeroPoint] == kHigh;
  const bool negates = compute == kNeg;
  if (r[kXZeroPoint] == kLow) return negates ? has_no_negative : has_no_positive;
  return r[kXZeroPoint] == kHigh && (negates ? has_no_positive : has_no_negative);
}

std::vector<Column> own_columns() {
  return {
      {{"scales of x and y", {"differ", "alike", "one initializer"}},
       [](Unit& u, std::uint8_t c) { u.alike = static_cast<Alike>(c); },
       [](const UnitView& v) -> std::uint8_t { return v.alike(v.quantize); }},
      {{"width", texts_of(kSizes), 2, sweep::ParameterRole::extent},
       [](Unit& u, std::uint8_t c) { u.width = kSizes[c]; },
       [](const UnitView& v) { return class_of(kSizes, v.shape(v.compute->inputs[0]).back()); }},
  };
}

const std::vector<Column>& columns() {
  static const std::vector<Column> all = [] {
    std::vector<Column> list = common_columns(kFirstUnary, kComputes);
    for (Column& column : own_columns()) list.push_back(std::move(column));
    return list;
  }();
  return all;
}

std::vector<Constraint> constraints() {
  std::vector<Constraint> list = common_constraints();
  const std::vector<Constraint> own{
      {"the version knows the operator",
       {kComputePosition, kOpset},
       [](const Row& r) { return r[kOpset] >= first_opset_of(compute_at(r)); }},
      {"bfloat16 is for nodes that do not round, MaxPool from version 22 on",
       {kComputePosition, kOpset, kReal},
       [](const Row& r) {
         if (r[kReal] != kBfloat16) return true;
         return compute_at(r) >= kFirstExact && (compute_at(r) != kMaxPool || r[kOpset] >= k23);
       }},
      {"scales that are alike are one each",
       {kXLayout, kYLayout, kYAlike},
       [](const Row& r) { return r[kYAlike] == kDiffer || (r[kXLayout] == kPerTensor && r[kYLayout] == kPerTensor); }},
      {"where x and y are alike, their types and zero points are too",
       {kXType, kYType, kXZeroPoint, kYZeroPoint, kYAlike},
       [](const Row& r) {
         return r[kYAlike] == kDiffer || (r[kXType] == r[kYType] && r[kXZeroPoint] == r[kYZeroPoint]);
       }},
      {"y's zero point leaves room for the sign of the values",
       {kComputePosition, kXZeroPoint, kYZeroPoint},
       [](const Row& r) { return !is_all_saturated(r); }},
      {"what is bounded has other scales than x, which are neither tiny nor huge",
       {kComputePosition, kScalesPosition, kYAlike},
       [](const Row& r) {
         return !is_bounded(compute_at(r)) || (r[kScalesPosition] <= kOrdinary && r[kYAlike] == kDiffer);
       }},
  };
  list.insert(list.end(), own.begin(), own.end());
  return list;
}

const sweep::Model& model() {
  static const sweep::Model built = model_of("QDQ nodes of one operand", columns(), constraints());
  return built;
}

Case realise_unary(const Row& row, std::uint64_t seed, std::uint64_t index) {
  return realise(unary_unit(row), seed, index);
}

Row classify_unary(const Case& test_case, const sweep::Asked& /*asked*/) {
  return classify(columns(), kFirstUnary, test_case);
}

}  // namespace
}  // namespace swept_unary_model

Unit unary_unit(const sweep::Row& row) {
  return unit_of(swept_unary_model::columns(), kFirstUnary, row);
}

const sweep::SweptModel& swept_unary() {
  static const sweep::SweptModel swept{swept_unary_model::model, swept_unary_model::realise_unary,
                                       swept_unary_model::classify_unary};
  return swept;
}

}  // namespace qconform::unit

// The sweep's model of nodes with two operands between quantizations: Add, Concat and their like.
#include "harness/operators/graph/sweep_units.h"

namespace qconform::unit {
namespace swept_pairs_model {
namespace {

using enum ElementType;
using sweep::Constraint;
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
         return v.is_fed(v.other->inputs[0]) ? kOtherFed : kOtherHeld;
       }},
      {{"b has", {"a's shape", "channels", "one element", "a row"}, 0, sweep::ParameterRole::geometry},
       [](Unit& u, std::uint8_t c) { u.broadcast = static_cast<Broadcast>(c); },
       broadcast_of},
      {{"activation", {"none", "Relu", "Clip", "Clip where y saturates", "Clip reversed", "LeakyRelu"}},
       [](Unit& u, std::uint8_t c) { u.activation = static_cast<Activation>(c); },
       [](const UnitView& v) -> std::uint8_t { return activation_of(v); }},
      {{"before a",
        {"nothing", "Transpose", "Reshape", "Slice", "Pad", "Squeeze or Unsqueeze", "Identity", "QuantizeLinear"}},
       [](Unit& u, std::uint8_t c) { u.path = static_cast<Path>(c); },
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

bool implies(bool premise, bool conclusion) {
  return !premise || conclusion;
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

Row classify_pair(const Case& test_case) {
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

}  // namespace qconform::unit

// The sweep's model of nodes with one operand between quantizations: pools, activations, movement.
#include "harness/operators/graph/sweep_units.h"

namespace qconform::unit {
namespace swept_unary_model {
namespace {

using sweep::Constraint;
using sweep::Row;

enum OwnUnaryPosition : std::size_t { kYAlike = kCommonPositions, kUnaryWidth };

Compute compute_at(const Row& r) {
  return static_cast<Compute>(kFirstUnary + r[kComputePosition]);
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
      {"Gelu begins with version 20",
       {kComputePosition, kOpset},
       [](const Row& r) { return compute_at(r) != kGelu || r[kOpset] >= k21; }},
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

Row classify_unary(const Case& test_case) {
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

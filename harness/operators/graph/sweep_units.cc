#include "harness/operators/graph/sweep_units.h"

#include <array>

#include "harness/model/text.h"

namespace qconform::unit {
namespace {

using enum ElementType;
using sweep::Constraint;
using sweep::Row;

bool is_16_bit(std::uint8_t type) {
  return kTypes[type] == uint16 || kTypes[type] == int16;
}

// "middle" stands for the only zero point of a float type.
bool has_zero_point(std::uint8_t type, std::uint8_t zero_point) {
  return is_integer(kTypes[type]) || zero_point == kMiddle || zero_point >= kOmitted;
}

}  // namespace

std::uint8_t opset_of(ElementType type) {
  switch (type) {
    case uint16:
    case int16:
    case uint4:
    case int4: return k21;
    case float16:
    case bfloat16:
    case float8e4m3fn: return k19;
    default: return k10;
  }
}

std::vector<std::string> names_of(std::span<const ElementType> types) {
  std::vector<std::string> names;
  for (const ElementType type : types) names.push_back(qconform::name_of(type));
  return names;
}

std::vector<std::string> texts_of(std::span<const std::int64_t> numbers) {
  std::vector<std::string> texts;
  for (const std::int64_t number : numbers) texts.push_back(std::to_string(number));
  return texts;
}

std::vector<Column> common_columns(Compute first, Compute behind) {
  std::vector<std::string> computes;
  for (std::uint8_t i = first; i < behind; ++i) computes.emplace_back(name_of(static_cast<Compute>(i)));
  return {
      // Set and read relative to the model's first: unit_of(), classify().
      {{"operator", computes, 0, sweep::ParameterRole::core}, nullptr, nullptr},
      {{"opset", texts_of(kOpsets), k21},
       [](Unit& u, std::uint8_t c) { u.opset = kOpsets[c]; },
       [](const UnitView& v) { return class_of(kOpsets, v.compute->opset_version); }},
      {{"x type", names_of(kTypes), 0, sweep::ParameterRole::core},
       [](Unit& u, std::uint8_t c) { u.x.type = kTypes[c]; },
       [](const UnitView& v) { return class_of(kTypes, v.type(v.x->inputs[0])); }},
      {{"y type", names_of(kTypes), 0, sweep::ParameterRole::core},
       [](Unit& u, std::uint8_t c) { u.y.type = kTypes[c]; },
       [](const UnitView& v) { return class_of(kTypes, v.type(v.quantize->outputs[0])); }},
      {{"computed in", names_of(kReals), 0, sweep::ParameterRole::core},
       [](Unit& u, std::uint8_t c) { u.real = kReals[c]; },
       [](const UnitView& v) { return class_of(kReals, v.scale(*v.x).type); }},
      {{"x zero point", {"low end", "middle", "high end", "other", "omitted"}, kMiddle},
       [](Unit& u, std::uint8_t c) { u.x.zero_point = static_cast<ZeroPoint>(c); },
       [](const UnitView& v) -> std::uint8_t { return v.zero_point(*v.x); }},
      {{"y zero point", {"low end", "middle", "high end", "other", "omitted", "omitted beside output_dtype"}, kMiddle},
       [](Unit& u, std::uint8_t c) { u.y.zero_point = static_cast<ZeroPoint>(c); },
       [](const UnitView& v) -> std::uint8_t { return v.zero_point(*v.quantize); }},
      {{"scales", {"powers of two", "ordinary", "tiny", "huge"}, kOrdinary},
       [](Unit& u, std::uint8_t c) { u.scales = static_cast<Scales>(c); },
       [](const UnitView& v) -> std::uint8_t { return scales_of(v); }},
      {{"also an output", {"nothing", "y dequantized", "the value before y"}},
       [](Unit& u, std::uint8_t c) { u.consumers = static_cast<Consumers>(c); },
       [](const UnitView& v) -> std::uint8_t {
         if (v.test_case().outputs.size() < 2) return kOne;
         const std::string& op_type = v.producer(v.test_case().outputs[1])->op_type;
         return op_type == "QuantizeLinear" ? kOne : op_type == "DequantizeLinear" ? kDequantizedToo : kRealToo;
       }},
      {{"x parameters", {"per tensor", "axis 0", "axis 1", "axis -1", "blocks"}},
       [](Unit& u, std::uint8_t c) { u.x.layout = static_cast<Layout>(c); },
       [](const UnitView& v) -> std::uint8_t { return v.layout(*v.x); }},
      {{"y parameters", {"per tensor", "axis 0", "axis 1", "axis -1", "blocks"}},
       [](Unit& u, std::uint8_t c) { u.y.layout = static_cast<Layout>(c); },
       [](const UnitView& v) -> std::uint8_t { return v.layout(*v.quantize); }},
  };
}

std::vector<Column> narrow_columns(Compute first, Compute behind) {
  std::vector<Column> list = common_columns(first, behind);
  list[kReal].parameter.classes.pop_back();
  list[kXLayout] = {{"x parameters", {"per tensor", "axis 1"}},
                    [](Unit& u, std::uint8_t c) { u.x.layout = c == 0 ? kPerTensor : kAxis1; },
                    [](const UnitView& v) -> std::uint8_t { return v.layout(*v.x) == kPerTensor ? 0 : 1; }};
  list[kYLayout] = {{"y parameters", {"per tensor", "axis 1"}},
                    [](Unit& u, std::uint8_t c) { u.y.layout = c == 0 ? kPerTensor : kAxis1; },
                    [](const UnitView& v) -> std::uint8_t { return v.layout(*v.quantize) == kPerTensor ? 0 : 1; }};
  return list;
}

std::vector<Constraint> common_constraints() {
  return {
      {"the version knows the type of x",
       {kOpset, kXType},
       [](const Row& r) { return r[kOpset] >= opset_of(kTypes[r[kXType]]); }},
      {"the version knows the type of y",
       {kOpset, kYType},
       [](const Row& r) { return r[kOpset] >= opset_of(kTypes[r[kYType]]); }},
      {"the version knows the type of the scales",
       {kOpset, kReal},
       [](const Row& r) { return r[kOpset] >= opset_of(kReals[r[kReal]]); }},
      {"float x has a zero point of 0 or none",
       {kXType, kXZeroPoint},
       [](const Row& r) { return has_zero_point(r[kXType], r[kXZeroPoint]); }},
      {"float y has a zero point of 0 or none",
       {kYType, kYZeroPoint},
       [](const Row& r) { return has_zero_point(r[kYType], r[kYZeroPoint]); }},
      {"without a zero point and output_dtype, y is uint8",
       {kYType, kYZeroPoint},
       [](const Row& r) { return r[kYZeroPoint] != kOmitted || kTypes[r[kYType]] == uint8; }},
      {"output_dtype begins with version 21",
       {kOpset, kYZeroPoint},
       [](const Row& r) { return r[kYZeroPoint] != kByType || r[kOpset] >= k21; }},
      {"parameters along an axis begin with version 13, blocks with 21",
       {kOpset, kXLayout, kYLayout},
       [](const Row& r) {
         const bool has_blocks = r[kXLayout] == kBlocks || r[kYLayout] == kBlocks;
         const bool has_axis = r[kXLayout] != kPerTensor || r[kYLayout] != kPerTensor;
         return r[kOpset] >= (has_blocks ? k21 : has_axis ? k13 : k10);
       }},
      {"16 bits overflow float16, and bfloat16 has no use for them",
       {kReal, kXType, kYType},
       [](const Row& r) { return r[kReal] == kFloat32 || !(is_16_bit(r[kXType]) || is_16_bit(r[kYType])); }},
      {"tiny and huge scales are float",
       {kReal, kScalesPosition},
       [](const Row& r) { return r[kReal] == kFloat32 || r[kScalesPosition] <= kOrdinary; }},
  };
}

sweep::Model model_of(std::string name, const std::vector<Column>& columns, std::vector<Constraint> constraints) {
  sweep::Model model{std::move(name), {}, std::move(constraints)};
  for (const Column& column : columns) model.parameters.push_back(column.parameter);
  return model;
}

Unit unit_of(const std::vector<Column>& columns, Compute first, const Row& row) {
  Unit unit;
  unit.compute = static_cast<Compute>(first + row[kComputePosition]);
  for (std::size_t p = 1; p < row.size(); ++p) columns[p].set(unit, row[p]);
  return unit;
}

Case realise(const Unit& unit, std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed, index);
  return build(unit, rng);
}

Row classify(const std::vector<Column>& columns, Compute first, const Case& test_case) {
  const UnitView view(test_case);
  Row row(columns.size(), 0);
  row[kComputePosition] = static_cast<std::uint8_t>(compute_of(*view.compute).value_or(kComputes) - first);
  for (std::size_t p = 1; p < row.size(); ++p) row[p] = columns[p].read(view);
  return row;
}

std::span<const sweep::SweptModel> swept_units() {
  static const std::array all{swept_products(), swept_pairs(), swept_unary()};
  return all;
}

}  // namespace qconform::unit

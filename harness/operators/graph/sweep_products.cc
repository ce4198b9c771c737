// The sweep's model of sums of products: Conv, ConvTranspose, Gemm and MatMul between quantizations.
#include <algorithm>

#include "harness/model/text.h"
#include "harness/operators/graph/edits.h"
#include "harness/operators/graph/sweep_units.h"

namespace qconform::unit {
namespace swept_products_model {
namespace {

using enum ElementType;
using sweep::Constraint;
using sweep::Row;

enum ProductPosition : std::size_t {
  kWType = kCommonPositions,
  kWLayout,
  kWZeroPoint,
  kWSource,
  kAlikePosition,
  kBiasPosition,
  kActivationPosition,
  kPathPosition,
  kFactorsPosition,
  kTransposedPosition,
  kWindowPosition,
  kTerms,
  kOutputs,
};

constexpr ElementType kWTypes[] = {int8, uint8, int4, uint4, int16, float8e4m3fn};

bool is_convolution(const Row& r) {
  return r[kComputePosition] <= kConvTranspose;
}

// Output channels or columns, and the terms of a sum without its window.
std::int64_t sums_of(const UnitView& v, bool of_terms) {
  const auto& w = v.shape(v.compute->inputs[1]);
  const auto compute = compute_of(*v.compute).value_or(kConv);
  const bool is_swapped = compute == kConvTranspose || compute == kMatMul ||
                          (compute == kGemm && v.compute->attribute("transB") == nullptr);
  return w[of_terms == is_swapped ? 0 : 1];
}

std::uint8_t flags(const Node& node, const char* low, const char* high) {
  return static_cast<std::uint8_t>((node.attribute(low) != nullptr ? 1 : 0) +
                                   (node.attribute(high) != nullptr ? 2 : 0));
}

std::vector<Column> own_columns() {
  return {
      {{"w type", names_of(kWTypes), 0, sweep::ParameterRole::core},
       [](Unit& u, std::uint8_t c) { u.w.type = kWTypes[c]; },
       [](const UnitView& v) { return class_of(kWTypes, v.type(v.other->inputs[0])); }},
      // The axis is that of w as it is stored: behind a Transpose the first two axes change places.
      {{"w parameters", {"per tensor", "axis 0", "axis 1", "axis -1", "blocks"}},
       [](Unit& u, std::uint8_t c) { u.w.layout = static_cast<ParameterLayout>(c); },
       [](const UnitView& v) -> std::uint8_t { return v.layout(*v.other); }},
      {{"w zero point", {"low end", "middle", "high end", "other", "omitted"}, kMiddle},
       [](Unit& u, std::uint8_t c) { u.w.zero_point = static_cast<ZeroPoint>(c); },
       [](const UnitView& v) -> std::uint8_t { return v.zero_point(*v.other); }},
      {{"w is", {"an initializer", "an input", "behind a Transpose"}},
       [](Unit& u, std::uint8_t c) { u.source = static_cast<Source>(c); },
       [](const UnitView& v) -> std::uint8_t {
         if (v.is_fed(v.other->inputs[0])) return kFed;
         return v.producer(v.compute->inputs[1]) == v.other ? kInitializer : kTransposedSource;
       }},
      {{"scales of x and w", {"differ", "alike", "one initializer"}},
       [](Unit& u, std::uint8_t c) { u.alike = static_cast<Alike>(c); },
       [](const UnitView& v) -> std::uint8_t { return v.alike(v.other); }},
      {{"bias", {"none", "int32", "int32 of another scale", "int32 near its ends", "float"}},
       [](Unit& u, std::uint8_t c) { u.bias = static_cast<Bias>(c); },
       [](const UnitView& v) -> std::uint8_t { return bias_of(v); }},
      {{"activation", {"none", "Relu", "Clip", "Clip where y saturates", "Clip reversed", "LeakyRelu"}},
       [](Unit& u, std::uint8_t c) { u.activation = static_cast<Activation>(c); },
       [](const UnitView& v) -> std::uint8_t { return activation_of(v); }},
      {{"before x",
        {"nothing", "Transpose", "Reshape", "Slice", "Pad", "Squeeze or Unsqueeze", "Identity", "QuantizeLinear"}},
       [](Unit& u, std::uint8_t c) { u.path = static_cast<InputPath>(c); },
       [](const UnitView& v) -> std::uint8_t { return path_of(v); }},
      {{"factors", {"none", "alpha", "beta", "alpha and beta"}},
       [](Unit& u, std::uint8_t c) { u.factors = static_cast<Factors>(c); },
       [](const UnitView& v) { return flags(*v.compute, "alpha", "beta"); }},
      {{"transposed", {"nothing", "A", "B", "A and B"}},
       [](Unit& u, std::uint8_t c) { u.transposed = static_cast<Transposed>(c); },
       [](const UnitView& v) { return flags(*v.compute, "transA", "transB"); }},
      {{"window", {"one element", "padded", "strided"}, 0, sweep::ParameterRole::geometry},
       [](Unit& u, std::uint8_t c) { u.window = static_cast<WindowKind>(c); },
       [](const UnitView& v) -> std::uint8_t {
         return v.compute->attribute("pads") != nullptr      ? kPaddedWindow
                : v.compute->attribute("strides") != nullptr ? kStrided
                                                             : kPlain;
       }},
      {{"terms", texts_of(kSizes), 1, sweep::ParameterRole::extent},
       [](Unit& u, std::uint8_t c) { u.k = kSizes[c]; },
       [](const UnitView& v) { return class_of(kSizes, sums_of(v, true)); }},
      {{"outputs", texts_of(kSizes), 1, sweep::ParameterRole::extent},
       [](Unit& u, std::uint8_t c) { u.n = kSizes[c]; },
       [](const UnitView& v) { return class_of(kSizes, sums_of(v, false)); }},
  };
}

const std::vector<Column>& columns() {
  static const std::vector<Column> all = [] {
    std::vector<Column> list = narrow_columns(kConv, kFirstPair);
    for (Column& column : own_columns()) list.push_back(std::move(column));
    return list;
  }();
  return all;
}

// Returns whether many roundings and fine steps of y would leave several answers.
bool is_long_and_wide(const Row& r) {
  return is_16_bit(r[kYType]) && kSizes[r[kTerms]] > 4;
}

// Constraints by which versions, types and computations go together.
std::vector<Constraint> form_constraints() {
  return {
      {"the version knows the type of w",
       {kOpset, kWType},
       [](const Row& r) { return r[kOpset] >= opset_of(kWTypes[r[kWType]]); }},
      {"w's parameters along an axis begin with version 13, blocks with 21",
       {kOpset, kWLayout},
       [](const Row& r) {
         return r[kOpset] >= (r[kWLayout] == kBlocks ? k21 : r[kWLayout] != kPerTensor ? k13 : k10);
       }},
      {"float w has a zero point of 0 or none",
       {kWType, kWZeroPoint},
       [](const Row& r) {
         return is_integer(kWTypes[r[kWType]]) || r[kWZeroPoint] == kMiddle || r[kWZeroPoint] == kOmitted;
       }},
      {"scales that are alike are one each",
       {kXLayout, kWLayout, kAlikePosition},
       [](const Row& r) {
         return r[kAlikePosition] == kDiffer || (r[kXLayout] == kPerTensor && r[kWLayout] == kPerTensor);
       }},
      {"Gemm has a bias at version 10",
       {kComputePosition, kOpset, kBiasPosition},
       [](const Row& r) { return r[kComputePosition] != kGemm || r[kOpset] > k10 || r[kBiasPosition] != kNoBias; }},
      {"Gemm alone has factors and transposes; beta is for a bias",
       {kComputePosition, kFactorsPosition, kTransposedPosition, kBiasPosition},
       [](const Row& r) {
         if (r[kComputePosition] != kGemm)
           return r[kFactorsPosition] == kNoFactors && r[kTransposedPosition] == kNeither;
         return r[kFactorsPosition] < kBeta || r[kBiasPosition] != kNoBias;
       }},
      {"convolutions alone have windows",
       {kComputePosition, kWindowPosition},
       [](const Row& r) { return r[kWindowPosition] == kPlain || is_convolution(r); }},
      {"a depthwise convolution has one term",
       {kComputePosition, kTerms},
       [](const Row& r) { return r[kComputePosition] != kDepthwise || kSizes[r[kTerms]] == 1; }},
      {"bounds that are exchanged mean something from version 13 on",
       {kOpset, kActivationPosition},
       [](const Row& r) { return r[kActivationPosition] != kReversedClip || r[kOpset] >= k13; }},
  };
}

// Constraints that keep an answer nearly single: few terms where types are narrow or y is wide.
std::vector<Constraint> precision_constraints() {
  return {
      {"sums in float16 have few terms",
       {kReal, kTerms, kWindowPosition},
       [](const Row& r) { return r[kReal] == kFloat32 || (kSizes[r[kTerms]] <= 3 && r[kWindowPosition] == kPlain); }},
      {"float16 holds 8-bit weights, and no bias near the ends of int32",
       {kReal, kWType, kBiasPosition},
       [](const Row& r) {
         return r[kReal] == kFloat32 || (kWTypes[r[kWType]] != int16 && r[kBiasPosition] != kLargeBias);
       }},
      {"x is quantized again in float",
       {kReal, kPathPosition},
       [](const Row& r) { return r[kReal] == kFloat32 || r[kPathPosition] != kRequantized; }},
      {"y of 16 bits has few terms, or powers of two as scales",
       {kYType, kScalesPosition, kTerms},
       [](const Row& r) { return r[kScalesPosition] == kPowersOfTwo || !is_long_and_wide(r); }},
      {"y of 16 bits has few terms, or x has 8 bits",
       {kXType, kYType, kTerms},
       [](const Row& r) { return !is_16_bit(r[kXType]) || !is_long_and_wide(r); }},
      {"y of 16 bits has few terms, or w has 8 bits",
       {kYType, kWType, kTerms},
       [](const Row& r) { return kWTypes[r[kWType]] != int16 || !is_long_and_wide(r); }},
  };
}

std::vector<Constraint> constraints() {
  std::vector<Constraint> all = common_constraints();
  for (const auto& own : {form_constraints(), precision_constraints()}) all.insert(all.end(), own.begin(), own.end());
  return all;
}

const sweep::Model& model() {
  static const sweep::Model built = model_of("QDQ products", columns(), constraints());
  return built;
}

Case realise_product(const Row& row, std::uint64_t seed, std::uint64_t index) {
  return realise(product_unit(row), seed, index);
}

Row classify_product(const Case& test_case, const sweep::Asked& /*asked*/) {
  return classify(columns(), kConv, test_case);
}

}  // namespace
}  // namespace swept_products_model

Unit product_unit(const sweep::Row& row) {
  return unit_of(swept_products_model::columns(), kConv, row);
}

const sweep::SweptModel& swept_products() {
  static const sweep::SweptModel swept{swept_products_model::model, swept_products_model::realise_product,
                                       swept_products_model::classify_product};
  return swept;
}

}  // namespace qconform::unit

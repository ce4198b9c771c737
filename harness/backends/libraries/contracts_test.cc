// The contracts learnt from the libraries by asking them are those that their documentation and sources state.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "harness/backends/libraries/libraries.h"
#include "harness/backends/select.h"
#include "harness/tests/true_contract.h"

namespace qconform::libraries {
namespace {

using qconform::testing::TrueContract;

const TrueContract kLibraries[] = {
    // Its operators have one type for x, w and y. Those of int8 have no zero point of w, and a scale of w for each
    // channel; those of uint8 have one scale and one zero point of w. There is none of three dimensions, nor one with
    // sums.
    {"xnnpack",
     "convolutions",
     "operator=QLinearConv, spatial rank=1|2, w zero point=low end|middle|high end|other",
     {{{"x type", "int8"}, {"w type", "uint8"}},
      {{"x type", "uint8"}, {"w type", "int8"}},
      {{"x type", "int8"}, {"y type", "uint8"}},
      {{"x type", "uint8"}, {"y type", "int8"}},
      {{"w type", "int8"}, {"w zero point", "middle", true}},
      {{"w type", "uint8"}, {"w scale", "distinct"}}}},
    // Its conversions have one scale, a normal float, and one zero point: several that are alike are one.
    {"xnnpack",
     "QuantizeLinear",
     "x type=float, y type=uint8|int8, scale type=float, scales=one|alike, precision=absent|float, "
     "zero point=low end|middle|high end|other|omitted",
     {}},
    {"xnnpack",
     "DequantizeLinear",
     "x type=uint8|int8, y type=float, scale type=float, scales=one|alike, scale=ordinary|power of two|huge, "
     "zero point=low end|middle|high end|other|omitted",
     {}},
    // w is int8 and has no zero point, up to three dimensions.
    {"onednn", "convolutions", "w type=int8, spatial rank=1|2|3, w zero point=middle|omitted", {}},
    // Its reorders have a float for each channel, by which they multiply: of QuantizeLinear's scales the reciprocals of
    // powers of two alone are exact. They have one zero point, no float16, and no way from int32 to bfloat16.
    {"onednn",
     "QuantizeLinear",
     "layout=scalar|per axis, x type=float|bfloat16|int32, y type=uint8|int8, scale type=float, scale=power of two, "
     "precision=absent|float, zero point=low end|middle|high end|other|omitted",
     {}},
    {"onednn",
     "DequantizeLinear",
     "layout=scalar|per axis, x type=uint8|int8|int32, y type=float|bfloat16, scale type=float, "
     "zero point=low end|middle|high end|other|omitted",
     {{{"x type", "int32"}, {"y type", "bfloat16"}}}},
    // Its importer knows no ConvInteger, its layers three dimensions at most.
    {"opencv", "convolutions", "operator=QLinearConv, spatial rank=1|2|3", {}},
    // Its matrices have two dimensions at least. The importer wants a zero point and, of QuantizeLinear, one element in
    // scale and zero point, of whatever layout; it makes floats of int32, and reads no attribute.
    {"opencv",
     "QuantizeLinear",
     "rank=2|3|4, x type=float, y type=uint8|int8, scale type=float|int32, scales=one, "
     "zero point=low end|middle|high end|other",
     {}},
    {"opencv",
     "DequantizeLinear",
     "rank=2|3|4, x type=uint8|int8, scale type=float, zero point=low end|middle|high end|other|distinct",
     {}},
    // Its kernels of QLinearConv give y the type of x, and those of int8 take no uint8 weights; ConvInteger has one
    // zero point of w; SAME takes no dilation.
    {"onnxruntime",
     "convolutions",
     "",
     {{{"x type", "uint8"}, {"y type", "int8"}},
      {{"x type", "int8"}, {"y type", "uint8"}},
      {{"w type", "uint8"}, {"y type", "int8"}},
      {{"operator", "ConvInteger"}, {"M", "1", true}, {"w parameters", "per channel"}},
      {{"dilation", "1", true}, {"auto_pad", "SAME_UPPER|SAME_LOWER"}}}},
    // Its kernels of the linear operators are registered for float and float16, with one type of scale and data; a
    // tensor of one scale in one dimension counts as a scalar, which has no blocks.
    {"onnxruntime",
     "QuantizeLinear",
     "x type=float|float16, scale type=float|float16, "
     "y type=uint8|int8|float8e4m3fn|float8e4m3fnuz|float8e5m2|float8e5m2fnuz|uint16|int16|uint4|int4|uint2|int2",
     {{{"x type", "float"}, {"scale type", "float16"}},
      {{"x type", "float16"}, {"scale type", "float"}},
      {{"rank", "1"}, {"block size", "none", true}, {"scales", "one"}}}},
    {"onnxruntime",
     "DequantizeLinear",
     "y type=float|float16, scale type=float|float16, x type=uint8|int8|int32|float8e4m3fn|float8e4m3fnuz|float8e5m2|"
     "float8e5m2fnuz|uint16|int16|uint4|int4|uint2|int2",
     {{{"scale type", "float"}, {"y type", "float16"}},
      {{"scale type", "float16"}, {"y type", "float"}},
      {{"rank", "1"}, {"block size", "none", true}, {"scales", "one"}}}}};

// Those that are here.
std::vector<TrueContract> built() {
  const auto all = libraries();
  std::vector<TrueContract> known;
  std::copy_if(std::begin(kLibraries), std::end(kLibraries), std::back_inserter(known), [&](const TrueContract& truth) {
    return std::any_of(all.begin(), all.end(), [&](const auto& library) {
      return library.name == truth.name && library.state().absent.empty();
    });
  });
  return known;
}

class LearntContracts : public ::testing::TestWithParam<TrueContract> {};

TEST_P(LearntContracts, AreWhatLibrariesTake) {
  backend::offer_libraries(libraries());
  const auto backend = backend::select(GetParam().name, RoundingProfile::correctly_rounded);
  ASSERT_TRUE(backend) << backend.error().text();
  qconform::testing::expect_learnt(**backend, GetParam());
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LearntContracts);
INSTANTIATE_TEST_SUITE_P(Here, LearntContracts, ::testing::ValuesIn(built()),
                         [](const auto& test) { return std::string(test.param.name) + "_" + test.param.model; });

}  // namespace
}  // namespace qconform::libraries

// What is learnt of the libraries by asking them is what their documentation and sources say that they take.
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
    // channel;
    // those of uint8 have one scale and one zero point of w. There is none of three dimensions, nor one with sums.
    {"xnnpack",
     "operator=QLinearConv, spatial rank=1|2, w zero point=low end|middle|high end|other",
     {{{"x type", "int8"}, {"w type", "uint8"}},
      {{"x type", "uint8"}, {"w type", "int8"}},
      {{"x type", "int8"}, {"y type", "uint8"}},
      {{"x type", "uint8"}, {"y type", "int8"}},
      {{"w type", "int8"}, {"w zero point", "middle", true}},
      {{"w type", "uint8"}, {"w scale", "distinct"}}}},
    // w is int8 and has no zero point, up to three dimensions.
    {"onednn", "w type=int8, spatial rank=1|2|3, w zero point=middle|omitted", {}},
    // Its importer knows no ConvInteger, its layers three dimensions at most.
    {"opencv", "operator=QLinearConv, spatial rank=1|2|3", {}},
    // Its kernels of QLinearConv give y the type of x, and those of int8 take no uint8 weights; ConvInteger has one
    // zero
    // point of w; SAME takes no dilation.
    {"onnxruntime",
     "",
     {{{"x type", "uint8"}, {"y type", "int8"}},
      {{"x type", "int8"}, {"y type", "uint8"}},
      {{"w type", "uint8"}, {"y type", "int8"}},
      {{"operator", "ConvInteger"}, {"M", "1", true}, {"w parameters", "per channel"}},
      {{"dilation", "1", true}, {"auto_pad", "SAME_UPPER|SAME_LOWER"}}}}};

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
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace qconform::libraries

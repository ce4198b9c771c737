// The layer sets against what is known of the networks, and the text of layers.
#include "harness/model/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "harness/operators/convolution/hooks.h"

namespace qconform::bench {
namespace {

using ::testing::HasSubstr;

TEST(LayerText, IsReadAndWritten) {
  for (const char* text : {"3x3/2 64->128 @56", "1x1 64->64 @56", "5x5 240 @28 depthwise", "31 512 @250 depthwise",
                           "3x3 64->32 @56 group 4", "3x3 8->8 @20x12 dilation 2", "3x3x3 4->6 @8"}) {
    const auto shape = parse_layer(text);
    ASSERT_TRUE(shape) << text << ": " << shape.error().text();
    EXPECT_EQ(text_of(*shape), text);
  }
  const auto shape = parse_layer("  3x1/2   6->12 @20x30 group 3 dilation 2 ");
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->group, 3);
  ASSERT_EQ(shape->axes.size(), 2U);
  EXPECT_EQ(shape->axes[0].kernel, 3);
  EXPECT_EQ(shape->axes[1].kernel, 1);
  EXPECT_EQ(shape->axes[0].input, 20);
  EXPECT_EQ(shape->axes[1].input, 30);
  for (const auto& axis : shape->axes) {
    EXPECT_EQ(axis.stride, 2);
    EXPECT_EQ(axis.dilation, 2);
  }
}

TEST(LayerText, SaysWhatItCannotRead) {
  for (const char* text : {"", "3x3", "3x3 8->8", "3y3 8->8 @6", "3x3 8-8 @6", "3x3 8->8 6", "3x3 8->8 @6x6x6",
                           "3x3 8->8 @6 groups 2", "3x3 8->8 @6 group", "3x3/0 8->8 @6", "3x3 8->8 @6 group 3",
                           "3x3/2/2 8->8 @6", "3x3 99999999999999999999->8 @6", "3x3 -8->8 @6"}) {
    const auto shape = parse_layer(text);
    ASSERT_FALSE(shape) << text;
    EXPECT_THAT(shape.error().text(), HasSubstr("--layers: ")) << text;
  }
}

struct Total {
  std::int64_t layers = 0;
  std::int64_t macs = 0;
  std::int64_t weights = 0;
};

// From the descriptions that the reference makes of the layers' cases.
Total total_of(std::string_view set) {
  const auto source = open_layers(set, {});
  Total total;
  if (!source) return total;
  for (const Layer& layer : source->layers) {
    total.layers += layer.count;
    total.macs += layer.count * layer.macs;
    total.weights += layer.count * layer.test_case.input(3)->elements();
  }
  return total;
}

// Published counts, less the classifiers': 2,048,000 of ResNet-50, 1,280,000 of MobileNetV2.
TEST(LayerSets, AddUpToTheirNetworks) {
  const Total resnet = total_of("resnet50");
  EXPECT_EQ(resnet.layers, 53);
  EXPECT_EQ(resnet.macs, 4'089'184'256 - 2'048'000);
  EXPECT_EQ(resnet.weights, 23'454'912);
  const Total mobilenet = total_of("mobilenetv2");
  EXPECT_EQ(mobilenet.layers, 52);
  EXPECT_EQ(mobilenet.macs, 300'774'272 - 1'280'000);
  const Total efficientnet = total_of("efficientnet-lite");
  EXPECT_EQ(efficientnet.layers, 49);
}

TEST(LayerSets, AreAllComputable) {
  for (const LayerSetInfo& info : convolution_sets()) {
    if (info.is_network) continue;  // their layers are counted above
    const auto source = open_layers(info.name, {});
    ASSERT_TRUE(source) << info.name << ": " << source.error().text();
    EXPECT_EQ(source->layers.size(), convolution_set(info.name)->size()) << info.name;
    for (const Layer& layer : source->layers) {
      EXPECT_GT(layer.macs, 0) << layer.name;
      EXPECT_EQ(layer.kind == LayerKind::depthwise, layer.name.ends_with("depthwise")) << layer.name;
    }
  }
}

// The judge checks the layers that are timed: data whose outputs all saturate would prove nothing.
TEST(LayerCase, ProvesSomething) {
  for (const LayerTypes types : {LayerTypes::u8s8, LayerTypes::s8s8, LayerTypes::u8u8}) {
    for (const char* text : {"3x3 8->16 @9", "3x3/2 12 @11 depthwise", "7x7/2 3->8 @20", "31 4 @60 depthwise"}) {
      for (const std::int64_t x_zero_point : {0, 77}) {
        const auto source = open_layers(text, {types, x_zero_point, 3});
        ASSERT_TRUE(source) << text;
        const Case& test_case = source->layers.front().test_case;
        Expected expected = expect(test_case, Policy{});
        ASSERT_TRUE(expected.output) << text;
        assess(test_case, expected);
        EXPECT_EQ(expected.vacuous_because, "") << text << " " << name_of(types);
      }
    }
  }
}

// oneDNN 3 takes a bias only as a float32, which is its product with the scales of x and of the channel.
TEST(LayerCase, HasABiasThatIsAFloatTimesItsScales) {
  for (const LayerTypes types : {LayerTypes::u8s8, LayerTypes::s8s8, LayerTypes::u8u8}) {
    const auto source = open_layers("3x3 64->8 @4", {types, 0, 3});
    ASSERT_TRUE(source);
    const Case& test_case = source->layers.front().test_case;
    const Tensor& scales = *test_case.input(4);
    const Tensor& bias = *test_case.input(8);
    for (std::int64_t channel = 0; channel < bias.elements(); ++channel) {
      const double scale = number_at(scales, scales.elements() == 1 ? 0 : channel) * number_at(*test_case.input(1), 0);
      const double product = number_at(bias, channel) * scale;
      EXPECT_EQ(static_cast<double>(static_cast<float>(product)), product) << name_of(types) << " " << channel;
    }
  }
}

TEST(LinearLayers, HaveEveryQuantizedType) {
  const auto source = open_layers("linear-64mb", {});
  ASSERT_TRUE(source);
  std::vector<std::string> names;
  for (const Layer& layer : source->layers) {
    names.push_back(layer.name);
    EXPECT_EQ(layer.kind, LayerKind::linear);
    EXPECT_EQ(layer.macs, 0);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"QuantizeLinear float to uint8", "QuantizeLinear float to int8",
                                             "DequantizeLinear uint8 to float", "DequantizeLinear int8 to float"}));
}

TEST(Layers, RefuseInvalidText) {
  const auto unknown = open_layers("resnet51", {});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().text(), HasSubstr("resnet50"));
  const auto damaged = open_layers("3x3 8->8 @", {});
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().text(), HasSubstr("\"@\""));
}

}  // namespace
}  // namespace qconform::bench

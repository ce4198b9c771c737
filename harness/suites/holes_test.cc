#include "harness/suites/holes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"

namespace qconform {
namespace {

using ::testing::Contains;
using ::testing::Not;
using enum ElementType;

// x as uint8 by one scale, w by a scale for each filter; a Conv with these attributes, and Q.
Case unit_of_conv(std::vector<Attribute> attributes) {
  GraphBuilder graph(21);
  const std::string scale = graph.initializer(make::float32(0.5F));
  const std::string zero_point = graph.initializer(make::integer(uint8, 3));
  const std::string x = graph.input(make::filled(uint8, {1, 2, 3, 3}, 7));
  const std::string w = graph.initializer(make::filled(int8, {2, 2, 1, 1}, 1));
  const std::string scales = graph.initializer(make::float32({2}, {1, 2}));
  const std::string real_x = graph.node("DequantizeLinear", {x, scale, zero_point});
  const std::string real_w = graph.node("DequantizeLinear", {w, scales}, {{"axis", std::int64_t{0}}});
  const std::string y = graph.node("Conv", {real_x, real_w}, std::move(attributes));
  return graph.build({graph.node("QuantizeLinear", {y, scale, zero_point})});
}

OperatorHoles holes_of(const ClassPairs& pairs, const std::string& name) {
  const auto all = pairs.holes();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  EXPECT_NE(found, all.end()) << name;
  return found == all.end() ? OperatorHoles{} : *found;
}

TEST(ClassPairs, TellWhatNoNodeHas) {
  ClassPairs pairs;
  pairs.add(unit_of_conv({{"auto_pad", std::string("SAME_LOWER")}}));
  EXPECT_EQ(holes_of(pairs, "Conv").holes(), 0U) << "every place that occurs is that of its one node";
  EXPECT_THAT(holes_of(pairs, "Conv").unstated, Contains("group"));
  EXPECT_THAT(holes_of(pairs, "Conv").unstated, Not(Contains("auto_pad")));

  // Another operator reads x in blocks of one scale type; Conv never does.
  GraphBuilder graph(21);
  const std::string x = graph.input(make::filled(uint8, {4, 2}, 7));
  const std::string scales = graph.initializer(make::float32({2, 2}, {1, 2, 3, 4}));
  const std::string real =
      graph.node("DequantizeLinear", {x, scales}, {{"axis", std::int64_t{0}}, {"block_size", std::int64_t{2}}});
  pairs.add(graph.build({graph.node("Relu", {real})}));
  const OperatorHoles conv = holes_of(pairs, "Conv");
  ASSERT_TRUE(conv.missing.count(""));
  EXPECT_THAT(conv.missing.at(""), Contains("x in blocks"));
  EXPECT_THAT(conv.missing.at(""), Contains("x without a zero point"));
  EXPECT_THAT(conv.missing.at(""), Not(Contains("x dequantized uint8")));
  EXPECT_EQ(conv.missing.count("auto_pad = SAME_LOWER"), 0U) << "a place without any Conv is told once";
}

// A pair is missing where another class of the attribute has the place, and so the operator has it too.
TEST(ClassPairs, TellAttributesApart) {
  ClassPairs pairs;
  pairs.add(unit_of_conv({{"auto_pad", std::string("SAME_LOWER")}}));
  Case typed = unit_of_conv({});
  typed.inputs[0] = make::filled(int8, {1, 2, 3, 3}, 7);
  pairs.add(typed);
  const OperatorHoles conv = holes_of(pairs, "Conv");
  ASSERT_TRUE(conv.missing.count("auto_pad = SAME_LOWER"));
  EXPECT_THAT(conv.missing.at("auto_pad = SAME_LOWER"), Contains("x dequantized int8"));
  EXPECT_THAT(conv.missing.at("auto_pad absent"), Contains("x dequantized uint8"));
}

// Quantization is a place, and no operator with places of its own.
TEST(ClassPairs, LeaveQuantizationOut) {
  ClassPairs pairs;
  pairs.add(unit_of_conv({}));
  for (const OperatorHoles& one : pairs.holes()) {
    EXPECT_NE(one.name, "DequantizeLinear");
    EXPECT_EQ(one.nodes, one.name == "Conv" ? 1U : 0U) << one.name;
  }
}

}  // namespace
}  // namespace qconform

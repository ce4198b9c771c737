// Expressions come smallest first, each once.
#include "harness/diagnose/explain/learning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace qconform::diagnose {
namespace {

std::vector<ExpressionInputs> channel_rows() {
  std::vector<ExpressionInputs> rows;
  for (const std::int64_t group_channels : {1, 2, 3, 5}) {
    for (const std::int64_t groups : {1, 2, 4}) {
      for (std::int64_t channel = 0; channel < groups * group_channels; ++channel)
        rows.push_back({{channel, groups * group_channels, group_channels, groups}, {INT32_MIN, INT32_MAX}});
    }
  }
  return rows;
}

std::vector<std::string> texts_up_to(std::size_t size) {
  Enumeration enumeration(*find_slot("QLinearConv", "w_scale.index"), channel_rows());
  std::vector<std::string> texts;
  for (std::size_t i = 1; i <= size; ++i) {
    enumeration.next_size([&](const Expression& expression, std::span<const std::int64_t>) {
      texts.push_back(expression.text());
      return true;
    });
  }
  return texts;
}

TEST(Enumeration, HasSmallExpressionsFirst) {
  const std::vector<std::string> texts = texts_up_to(4);
  EXPECT_EQ(texts.front(), "channels");
  const auto position = [&](const char* text) { return std::find(texts.begin(), texts.end(), text) - texts.begin(); };
  EXPECT_LT(position("0"), position("channel % group_channels"));
  EXPECT_LT(position("channel % group_channels"), position("groups == 1 ? 0 : channel"));
  EXPECT_LT(position("channel / group_channels"), static_cast<std::ptrdiff_t>(texts.size()));
  EXPECT_EQ(texts, texts_up_to(4)) << "the same each time";
}

TEST(Enumeration, HasWhatGivesTheSameValuesOnce) {
  const std::vector<ExpressionInputs> rows = channel_rows();
  Enumeration enumeration(*find_slot("QLinearConv", "w_scale.index"), rows);
  std::set<std::vector<std::int64_t>> seen{enumeration.reference()};
  for (int i = 1; i <= 4; ++i) {
    enumeration.next_size([&](const Expression& expression, std::span<const std::int64_t> values) {
      EXPECT_TRUE(seen.emplace(values.begin(), values.end()).second) << expression.text();
      return true;
    });
  }
  EXPECT_GT(seen.size(), 100U);
}

TEST(Enumeration, CountsBytesThatAreStoredAlikeAsOne) {
  std::vector<ExpressionInputs> rows;
  for (std::int64_t zero_point = 0; zero_point < 256; zero_point += 5) rows.push_back({{zero_point, 1}, {0, 255}});
  Enumeration enumeration(*find_slot("QLinearConv", "pad"), rows);
  std::vector<std::string> texts;
  for (int i = 1; i <= 3; ++i) {
    enumeration.next_size([&](const Expression& expression, std::span<const std::int64_t>) {
      texts.push_back(expression.text());
      return true;
    });
  }
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "zero_point + 128"), 1);
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "zero_point ^ 128"), 0);
}

// -2, -1 and 0, 1 are the complements of each other.
TEST(Enumeration, TellsValuesApartByTheirFingerprints) {
  std::set<std::uint64_t> seen;
  for (std::int64_t a = -40; a < 40; ++a) {
    for (std::int64_t b = -40; b < 40; ++b) {
      for (const std::vector<std::int64_t>& values : {std::vector{a, b}, {a, b, 0}, {0, a, 0, 0, b}})
        EXPECT_TRUE(seen.insert(fingerprint_of(values)).second) << a << " " << b;
    }
  }
}

TEST(Enumeration, EndsWhereItIsTold) {
  Enumeration enumeration(*find_slot("QLinearConv", "product"), {});
  int visited = 0;
  const auto visit = [&](const Expression&, std::span<const std::int64_t>) { return ++visited < 3; };
  enumeration.next_size(visit);
  enumeration.next_size(visit);
  EXPECT_EQ(visited, 3);
}

}  // namespace
}  // namespace qconform::diagnose

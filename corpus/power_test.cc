// That vectors have the power that their tags claim (docs/corpus.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "corpus/committed_vectors.h"
#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/engine/execute.h"
#include "harness/judge/judge.h"
#include "harness/operators/operator.h"

namespace qconform {
namespace {

const Tensor& input_named(const Case& vector, std::string_view name) {
  const auto& inputs = find_operator(vector.domain, vector.op_type)->inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == name && vector.input(i) != nullptr) return *vector.input(i);
  }
  static const Tensor none{ElementType::int32, {0}, {}};
  return none;
}

std::int64_t attribute_or(const Case& vector, std::string_view name, std::int64_t absent) {
  const Attribute* attribute = vector.attribute(name);
  return attribute == nullptr ? absent : std::get<std::int64_t>(attribute->value);
}

std::vector<std::int64_t> list_of(const Case& vector, std::string_view name) {
  const Attribute* attribute = vector.attribute(name);
  return attribute == nullptr ? std::vector<std::int64_t>{} : std::get<std::vector<std::int64_t>>(attribute->value);
}

// Both halves of `pads`: is there an axis without padding before it, and with padding behind it?
bool pads_at_an_end_only(const Case& vector) {
  const std::vector<std::int64_t> pads = list_of(vector, "pads");
  for (std::size_t i = 0; i < pads.size() / 2; ++i) {
    if (pads[i] == 0 && pads[i + pads.size() / 2] > 0) return true;
  }
  return false;
}

std::int64_t depth(const Case& vector) {
  const std::vector<std::int64_t>& shape = input_named(vector, "w").shape;
  std::int64_t products = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) products *= shape[i];
  return products;
}

bool has_large_bias(const Case& vector) {
  const Tensor& bias = input_named(vector, "B");
  for (std::int64_t i = 0; i < bias.elements(); ++i) {
    if (std::abs(integer_at(bias, i)) >= 1 << 22) return true;
  }
  return false;
}

bool has_different_values(const Tensor& tensor) {
  for (std::int64_t i = 1; i < tensor.elements(); ++i) {
    if (integer_at(tensor, i) != integer_at(tensor, 0)) return true;
  }
  return false;
}

bool holds_extremes(const Case& vector) {
  const Tensor& x = input_named(vector, "x");
  const std::int64_t extreme = is_signed_integer(x.type) ? -128 : 255;
  return integer_at(x, 0) == extreme && std::abs(integer_at(input_named(vector, "w"), 0)) >= 64;
}

bool is_pointwise_in_groups(const Case& vector) {
  const std::vector<std::int64_t>& shape = input_named(vector, "w").shape;
  return attribute_or(vector, "group", 1) > 1 && shape[2] == 1 && shape.back() == 1;
}

Power power_of(const Case& vector) {
  return classify(vector).lowered->survey(Policy{}).power;
}

struct Claim {
  const char* tag;
  bool of_conv_integer;
  bool (*holds)(const Case&);  ///< what must be so for a vector to claim the tag; null: judged by reading alone
};

const Claim kClaims[] = {
    {"power-tie", false, [](const Case& vector) { return power_of(vector).exact_ties > 0; }},
    {"power-near-tie", false, [](const Case& vector) { return power_of(vector).near_ties > 0; }},
    {"power-wide-sum", true, nullptr},
    {"power-extreme-products", true, holds_extremes},
    {"power-padding-value", true,
     [](const Case& vector) { return integer_at(input_named(vector, "w_zero_point"), 0) != 0; }},
    {"power-channel-zero-point", true,
     [](const Case& vector) { return has_different_values(input_named(vector, "w_zero_point")); }},
    {"power-same-stride", true,
     [](const Case& vector) { return !list_of(vector, "strides").empty() && vector.attribute("auto_pad") != nullptr; }},
    {"power-padding-only", true, [](const Case& vector) { return vector.attribute("pads") != nullptr; }},
    {"power-groups", true, is_pointwise_in_groups},
    {"power-large-bias", false, has_large_bias},
    {"power-saturation-edge", false, nullptr},
    {"power-tails", true, nullptr},
    {"power-deep-sum", true, [](const Case& vector) { return depth(vector) >= 33026; }},
    {"power-large-multiplier", false, nullptr},
    {"power-batch", true, [](const Case& vector) { return input_named(vector, "x").shape[0] >= 2; }},
    {"power-end-padding", true, pads_at_an_end_only},
};

TEST(CorpusPower, EveryTagIsEarnedAndOnBothConvolutions) {
  std::map<std::string, std::map<std::string, int>> seen;  // tag, operator
  for (const Case& vector : committed_vectors()) {
    for (const Claim& claim : kClaims) {
      if (!has_tag(vector, claim.tag)) continue;
      ++seen[claim.tag][vector.op_type];
      EXPECT_EQ(vector.expectation, Expectation::valid) << name_of_vector(vector);
      EXPECT_TRUE(claim.holds == nullptr || claim.holds(vector)) << claim.tag << ": " << name_of_vector(vector);
    }
  }
  for (const Claim& claim : kClaims) {
    EXPECT_GT(seen[claim.tag]["QLinearConv"], 0) << claim.tag;
    EXPECT_EQ(seen[claim.tag]["ConvInteger"] > 0, claim.of_conv_integer) << claim.tag;
  }
}

TEST(CorpusPower, NoOtherPowerTagIsUsedAndEachIsExplained) {
  const Result<std::string> page = read_file(QCONFORM_CORPUS_DIRECTORY "/../docs/corpus.md", 1 << 20);
  ASSERT_TRUE(page) << page.error().text();
  std::set<std::string> known;
  for (const Claim& claim : kClaims) {
    known.insert(claim.tag);
    EXPECT_THAT(*page, ::testing::HasSubstr("| `" + std::string(claim.tag) + "` |"));
  }
  for (const Case& vector : committed_vectors()) {
    for (const std::string& tag : vector.tags) {
      EXPECT_TRUE(!tag.starts_with("power-") || known.count(tag) == 1) << tag << ": " << name_of_vector(vector);
    }
  }
}

VerdictKind verdict_of(Backend& backend, const Case& vector, Profile profile) {
  Expected expected = expect(vector, Policy{.profile = profile});
  assess(vector, expected);
  GuardedOutput output;
  return judge(expected, execute(backend, vector, output)).kind;
}

TEST(CorpusPower, WhereFloat32DepartsTheSpecificationAdmitsItAndCorrectRoundingDoesNot) {
  for (const std::string& kernels : backend::available_kernels()) {
    const auto float32 = backend::select(kernels + "@ort-f32", RoundingProfile::correctly_rounded);
    const auto exact = backend::select(kernels, RoundingProfile::correctly_rounded);
    ASSERT_TRUE(float32 && exact);
    int departing = 0;
    for (const Case& vector : committed_vectors()) {
      if (!has_tag(vector, "float32-departs")) continue;
      ++departing;
      EXPECT_EQ(verdict_of(**float32, vector, Profile::conformance), VerdictKind::pass) << name_of_vector(vector);
      EXPECT_EQ(verdict_of(**float32, vector, Profile::correctly_rounded), VerdictKind::wrong)
          << name_of_vector(vector);
      EXPECT_EQ(verdict_of(**exact, vector, Profile::correctly_rounded), VerdictKind::pass) << name_of_vector(vector);
      EXPECT_EQ(verdict_of(**exact, vector, Profile::ort_f32), VerdictKind::wrong) << name_of_vector(vector);
    }
    EXPECT_GE(departing, 6) << kernels;
  }
}

// Whether some value of the output's type is right for `in` and not for `not_in`, in any element.
bool admits_more(const Case& vector, reference::Tier in, reference::Tier not_in) {
  const Classification classification = classify(vector);
  const ElementType type = classification.lowered->output_type();
  Tensor y = classification.lowered->evaluate(RoundingProfile::correctly_rounded);
  for (int byte = 0; byte < 256; ++byte) {
    std::fill(y.bytes.begin(), y.bytes.end(), std::byte(byte));
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const auto tiers = classification.lowered->examine(i, y, Policy{}).tiers;
      if (tiers->contains(in) && !tiers->contains(not_in)) return true;
    }
  }
  EXPECT_TRUE(type == ElementType::int8 || type == ElementType::uint8);
  return false;
}

TEST(CorpusPower, TiersDifferOnTheVectorsThatSaySo) {
  using reference::Tier;
  struct Difference {
    const char* tag;
    Tier in, not_in;
  };
  for (const Difference& difference : {Difference{"tiers:f5-beyond-e", Tier::float32, Tier::exact},
                                       Difference{"tiers:q31-beyond-f5", Tier::fixed_point, Tier::float32},
                                       Difference{"tiers:f5-beyond-q31", Tier::float32, Tier::fixed_point},
                                       Difference{"tiers:d-beyond-f5", Tier::float_convolution, Tier::float32}}) {
    int seen = 0;
    for (const Case& vector : committed_vectors()) {
      if (!has_tag(vector, difference.tag)) continue;
      ++seen;
      EXPECT_TRUE(admits_more(vector, difference.in, difference.not_in)) << name_of_vector(vector);
    }
    EXPECT_GT(seen, 0) << difference.tag;
  }
}

}  // namespace
}  // namespace qconform

// Tests that the corpus has vectors with each tag that has a meaning (docs/corpus.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "corpus/lint/lint.h"
#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/engine/execute.h"
#include "harness/model/judge/judge.h"
#include "harness/tests/committed_vectors.h"

namespace qconform {
namespace {

// A vector that has a tag keeps its promise: the lint says so (corpus/lint).
TEST(CorpusPower, EveryTagIsUsedAndOnBothConvolutions) {
  std::map<std::string_view, std::map<std::string, int>> seen;  // tag, operator
  for (const Case& vector : committed_vectors()) {
    for (const lint::TagClaim& claim : lint::tag_claims()) {
      if (has_tag(vector, claim.tag)) ++seen[claim.tag][vector.node().op_type];
    }
  }
  const std::set<std::string_view> of_qlinear_conv_alone{"power-tie", "power-near-tie", "power-large-bias",
                                                         "power-saturation-edge", "power-large-multiplier"};
  for (const lint::TagClaim& claim : lint::tag_claims()) {
    EXPECT_FALSE(seen[claim.tag].empty()) << claim.tag;
    if (!claim.tag.starts_with("power-")) continue;
    EXPECT_GT(seen[claim.tag]["QLinearConv"], 0) << claim.tag;
    EXPECT_EQ(seen[claim.tag]["ConvInteger"] > 0, !of_qlinear_conv_alone.contains(claim.tag)) << claim.tag;
  }
}

TEST(CorpusPower, EveryTagIsExplained) {
  const Result<std::string> page = read_file(QCONFORM_CORPUS_DIRECTORY "/../docs/corpus.md", 1 << 20);
  ASSERT_TRUE(page) << page.error().text();
  for (const lint::TagClaim& claim : lint::tag_claims()) {
    EXPECT_THAT(*page, ::testing::ContainsRegex("\n[|][^|]*`" + std::string(claim.tag) + "`"));
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

}  // namespace
}  // namespace qconform

// The committed corpus: every rule has a vector. That vectors are what they say is the lint's (corpus/lint).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "corpus/killers/killers.h"
#include "corpus/lint/lint.h"
#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/engine/execute.h"
#include "harness/forms/directml/description.h"
#include "harness/forms/json/case_json.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/suites/select.h"
#include "harness/tests/committed_vectors.h"

namespace qconform {
namespace {

// A window that meets no rule but the formula shows what no rule says.
TEST(Corpus, EveryVectorCitesARule) {
  for (const Case& vector : committed_vectors()) {
    EXPECT_TRUE(!vector.rules.empty() || vector.provenance.source.ends_with("windows.json")) << name_of_vector(vector);
  }
}

TEST(Corpus, EveryRuleOfAnOperatorHasAVector) {
  std::map<std::string, std::set<std::string>> rules;
  for (const Case& vector : committed_vectors())
    rules[vector.node().op_type].insert(vector.rules.begin(), vector.rules.end());
  std::set<std::string> convolution;
  for (int rule = 1; rule <= 21; ++rule) convolution.insert("C" + std::to_string(rule));
  EXPECT_THAT(rules["QLinearConv"], ::testing::IsSupersetOf(convolution));
  // Scales, bias and rounding belong to QLinearConv alone.
  for (const char* rule : {"C12", "C19", "C20", "C21"}) convolution.erase(rule);
  EXPECT_THAT(rules["ConvInteger"], ::testing::IsSupersetOf(convolution));
}

TEST(Corpus, EveryRuleOfTheElementWiseOperatorsHasAVectorAtEveryVersion) {
  std::map<std::pair<std::string, std::int64_t>, std::set<std::string>> rules;
  for (const Case& vector : committed_vectors()) {
    rules[{vector.node().op_type, vector.node().opset_version}].insert(vector.rules.begin(), vector.rules.end());
  }
  for (const std::int64_t version : {10, 13, 19, 21, 23, 24, 25}) {
    std::set<std::string> quantize{"Q1", "Q2", "Q4", "Q5", "Q6", "Q7", "C15", "C21", "D7", "D8", "signature"};
    std::set<std::string> dequantize{"D1", "D2", "D3", "D5", "D6", "D7", "D8", "C15", "signature"};
    if (version >= 19) {
      quantize.insert({"Q3", "Q8"});
      dequantize.insert("D4");
    }
    EXPECT_THAT((rules[{"QuantizeLinear", version}]), ::testing::IsSupersetOf(quantize)) << version;
    EXPECT_THAT((rules[{"DequantizeLinear", version}]), ::testing::IsSupersetOf(dequantize)) << version;
  }
}

TEST(Corpus, EveryRuleOfDirectMlRefusesADescription) {
  const auto file = read_file(QCONFORM_CORPUS_DIRECTORY "/dml_quantized_linear_convolution/refusals.dml.json", 1 << 20);
  ASSERT_TRUE(file) << file.error().text();
  const auto read = directml::read_description_file_json(*file);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(read->descriptions.empty());
  std::set<std::string> rules;
  for (const directml::RefusedDescription& refused : read->refused) {
    rules.insert(refused.error.rule);
    EXPECT_GE(refused.note.size(), 10U) << refused.id;
    EXPECT_FALSE(refused.error.field.empty()) << refused.id;
  }
  std::set<std::string> every{"C6", "C8", "C16", "limit"};
  for (int rule = 1; rule <= 14; ++rule) every.insert("X" + std::to_string(rule));
  EXPECT_EQ(rules, every);
}

TEST(Corpus, DirectMlDescriptionsAreJudgedByTheirDocument) {
  int descriptions = 0;
  for (const Case& vector : committed_vectors()) {
    if (!has_tag(vector, "directml")) continue;
    ++descriptions;
    EXPECT_EQ(policy_for(vector, Policy{}).profile, Profile::dml_doc) << name_of_vector(vector);
  }
  EXPECT_GE(descriptions, 40);
}

TEST(Corpus, TheDocumentationsExampleIsOfTheCorpus) {
  const Result<std::string> page = read_file(QCONFORM_CORPUS_DIRECTORY "/../docs/formats.md", 1 << 20);
  ASSERT_TRUE(page) << page.error().text();
  const std::string fence = "```json\n";
  const std::size_t begin = page->find(fence);
  ASSERT_NE(begin, std::string::npos);
  const std::string example =
      page->substr(begin + fence.size(), page->find("```", begin + fence.size()) - begin - fence.size());
  const Result<std::vector<Case>> cases = read_cases_json(example);
  ASSERT_TRUE(cases) << cases.error().text();
  ASSERT_EQ(cases->size(), 1U);
  EXPECT_EQ(cases_json(*cases), example);
  std::vector<Case> vectors = committed_vectors();
  const auto same = [&](const Case& vector) {
    return vector.id == cases->front().id && digest_of(vector) == digest_of(cases->front());
  };
  EXPECT_TRUE(std::any_of(vectors.begin(), vectors.end(), same));
}

// Tests that the corpus has vectors with each tag that has a meaning (docs/corpus.md).

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

TEST(CorpusPower, TheKillersKillEveryMutantAndARunBeginsWithThem) {
  const auto killers = load_cases(QCONFORM_CORPUS_DIRECTORY "/killers/killers.json");
  ASSERT_TRUE(killers) << killers.error().text();
  const auto alive = killers::survivors(QCONFORM_CORPUS_DIRECTORY "/killers/killers.json");
  ASSERT_TRUE(alive) << alive.error().text();
  EXPECT_THAT(*alive, ::testing::IsEmpty())
      << "solve again: qconform_killers corpus/killers/killers.json, then qconform_corpus_lint --write";
  const auto suites = open_suite("conformance", {});
  ASSERT_TRUE(suites) << suites.error().text();
  for (const Case& killer : *killers) {
    const auto next = suites->front()->next();
    ASSERT_TRUE(next && *next) << killer.id;
    EXPECT_EQ((**next).id, killer.id);
  }
}

// Kernels of their own compute each type of data.
TEST(CorpusPower, TheKillersHaveEachTypeOfData) {
  const auto all = load_cases(QCONFORM_CORPUS_DIRECTORY "/killers/killers.json");
  ASSERT_TRUE(all) << all.error().text();
  std::set<std::string> convolutions;
  std::set<std::string> quantized;
  for (const Case& killer : *all) {
    if (is_judged_as_graph(killer)) continue;
    const std::string types = killers::types_of(killer);
    if (killer.node().op_type == "QLinearConv") convolutions.insert(types);
    if (killer.node().op_type == "QuantizeLinear") quantized.insert(types);
  }
  EXPECT_THAT(convolutions, ::testing::UnorderedElementsAre("uint8 uint8", "uint8 int8", "int8 int8", "int8 uint8"));
  EXPECT_THAT(quantized, ::testing::IsSupersetOf({"float", "float16", "bfloat16"}));
}

}  // namespace
}  // namespace qconform

#include "harness/diagnose/audit.h"

#include <gtest/gtest.h>

#include "harness/source/select.h"

namespace qconform::diagnose {
namespace {

Audit audit_of(const std::string& suite, std::optional<std::uint64_t> cases = {}) {
  auto sources = open_suite(suite, {.seed = 1, .cases = cases});
  EXPECT_TRUE(sources.has_value());
  auto result = audit(suite, *sources, {});
  EXPECT_TRUE(result.has_value());
  return *std::move(result);
}

const Mutant& mutant(const Audit& audit, std::string_view id, Op op) {
  for (const Mutant& m : audit.mutants) {
    if (m.defect->id == id && m.op == op) return m;
  }
  throw std::out_of_range(std::string(id));
}

// What the default suite is for. A mutant that survives here is a loss of detection power.
TEST(Audit, TheCorpusKillsEveryMutantThatIsNotAdmitted) {
  const Audit corpus = audit_of("corpus");
  EXPECT_EQ(corpus.killed(), corpus.killable());
  EXPECT_GT(corpus.killable(), 80U);
  for (const Mutant& m : corpus.mutants) {
    EXPECT_EQ(m.fate() == Fate::killed, !m.defect->admitted.contains(m.op)) << m.defect->id << name_of(m.op);
  }
}

// A few uniform random cases reach no tie: the audit must say so, or it would flatter every suite.
TEST(Audit, ASuiteWithoutTiesDoesNotKillWhatNeedsThem) {
  const Audit random = audit_of("random", 60);
  EXPECT_EQ(random.cases, 60U);
  EXPECT_EQ(mutant(random, "half-away", Op::qlinear_conv).fate(), Fate::not_triggered);
  const Mutant& pads = mutant(random, "pad-raw-zero", Op::qlinear_conv);
  EXPECT_EQ(pads.fate(), Fate::killed);
  EXPECT_LE(pads.killed, pads.differed);
  EXPECT_LE(pads.differed, pads.cases);
  ASSERT_TRUE(pads.first);
  EXPECT_GE(pads.first->at, 1U);
  EXPECT_LE(pads.first->at, 60U);
}

TEST(Audit, WhatTheProfileAdmitsIsNoFailureUntilItIsPinned) {
  auto sources = open_suite("corpus", {});
  const auto strict = audit("corpus", *sources, {.policy = {.profile = Profile::ort_f32}});
  ASSERT_TRUE(strict);
  EXPECT_EQ(mutant(*strict, "scale-double", Op::qlinear_conv).fate(), Fate::killed);
  const Audit lenient = audit_of("corpus");
  EXPECT_GT(mutant(lenient, "scale-double", Op::qlinear_conv).differed, 0U);
  EXPECT_EQ(mutant(lenient, "scale-double", Op::qlinear_conv).killed, 0U);
}

TEST(Audit, CasesOutOfContractAreNotModelled) {
  const Audit corpus = audit_of("corpus");
  EXPECT_GT(corpus.not_modelled, 100U);
  EXPECT_LT(corpus.not_modelled, corpus.cases);
}

}  // namespace
}  // namespace qconform::diagnose

// Tests which of several variants are left: the true one is never eliminated, and no case tells the others from it.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "harness/diagnose/identify/identify.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/tests/stand_ins.h"
#include "harness/tests/test_scale.h"

namespace qconform::diagnose {
namespace {

// The reference but for these variants, as far as they concern the node. Choices are replaced in their order: later
// ones look at earlier ones.
Stages stages_with(const ModelledCase& modelled, const std::vector<const Variant*>& variants) {
  Stages stages;
  for (const Choice& choice : choices()) {
    if (choice.op_type != modelled.op().name || !choice.concerns(modelled.lowered())) continue;
    const Variant* chosen = &choice.variants.front();
    for (const Variant& variant : choice.variants) {
      if (std::find(variants.begin(), variants.end(), &variant) != variants.end()) chosen = &variant;
    }
    chosen->replace(stages);
  }
  return stages;
}

// Computes one operator, one choice of it in another variant than the reference.
class OneVariant final : public Backend {
 public:
  OneVariant(const Choice& choice, const Variant& variant) : op_type_(choice.op_type), way_(variant) {}
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    if (test_case.node().op_type != op_type_) return outcome::Unsupported{"another operator"};
    const auto modelled = ModelledCase::prepare(test_case);
    if (modelled == nullptr) return outcome::Rejected{"out of contract"};
    return std::make_unique<testing::PreparedOutput>(*modelled->run(stages_with(*modelled, {&way_})));
  }

 private:
  std::string_view op_type_;
  const Variant& way_;
  BackendInfo info_{"one-variant", "1", "test"};
};

class OnePair final : public CandidatePairs {
 public:
  OnePair(const Stages& a, const Stages& b) : a_(a), b_(b) {}
  [[nodiscard]] Pair next(Rng&) const override { return {&a_, &b_}; }

 private:
  const Stages& a_;
  const Stages& b_;
};

std::vector<const Variant*> truth_of(const Answer& answer, const Choice& choice, const Variant& variant) {
  std::vector<const Variant*> variants;
  for (const Choice* const asked : answer.choices)
    variants.push_back(asked == &choice ? &variant : &asked->variants.front());
  return variants;
}

const Experiment& experiment_of(const Answer& answer) {
  return *std::find_if(experiments().begin(), experiments().end(), [&](const Experiment& experiment) {
    return experiment.op_type == answer.op_type && experiment.choices.front() == answer.choices.front()->id;
  });
}

// Cases of another seed, each element of them drawn to tell the two apart.
void expect_the_same(const Answer& answer, const std::vector<const Variant*>& truth,
                     const std::vector<const Variant*>& other, const std::string& what) {
  const Experiment& experiment = experiment_of(answer);
  for (std::uint64_t i = 0; i < 40; ++i) {
    const ProbeForm& form = answer.forms[i % answer.forms.size()];
    Rng rng(97, i);
    const Case of_form = experiment.draw(rng, form, NoPairs());
    const auto node = ModelledCase::prepare(of_form);
    if (node == nullptr) continue;
    const Stages first = stages_with(*node, truth);
    const Stages second = stages_with(*node, other);
    const Case test_case = experiment.draw(rng, form, OnePair(first, second));
    const auto modelled = ModelledCase::prepare(test_case);
    if (modelled == nullptr) continue;
    ASSERT_TRUE(modelled->run(first) == modelled->run(second)) << what << ", case " << i;
  }
}

struct AnswerCounts {
  int answers = 0;
  int narrowed = 0;  ///< with several variants left
};

// One question takes what others decide for known: the reference's variant of what is asked later, the first of the
// variants that an earlier question left. Where the backend's is another, nothing fits (docs/identify.md).
bool is_known_to_fail(const Choice& choice, const Variant& variant, const Answer& answer) {
  const auto is = [&](std::string_view op_type, std::string_view id, std::string_view variant_id,
                      std::string_view asked) {
    return choice.op_type == op_type && choice.id == id && variant.id == variant_id &&
           answer.choices.front()->id == asked;
  };
  return is("ConvInteger", "overflow", "narrow-i8", "sum") ||
         is("QuantizeLinear", "division", "reciprocal", "subnormals");
}

void check(const Answer& answer, const Choice& choice, const Variant& variant, AnswerCounts& counts) {
  const std::vector<const Variant*> truth = truth_of(answer, choice, variant);
  const bool is_asked = std::find(truth.begin(), truth.end(), &variant) != truth.end();
  const auto survivors = answer.survivors();
  std::string what = std::string(choice.op_type) + " " + choice.id + " " + variant.id + ", asked for";
  for (const Choice* const asked : answer.choices) what += " " + asked->id;
  if (is_known_to_fail(choice, variant, answer)) return;
  EXPECT_TRUE(std::any_of(survivors.begin(), survivors.end(), [&](const Candidate* c) { return c->variants == truth; }))
      << what << ": the true variant is eliminated";
  ++counts.answers;
  counts.narrowed += survivors.size() > 1 ? 1 : 0;
  for (const Candidate* const survivor : survivors) {
    std::string name = what + ": left over";
    for (const Variant* const other : survivor->variants) name += " " + other->id;
    std::vector<const Variant*> variants = survivor->variants;
    if (!is_asked) variants.push_back(&variant);
    expect_the_same(answer, {&variant}, variants, name);
  }
}

AnswerCounts check_every(std::uint64_t stride) {
  AnswerCounts counts;
  std::uint64_t number = 0;
  for (const Choice& choice : choices()) {
    for (const Variant& variant : choice.variants) {
      if (number++ % stride != 0) continue;
      OneVariant backend(choice, variant);
      const Identification found = identify(backend, {});
      for (const Answer& answer : found.answers) {
        if (answer.op_type == choice.op_type && !answer.forms.empty()) check(answer, choice, variant, counts);
      }
    }
  }
  return counts;
}

TEST(IdentifyVariants, KeepsTheTrueVariantAndNoCaseTellsItFromTheOthersKept) {
  const AnswerCounts counts = check_every(static_cast<std::uint64_t>(std::max(1, 8 / testing::scaled(1))));
  EXPECT_GT(counts.narrowed, 0);
  std::cout << counts.answers << " answers, " << counts.narrowed << " of them with several variants left\n";
}

}  // namespace
}  // namespace qconform::diagnose

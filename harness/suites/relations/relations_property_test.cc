// Every relation on the scalar reference and on every kernel set of this CPU, over arbitrary valid
// cases. No reference answer is asked for: what holds here holds of the reference as well.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "harness/backends/kinds.h"
#include "harness/engine/relation_check.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/operators/convolution/relation_parts.h"
#include "harness/operators/linear/hooks.h"
#include "harness/tests/arbitrary_case.h"
#include "reference/kernels/kernels.h"

namespace qconform {
namespace {

using relations::RelationSubject;

// Classifies the input, for the distribution that RapidCheck prints.
void classify_input(const RelationSubject& subject) {
  RC_TAG(subject.base->node().op_type);
  const relations::ConvolutionParts* const convolution = relations::convolution_of(subject);
  if (convolution == nullptr) {
    RC_CLASSIFY(!subject.base->input(1)->is_scalar(), "per axis");
    return;
  }
  const relations::ConvolutionParts& c = *convolution;
  const reference::ConvolutionGeometry& g = c.sizes;
  RC_CLASSIFY(c.spatial_rank() == 1, "1-D");
  RC_CLASSIFY(c.spatial_rank() == 2, "2-D");
  RC_CLASSIFY(c.spatial_rank() > 2, "3-D and more");
  RC_CLASSIFY(g.group > 1 && g.group_input_channels() == 1, "depthwise");
  RC_CLASSIFY(g.group > 1 && g.group_input_channels() > 1, "grouped");
  RC_CLASSIFY(c.has_auto_pad(), "auto_pad");
  RC_CLASSIFY(relations::has_pads(g), "padded");
  RC_CLASSIFY(c.stated.w_zero_point && !c.stated.w_zero_point->is_scalar(), "per channel");
  RC_CLASSIFY(g.batch > 1, "batch");
  RC_CLASSIFY(c.stated.bias.has_value(), "bias");
}

using reference::kAllRoundingProfiles;

// Under a profile that pins an arithmetic every element has one answer: nothing passes as implementation-defined.
Policy pinned(RoundingProfile arithmetic) {
  switch (arithmetic) {
    case RoundingProfile::ort_f32: return {.profile = Profile::ort_f32};
    case RoundingProfile::onnx_reference: return {.profile = Profile::onnx_reference};
    case RoundingProfile::tflite: return {.profile = Profile::tflite};
    case RoundingProfile::tflite_single_rounding: return {.profile = Profile::tflite_single_rounding};
    case RoundingProfile::correctly_rounded: break;
  }
  return {.profile = Profile::correctly_rounded};
}

void check_all(const RelationSubject& subject, RoundingProfile arithmetic) {
  for (const reference::KernelSet& set : reference::kernel_sets()) {
    if (!set.available()) continue;
    const auto backend = backend::in_tree(set, arithmetic, set.name);
    GuardedOutput output;
    const FormedOutput base = run_for_output(*backend, *subject.base, output);
    if (!base.tensor) continue;  // a vector set without a kernel for these types
    for (const relations::Relation& relation : relations::relations()) {
      const RelationCheck check = check_relation(relation, subject, *base.tensor, *backend, output, pinned(arithmetic));
      if (check.outcome == RelationOutcome::broken || check.outcome == RelationOutcome::failed) {
        RC_FAIL(std::string(set.name) + " breaks " + std::string(relation.id) + ": " + check.verdict.detail);
      }
      const bool may_be_open =
          relations::linear_of(subject) != nullptr ||
          (arithmetic != RoundingProfile::correctly_rounded && arithmetic != RoundingProfile::ort_f32);
      RC_ASSERT(check.outcome != RelationOutcome::implementation_defined || may_be_open);
    }
  }
}

RC_GTEST_PROP(Relations, HoldOnEveryKernelSet, ()) {
  const Case base = *testing::arbitrary_case();
  const auto subject = relations::subject_of(base);
  RC_PRE(subject.has_value());
  classify_input(*subject);
  for (const RoundingProfile arithmetic : kAllRoundingProfiles) check_all(*subject, arithmetic);
}

// A derived case that left the contract would be refused, and its relation never checked.
RC_GTEST_PROP(Relations, DeriveCasesWithinTheContract, ()) {
  const Case base = *testing::arbitrary_case();
  const auto subject = relations::subject_of(base);
  RC_PRE(subject.has_value());
  const Tensor y = classify(base).lowered->evaluate(RoundingProfile::correctly_rounded);
  for (const relations::Relation& relation : relations::relations()) {
    const relations::Applied applied = relation.apply(*subject);
    const auto* derive = std::get_if<relations::Derivation>(&applied);
    if (derive == nullptr) continue;
    const relations::Application application = (*derive)(y);
    for (const Case& derived : application.derived) {
      const Classification found = classify(derived);
      if (found.expectation() != Expectation::valid) {
        RC_FAIL(derived.id + ": " + found.deciding_remark()->text());
      }
      RC_ASSERT((derived.id == base.id) == application.on_siblings);
    }
  }
}

}  // namespace
}  // namespace qconform

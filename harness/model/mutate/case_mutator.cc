#include "harness/model/mutate/case_mutator.h"

#include <algorithm>

#include "harness/model/mutate/tensor_values.h"
#include "harness/model/operator.h"

namespace qconform {
namespace {

bool change_input_values(Case& test_case, Rng& rng) {
  if (test_case.inputs.empty()) return false;
  auto& input = test_case.inputs[rng.below(static_cast<std::uint32_t>(test_case.inputs.size()))];
  if (!input) return false;
  change_values(rng, *input);
  return true;
}

bool step(Case& test_case, Rng& rng) {
  const std::uint64_t choice = rng.below(8);
  if (choice < 3) return change_input_values(test_case, rng);
  if (choice < 4) return mutation::solve_tie(test_case, rng);
  return mutation::change(test_case, rng);
}

// Whether a mutant may take the place of its original.
bool is_acceptable(const Case& test_case, bool in_contract) {
  const Classification classification = classify(test_case);
  if (in_contract && !classification.contract.holds()) return false;
  return is_small(test_case, classification);
}

// Steps that lead out of contract are not taken.
void take_step(Case& test_case, bool in_contract, Rng& rng) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    Case next = test_case;
    if (!step(next, rng) || !is_acceptable(next, in_contract)) continue;
    test_case = std::move(next);
    return;
  }
}

// Drops the remarks on the original, which do not hold for a mutant.
Case without_remarks(const Case& original) {
  Case result = computation_of(original);
  result.id = "mutant";
  result.provenance.source = "fuzz";
  return result;
}

bool cross_inputs(Case& result, const Case& other, Rng& rng) {
  const std::size_t count = std::min(result.inputs.size(), other.inputs.size());
  bool changed = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (!result.inputs[i] || !other.inputs[i] || !rng.chance(1, 3)) continue;
    const Tensor taken = converted(*other.inputs[i], result.inputs[i]->type);
    if (taken.type != result.inputs[i]->type) continue;
    result.inputs[i] = reshaped(rng, taken, result.inputs[i]->shape);
    changed = true;
  }
  return changed;
}

bool cross_attributes(Case& result, const Case& other, Rng& rng) {
  bool changed = false;
  for (const Attribute& attribute : other.node().attributes) {
    if (!rng.chance(1, 2)) continue;
    set_attribute(result, attribute.name, attribute.value);
    changed = true;
  }
  return changed;
}

}  // namespace

bool is_small(const Case& test_case, const Classification& classification) {
  const auto is_large = [](const std::optional<Tensor>& input) {
    return input && input->elements() > kLargestElements;
  };
  if (std::any_of(test_case.inputs.begin(), test_case.inputs.end(), is_large)) return false;
  if (!classification.lowered) return true;
  std::int64_t outputs = 1;
  for (const std::int64_t dimension : classification.lowered->output_shape()) {
    outputs = saturating_product(outputs, dimension);
  }
  return outputs <= kLargestElements && classification.lowered->work() <= kLargestWork;
}

Case mutate(const Case& original, Rng& rng) {
  Case result = without_remarks(original);
  const bool in_contract = classify(result).contract.holds();
  for (std::uint64_t steps = 1 + rng.below(3); steps > 0; --steps) take_step(result, in_contract, rng);
  if (rng.chance(1, 16)) mutation::spoil(result, rng);
  if (rng.chance(1, 32)) mutation::change_remarks(result, rng);
  return result;
}

Case cross(const Case& first, const Case& second, Rng& rng) {
  const Case original = without_remarks(first);
  const bool in_contract = classify(original).contract.holds();
  const bool same_operator = first.node().op_type == second.node().op_type;
  for (int attempt = 0; attempt < 8; ++attempt) {
    Case next = original;
    const bool changed =
        same_operator && rng.chance(1, 2) ? cross_attributes(next, second, rng) : cross_inputs(next, second, rng);
    if (changed && is_acceptable(next, in_contract)) return next;
  }
  return original;
}

}  // namespace qconform

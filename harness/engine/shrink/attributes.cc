// Reductions of attributes.
#include <array>
#include <optional>
#include <utility>

#include "harness/engine/shrink/attribute_edit.h"
#include "harness/engine/shrink/reductions.h"
#include "harness/engine/shrink/roles.h"
#include "harness/engine/shrink/tensor_edit.h"
#include "harness/operators/convolution/contract.h"
#include "reference/convolution/geometry.h"

namespace qconform::shrink {
namespace {

using Indices = std::vector<std::int64_t>;
using reference::SpatialAxis;

// The integers that are tried in place of `value`, plainest first: `plain`, then half way there, then
// one step. Repetitions cost nothing: nobody is asked twice.
std::array<std::int64_t, 3> towards(std::int64_t value, std::int64_t plain) {
  return {plain, value / 2, value + (value > plain ? -1 : 1)};
}

// One integer of a list attribute, until nothing plainer is taken.
void reduce_entry(Subject& subject, const char* name, std::size_t entry, std::int64_t plain) {
  for (bool taken = true; taken && !subject.exhausted();) {
    taken = false;
    const Indices* values = integers_of(subject.current(), name);
    if (values == nullptr || entry >= values->size() || (*values)[entry] == plain) return;
    for (const std::int64_t value : towards((*values)[entry], plain)) {
      Case candidate = subject.current();
      (*integers_of(candidate, name))[entry] = value;
      taken = subject.offer(std::move(candidate));
      if (taken) break;
    }
  }
}

// Stride or dilation 1 along one axis, with as many positions cut off the end of the input as keep
// the number of outputs.
std::optional<Case> with_plain_step(const Case& test_case, const char* name, std::size_t axis) {
  const auto geometry = geometry_of(test_case);
  const Indices* values = integers_of(test_case, name);
  if (!geometry || values == nullptr || axis >= values->size() || (*values)[axis] == 1) return std::nullopt;
  SpatialAxis a = geometry->axes[axis];
  (std::string_view(name) == "strides" ? a.stride : a.dilation) = 1;
  Case result = test_case;
  (*integers_of(result, name))[axis] = 1;
  const std::int64_t needed = (a.output - 1) * a.stride + a.kernel_extent() - a.pad_begin - a.pad_end;
  if (needed >= 1 && needed < a.input) {
    Tensor& x = *result.inputs[*position_of(result, "x")];
    x = with_positions(x, 2 + axis, positions(needed));
  }
  return result;
}

std::optional<Case> with_explicit_pads(const Case& test_case) {
  const auto geometry = geometry_of(test_case);
  if (!geometry || test_case.attribute("auto_pad") == nullptr) return std::nullopt;
  Case result = test_case;
  erase_attribute(result, "auto_pad");
  erase_attribute(result, "pads");
  const std::size_t rank = geometry->axes.size();
  Indices pads(2 * rank);
  bool are_zero = true;
  for (std::size_t i = 0; i < rank; ++i) {
    pads[i] = geometry->axes[i].pad_begin;
    pads[i + rank] = geometry->axes[i].pad_end;
    are_zero = are_zero && pads[i] == 0 && pads[i + rank] == 0;
  }
  if (!are_zero) set_attribute(result, "pads", std::move(pads));
  return result;
}

}  // namespace

void drop_attributes(Subject& subject) {
  if (subject.current().attributes.empty()) return;
  Case bare = subject.current();
  bare.attributes.clear();
  if (subject.offer(std::move(bare))) return;
  std::vector<std::string> names;
  for (const Attribute& attribute : subject.current().attributes) names.push_back(attribute.name);
  for (const std::string& name : names) {
    Case candidate = subject.current();
    erase_attribute(candidate, name);
    subject.offer(std::move(candidate));
  }
}

void plain_strides(Subject& subject) {
  for (const char* name : {"strides", "dilations"}) {
    const Indices* values = integers_of(subject.current(), name);
    const std::size_t axes = values == nullptr ? 0 : values->size();
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if (auto candidate = with_plain_step(subject.current(), name, axis)) {
        if (subject.offer(std::move(*candidate))) continue;
      }
      reduce_entry(subject, name, axis, 1);
    }
  }
}

void smaller_pads(Subject& subject) {
  if (auto candidate = with_explicit_pads(subject.current())) subject.offer(std::move(*candidate));
  const Indices* pads = integers_of(subject.current(), "pads");
  const std::size_t entries = pads == nullptr ? 0 : pads->size();
  for (std::size_t entry = 0; entry < entries; ++entry) reduce_entry(subject, "pads", entry, 0);
}

void smaller_integers(Subject& subject) {
  const auto attributes = subject.current().attributes;
  for (const Attribute& attribute : attributes) {
    const auto* value = std::get_if<std::int64_t>(&attribute.value);
    if (value == nullptr) continue;
    for (const std::int64_t candidate_value : towards(*value, 0)) {
      Case candidate = subject.current();
      set_attribute(candidate, attribute.name, candidate_value);
      if (subject.offer(std::move(candidate))) break;
    }
  }
}

}  // namespace qconform::shrink

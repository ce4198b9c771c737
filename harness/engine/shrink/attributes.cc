// Reductions of attributes.
#include <array>

#include "harness/engine/shrink/attribute_edit.h"
#include "harness/engine/shrink/reductions.h"

namespace qconform::shrink {
namespace {

// The integers that are tried in place of `value`, plainest first: `plain`, then half way there, then
// one step. Repetitions cost nothing: the search asks about a case once.
std::array<std::int64_t, 3> towards(std::int64_t value, std::int64_t plain) {
  return {plain, value / 2, value + (value > plain ? -1 : 1)};
}

}  // namespace

void reduce_entry(Subject& subject, const char* name, std::size_t entry, std::int64_t plain) {
  for (bool taken = true; taken && !subject.exhausted();) {
    taken = false;
    const auto* values = integers_of(subject.current(), name);
    if (values == nullptr || entry >= values->size() || (*values)[entry] == plain) return;
    for (const std::int64_t value : towards((*values)[entry], plain)) {
      Case candidate = subject.current();
      (*integers_of(candidate, name))[entry] = value;
      taken = subject.offer(std::move(candidate));
      if (taken) break;
    }
  }
}

void drop_attributes(Subject& subject) {
  if (subject.current().node().attributes.empty()) return;
  Case bare = subject.current();
  bare.node().attributes.clear();
  if (subject.offer(std::move(bare))) return;
  std::vector<std::string> names;
  for (const Attribute& attribute : subject.current().node().attributes) names.push_back(attribute.name);
  for (const std::string& name : names) {
    Case candidate = subject.current();
    erase_attribute(candidate, name);
    subject.offer(std::move(candidate));
  }
}

void smaller_integers(Subject& subject) {
  const auto attributes = subject.current().node().attributes;
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

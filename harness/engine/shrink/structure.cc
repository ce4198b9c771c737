// Reductions of shapes: indices of the extents, dimensions, optional inputs.
#include <algorithm>
#include <array>

#include "harness/model/family.h"
#include "harness/model/operator.h"
#include "harness/model/reductions/edits.h"
#include "harness/model/reductions/extents.h"
#include "harness/model/reductions/reductions.h"

namespace qconform::shrink {
namespace {

using Indices = std::vector<std::int64_t>;
using List = std::vector<Extent> (*)(const Subject&);

std::vector<Extent> own_extents(const Subject& subject) {
  const Family* family = family_of(subject.current());
  if (family == nullptr) return {};
  if (family->extents == nullptr) return single_axes_of(subject.current());
  return family->extents(subject.current(), subject.wrong_element());
}

std::vector<Extent> single_axes(const Subject& subject) {
  return single_axes_of(subject.current());
}

// The extent of that name as the case is now; indices may have gone with those of another.
std::optional<Extent> find_extent(const Subject& subject, List list, const std::string& name) {
  for (Extent& extent : list(subject)) {
    if (extent.name == name) return std::move(extent);
  }
  return std::nullopt;
}

Indices without(std::int64_t length, std::int64_t begin, std::int64_t count) {
  Indices keep;
  for (std::int64_t i = 0; i < length; ++i) {
    if (i < begin || i >= begin + count) keep.push_back(i);
  }
  return keep;
}

// From this length on the number of indices is searched before which of them matter.
constexpr std::int64_t kLong = 64;

// The fewest of the first indices that are enough, as far as binary search finds them: of thousands
// that are alike, no more than that can be told.
void cut_to_prefix(Subject& subject, List list, const std::string& name) {
  std::int64_t refused = 0;
  for (auto extent = find_extent(subject, list, name); extent && !subject.exhausted();) {
    if (extent->length < kLong || extent->length - refused <= 1) return;
    const std::int64_t middle = refused == 0 ? 1 : refused + (extent->length - refused) / 2;
    if (subject.offer(extent->cut(subject.current(), positions(middle)))) {
      extent = find_extent(subject, list, name);
    } else {
      refused = middle;
    }
  }
}

// In a list of at most kShort indices, runs of at most kFew neighbouring ones are tried wherever they lie.
constexpr std::int64_t kShort = 16;
constexpr std::int64_t kFew = 3;

// Keeps a few neighbouring indices. Halves alone do not suffice: with an even length needed, 14 never comes to 2 by
// halves: 7 are left, or 11, or 13.
void cut_to_few(Subject& subject, List list, const std::string& name) {
  const auto extent = find_extent(subject, list, name);
  if (!extent || extent->length > kShort) return;
  for (std::int64_t count = 1; count <= std::min(kFew, extent->length - 1); ++count) {
    for (std::int64_t begin = 0; begin + count <= extent->length; ++begin) {
      std::vector<std::int64_t> keep = positions(count);
      for (std::int64_t& index : keep) index += begin;
      if (subject.exhausted() || subject.offer(extent->cut(subject.current(), keep))) return;
    }
  }
}

// Delta debugging: halves, quarters, ... left out.
void cut_pieces(Subject& subject, List list, const std::string& name) {
  auto extent = find_extent(subject, list, name);
  if (!extent) return;
  for (std::int64_t chunk = (extent->length + 1) / 2;
       chunk * most_pieces(extent->length) >= extent->length && !subject.exhausted();) {
    for (std::int64_t begin = 0; extent && begin < extent->length && chunk < extent->length;) {
      if (subject.exhausted()) return;
      if (subject.offer(extent->cut(subject.current(), without(extent->length, begin, chunk)))) {
        extent = find_extent(subject, list, name);
      } else {
        begin += chunk;
      }
    }
    if (!extent || chunk == 1) return;
    chunk = std::min(chunk / 2, extent->length / 2);
  }
}

// The one index that matters, or as few as are found.
void cut_extent(Subject& subject, List list, const std::string& name) {
  const auto extent = find_extent(subject, list, name);
  if (!extent) return;
  if (extent->focus >= 0 && subject.offer(extent->cut(subject.current(), {extent->focus}))) return;
  cut_to_prefix(subject, list, name);
  cut_pieces(subject, list, name);
  cut_to_few(subject, list, name);
}

void cut_all(Subject& subject, List list) {
  std::vector<std::string> names;
  for (const Extent& extent : list(subject)) names.push_back(extent.name);
  for (const std::string& name : names) cut_extent(subject, list, name);
}

}  // namespace

void cut_extents(Subject& subject) {
  cut_all(subject, own_extents);
}

void cut_single_axes(Subject& subject) {
  // Inputs that fit together leave no room to shrink one of them alone.
  if (classify(subject.current()).lowered == nullptr) cut_all(subject, single_axes);
}

void drop_dimensions(Subject& subject) {
  const Family* family = family_of(subject.current());
  const Tensor* x = subject.current().input(0);
  if (family == nullptr || family->without_dimension == nullptr || x == nullptr) return;
  for (std::size_t dimension = x->shape.size(); dimension-- > 0;) {
    if (auto candidate = family->without_dimension(subject.current(), dimension)) subject.offer(std::move(*candidate));
  }
}

void drop_inputs(Subject& subject) {
  if (!subject.current().is_one_node()) return;
  for (std::size_t position = subject.current().inputs.size(); position-- > 0;) {
    Case candidate = subject.current();
    if (position + 1 >= candidate.inputs.size()) {
      candidate.inputs.resize(position);
      if (subject.offer(std::move(candidate))) continue;
      candidate = subject.current();
    }
    if (position >= candidate.inputs.size() || !candidate.inputs[position]) continue;
    candidate.inputs[position].reset();
    subject.offer(std::move(candidate));
  }
}

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
  if (!subject.current().is_one_node() || subject.current().node().attributes.empty()) return;
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
  if (!subject.current().is_one_node()) return;
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

#include "harness/model/reductions/extents.h"

#include "harness/model/reductions/edits.h"

namespace qconform::shrink {

using Indices = std::vector<std::int64_t>;

Indices expand_blocks(const Indices& keep, std::int64_t size, std::int64_t length) {
  Indices result;
  for (const std::int64_t block : keep) {
    for (std::int64_t i = 0; i < size && block * size + i < length; ++i) result.push_back(block * size + i);
  }
  return result;
}

Indices repeat_in_blocks(const Indices& keep, std::int64_t size, std::int64_t blocks) {
  Indices result;
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (const std::int64_t index : keep) result.push_back(block * size + index);
  }
  return result;
}

std::vector<Extent> single_axes_of(const Case& test_case) {
  std::vector<Extent> result;
  for (std::size_t position = 0; position < test_case.inputs.size(); ++position) {
    const Tensor* tensor = test_case.input(position);
    if (tensor == nullptr) continue;
    for (std::size_t axis = 0; axis < tensor->shape.size(); ++axis) {
      if (tensor->shape[axis] < 2) continue;
      result.push_back({"input " + std::to_string(position) + " axis " + std::to_string(axis), tensor->shape[axis], -1,
                        [=](const Case& whole, const Indices& keep) {
                          Case cut = whole;
                          cut.inputs[position] = with_positions(*whole.input(position), axis, keep);
                          return cut;
                        }});
    }
  }
  return result;
}

}  // namespace qconform::shrink

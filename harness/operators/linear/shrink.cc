#include "harness/operators/linear/hooks.h"

#include <string>
#include <utility>

#include "harness/model/operator.h"
#include "harness/model/reductions/reductions.h"
#include "harness/operators/linear/linear.h"

namespace qconform::shrink {
namespace {

using Indices = std::vector<std::int64_t>;

// The parameters that stay with the indices kept of x: all of them (none, within_blocks), those of the same indices, or
// those of the blocks kept.
enum class Along : std::uint8_t { none, same, blocks, within_blocks };

Extent linear_extent(std::string name, std::int64_t length, std::int64_t focus, std::size_t axis, Along along,
                     std::int64_t block) {
  return {std::move(name), length, focus, [=](const Case& test_case, const Indices& keep) {
            LinearQuantization node = read_linear(test_case).value();
            const std::int64_t whole = node.x.shape[axis];
            const Indices kept = along == Along::blocks          ? expand_blocks(keep, block, whole)
                                 : along == Along::within_blocks ? repeat_in_blocks(keep, block, whole / block)
                                                                 : keep;
            node.x = with_positions(node.x, axis, kept);
            if (along == Along::within_blocks) node.block_size = static_cast<std::int64_t>(keep.size());
            if (along == Along::same || along == Along::blocks) {
              node.visit_parameters([&](Tensor& parameter) {
                const std::size_t parameter_axis = parameter.shape.size() == 1 ? 0 : axis;
                if (parameter_axis < parameter.shape.size() && parameter.shape[parameter_axis] > keep.back()) {
                  parameter = with_positions(parameter, parameter_axis, keep);
                }
              });
            }
            return build_linear(std::move(node), test_case);
          }};
}

}  // namespace

std::vector<Extent> linear_extents(const Case& test_case, const Indices& wrong_element) {
  std::vector<Extent> result;
  const std::optional<LinearQuantization> node = read_linear(test_case);
  if (!node) return result;
  const Indices& x = node->x.shape;
  const Indices& scale = node->scale.shape;
  const std::int64_t block = node->block_size.value_or(0);
  const bool is_blocked = block > 0 && scale.size() == x.size();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::string number = " " + std::to_string(i);
    const std::int64_t focus = i < wrong_element.size() ? wrong_element[i] : -1;
    const bool on_axis = node->dimension() == i;
    if (is_blocked && on_axis) {
      result.push_back(
          linear_extent("block" + number, scale[i], focus < 0 ? -1 : focus / block, i, Along::blocks, block));
      if (x[i] % block == 0) {
        result.push_back(linear_extent("within blocks" + number, block, focus < 0 ? -1 : focus % block, i,
                                       Along::within_blocks, block));
      }
      continue;
    }
    const bool per_axis = on_axis && scale == Indices{x[i]} && x[i] != 1;
    result.push_back(
        linear_extent("dimension" + number, x[i], focus, i, per_axis || is_blocked ? Along::same : Along::none, block));
  }
  std::erase_if(result, [](const Extent& extent) { return extent.length < 2; });
  return result;
}

// x of an element-wise operator without a dimension of length 1, the quantized axis still the same.
std::optional<Case> without_dimension(const Case& test_case, std::size_t dimension) {
  std::optional<LinearQuantization> node = read_linear(test_case);
  if (!node || dimension >= node->x.shape.size() || node->x.shape[dimension] != 1) return std::nullopt;
  const auto drop = [&](Tensor& tensor) {
    tensor.shape.erase(tensor.shape.begin() + static_cast<std::ptrdiff_t>(dimension));
  };
  const auto quantized = node->dimension();
  drop(node->x);
  if (node->scale.is_scalar()) return build_linear(std::move(*node), test_case);
  if (quantized == dimension) return std::nullopt;
  if (node->scale.shape.size() > 1) {
    node->visit_parameters([&](Tensor& parameter) {
      if (parameter.shape.size() > dimension) drop(parameter);
    });
  }
  const std::int64_t axis = node->axis_or_default();
  if (axis >= 0 && quantized > dimension) node->axis = axis - 1;
  if (axis < 0 && quantized < dimension) node->axis = axis + 1;
  return build_linear(std::move(*node), test_case);
}

std::int64_t parameter_of_wrong_element(const Case& test_case, const Tensor& parameter, const Indices& wrong) {
  std::optional<LinearQuantization> node = read_linear(test_case);
  if (!node || wrong.size() != node->x.shape.size()) return 0;
  node->scale.shape = parameter.shape;
  const auto layout = layout_of(*node);
  if (!layout) return 0;
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < wrong.size(); ++i) flat = flat * node->x.shape[i] + wrong[i];
  return static_cast<std::int64_t>(layout->parameter_of(flat));
}

void jump_to_element(Subject& subject) {
  const Case& current = subject.current();
  if (family_of(current) != &linear_family()) return;
  const Tensor* x = current.input(0);
  const std::vector<std::int64_t> wrong = subject.wrong_element();
  if (x == nullptr || wrong.size() != x->shape.size() || wrong.empty()) return;
  Case candidate = with_scalar_parameters(subject);
  Tensor& values = *candidate.inputs[0];
  for (std::size_t axis = 0; axis < wrong.size(); ++axis) {
    values = with_positions(values, axis, std::vector<std::int64_t>{wrong[axis]});
  }
  values.shape = {1};
  subject.offer(std::move(candidate));
}

}  // namespace qconform::shrink

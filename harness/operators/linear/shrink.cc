#include "harness/operators/linear/hooks.h"

#include <string>
#include <utility>

#include "harness/model/operator.h"
#include "harness/model/reductions/reductions.h"
#include "harness/operators/linear/linear.h"
#include "reference/linear_quantization/linear_quantization.h"

namespace qconform::shrink {
namespace {

using Indices = std::vector<std::int64_t>;

// The scale and the zero point, whatever they are called.
std::vector<std::size_t> linear_parameters(const Case& test_case) {
  std::vector<std::size_t> result;
  for (const Role& role : roles_of(test_case)) {
    if (role.part == Part::scale || role.part == Part::zero_point) result.push_back(role.position);
  }
  return result;
}

// The parameters that stay with the indices kept of x: all of them (none, within_blocks), those of the same indices, or
// those of the blocks kept.
enum class Along : std::uint8_t { none, same, blocks, within_blocks };

Extent linear_extent(std::string name, std::int64_t length, std::int64_t focus, std::size_t axis, Along along,
                     std::int64_t block) {
  return {std::move(name), length, focus, [=](const Case& test_case, const Indices& keep) {
            Case result = test_case;
            Tensor& x = *result.inputs[0];
            const std::int64_t whole = x.shape[axis];
            const Indices kept = along == Along::blocks          ? expand_blocks(keep, block, whole)
                                 : along == Along::within_blocks ? repeat_in_blocks(keep, block, whole / block)
                                                                 : keep;
            x = with_positions(x, axis, kept);
            if (along == Along::within_blocks) {
              set_attribute(result, "block_size", static_cast<std::int64_t>(keep.size()));
            }
            if (along != Along::same && along != Along::blocks) return result;
            for (const std::size_t position : linear_parameters(test_case)) {
              Tensor& parameter = *result.inputs[position];
              const std::size_t parameter_axis = parameter.shape.size() == 1 ? 0 : axis;
              if (parameter_axis < parameter.shape.size() && parameter.shape[parameter_axis] > keep.back()) {
                parameter = with_positions(parameter, parameter_axis, keep);
              }
            }
            return result;
          }};
}

}  // namespace

std::vector<Extent> linear_extents(const Case& test_case, const Indices& wrong_element) {
  std::vector<Extent> result;
  const Tensor* x = test_case.input(0);
  const Tensor* scale = test_case.input(1);
  if (x == nullptr || scale == nullptr) return result;
  const auto rank = static_cast<std::int64_t>(x->shape.size());
  const std::int64_t stated = test_case.node().get_or<std::int64_t>("axis", 1);
  const std::int64_t axis = stated < 0 ? stated + rank : stated;
  const std::int64_t block = test_case.node().get_or<std::int64_t>("block_size", 0);
  const bool is_blocked = block > 0 && scale->shape.size() == x->shape.size() && rank > 0;
  for (std::size_t i = 0; i < x->shape.size(); ++i) {
    const std::string number = " " + std::to_string(i);
    const std::int64_t focus = i < wrong_element.size() ? wrong_element[i] : -1;
    const bool on_axis = static_cast<std::int64_t>(i) == axis;
    if (is_blocked && on_axis) {
      result.push_back(
          linear_extent("block" + number, scale->shape[i], focus < 0 ? -1 : focus / block, i, Along::blocks, block));
      if (x->shape[i] % block == 0) {
        result.push_back(linear_extent("within blocks" + number, block, focus < 0 ? -1 : focus % block, i,
                                       Along::within_blocks, block));
      }
      continue;
    }
    const bool per_axis = on_axis && scale->shape == Indices{x->shape[i]} && !(x->shape[i] == 1);
    result.push_back(linear_extent("dimension" + number, x->shape[i], focus, i,
                                   per_axis || is_blocked ? Along::same : Along::none, block));
  }
  std::erase_if(result, [](const Extent& extent) { return extent.length < 2; });
  return result;
}

// x of an element-wise operator without a dimension of length 1, the quantized axis still the same.
std::optional<Case> without_dimension(const Case& test_case, std::size_t dimension) {
  const Tensor* scale = test_case.input(1);
  if (scale == nullptr || test_case.input(0) == nullptr) return std::nullopt;
  if (dimension >= test_case.input(0)->shape.size() || test_case.input(0)->shape[dimension] != 1) return std::nullopt;
  Case result = test_case;
  const auto drop = [&](Tensor& tensor) {
    tensor.shape.erase(tensor.shape.begin() + static_cast<std::ptrdiff_t>(dimension));
  };
  const auto rank = static_cast<std::int64_t>(test_case.input(0)->shape.size());
  const std::int64_t stated = test_case.node().get_or<std::int64_t>("axis", 1);
  const std::int64_t axis = stated < 0 ? stated + rank : stated;
  drop(*result.inputs[0]);
  if (scale->shape.empty()) return result;
  if (axis == static_cast<std::int64_t>(dimension)) return std::nullopt;
  if (scale->shape.size() > 1) {
    for (const std::size_t position : {std::size_t{1}, std::size_t{2}}) {
      if (result.input(position) != nullptr && result.input(position)->shape.size() > dimension) {
        drop(*result.inputs[position]);
      }
    }
  }
  if (stated >= 0 && static_cast<std::int64_t>(dimension) < axis) set_attribute(result, "axis", axis - 1);
  if (stated < 0 && static_cast<std::int64_t>(dimension) > axis) set_attribute(result, "axis", stated + 1);
  return result;
}

std::int64_t parameter_of_wrong_element(const Case& test_case, const Tensor& parameter, const Indices& wrong) {
  const Tensor& x = *test_case.input(0);
  if (wrong.size() != x.shape.size()) return 0;
  reference::Contract contract;
  const auto layout = resolve_layout(x.shape, parameter.shape, "scale",
                                     {.has_axis = true,
                                      .axis = test_case.node().get_or<std::int64_t>("axis", 1),
                                      .has_block_size = true,
                                      .block_size = test_case.node().get_or<std::int64_t>("block_size", 0)},
                                     contract);
  if (!layout) return 0;
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < wrong.size(); ++i) flat = flat * x.shape[i] + wrong[i];
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

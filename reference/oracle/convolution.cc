#include "reference/oracle/convolution.h"

#include <cstddef>
#include <utility>

namespace qconform::reference::oracle {
namespace {

using Index = std::vector<std::int64_t>;

std::size_t position(const Index& shape, const Index& index) {
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < index.size(); ++i) flat = flat * shape[i] + index[i];
  return static_cast<std::size_t>(flat);
}

std::int64_t& at(IntegerTensor& tensor, const Index& index) {
  return tensor.values[position(tensor.shape, index)];
}

std::int64_t at(const IntegerTensor& tensor, const Index& index) {
  return tensor.values[position(tensor.shape, index)];
}

// Calls `visit` for every index of a tensor of that shape.
template <typename Visit>
void for_each_index(const Index& shape, const Visit& visit, Index prefix = {}) {
  if (prefix.size() == shape.size()) {
    visit(prefix);
    return;
  }
  prefix.push_back(0);
  for (std::int64_t i = 0; i < shape[prefix.size() - 1]; ++i) {
    prefix.back() = i;
    for_each_index(shape, visit, prefix);
  }
}

IntegerTensor filled(Index shape, std::int64_t value) {
  std::size_t elements = 1;
  for (const std::int64_t dimension : shape) elements *= static_cast<std::size_t>(dimension);
  return {std::move(shape), std::vector<std::int64_t>(elements, value)};
}

IntegerTensor padded(const IntegerTensor& x, const std::vector<AxisRule>& axes, std::int64_t padding) {
  Index shape = x.shape;
  for (std::size_t a = 0; a < axes.size(); ++a) shape[a + 2] += axes[a].pad_begin + axes[a].pad_end;
  IntegerTensor result = filled(shape, padding);
  for_each_index(x.shape, [&](const Index& from) {
    Index to = from;
    for (std::size_t a = 0; a < axes.size(); ++a) to[a + 2] += axes[a].pad_begin;
    at(result, to) = at(x, from);
  });
  return result;
}

}  // namespace

std::int64_t count_windows(std::int64_t length, std::int64_t extent, std::int64_t stride) {
  std::int64_t count = 0;
  for (std::int64_t start = 0; start + extent <= length; start += stride) ++count;
  return count;
}

SamePadding same_padding(std::int64_t input, std::int64_t extent, std::int64_t stride, bool upper) {
  const std::int64_t output = count_windows(input, 1, stride);
  std::int64_t total = 0;
  while (count_windows(input + total, extent, stride) < output) ++total;
  const std::int64_t half = total / 2;
  return upper ? SamePadding{output, half, total - half} : SamePadding{output, total - half, half};
}

IntegerTensor convolve(const IntegerTensor& x, const IntegerTensor& w, std::int64_t group,
                       const std::vector<AxisRule>& axes, std::int64_t x_zero_point,
                       const std::vector<std::int64_t>& w_zero_point, const std::vector<std::int64_t>& bias) {
  const IntegerTensor input = padded(x, axes, x_zero_point);
  Index shape{x.shape[0], w.shape[0]};
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const std::int64_t extent = (w.shape[a + 2] - 1) * axes[a].dilation + 1;
    shape.push_back(count_windows(input.shape[a + 2], extent, axes[a].stride));
  }
  IntegerTensor sums = filled(shape, 0);
  for_each_index(shape, [&](const Index& out) {
    const auto m = static_cast<std::size_t>(out[1]);
    // Output channels come in `group` equal runs; each sees its own run of the input channels.
    const std::int64_t first_channel = out[1] / (w.shape[0] / group) * w.shape[1];
    std::int64_t sum = bias[m];
    Index tap_shape = w.shape;
    tap_shape[0] = 1;
    for_each_index(tap_shape, [&](const Index& tap) {
      Index from{out[0], first_channel + tap[1]};
      for (std::size_t a = 0; a < axes.size(); ++a) {
        from.push_back(out[a + 2] * axes[a].stride + tap[a + 2] * axes[a].dilation);
      }
      Index weight = tap;
      weight[0] = out[1];
      sum += (at(input, from) - x_zero_point) * (at(w, weight) - w_zero_point[m]);
    });
    at(sums, out) = sum;
  });
  return sums;
}

}  // namespace qconform::reference::oracle

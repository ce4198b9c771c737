#include <vector>

#include "reference/conv_integer/conv_integer.h"
#include "reference/numerics/round.h"

namespace qconform::reference {

void conv_integer(const ConvInteger& node, std::span<const std::byte> x, std::span<const std::byte> w,
                  std::span<std::int32_t> y) {
  std::vector<std::int64_t> sums(y.size());
  accumulate(node.operands, x, w, sums);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = wrap_to_int32(sums[i]);
}

}  // namespace qconform::reference

// How failing convolutions become smaller: what Family says of it.
#pragma once

#include <optional>
#include <vector>

#include "harness/model/reductions/reductions.h"

namespace qconform::shrink {

void jump_to_window(Subject& subject);       ///< one output element with what it reads
void one_output_an_image(Subject& subject);  ///< images of one output, by 1x1 windows as far apart as an image is large
void fewer_larger_products(Subject& subject);  ///< a long sum by the largest products that there are
void few_extreme_products(Subject& subject);   ///< a short sum by a few of them
void sum_into_bias(Subject& subject);          ///< a long sum to one tap, the rest of it as the bias
void plain_strides(Subject& subject);          ///< strides and dilations to 1, the output as large as before
void smaller_pads(Subject& subject);           ///< auto_pad to pads, pads to fewer
void one_tap(Subject& subject);                ///< a kernel of one tap at the same outputs, x what that reads for each
void padding_as_values(Subject& subject);      ///< no padding, x as much larger
void gaps_as_taps(Subject& subject);           ///< dilations 1, the kernel's extent kept

/// The case with `count` neighbouring taps along a spatial axis, from `begin` on, and as many outputs as before: x has
/// what they read, and no padding there. One tap needs no stride either. Nothing where that would be too large.
[[nodiscard]] std::optional<Case> with_taps(const Case& test_case, std::size_t axis, std::int64_t begin,
                                            std::int64_t count);
[[nodiscard]] std::int64_t implied_elements(const Case& test_case);  ///< Family::shrinking.implied_elements

[[nodiscard]] std::vector<Extent> convolution_extents(const Case& test_case,
                                                      const std::vector<std::int64_t>& wrong_element);
[[nodiscard]] std::optional<Case> without_spatial_axis(const Case& test_case, std::size_t dimension);
[[nodiscard]] std::int64_t channel_of_wrong_element(const Case& test_case, const Tensor& parameter,
                                                    const std::vector<std::int64_t>& wrong_element);
[[nodiscard]] std::vector<Case> with_gathered_multiplier(const Case& test_case);

}  // namespace qconform::shrink

// Regions of an output where kernels tend to be wrong together: borders, tails, ties, ...
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/model/defects/observation.h"

namespace qconform::diagnose {

/// An element of an output, as far as it is known where it lies. What a family does not say stays as it is here.
struct Element {
  std::int64_t index = 0;
  std::int64_t count = 1;  ///< of the output's elements
  // The place in an output [images, channels, ...]; where elements have parameters of their own, the position of those
  // is the "channel".
  std::int64_t image = 0;
  std::int64_t channel = 0;
  std::int64_t channels = 1;
  std::int64_t group = 0;
  std::int64_t column = 0;  ///< along the last axis
  std::int64_t columns = 1;
  bool is_last_row = false;
  bool touches_padding = false;
  bool is_padding_only = false;
  bool is_saturated = false;
  bool is_tie = false;
  bool is_open = false;  ///< another value than the reference's is legal
};

struct OutputRegion {
  std::string_view id;           ///< "border"
  std::string_view description;  ///< "windows that reach the padding"
};

/// All regions.
[[nodiscard]] std::span<const OutputRegion> output_regions();

/// For each element of the output the regions that it lies in: bit i stands for output_regions()[i]. "One
/// channel" and the like are those of the first wrong element. The shape of the output is right.
[[nodiscard]] std::vector<std::uint64_t> output_regions_of(const Observation& observation);

}  // namespace qconform::diagnose

// How the images of x and y lie in memory.
#pragma once

#include <cstdint>

namespace qconform::reference {

enum class ImageLayout : std::uint8_t {
  channels_first,  ///< [batch, channels, spatial...], as ONNX has it
  channels_last,   ///< [batch, spatial..., channels]
};

}  // namespace qconform::reference

// QuantizeLinear and DequantizeLinear, stage by stage.
#pragma once

#include <cstddef>
#include <span>

#include "harness/diagnose/models/stages.h"

namespace qconform::diagnose {

/// x holds the elements of the layout, y room for as many, both packed as ONNX packs them; y is zero.
void run_quantize(const Stages& stages, const QuantizeLinear& node, const LinearPlacement& placement,
                  std::span<const std::byte> x, std::span<std::byte> y);
void run_dequantize(const Stages& stages, const DequantizeLinear& node, const LinearPlacement& placement,
                    std::span<const std::byte> x, std::span<std::byte> y);

}  // namespace qconform::diagnose

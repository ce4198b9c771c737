#include <array>

#include "harness/operators/graph/edits.h"
#include "harness/operators/graph/unit_view.h"

namespace qconform::unit {
namespace {

constexpr std::array<std::string_view, kComputes> kNames{"Conv",
                                                         "Conv depthwise",
                                                         "ConvTranspose",
                                                         "Gemm",
                                                         "MatMul",
                                                         "Add",
                                                         "Sub",
                                                         "Mul",
                                                         "Div",
                                                         "Max",
                                                         "Min",
                                                         "Concat",
                                                         "AveragePool",
                                                         "GlobalAveragePool",
                                                         "ReduceMean",
                                                         "ReduceSum",
                                                         "Softmax",
                                                         "Sigmoid",
                                                         "Tanh",
                                                         "HardSigmoid",
                                                         "Erf",
                                                         "Gelu",
                                                         "Resize linear",
                                                         "LeakyRelu",
                                                         "MaxPool",
                                                         "ReduceMax",
                                                         "Relu",
                                                         "Clip",
                                                         "Neg",
                                                         "Abs",
                                                         "Resize nearest",
                                                         "Transpose",
                                                         "Reshape",
                                                         "Flatten",
                                                         "Squeeze",
                                                         "Unsqueeze",
                                                         "Slice",
                                                         "Pad",
                                                         "Split",
                                                         "Expand",
                                                         "Gather",
                                                         "Identity",
                                                         "DepthToSpace"};

}  // namespace

std::string_view name_of(Compute compute) {
  return kNames[compute];
}

std::optional<Compute> compute_of(const Node& node) {
  if (node.op_type == "Conv" && attribute_of(node, "group") != nullptr) return kDepthwise;
  if (node.op_type == "Resize") {
    const Attribute* mode = attribute_of(node, "mode");
    return mode != nullptr && std::get<std::string>(mode->value) == "linear" ? kLinearResize : kNearestResize;
  }
  for (std::uint8_t i = 0; i < kComputes; ++i) {
    if (kNames[i] == node.op_type) return static_cast<Compute>(i);
  }
  return std::nullopt;
}

}  // namespace qconform::unit

// Quantized models in QDQ form: float operators between DequantizeLinear and QuantizeLinear in the place of quantized
// operators.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "harness/base/error.h"
#include "harness/onnx/tensor_proto.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace qconform {

/// How many nodes were rewritten, by operator; of those that were not, the name has "left: " before it.
using RewrittenCounts = std::map<std::string, std::uint64_t>;

/// Rewrites the quantized nodes of the outermost graph: QLinearConv, QLinearMatMul, and of com.microsoft QGemm,
/// QLinearAdd, QLinearMul, QLinearAveragePool, QLinearGlobalAveragePool, QLinearSigmoid and QLinearLeakyRelu. Scales
/// and zero points stay; a bias gets the scale x_scale * w_scale, each product rounded to float32. Nodes with channels
/// last are left. Errors: an opset before 13, which has no DequantizeLinear along an axis; scales of a biased node that
/// the model computes or that cannot be read.
[[nodiscard]] Result<RewrittenCounts> write_in_qdq_form(onnx::ModelProto& model, const ExternalFolder& external);

/// Rewrites the model in `file` and writes the result to `to`. Errors also: a model that has no such node, and files
/// that cannot be read or written.
[[nodiscard]] Result<RewrittenCounts> write_in_qdq_form(const std::filesystem::path& file,
                                                        const std::filesystem::path& to);

}  // namespace qconform

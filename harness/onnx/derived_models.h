// Models made of a model that compute what it computes: several small ones, and one in QDQ form; and a model as a graph
// for a reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/core/tensor.h"
#include "harness/onnx/protobuf.h"

namespace onnx {
class ModelProto;
class NodeProto;
class TensorProto;
class ValueInfoProto;
}  // namespace onnx

namespace qconform {

/// A model cut into small ones, which run one after the other.
class ModelParts {
 public:
  /// The size of parts. One ends where it has that many nodes, or its wanted values that many bytes; later, up to four
  /// times as much, where a value that is read further on must not be handed on between parts.
  struct Limits {
    std::size_t nodes = 500;
    std::int64_t bytes = std::int64_t{1} << 62;
    std::function<std::int64_t(const std::string&)> bytes_of = [](const auto&) { return 0; };  ///< of a value
    std::set<std::string> within{};  ///< values that a part does not hand on, so that a runtime may fuse around them
  };

  /// One part alone where values of the model are no tensors. `wanted`: the values of the outermost graph that are
  /// asked for. `model` lives longer. Errors: order_of().
  [[nodiscard]] static Result<ModelParts> of(const onnx::ModelProto& model, const std::set<std::string>& wanted,
                                             const Limits& limits);

  [[nodiscard]] std::size_t size() const { return parts_.size(); }
  /// The serialized model of a part. `known` holds the model's inputs and what earlier parts computed. The outputs are
  /// the part's wanted values, and those that later parts read. Empty: nobody needs what it computes.
  [[nodiscard]] Result<std::string> part(std::size_t number, const std::map<std::string, Tensor>& known) const;
  /// Those of `known` that the part reads.
  [[nodiscard]] std::map<std::string, Tensor> fed(std::size_t number, const std::map<std::string, Tensor>& known) const;
  [[nodiscard]] bool is_wanted(const std::string& value) const { return wanted_.contains(value); }
  /// Whether a later part reads the value.
  [[nodiscard]] bool is_read_after(std::size_t number, const std::string& value) const;

 private:
  struct Part {
    std::vector<const onnx::NodeProto*> nodes;
    std::set<std::string> reads;  // and does not compute
    std::set<std::string> computes;
  };

  explicit ModelParts(const onnx::ModelProto& model) : model_(&model) {}
  void cut(const std::vector<int>& order, const Limits& limits);
  void add_node(const onnx::NodeProto& node);

  const onnx::ModelProto* model_;
  std::vector<Part> parts_;
  std::set<std::string> wanted_;
  std::map<std::string, std::size_t> last_reader_;  // parts by the values that they read
  std::map<std::string, const onnx::TensorProto*> initializers_;
  std::map<std::string, const onnx::ValueInfoProto*> stated_;
};

// Any ONNX model as a graph for a reader: nodes of every domain, whatever they compute.

/// Reads the graph of a serialized ModelProto. It leaves out attributes that a case cannot hold, and values whose type
/// the model does not state.
[[nodiscard]] Result<CaseGraph> graph_of_model(std::string_view model);

// Quantized models in QDQ form: float operators between DequantizeLinear and QuantizeLinear in the place of quantized
// operators.

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

// Quantized models and networks for tests.
#pragma once

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/file.h"
#include "harness/core/tensor.h"
#include "harness/onnx/protobuf.h"
#include "harness/suites/onnx_model.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {

/// A small quantized image network, made the way quantizers make them: activations uint8, weights
/// int8 per channel, no value_info.
class Network {
 public:
  Network() {
    model_.set_ir_version(8);
    add_opset("", 13);
    add_opset("com.microsoft", 1);
    graph().set_name("network");
  }

  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  onnx::ModelProto& model() { return model_; }

  void add_opset(const std::string& domain, std::int64_t version) {
    onnx::OperatorSetIdProto& opset = *model_.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }

  /// Dimensions below 0 are symbolic.
  void input(const std::string& name, ElementType type, const std::vector<std::int64_t>& shape) {
    onnx::ValueInfoProto& info = *graph().add_input();
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<std::int32_t>(type));
    for (const std::int64_t size : shape) {
      auto& dimension = *info.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim();
      if (size < 0) {
        dimension.set_dim_param("N");
      } else {
        dimension.set_dim_value(size);
      }
    }
  }

  std::string constant(const std::string& name, const Tensor& tensor) {
    write_tensor(tensor, name, *graph().add_initializer());
    return name;
  }
  std::string scale(const std::string& name) {
    return constant(name, Tensor::scalar<float>(ElementType::float32, 0.5F));
  }
  std::string zero_point(const std::string& name) {
    return constant(name, Tensor::scalar<std::uint8_t>(ElementType::uint8, 128));
  }

  onnx::NodeProto& node(const std::string& op_type, const std::vector<std::string>& inputs, const std::string& output,
                        const std::string& domain = "") {
    onnx::NodeProto& result = *graph().add_node();
    result.set_op_type(op_type);
    result.set_domain(domain);
    result.set_name(output + "_node");
    for (const std::string& input : inputs) result.add_input(input);
    result.add_output(output);
    return result;
  }

  onnx::NodeProto& convolution(const std::string& x, const std::string& y, std::vector<std::int64_t> w_shape,
                               std::int64_t group, std::int64_t stride) {
    const std::int64_t outputs = w_shape[0];
    const auto kernel = std::vector<std::int64_t>(w_shape.begin() + 2, w_shape.end());
    const auto count = static_cast<std::size_t>(elements_of(w_shape));
    const std::vector<std::int8_t> weights(count, 3);
    const std::vector<float> scales(static_cast<std::size_t>(outputs), 0.25F);
    const std::vector<std::int8_t> zeros(scales.size(), 0);
    const std::vector<std::int32_t> bias(scales.size(), 7);
    onnx::NodeProto& result =
        node("QLinearConv",
             {x, scale(y + "_xs"), zero_point(y + "_xz"),
              constant(y + "_w", Tensor::of<std::int8_t>(ElementType::int8, std::move(w_shape), weights)),
              constant(y + "_ws", Tensor::of<float>(ElementType::float32, {outputs}, scales)),
              constant(y + "_wz", Tensor::of<std::int8_t>(ElementType::int8, {outputs}, zeros)), scale(y + "_ys"),
              zero_point(y + "_yz"), constant(y + "_b", Tensor::of<std::int32_t>(ElementType::int32, {outputs}, bias))},
             y);
    const std::int64_t pad = kernel[0] / 2;
    ints(result, "strides", {stride, stride});
    ints(result, "pads", {pad, pad, pad, pad});
    integer(result, "group", group);
    return result;
  }

  static void ints(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
  }
  static void integer(onnx::NodeProto& node, const char* name, std::int64_t value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }

 private:
  onnx::ModelProto model_;
};

// Tests on suites of whole models.

class ModelFixture : public ::testing::Test {
 protected:
  std::unique_ptr<OnnxModelSuite> open(Network& net, std::uint64_t seed = 1) {
    auto source = OnnxModelSuite::open(written(net), seed);
    EXPECT_TRUE(source.has_value()) << source.error().text();
    return std::move(*source);
  }

  std::string error_of(Network& net) {
    const auto source = OnnxModelSuite::open(written(net), 1);
    return source ? "" : source.error().text();
  }

  static std::vector<Case> cases_of(OnnxModelSuite& source) {
    std::vector<Case> cases;
    while (true) {
      auto next = source.next();
      if (!next) ADD_FAILURE() << next.error().text();
      if (!next || !*next) return cases;
      cases.push_back(std::move(**next));
    }
  }

  /// The only case of a network.
  Case only_case(Network& net) {
    auto source = open(net);
    const std::vector<Case> cases = cases_of(*source);
    EXPECT_EQ(cases.size(), 1U);
    return cases.empty() ? Case{} : cases.front();
  }

  /// "2 com.microsoft::QLinearAdd: operator: ..." of the quantized nodes that no case so far holds.
  static std::vector<std::string> in_no_case(const OnnxModelSuite& source) {
    std::vector<std::string> texts;
    const auto coverage = source.node_coverage(nullptr);
    for (const UncoveredNodes& part : coverage->uncovered) {
      texts.push_back(std::to_string(part.nodes) + " " + part.op_type + ": " + part.reason);
    }
    return texts;
  }

  TemporaryFolder folder_;

 private:
  std::filesystem::path written(Network& net) {
    auto file = folder_.path() / "net.onnx";
    EXPECT_TRUE(write_file(file, net.model().SerializeAsString()).has_value());
    return file;
  }
};

}  // namespace qconform::testing

// Lowering against the ONNX library: what operators take, and which shapes they give.
#include <gtest/gtest.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <map>
#include <set>
#include <string>

#include "harness/graphs/case_graph.h"
#include "harness/graphs/node_lowering.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/protobuf.h"
#include "harness/tests/arbitrary_case.h"
#include "harness/tests/test_scale.h"

namespace qconform::lowering {
namespace {

constexpr int kFirstOpset = 10;

int library_opset() {
  return onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
}

std::set<std::string_view> operator_names() {
  std::set<std::string_view> names;
  for (const auto nodes : all_node_operators()) {
    for (const NodeOperator& known : nodes) {
      if (known.domain.empty()) names.insert(known.name);
    }
  }
  return names;
}

std::set<std::string> types_of(const TypeSet& types) {
  std::set<std::string> names;
  for (int number = 1; number < 64; ++number) {
    const auto type = static_cast<ElementType>(number);
    if (types.contains(type)) names.insert("tensor(" + name_of(type) + ")");
  }
  return names;
}

using Type = onnx::AttributeProto;
constexpr std::size_t kKinds[] = {kIntAttribute,  kFloatAttribute,  kStringAttribute,
                                  kIntsAttribute, kFloatsAttribute, kStringsAttribute};
constexpr int kTypes[] = {Type::INT, Type::FLOAT, Type::STRING, Type::INTS, Type::FLOATS, Type::STRINGS};

std::map<std::string, int> attributes_of(const NodeOperator& known) {
  std::map<std::string, int> result;
  for (const AttributeSignature& attribute : known.attributes) {
    for (std::size_t i = 0; i < std::size(kKinds); ++i) {
      if (kKinds[i] == attribute.value_index) result[std::string(attribute.name)] = kTypes[i];
    }
  }
  return result;
}

// Returns a schema's attributes of the kinds that a case can hold.
std::map<std::string, int> attributes_of(const onnx::OpSchema& schema) {
  std::map<std::string, int> result;
  for (const auto& [name, attribute] : schema.attributes()) {
    for (const int type : kTypes) {
      if (attribute.type == type && !name.starts_with("value_string")) result[name] = type;
    }
  }
  return result;
}

TEST(NodeOperators, AreThoseOfTheOnnxLibrary) {
  for (const std::string_view name : operator_names()) {
    for (int opset = kFirstOpset; opset <= library_opset(); ++opset) {
      const NodeOperator* ours = find_node_operator(name, opset);
      const onnx::OpSchema* theirs = onnx::OpSchemaRegistry::Schema(std::string(name), opset, "");
      SCOPED_TRACE(std::string(name) + " at opset " + std::to_string(opset));
      if (name == "Constant" && opset < 12) continue;  // tensors alone, which a case has as initializers
      ASSERT_EQ(ours == nullptr, theirs == nullptr);
      if (ours == nullptr || ours->is_single_operator) continue;
      EXPECT_EQ(attributes_of(*ours), attributes_of(*theirs));
      EXPECT_EQ(ours->least_inputs, static_cast<std::size_t>(theirs->min_input()));
      EXPECT_EQ(std::min<std::size_t>(ours->most_inputs, kAnyNumber),
                std::min<std::size_t>(static_cast<std::size_t>(theirs->max_input()), kAnyNumber));
      EXPECT_EQ(std::min<std::size_t>(ours->most_outputs, kAnyNumber),
                std::min<std::size_t>(static_cast<std::size_t>(theirs->max_output()), kAnyNumber));
      if (theirs->inputs().empty()) continue;
      const std::size_t first = (ours->like_first & 1U) != 0 ? 0 : 1;
      std::set<std::string> types;
      for (const auto* type : theirs->inputs()[first].GetTypes()) {
        if (type->starts_with("tensor(")) types.insert(*type);
      }
      EXPECT_EQ(types_of(ours->types), types);
    }
  }
}

struct Inferred {
  std::string error;
  std::vector<std::optional<OutputType>> outputs;
};

Inferred infer(const Case& test_case) {
  Inferred result;
  onnx::ModelProto model;
  (void)parse_message(*case_to_model(test_case), model);
  try {
    const onnx::ShapeInferenceOptions strict(true, 1, false);
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), strict);
  } catch (const std::exception& error) {
    result.error = error.what();
    return result;
  }
  for (const auto& output : model.graph().output()) {
    const auto& type = output.type().tensor_type();
    auto& inferred = result.outputs.emplace_back();
    if (!type.has_shape()) continue;
    inferred = OutputType{static_cast<ElementType>(type.elem_type()), {}};
    for (const auto& dimension : type.shape().dim()) {
      if (!dimension.has_dim_value()) {
        inferred.reset();
        break;
      }
      inferred->shape.push_back(dimension.dim_value());
    }
  }
  return result;
}

struct Count {
  int lowered = 0;
  int compared = 0;
  int drawn = 0;
};

void compare(const Case& test_case, Count& count) {
  ++count.drawn;
  ASSERT_TRUE(check_wiring(test_case)) << check_wiring(test_case).error().text();
  reference::Contract contract;
  const auto program = lower_graph(test_case, contract);
  ASSERT_EQ(program.has_value(), contract.holds());
  const Inferred theirs = infer(test_case);
  if (!program) {
    // ONNX may accept nodes that we leave aside, and kernels larger than their input (C6).
    const bool may_accept = contract.violation->rule == "limit" || contract.violation->rule == "C6";
    EXPECT_TRUE(may_accept || !theirs.error.empty()) << contract.violation->text();
    return;
  }
  ++count.lowered;
  ASSERT_EQ(theirs.error, "");
  for (std::size_t i = 0; i < test_case.outputs.size(); ++i) {
    if (!theirs.outputs[i]) continue;
    ++count.compared;
    const auto id = program->program.outputs[i];
    EXPECT_EQ(shape_text(program->program.values[id].shape), shape_text(theirs.outputs[i]->shape));
    EXPECT_EQ(program->types[id], theirs.outputs[i]->type);
  }
}

TEST(Lowering, GivesTheShapesOfTheOnnxLibrary) {
  const auto rounds = static_cast<std::uint64_t>(testing::scaled(40));
  for (const std::string_view name : operator_names()) {
    if (find_node_operator(name, kNewestOpset)->is_single_operator) continue;
    Count count;
    for (int opset = kFirstOpset; opset <= library_opset(); ++opset) {
      if (find_node_operator(name, opset) == nullptr) continue;
      for (std::uint64_t i = 0; i < rounds; ++i) {
        SCOPED_TRACE(std::string(name) + " at opset " + std::to_string(opset) + ", draw " + std::to_string(i));
        Rng rng(static_cast<std::uint64_t>(opset), i);
        compare(testing::arbitrary_node(rng, name, opset), count);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
    const bool is_newer = count.drawn == 0;
    // The library infers the rank of an Einsum, and no sizes.
    const bool has_sizes = 2 * count.compared > count.lowered || name == "Einsum";
    EXPECT_TRUE(is_newer || (4 * count.lowered > count.drawn && has_sizes))
        << name << ": " << count.drawn << " drawn, " << count.lowered << " lowered, " << count.compared << " compared";
  }
}

}  // namespace
}  // namespace qconform::lowering

#include "harness/core/case.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "harness/base/bytes.h"

namespace qconform {
namespace {

constexpr std::array kExpectations{
    std::pair{Expectation::unstated, std::string_view("unstated")},
    std::pair{Expectation::valid, std::string_view("valid")},
    std::pair{Expectation::implementation_defined, std::string_view("implementation-defined")},
    std::pair{Expectation::invalid, std::string_view("invalid")}};

void add_names(Digest& digest, const std::vector<std::string>& names) {
  digest.add(std::uint64_t{names.size()});
  for (const std::string& name : names) digest.add(std::string_view(name));
}

void add_value(Digest& digest, const Attribute::Value& value) {
  digest.add(std::uint64_t{value.index()});
  if (const auto* integer = std::get_if<std::int64_t>(&value)) digest.add(*integer);
  if (const auto* real = std::get_if<float>(&value)) digest.add(std::uint64_t{std::bit_cast<std::uint32_t>(*real)});
  if (const auto* text = std::get_if<std::string>(&value)) digest.add(std::string_view(*text));
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    digest.add(std::uint64_t{integers->size()});
    for (const std::int64_t element : *integers) digest.add(element);
  }
  if (const auto* reals = std::get_if<std::vector<float>>(&value)) {
    digest.add(std::uint64_t{reals->size()});
    for (const float element : *reals) digest.add(std::uint64_t{std::bit_cast<std::uint32_t>(element)});
  }
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) add_names(digest, *texts);
}

void add_node(Digest& digest, const Node& node) {
  digest.add(std::string_view(node.domain));
  digest.add(std::string_view(node.op_type));
  digest.add(node.opset_version);
  digest.add(std::uint64_t{node.attributes.size()});
  for (const Attribute& attribute : node.attributes) {
    digest.add(std::string_view(attribute.name));
    add_value(digest, attribute.value);
  }
}

void add_tensor(Digest& digest, const Tensor& tensor) {
  digest.add(static_cast<std::int64_t>(tensor.type));
  digest.add(std::uint64_t{tensor.shape.size()});
  for (const std::int64_t dimension : tensor.shape) digest.add(dimension);
  digest.add(std::span<const std::byte>(tensor.bytes));
}

}  // namespace

const Attribute* Node::attribute(std::string_view name) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(), [&](const Attribute& a) { return a.name == name; });
  return found == attributes.end() ? nullptr : &*found;
}

std::string Case::op_types() const {
  std::string all = nodes.front().op_type;
  for (std::size_t i = 1; i < nodes.size(); ++i) all += "+" + nodes[i].op_type;
  return all;
}

std::string Case::subject() const {
  return nodes.size() == 1 ? node().op_type : std::string(kGraphSubject);
}

const Tensor* Case::input(std::size_t position) const {
  return position < inputs.size() && inputs[position] ? &*inputs[position] : nullptr;
}

void forget_answers(Case& test_case) {
  test_case.recorded_outputs.clear();
  test_case.defect.reset();
}

Case computation_of(const Case& test_case) {
  Case result;
  result.id = test_case.id;
  result.nodes = test_case.nodes;
  result.inputs = test_case.inputs;
  result.input_names = test_case.input_names;
  result.fed_inputs = test_case.fed_inputs;
  result.outputs = test_case.outputs;
  result.shown_outputs = test_case.shown_outputs;
  return result;
}

std::string_view name_of(Expectation expectation) {
  return std::find_if(kExpectations.begin(), kExpectations.end(), [&](const auto& e) { return e.first == expectation; })
      ->second;
}

std::optional<Expectation> expectation_named(std::string_view name) {
  for (const auto& [expectation, text] : kExpectations) {
    if (text == name) return expectation;
  }
  return std::nullopt;
}

std::uint64_t input_bytes(const Case& test_case) {
  std::uint64_t bytes = 0;
  for (const auto& input : test_case.inputs) bytes += input ? input->bytes.size() : 0;
  return bytes;
}

std::uint64_t digest_of(const Case& test_case) {
  Digest digest;
  for (const Node& node : test_case.nodes) add_node(digest, node);
  digest.add(std::uint64_t{test_case.inputs.size()});
  for (const std::optional<Tensor>& input : test_case.inputs) {
    digest.add(std::uint64_t{input.has_value()});
    if (input) add_tensor(digest, *input);
  }
  for (const Case& one : test_case.before) digest.add(digest_of(one));
  if (test_case.leaves_names_out()) return digest.value();
  for (const Node& node : test_case.nodes) {
    add_names(digest, node.inputs);
    add_names(digest, node.outputs);
  }
  add_names(digest, test_case.input_names);
  digest.add(std::uint64_t{test_case.fed_inputs});
  add_names(digest, test_case.outputs);
  return digest.value();
}

}  // namespace qconform

#include "harness/tests/arbitrary_any_case.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "harness/core/verdict.h"

namespace qconform {

void showValue(const Tensor& tensor, std::ostream& out) {
  out << name_of(tensor.type) << shape_text(tensor.shape) << " ";
  rc::show(tensor.bytes.size(), out);
  out << " bytes";
}

void showValue(const Case& test_case, std::ostream& out) {
  out << "Case " << test_case.node().domain << "::" << test_case.node().op_type << "-" << test_case.node().opset_version
      << " attributes ";
  for (const Attribute& attribute : test_case.node().attributes) {
    out << attribute.name << "=";
    std::visit([&](const auto& value) { rc::show(value, out); }, attribute.value);
    out << "; ";
  }
  out << "inputs ";
  for (const std::optional<Tensor>& input : test_case.inputs) {
    if (input) {
      showValue(*input, out);
    } else {
      out << "omitted";
    }
    out << "; ";
  }
  out << name_of(test_case.expectation) << " rules " << test_case.rules.size() << " tags " << test_case.tags.size()
      << " recorded " << test_case.recorded_outputs.size();
}

}  // namespace qconform

namespace qconform::testing {

std::vector<ElementType> known_types() {
  std::vector<ElementType> types;
  for (std::int32_t number = 0; number < 64; ++number) {
    if (is_known(static_cast<ElementType>(number))) types.push_back(static_cast<ElementType>(number));
  }
  return types;
}

namespace {

// Valid UTF-8 of up to about ten characters, with those that text formats must escape.
rc::Gen<std::string> arbitrary_text() {
  const auto piece =
      rc::gen::element<std::string>("a", "Z", "0", "_", "-", " ", ".", "/", ":", "\"", "\\", "\n", "\r", "\t",
                                    std::string(1, '\0'), "\x01", "\x1f", "\x7f", "\xC3\xA9", "\xE2\x80\xA8",
                                    "\xEF\xBB\xBF", "\xF0\x9D\x84\x9E", "%", "{", "}", "<", "&", "\\u0000", "null");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), [](const std::vector<std::string>& pieces) {
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(pieces.size(), 10); ++i) text += pieces[i];
    return text;
  });
}

// One of the names that matter, or anything.
rc::Gen<std::string> arbitrary_name(std::vector<std::string> likely) {
  return rc::gen::oneOf(rc::gen::elementOf(std::move(likely)), arbitrary_text());
}

// Every bit pattern, the special ones often.
rc::Gen<float> arbitrary_float() {
  const auto special = rc::gen::element<std::uint32_t>(0x00000000U, 0x80000000U, 0x3F800000U, 0xBF000000U, 0x7F800000U,
                                                       0xFF800000U, 0x7FC00000U, 0xFFC00001U, 0x7F800001U, 0x00000001U,
                                                       0x807FFFFFU, 0x7F7FFFFFU, 0x3DCCCCCDU);
  return rc::gen::map(rc::gen::oneOf(special, rc::gen::arbitrary<std::uint32_t>()),
                      [](std::uint32_t bits) { return std::bit_cast<float>(bits); });
}

rc::Gen<std::int64_t> arbitrary_integer() {
  return rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-4, 26), rc::gen::arbitrary<std::int64_t>(),
                        rc::gen::element(std::numeric_limits<std::int64_t>::min(),
                                         std::numeric_limits<std::int64_t>::max(), (std::int64_t{1} << 53) + 1));
}

}  // namespace

rc::Gen<Tensor> arbitrary_tensor() {
  return rc::gen::exec([] {
    Tensor tensor;
    tensor.type = *rc::gen::elementOf(known_types());
    const auto rank = *rc::gen::inRange<std::size_t>(0, 6);
    std::int64_t elements = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      const auto dimension = *rc::gen::element<std::int64_t>(0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5);
      tensor.shape.push_back(elements * dimension > 100 ? 1 : dimension);
      elements *= tensor.shape.back();
    }
    const auto size = static_cast<std::size_t>(bytes_for(tensor.type, elements));
    const auto bytes = *rc::gen::container<std::vector<std::uint8_t>>(size, rc::gen::arbitrary<std::uint8_t>());
    for (const std::uint8_t byte : bytes) {
      tensor.bytes.push_back(std::byte{tensor.type == ElementType::boolean ? std::uint8_t(byte & 1U) : byte});
    }
    const int used = static_cast<int>(elements * bits_of(tensor.type) % 8);
    if (used != 0) tensor.bytes.back() &= std::byte{std::uint8_t((1U << used) - 1U)};
    return tensor;
  });
}

namespace {

rc::Gen<Attribute::Value> arbitrary_attribute_value() {
  const auto as_value = [](const auto& value) { return Attribute::Value(value); };
  return rc::gen::oneOf(rc::gen::map(arbitrary_integer(), as_value), rc::gen::map(arbitrary_float(), as_value),
                        rc::gen::map(arbitrary_name({"NOTSET", "SAME_UPPER", "VALID"}), as_value),
                        rc::gen::map(rc::gen::container<std::vector<std::int64_t>>(arbitrary_integer()), as_value),
                        rc::gen::map(rc::gen::container<std::vector<float>>(arbitrary_float()), as_value),
                        rc::gen::map(rc::gen::container<std::vector<std::string>>(arbitrary_text()), as_value));
}

rc::Gen<std::vector<Attribute>> arbitrary_attributes() {
  return rc::gen::exec([] {
    std::vector<Attribute> attributes;
    for (const std::string& name : *rc::gen::container<std::vector<std::string>>(
             *rc::gen::inRange<std::size_t>(0, 5),
             arbitrary_name({"pads", "strides", "dilations", "group", "auto_pad", "kernel_shape", "axis"}))) {
      const auto is_taken = [&](const Attribute& attribute) { return attribute.name == name; };
      if (std::any_of(attributes.begin(), attributes.end(), is_taken)) continue;
      attributes.push_back({name, *arbitrary_attribute_value()});
    }
    return attributes;
  });
}

rc::Gen<Node> arbitrary_node() {
  return rc::gen::exec([] {
    Node node;
    node.op_type = *arbitrary_name({"QLinearConv", "ConvInteger", "QuantizeLinear", "DequantizeLinear", "Relu"});
    node.domain = *arbitrary_name({"", "", "", "ai.onnx", "com.example"});
    node.opset_version = *arbitrary_integer();
    node.attributes = *arbitrary_attributes();
    return node;
  });
}

// Gives `result` its tensors and its only node.
void make_one_node(Case& result) {
  result.node() = *arbitrary_node();
  const auto inputs = *rc::gen::inRange<std::size_t>(0, 12);
  for (std::size_t i = 0; i < inputs; ++i) {
    const bool omitted = *rc::gen::inRange(0, 5) == 0;
    result.inputs.push_back(omitted ? std::nullopt : std::optional<Tensor>(*arbitrary_tensor()));
  }
}

// Gives `result` tensors and several nodes, wired as check_wiring() wants them.
void make_graph(Case& result) {
  std::vector<std::string> values;
  const auto new_value = [&] { return values.emplace_back(*arbitrary_text() + "#" + std::to_string(values.size())); };
  const auto inputs = *rc::gen::inRange<std::size_t>(0, 6);
  for (std::size_t i = 0; i < inputs; ++i) {
    result.inputs.emplace_back(*arbitrary_tensor());
    result.input_names.push_back(new_value());
  }
  result.fed_inputs = *rc::gen::inRange<std::size_t>(0, inputs + 1);
  result.nodes.clear();
  std::map<std::string, std::int64_t> versions;
  const auto nodes = *rc::gen::inRange<std::size_t>(2, 5);
  for (std::size_t i = 0; i < nodes; ++i) {
    Node node = *arbitrary_node();
    node.opset_version =
        versions.emplace(node.domain == "ai.onnx" ? "" : node.domain, node.opset_version).first->second;
    const auto reads = *rc::gen::inRange<std::size_t>(0, 4);
    for (std::size_t j = 0; j < reads; ++j) {
      const bool omitted = values.empty() || *rc::gen::inRange(0, 4) == 0;
      node.inputs.push_back(omitted ? "" : *rc::gen::elementOf(values));
    }
    if (*rc::gen::inRange(0, 4) == 0) node.outputs.emplace_back();
    node.outputs.push_back(new_value());
    if (result.outputs.empty() || *rc::gen::arbitrary<bool>()) result.outputs.push_back(node.outputs.back());
    result.nodes.push_back(std::move(node));
  }
  if (result.outputs.size() > 1 && *rc::gen::arbitrary<bool>()) result.shown_outputs.push_back(result.outputs[0]);
}

}  // namespace

rc::Gen<Case> any_case() {
  return rc::gen::exec([] {
    Case result;
    result.id = *arbitrary_text();
    *rc::gen::inRange(0, 3) == 0 ? make_graph(result) : make_one_node(result);
    if (*rc::gen::arbitrary<bool>()) {
      for (std::size_t i = 0; i < result.output_count(); ++i) result.recorded_outputs.push_back(*arbitrary_tensor());
    }
    if (*rc::gen::inRange(0, 3) == 0) {
      DefectAnswer& defect = result.defect.emplace();
      defect.verdict = *rc::gen::element(VerdictKind::wrong, VerdictKind::bad_shape, VerdictKind::crashed);
      const auto outputs = *rc::gen::inRange<std::size_t>(0, 3);
      for (std::size_t i = 0; i < outputs; ++i) defect.outputs.push_back(*arbitrary_tensor());
    }
    result.expectation = *rc::gen::element(Expectation::unstated, Expectation::valid,
                                           Expectation::implementation_defined, Expectation::invalid);
    result.rules = *rc::gen::container<std::vector<std::string>>(arbitrary_name({"C1", "C17", "D7"}));
    result.tags = *rc::gen::container<std::vector<std::string>>(arbitrary_name({"ties", "padding"}));
    result.note = *arbitrary_text();
    result.provenance = {*arbitrary_text(), *rc::gen::arbitrary<std::uint64_t>(), *rc::gen::arbitrary<std::uint64_t>()};
    return result;
  });
}

namespace {

// Equality of attributes with floats compared bit for bit.
bool equal_attributes(const Attribute& a, const Attribute& b) {
  const auto same = [](float x, float y) { return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y); };
  if (a.name != b.name || a.value.index() != b.value.index()) return false;
  if (const auto* x = std::get_if<float>(&a.value)) return same(*x, std::get<float>(b.value));
  if (const auto* x = std::get_if<std::vector<float>>(&a.value)) {
    const auto& y = std::get<std::vector<float>>(b.value);
    return std::equal(x->begin(), x->end(), y.begin(), y.end(), same);
  }
  return a.value == b.value;
}

}  // namespace

bool bitwise_equal(Case a, Case b) {
  if (a.nodes.size() != b.nodes.size()) return false;
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    auto& x = a.nodes[i].attributes;
    auto& y = b.nodes[i].attributes;
    const auto same = [](const Attribute& one, const Attribute& other) { return equal_attributes(one, other); };
    if (!std::equal(x.begin(), x.end(), y.begin(), y.end(), same)) return false;
    x.clear();
    y.clear();
  }
  return a == b;
}

}  // namespace qconform::testing

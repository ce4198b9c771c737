#include "fuzz/model_damage.h"

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <cstring>

#include "harness/core/tensor.h"
#include "harness/onnx/protobuf.h"

namespace qconform::fuzz {
namespace {

template <typename Items>
auto* draw(Rng& rng, Items* items) {
  return items->empty() ? nullptr
                        : items->Mutable(static_cast<int>(rng.below(static_cast<std::uint32_t>(items->size()))));
}

std::int64_t draw_integer(Rng& rng) {
  return rng.chance(1, 2) ? rng.between(-2, 30) : static_cast<std::int64_t>(rng.next());
}

template <typename Entry>
Entry entry_at(const std::string& raw, std::size_t index) {
  Entry value{};
  std::memcpy(&value, raw.data() + index * sizeof(Entry), sizeof(Entry));
  return value;
}

// Values move from raw_data into the field that ONNX assigns to the type.
void use_typed_field(onnx::TensorProto& tensor) {
  const auto type = static_cast<ElementType>(tensor.data_type());
  const std::string raw = tensor.raw_data();
  const auto each = [&]<typename Entry>(Entry, auto add) {
    for (std::size_t i = 0; i < raw.size() / sizeof(Entry); ++i) add(entry_at<Entry>(raw, i));
  };
  const auto add_int32 = [&](auto value) { tensor.add_int32_data(value); };
  switch (type) {
    case ElementType::float32: each(float{}, [&](float value) { tensor.add_float_data(value); }); break;
    case ElementType::float64: each(double{}, [&](double value) { tensor.add_double_data(value); }); break;
    case ElementType::int64: each(std::int64_t{}, [&](std::int64_t value) { tensor.add_int64_data(value); }); break;
    case ElementType::uint64: each(std::uint64_t{}, [&](std::uint64_t value) { tensor.add_uint64_data(value); }); break;
    case ElementType::uint32: each(std::uint32_t{}, [&](std::uint32_t value) { tensor.add_uint64_data(value); }); break;
    case ElementType::int32: each(std::int32_t{}, add_int32); break;
    case ElementType::int16: each(std::int16_t{}, add_int32); break;
    case ElementType::int8: each(std::int8_t{}, add_int32); break;
    default:
      if (bits_of(type) == 16) {
        each(std::uint16_t{}, add_int32);
      } else {
        each(std::uint8_t{}, add_int32);
      }
  }
  tensor.clear_raw_data();
}

void damage_tensor(onnx::TensorProto& tensor, Rng& rng) {
  switch (rng.below(12)) {
    case 0: tensor.set_data_type(static_cast<std::int32_t>(draw_integer(rng))); return;
    case 1: tensor.add_dims(draw_integer(rng)); return;
    case 2:
      if (tensor.dims_size() > 0) tensor.set_dims(0, draw_integer(rng));
      return;
    case 3: tensor.set_data_location(onnx::TensorProto::EXTERNAL); return;
    case 4: tensor.mutable_segment()->set_begin(0); return;
    case 5: tensor.add_int32_data(static_cast<std::int32_t>(draw_integer(rng))); return;
    case 6: tensor.set_raw_data(tensor.raw_data() + "x"); return;
    case 7: tensor.set_name("other"); return;
    case 8:
      use_typed_field(tensor);
      if (tensor.int32_data_size() > 0) tensor.set_int32_data(0, static_cast<std::int32_t>(draw_integer(rng)));
      if (tensor.uint64_data_size() > 0) tensor.set_uint64_data(0, static_cast<std::uint64_t>(draw_integer(rng)));
      return;
    default: use_typed_field(tensor);
  }
}

void damage_attribute(onnx::AttributeProto& attribute, Rng& rng) {
  switch (rng.below(7)) {
    case 0: attribute.clear_type(); return;
    case 1: attribute.set_type(onnx::AttributeProto::TENSOR); return;
    case 2: attribute.set_ref_attr_name("outer"); return;
    case 3:
      for (int i = 0; i < 300; ++i) attribute.add_ints(i);
      return;
    case 4: attribute.add_floats(1); return;
    case 5: attribute.add_strings("Tanh"); return;
    default: attribute.set_f(1); return;
  }
}

void damage_node(onnx::GraphProto& graph, Rng& rng) {
  if (graph.node_size() == 0) return;
  onnx::NodeProto& node = *graph.mutable_node(0);
  switch (rng.below(6)) {
    case 0: graph.add_node()->CopyFrom(node); return;
    case 1: node.add_output("second"); return;
    case 2: node.set_domain(rng.chance(1, 2) ? "ai.onnx" : "com.example"); return;
    case 3:
      for (int i = 0; i < 70; ++i) node.add_input("");
      return;
    case 4:
      for (int i = 0; i < 70; ++i) node.add_attribute()->set_name("many");
      return;
    default: node.add_input("missing\n"); return;
  }
}

void damage_metadata(onnx::ModelProto& model, Rng& rng) {
  if (rng.chance(1, 4)) return model.clear_metadata_props();
  onnx::StringStringEntryProto* const entry = draw(rng, model.mutable_metadata_props());
  if (entry == nullptr) return;
  static constexpr const char* kValues[] = {"", "valid", "recorded", "computed", "-1", "18446744073709551616"};
  if (rng.chance(1, 8)) return entry->set_key("other");
  entry->set_value(rng.pick(kValues));
}

void damage(onnx::ModelProto& model, Rng& rng) {
  onnx::GraphProto& graph = *model.mutable_graph();
  switch (rng.below(8)) {
    case 0: damage_metadata(model, rng); return;
    case 1: damage_node(graph, rng); return;
    case 2:
      if (rng.chance(1, 2)) return model.clear_opset_import();
      model.add_opset_import()->set_version(draw_integer(rng));
      return;
    case 3:
      if (graph.node_size() == 0) return;
      if (auto* const attribute = draw(rng, graph.mutable_node(0)->mutable_attribute()))
        damage_attribute(*attribute, rng);
      return;
    default:
      if (auto* const tensor = draw(rng, graph.mutable_initializer())) damage_tensor(*tensor, rng);
  }
}

}  // namespace

Result<std::string> damaged_model(std::string_view bytes, Rng& rng) {
  onnx::ModelProto model;
  QCONFORM_TRY(parse_message(bytes, model));
  for (std::uint64_t count = 1 + rng.below(3); count > 0; --count) damage(model, rng);
  return message_bytes(model);
}

}  // namespace qconform::fuzz

#include "python/native/handles.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>

#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "harness/onnx/protobuf.h"

namespace qconform::python {

std::string value_of(const Case& test_case, std::string_view field) {
  if (test_case.nodes.size() > 1) return {};
  if (field == "op_type") return operator_name(test_case);
  if (field == "opset_version") return std::to_string(test_case.node().opset_version);
  if (const Attribute* attribute = test_case.attribute(field)) return attribute_text(attribute->value);
  const std::vector<std::string> names = input_names(test_case);
  const auto found = std::find(names.begin(), names.end(), field);
  const Tensor* input =
      found == names.end() ? nullptr : test_case.input(static_cast<std::size_t>(found - names.begin()));
  if (input == nullptr) return {};
  const std::string type = fmt::format("{} {}", name_of(input->type), shape_text(input->shape));
  return input->elements() == 1 ? fmt::format("{} {}", type, element_text(*input, 0)) : type;
}

Refusal refusal_of(const Case& test_case, const reference::Remark& remark) {
  return {{remark.field, remark.message, remark.rule}, value_of(test_case, remark.field)};
}

std::string_view view_of(qconform_bytes bytes) {
  return {static_cast<const char*>(bytes.data), bytes.data == nullptr ? 0 : static_cast<std::size_t>(bytes.size)};
}

qconform_buffer buffer_of(std::string_view bytes) {
  void* data = std::malloc(bytes.empty() ? 1 : bytes.size());
  if (data == nullptr) throw std::bad_alloc();
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  return {data, bytes.size()};
}

void fill_error(const Refusal& refusal, qconform_buffer* error) noexcept {
  if (error == nullptr) return;
  try {
    const nlohmann::json text{{"field", refusal.error.field},
                              {"value", refusal.value},
                              {"rule", refusal.error.rule},
                              {"message", refusal.error.message}};
    *error = buffer_of(text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } catch (const std::exception&) {
    *error = {nullptr, 0};  // no memory: the status alone tells
  }
}

Result<FedTensor> tensor_from(const std::string& what, qconform_bytes proto) {
  onnx::TensorProto message;
  // A scalar without values has no field set, and no type.
  QCONFORM_TRY(in_context(what, parse_message(view_of(proto), message)));
  QCONFORM_ASSIGN(auto tensor, in_context(what, tensor_from_proto(message, std::nullopt)));
  return FedTensor{message.name(), std::move(tensor)};
}

Result<std::string> tensor_bytes(const Tensor& tensor, const std::string& name) {
  onnx::TensorProto proto;
  write_tensor(tensor, name, proto);
  return message_bytes(proto);
}

}  // namespace qconform::python

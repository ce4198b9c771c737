// Cases of interface.h.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <nlohmann/json.hpp>

#include "harness/forms/json/case_json.h"
#include "harness/model/text.h"
#include "harness/onnx/node_proto.h"
#include "harness/onnx/protobuf_file.h"
#include "harness/onnx/tensor_proto.h"
#include "python/native/handles.h"

namespace qconform::python {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> fed_names(const Case& test_case) {
  const std::vector<std::string> names = input_names(test_case);
  std::vector<std::string> fed;
  for (const std::size_t position : data_inputs(test_case)) fed.push_back(names[position]);
  return fed;
}

Json remark_of(const Classification& classification) {
  const reference::Remark* remark = classification.deciding_remark();
  if (remark == nullptr) return nullptr;
  return {{"field", remark->field}, {"rule", remark->rule}, {"text", remark->text()}};
}

Json facts_of(const Case& test_case) {
  const Classification classification = classify(test_case);
  return {{"id", test_case.id},
          {"operator", test_case.op_types()},
          {"summary", summary_of(test_case)},
          {"source", test_case.provenance.source},
          {"seed", test_case.provenance.seed},
          {"index", test_case.provenance.index},
          {"digest", fmt::format("{:016x}", digest_of(test_case))},
          {"note", test_case.note},
          {"stated", name_of(test_case.expectation)},
          {"rules", test_case.rules},
          {"tags", test_case.tags},
          {"inputs", fed_names(test_case)},
          {"outputs", output_names(test_case)},
          {"expectation", name_of(classification.expectation())},
          {"remark", remark_of(classification)}};
}

Result<std::string> model_of(const Case& test_case) {
  QCONFORM_ASSIGN(auto bytes, case_to_fed_model(test_case, data_inputs(test_case)));
  const Classification classification = classify(test_case);
  if (!classification.lowered) return bytes;
  onnx::ModelProto model;
  QCONFORM_TRY(parse_message(bytes, model));
  onnx::GraphProto& graph = *model.mutable_graph();
  for (int i = 0; i < graph.output_size(); ++i) {
    const Lowered& output = classification.lowered->output(static_cast<std::size_t>(i));
    const std::string name = graph.output(i).name();
    write_value_info(name, output.output_type(), output.output_shape(), *graph.mutable_output(i));
  }
  return message_bytes(model);
}

Result<void> case_from_model(qconform_bytes model, const qconform_bytes* inputs, std::uint64_t count,
                             qconform_case** result) {
  std::vector<FedTensor> fed;
  for (std::uint64_t i = 0; i < count; ++i) {
    QCONFORM_ASSIGN(auto one, tensor_from(fmt::format("inputs[{}]", i), inputs[i]));
    fed.push_back(std::move(one));
  }
  QCONFORM_ASSIGN(auto test_case, in_context("model", case_from_fed_model(view_of(model), std::move(fed))));
  *result = new qconform_case{std::make_shared<const Case>(std::move(test_case))};
  return {};
}

Result<void> case_from_json(qconform_bytes text, qconform_case** result) {
  QCONFORM_ASSIGN(auto cases, read_cases_json(view_of(text)));
  if (cases.size() != 1) return fail("cases", fmt::format("expected one case, got {}", cases.size()));
  *result = new qconform_case{std::make_shared<const Case>(std::move(cases.front()))};
  return {};
}

Result<std::string> input_of(const Case& test_case, std::uint64_t number) {
  const std::vector<std::size_t> fed = data_inputs(test_case);
  if (number >= fed.size()) return fail("number", fmt::format("expected one of {} inputs, got {}", fed.size(), number));
  const std::size_t position = fed[number];
  return tensor_bytes(*test_case.inputs[position], input_names(test_case)[position]);
}

Result<void> give(Result<std::string> bytes, qconform_buffer* buffer) {
  if (!bytes) return tl::unexpected(std::move(bytes).error());
  *buffer = buffer_of(*bytes);
  return {};
}

}  // namespace
}  // namespace qconform::python

using namespace qconform::python;

int32_t qconform_case_from_model(qconform_bytes model, const qconform_bytes* inputs, uint64_t count,
                                 qconform_case** result, qconform_buffer* error) {
  return call(error, [&] { return case_from_model(model, inputs, count, result); });
}

int32_t qconform_case_from_json(qconform_bytes text, qconform_case** result, qconform_buffer* error) {
  return call(error, [&] { return case_from_json(text, result); });
}

void qconform_release_case(qconform_case* handle) {
  delete handle;
}

int32_t qconform_case_facts(qconform_case* handle, qconform_buffer* facts, qconform_buffer* error) {
  return call(error, [&] { return give(text_of(facts_of(*handle->value)), facts); });
}

int32_t qconform_case_json(qconform_case* handle, qconform_buffer* text, qconform_buffer* error) {
  return call(error, [&] { return give(qconform::case_json(*handle->value), text); });
}

int32_t qconform_case_file(qconform_case* handle, qconform_buffer* model, qconform_buffer* error) {
  return call(error, [&] { return give(qconform::case_to_model(*handle->value), model); });
}

int32_t qconform_case_model(qconform_case* handle, qconform_buffer* model, qconform_buffer* error) {
  return call(error, [&] { return give(model_of(*handle->value), model); });
}

int32_t qconform_case_input(qconform_case* handle, uint64_t number, qconform_buffer* tensor, qconform_buffer* error) {
  return call(error, [&] { return give(input_of(*handle->value, number), tensor); });
}

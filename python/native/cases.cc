// Cases and suites of interface.h, and facts about the library.

#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

#include "harness/core/profile.h"
#include "harness/core/version.h"
#include "harness/forms/json/case_json.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "harness/onnx/protobuf.h"
#include "harness/suites/select.h"
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

// Suites, and facts about the library.

namespace qconform::python {
namespace {

Json facts() {
  Json profiles = Json::array();
  for (const ProfileInfo& info : qconform::profiles()) {
    profiles.push_back({{"name", info.name}, {"description", info.description}});
  }
  Json suites = Json::array();
  for (const SuiteInfo& info : qconform::suites()) {
    suites.push_back({{"name", info.name}, {"description", info.description}});
  }
  return {{"version", kVersion}, {"profiles", profiles}, {"suites", suites}};
}

Answer<void> open(qconform_bytes name, std::uint64_t seed, std::int64_t cases, qconform_suite** result) {
  SuiteOptions options;
  options.seed = seed;
  if (cases >= 0) options.cases = static_cast<std::uint64_t>(cases);
  auto sources = open_suite(view_of(name), options);
  if (!sources) {
    Error error = sources.error();
    if (error.field == "--suite") error.field = "suite";
    return tl::unexpected(Refusal{std::move(error), std::string(view_of(name))});
  }
  auto made = std::make_unique<qconform_suite>();
  made->sources = std::move(*sources);
  *result = made.release();
  return {};
}

Result<void> next(qconform_suite& suite, qconform_case** result) {
  *result = nullptr;
  for (; suite.current < suite.sources.size(); ++suite.current) {
    auto found = suite.sources[suite.current]->next();
    if (!found) {
      suite.current = suite.sources.size();
      return tl::unexpected(std::move(found).error());
    }
    if (!*found) continue;
    *result = new qconform_case{std::make_shared<const Case>(**std::move(found))};
    return {};
  }
  return {};
}

Json facts_of(const qconform_suite& suite) {
  Json names = Json::array();
  Json skipped = Json::object();
  std::optional<std::uint64_t> size = 0;
  for (const auto& source : suite.sources) {
    names.push_back(source->name());
    const auto own = source->size();
    size = size && own ? std::optional(*size + *own) : std::nullopt;
    for (const auto& [reason, times] : source->skipped())
      skipped[reason] = skipped.value(reason, std::uint64_t{0}) + times;
    const auto nodes = source->node_coverage();
    if (!nodes) continue;
    for (const UncoveredNodes& part : nodes->uncovered) {
      const std::string key = part.op_type + ": " + part.reason;
      skipped[key] = skipped.value(key, std::uint64_t{0}) + part.nodes;
    }
  }
  return {{"sources", names}, {"size", size ? Json(*size) : Json(nullptr)}, {"skipped", skipped}};
}

Result<void> give_json(const Json& json, qconform_buffer* buffer) {
  *buffer = buffer_of(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  return {};
}

}  // namespace
}  // namespace qconform::python

uint32_t qconform_python_interface(void) {
  return QCONFORM_PYTHON_INTERFACE;
}

void qconform_release_buffer(qconform_buffer* buffer) {
  std::free(buffer->data);
  *buffer = {nullptr, 0};
}

int32_t qconform_facts(qconform_buffer* facts, qconform_buffer* error) {
  return call(error, [&] { return give_json(qconform::python::facts(), facts); });
}

int32_t qconform_offer_corpus(qconform_bytes folder, qconform_buffer* error) {
  return call(error, [&]() -> qconform::Result<void> {
    qconform::offer_corpus(std::string(view_of(folder)));
    return {};
  });
}

int32_t qconform_suite_open(qconform_bytes name, uint64_t seed, int64_t cases, qconform_suite** result,
                            qconform_buffer* error) {
  return call(error, [&] { return open(name, seed, cases, result); });
}

void qconform_release_suite(qconform_suite* handle) {
  delete handle;
}

int32_t qconform_suite_next(qconform_suite* handle, qconform_case** result, qconform_buffer* error) {
  return locked(handle, error, [&] { return next(*handle, result); });
}

int32_t qconform_suite_facts(qconform_suite* handle, qconform_buffer* facts, qconform_buffer* error) {
  return locked(handle, error, [&] { return give_json(facts_of(*handle), facts); });
}

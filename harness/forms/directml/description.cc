#include "harness/forms/directml/description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <type_traits>

#include "harness/base/file.h"
#include "harness/forms/directml/operator_desc.h"
#include "harness/forms/directml/tensor_json.h"
#include "harness/forms/json/case_json.h"

namespace qconform::directml {

OperatorView::OperatorView(const Description& description) {
  for (const TensorRule& rule : kTensors) {
    const std::size_t i = index_of(rule.role);
    const std::optional<BufferTensor>& tensor = description.tensors[i];
    if (!tensor) continue;
    buffers_[i] = {.DataType = tensor->data_type,
                   .Flags = tensor->flags,
                   .DimensionCount = static_cast<UINT>(tensor->sizes.size()),
                   .Sizes = tensor->sizes.data(),
                   .Strides = tensor->strides ? tensor->strides->data() : nullptr,
                   .TotalTensorSizeInBytes = tensor->total_size_in_bytes,
                   .GuaranteedBaseOffsetAlignment = tensor->guaranteed_base_offset_alignment};
    tensors_[i] = {.Type = DML_TENSOR_TYPE_BUFFER, .Desc = &buffers_[i]};
    desc_.*rule.member = &tensors_[i];
  }
  desc_.DimensionCount = description.dimension_count;
  desc_.Strides = description.strides.data();
  desc_.Dilations = description.dilations.data();
  desc_.StartPadding = description.start_padding.data();
  desc_.EndPadding = description.end_padding.data();
  desc_.GroupCount = description.group_count;
}

const DML_BUFFER_TENSOR_DESC* OperatorView::tensor(TensorRole role) const {
  return buffer_tensor(desc_.*kTensors[index_of(role)].member);
}

namespace {

using Operator = DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC;
using Buffer = DML_BUFFER_TENSOR_DESC;
constexpr std::size_t kPointer = 8;
static_assert(sizeof(void*) == kPointer);

static_assert(std::is_standard_layout_v<Operator> && std::is_trivial_v<Operator>);
static_assert(std::is_standard_layout_v<Buffer> && std::is_trivial_v<Buffer>);

static_assert(offsetof(DML_TENSOR_DESC, Type) == 0);
static_assert(offsetof(DML_TENSOR_DESC, Desc) == 8);
static_assert(sizeof(DML_TENSOR_DESC) == 16);

static_assert(offsetof(Buffer, DataType) == 0);
static_assert(offsetof(Buffer, Flags) == 4);
static_assert(offsetof(Buffer, DimensionCount) == 8);
static_assert(offsetof(Buffer, Sizes) == 16);
static_assert(offsetof(Buffer, Strides) == 24);
static_assert(offsetof(Buffer, TotalTensorSizeInBytes) == 32);
static_assert(offsetof(Buffer, GuaranteedBaseOffsetAlignment) == 40);
static_assert(sizeof(Buffer) == 48);

static_assert(offsetof(Operator, InputTensor) == 0 * kPointer);
static_assert(offsetof(Operator, InputScaleTensor) == 1 * kPointer);
static_assert(offsetof(Operator, InputZeroPointTensor) == 2 * kPointer);
static_assert(offsetof(Operator, FilterTensor) == 3 * kPointer);
static_assert(offsetof(Operator, FilterScaleTensor) == 4 * kPointer);
static_assert(offsetof(Operator, FilterZeroPointTensor) == 5 * kPointer);
static_assert(offsetof(Operator, BiasTensor) == 6 * kPointer);
static_assert(offsetof(Operator, OutputScaleTensor) == 7 * kPointer);
static_assert(offsetof(Operator, OutputZeroPointTensor) == 8 * kPointer);
static_assert(offsetof(Operator, OutputTensor) == 9 * kPointer);
static_assert(offsetof(Operator, DimensionCount) == 10 * kPointer);
static_assert(offsetof(Operator, Strides) == 11 * kPointer);
static_assert(offsetof(Operator, Dilations) == 12 * kPointer);
static_assert(offsetof(Operator, StartPadding) == 13 * kPointer);
static_assert(offsetof(Operator, EndPadding) == 14 * kPointer);
static_assert(offsetof(Operator, GroupCount) == 15 * kPointer);
static_assert(sizeof(Operator) == 16 * kPointer);

constexpr std::string_view kFormat = "qconform-directml";
constexpr std::int64_t kDescriptionVersion = 1;
constexpr std::size_t kMaxSpatialDimensions = 8;

bool read_tensors(JsonFields& fields, const Json& value, const std::string& where, Description& out) {
  for (const TensorRule& rule : kTensors) {
    const Json& tensor = value[std::string(rule.name)];
    if (tensor.is_null()) continue;
    BufferTensor& read = out.tensors[index_of(rule.role)].emplace();
    if (!read_tensor_members(fields, tensor, json_path(where, rule.name), rule.role, read)) return false;
  }
  return true;
}

// One of the four arrays, against the count that DirectML's struct cannot disagree with.
bool read_array(JsonFields& fields, const Json& value, const std::string& where, const char* name, UINT count,
                std::vector<UINT>& out) {
  const std::string path = json_path(where, name);
  if (!read_uints(fields, value[name], path, kMaxSpatialDimensions, "X6", out)) return false;
  return out.size() == count ||
         fields.refuse(path, fmt::format("expected DimensionCount = {} values, got {}", count, out.size()), "X6");
}

bool read_convolution(JsonFields& fields, const Json& value, const std::string& where, Description& out) {
  if (!read_uint(fields, value["DimensionCount"], json_path(where, "DimensionCount"), "X5", out.dimension_count)) {
    return false;
  }
  const UINT count = out.dimension_count;
  return read_array(fields, value, where, "Strides", count, out.strides) &&
         read_array(fields, value, where, "Dilations", count, out.dilations) &&
         read_array(fields, value, where, "StartPadding", count, out.start_padding) &&
         read_array(fields, value, where, "EndPadding", count, out.end_padding) &&
         read_uint(fields, value["GroupCount"], json_path(where, "GroupCount"), "C8", out.group_count);
}

bool check_rules(JsonFields& fields, const std::string& where, const Description& description) {
  const OperatorView view(description);
  reference::Contract contract;
  if (check(view.desc(), contract)) return true;
  const reference::Remark& violation = *contract.violation;
  return fields.refuse(json_path(where, violation.field), violation.message, violation.rule);
}

bool read_labels(JsonFields& fields, const Json& value, const std::string& where, Description& out) {
  return fields.read_optional(value, where, "id", out.id) && fields.read_optional(value, where, "note", out.note) &&
         read_texts(fields, value, where, "rules", out.rules) && read_texts(fields, value, where, "tags", out.tags) &&
         read_expectation(fields, value, where, out.expectation);
}

bool read_description(JsonFields& fields, const Json& value, const std::string& where, std::int64_t& bytes_left,
                      Description& out) {
  if (!fields.object(
          value, where,
          {"InputTensor", "InputScaleTensor", "InputZeroPointTensor", "FilterTensor", "FilterScaleTensor",
           "FilterZeroPointTensor", "BiasTensor", "OutputScaleTensor", "OutputZeroPointTensor", "OutputTensor",
           "DimensionCount", "Strides", "Dilations", "StartPadding", "EndPadding", "GroupCount"},
          {"id", "note", "rules", "tags", "expectation"}) ||
      !read_labels(fields, value, where, out) || !read_tensors(fields, value, where, out) ||
      !read_convolution(fields, value, where, out) || !check_rules(fields, where, out)) {
    return false;
  }
  for (const TensorRule& rule : kTensors) {
    std::optional<BufferTensor>& tensor = out.tensors[index_of(rule.role)];
    if (!tensor) continue;
    const Json& contents = value[std::string(rule.name)];
    if (!read_contents(fields, contents, json_path(where, rule.name), bytes_left, *tensor)) return false;
  }
  return true;
}

// Reads a description that must be refused: the error of reading it is its result.
bool read_refused(JsonFields& fields, const Json& value, const std::string& where, std::int64_t bytes_left,
                  RefusedDescription& out) {
  Description labels;
  if (!read_labels(fields, value, where, labels)) return false;
  out = {.id = labels.id, .note = labels.note, .rules = labels.rules, .tags = labels.tags, .error = {}};
  const std::string expected = fmt::format("expected a description that breaks rule {}", fmt::join(out.rules, " or "));
  JsonFields attempt;
  if (Description ignored; read_description(attempt, value, where, bytes_left, ignored)) {
    return fields.refuse(json_path(where, "expectation"), expected + ", got one that keeps every rule");
  }
  out.error = *attempt.error();
  return std::find(out.rules.begin(), out.rules.end(), out.error.rule) != out.rules.end() ||
         fields.refuse(json_path(where, "expectation"), expected + ", got: " + out.error.text());
}

bool read_either(JsonFields& fields, const Json& value, const std::string& where, std::int64_t& bytes_left,
                 DescriptionFile& out) {
  // DirectML's type of an operator stands outside of its description: whoever writes it here means another one.
  if (value.is_object() && value.contains("Type")) {
    return fields.refuse(json_path(where, "Type"),
                         "expected a description of DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION without its type, got " +
                             brief(value["Type"]),
                         "operator");
  }
  if (value.is_object() && value.contains("expectation") && value["expectation"] == name_of(Expectation::invalid)) {
    return read_refused(fields, value, where, bytes_left, out.refused.emplace_back());
  }
  return read_description(fields, value, where, bytes_left, out.descriptions.emplace_back());
}

bool read_document(JsonFields& fields, const Json& document, const DescriptionJsonLimits& allowed,
                   DescriptionFile& out) {
  std::int64_t bytes_left = allowed.buffer_bytes;
  if (!document.is_object() || !document.contains("format")) {
    return read_either(fields, document, "", bytes_left, out);
  }
  if (!fields.object(document, "", {"format", "version", "cases"})) return false;
  const Json& format = document["format"];
  if (format != kFormat) return fields.refuse("format", "expected \"qconform-directml\", got " + brief(format));
  const Json& version = document["version"];
  if (version != kDescriptionVersion) return fields.refuse("version", "expected 1, got " + brief(version));
  const Json& cases = document["cases"];
  if (!fields.array(cases, "cases", limits::kJsonValues)) return false;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!read_either(fields, cases[i], json_path("cases", i), bytes_left, out)) return false;
  }
  return true;
}

Json description_object(const Description& description) {
  Json object = Json::object();
  if (!description.id.empty()) object["id"] = text_json(description.id);
  if (!description.note.empty()) object["note"] = text_json(description.note);
  if (!description.rules.empty()) object["rules"] = texts_object(description.rules);
  if (!description.tags.empty()) object["tags"] = texts_object(description.tags);
  if (description.expectation != Expectation::unstated) object["expectation"] = name_of(description.expectation);
  for (const TensorRule& rule : kTensors) {
    const std::optional<BufferTensor>& tensor = description.tensors[index_of(rule.role)];
    object[std::string(rule.name)] = tensor ? tensor_object(*tensor) : Json();
  }
  object["DimensionCount"] = description.dimension_count;
  object["Strides"] = description.strides;
  object["Dilations"] = description.dilations;
  object["StartPadding"] = description.start_padding;
  object["EndPadding"] = description.end_padding;
  object["GroupCount"] = description.group_count;
  return object;
}

}  // namespace

Result<DescriptionFile> read_description_file_json(std::string_view text, const DescriptionJsonLimits& allowed) {
  QCONFORM_ASSIGN(const auto document, parse_json(text));
  JsonFields fields;
  DescriptionFile file;
  if (!read_document(fields, document, allowed, file)) return tl::unexpected<Error>(*fields.error());
  return file;
}

Result<std::vector<Description>> read_descriptions_json(std::string_view text, const DescriptionJsonLimits& allowed) {
  QCONFORM_ASSIGN(auto file, read_description_file_json(text, allowed));
  return std::move(file.descriptions);
}

Result<std::vector<Description>> load_descriptions(const std::filesystem::path& path) {
  QCONFORM_ASSIGN(const auto text, read_file(path, limits::kJsonFileBytes));
  return in_context(path.string(), read_descriptions_json(text));
}

std::string descriptions_json(std::span<const Description> descriptions) {
  Json document = Json::object();
  document["format"] = kFormat;
  document["version"] = kDescriptionVersion;
  Json& list = document["cases"] = Json::array();
  for (const Description& description : descriptions) list.push_back(description_object(description));
  return print_json(document);
}

}  // namespace qconform::directml

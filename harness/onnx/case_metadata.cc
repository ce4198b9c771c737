#include "harness/onnx/case_metadata.h"

#include <onnx/onnx_pb.h>

#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "harness/core/verdict.h"
#include "harness/onnx/protobuf_file.h"

namespace qconform {
namespace {

constexpr std::string_view kPrefix = "qconform.";

constexpr std::array kOrigins{std::pair{OutputOrigin::none, std::string_view("none")},
                              std::pair{OutputOrigin::recorded, std::string_view("recorded")},
                              std::pair{OutputOrigin::computed, std::string_view("computed")}};

using Metadata = std::map<std::string, std::string>;  // without the prefix

void add(onnx::ModelProto& model, const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto& entry = *model.add_metadata_props();
  entry.set_key(std::string(kPrefix) + key);
  entry.set_value(value);
}

/// ONNX wants keys to differ, so each entry of a list has its own: "rules.0", "rules.1", ...
void add_list(onnx::ModelProto& model, const std::string& key, const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) add(model, key + "." + std::to_string(i), values[i]);
}

Metadata metadata_of(const onnx::ModelProto& model) {
  Metadata metadata;
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    if (entry.key().compare(0, kPrefix.size(), kPrefix) == 0) {
      metadata.emplace(entry.key().substr(kPrefix.size()), entry.value());
    }
  }
  return metadata;
}

std::string text_of(const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

std::vector<std::string> list_of(const Metadata& metadata, const std::string& key) {
  std::vector<std::string> values;
  while (true) {
    const auto found = metadata.find(key + "." + std::to_string(values.size()));
    if (found == metadata.end()) return values;
    values.push_back(found->second);
  }
}

Result<std::uint64_t> number_of(const Metadata& metadata, const std::string& key) {
  const std::string text = text_of(metadata, key);
  if (text.empty()) return 0;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) return value;
  return fail(std::string(kPrefix) + key, "expected an integer of 0 to 2^64 - 1, got " + quoted_name(text));
}

Result<void> read_defect(const Metadata& metadata, std::optional<DefectAnswer>& out) {
  const std::string text = text_of(metadata, "defect");
  if (text.empty()) return {};
  const auto verdict = verdict_named(text);
  if (!verdict || !is_failure(*verdict)) {
    return fail("qconform.defect", "expected a failing verdict, got " + quoted_name(text));
  }
  out.emplace().verdict = *verdict;
  return {};
}

Result<OutputOrigin> origin_of(const Metadata& metadata) {
  const std::string text = text_of(metadata, "output");
  for (const auto& [origin, name] : kOrigins) {
    if (text == name) return origin;
  }
  return fail("qconform.output", "expected none, recorded or computed, got " + quoted_name(text));
}

}  // namespace

void write_metadata(const Case& test_case, OutputOrigin origin, onnx::ModelProto& model) {
  add(model, "id", test_case.id);
  add(model, "expectation", std::string(name_of(test_case.expectation)));
  add_list(model, "rules", test_case.rules);
  add_list(model, "tags", test_case.tags);
  add(model, "note", test_case.note);
  add(model, "provenance.source", test_case.provenance.source);
  add(model, "provenance.seed", std::to_string(test_case.provenance.seed));
  add(model, "provenance.index", std::to_string(test_case.provenance.index));
  if (test_case.defect) add(model, "defect", std::string(name_of(test_case.defect->verdict)));
  for (const auto& [known, name] : kOrigins) {
    if (known == origin) add(model, "output", std::string(name));
  }
}

Result<OutputOrigin> read_metadata(const onnx::ModelProto& model, Case& test_case) {
  const Metadata metadata = metadata_of(model);
  if (metadata.empty()) return OutputOrigin::unstated;
  const std::string expectation_text = text_of(metadata, "expectation");
  const auto expectation = expectation_named(expectation_text);
  if (!expectation) {
    return fail("qconform.expectation",
                "expected unstated, valid, implementation-defined or invalid, got " + quoted_name(expectation_text));
  }
  QCONFORM_ASSIGN(const auto seed, number_of(metadata, "provenance.seed"));
  QCONFORM_ASSIGN(const auto index, number_of(metadata, "provenance.index"));
  QCONFORM_TRY(read_defect(metadata, test_case.defect));
  test_case.id = text_of(metadata, "id");
  test_case.expectation = *expectation;
  test_case.rules = list_of(metadata, "rules");
  test_case.tags = list_of(metadata, "tags");
  test_case.note = text_of(metadata, "note");
  test_case.provenance = {text_of(metadata, "provenance.source"), seed, index};
  return origin_of(metadata);
}

}  // namespace qconform

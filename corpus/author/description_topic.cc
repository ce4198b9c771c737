#include "corpus/author/description_topic.h"

#include "harness/directml/description_json.h"
#include "harness/directml/lower.h"

namespace qconform::author {
namespace {

constexpr const char* kPlain = R"({
  "InputTensor": {"DataType": "UINT8", "Sizes": [1, 1, 1, 3], "data": [1, 2, 3]},
  "InputScaleTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 1], "data": [1]},
  "InputZeroPointTensor": null,
  "FilterTensor": {"DataType": "INT8", "Sizes": [1, 1, 1, 1], "data": [10]},
  "FilterScaleTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 1], "data": [1]},
  "FilterZeroPointTensor": null,
  "BiasTensor": null,
  "OutputScaleTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 1], "data": [1]},
  "OutputZeroPointTensor": null,
  "OutputTensor": {"DataType": "INT8", "Sizes": [1, 1, 1, 3]},
  "DimensionCount": 2, "Strides": [1, 1], "Dilations": [1, 1],
  "StartPadding": [0, 0], "EndPadding": [0, 0], "GroupCount": 1
})";

// A case under the name of a builder, as Topic takes them.
struct Built {
  Case vector;
  [[nodiscard]] Case build() const { return vector; }
};

Json described(const DescriptionTopic::Label& label, std::string_view expectation,
               const DescriptionTopic::Edits& edits) {
  Json object = Json::object();
  object["id"] = label.id;
  object["note"] = label.note;
  object["rules"] = label.rules;
  if (!label.tags.empty()) object["tags"] = label.tags;
  object["expectation"] = expectation;
  object.update(parse_json(kPlain).value());
  for (const auto& [pointer, value] : edits) object[Json::json_pointer(pointer)] = parse_json(value).value();
  return object;
}

Json document_of(std::vector<Json> descriptions) {
  Json document = Json::object();
  document["format"] = "qconform-directml";
  document["version"] = 1;
  document["cases"] = std::move(descriptions);
  return document;
}

}  // namespace

void DescriptionTopic::problem(const Label& label, const std::string& text) {
  problems_.push_back(path() + ": " + label.id + ": " + text);
}

void DescriptionTopic::add_valid(const Label& label, const Edits& edits, Lane lane) {
  const std::string_view expectation = name_of(lane == Lane::tolerated ? Expectation::latitude : Expectation::valid);
  Json description = described(label, expectation, edits);
  const auto read = directml::read_descriptions_json(print_json(description));
  if (!read) return problem(label, read.error().text());
  const Result<Case> lowered = directml::lower(read->front());
  if (!lowered) return problem(label, lowered.error().text());
  switch (lane) {
    case Lane::computed: checks_.computed(Built{*lowered}); break;
    case Lane::open: checks_.open(Built{*lowered}); break;
    case Lane::tolerated: checks_.tolerated(Built{*lowered}); break;
  }
  if (const std::optional<Tensor>& answer = checks_.cases().back().recorded_output) {
    Json& values = description["OutputTensor"]["data"] = Json::array();
    for (std::int64_t i = 0; i < answer->elements(); ++i) values.push_back(integer_at(*answer, i));
  }
  descriptions_.push_back(std::move(description));
}

void DescriptionTopic::computed(const Label& label, const Edits& edits) {
  add_valid(label, edits, Lane::computed);
}

void DescriptionTopic::open(const Label& label, const Edits& edits) {
  add_valid(label, edits, Lane::open);
}

void DescriptionTopic::tolerated(const Label& label, const Edits& edits) {
  add_valid(label, edits, Lane::tolerated);
}

void DescriptionTopic::refused(const Label& label, const Edits& edits) {
  Json description = described(label, name_of(Expectation::invalid), edits);
  const auto read = directml::read_description_file_json(print_json(description));
  if (!read) return problem(label, read.error().text());
  descriptions_.push_back(std::move(description));
}

std::vector<std::string> DescriptionTopic::problems() const {
  std::vector<std::string> all = problems_;
  all.insert(all.end(), checks_.problems().begin(), checks_.problems().end());
  return all;
}

std::string DescriptionTopic::text() const {
  return print_json(document_of(descriptions_));
}

}  // namespace qconform::author

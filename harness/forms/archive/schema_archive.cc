#include "harness/forms/archive/archive.h"

#include <fmt/format.h>
#include <bit>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "harness/forms/archive/report_archive.h"
#include "harness/forms/json/json_text.h"

namespace qconform {

namespace {

Json reference_to(std::string_view name) {
  return {{"$ref", "#/$defs/" + std::string(name)}};
}

// Each value leaves its schema in `result_`; what holds it takes it from there.
class SchemaWriter final : public Archive {
 public:
  [[nodiscard]] Json take_result() { return std::move(result_); }
  [[nodiscard]] const Json& defs() const { return defs_; }

  void value(bool& /*value*/, const FieldRule& rule) override { state({{"type", "boolean"}}, rule); }
  void value(std::uint64_t& /*value*/, const FieldRule& rule) override {
    rule.form == Form::hex ? state({{"type", "string"}, {"pattern", "^[0-9a-f]{16}$"}}, rule) : state_integer(rule);
  }
  void value(std::int64_t& /*value*/, const FieldRule& rule) override { state_integer(rule); }
  void value(double& /*value*/, const FieldRule& rule) override {
    const Json number{{"type", "number"}, {"minimum", 0}};
    if (rule.form == Form::seconds) return define("seconds", number, rule);
    if (rule.form == Form::amount) return state(number, rule);
    if (rule.form == Form::plain) return state({{"type", "number"}}, rule);
    Json either = Json::array({number});
    either.push_back({{"const", "inf"}});
    state({{"oneOf", std::move(either)}}, rule);
  }
  void value(std::string& /*value*/, const FieldRule& rule) override {
    if (!rule.names.empty())
      return *rule.names_def == '\0' ? state(enumeration(rule), rule) : define(rule.names_def, enumeration(rule), rule);
    Json schema{{"type", "string"}};
    if (rule.min_length > 0) schema["minLength"] = rule.min_length;
    if (*rule.pattern != '\0') schema["pattern"] = rule.pattern;
    state(std::move(schema), rule);
  }
  void constant(std::string_view text) override { result_ = {{"const", text}}; }
  void version(std::uint64_t number) override { result_ = {{"const", number}}; }

  void begin_object(const TypeInfo& type) override { objects_.push_back({.type = type}); }
  void end_object() override {
    ObjectSchema object = std::move(objects_.back());
    objects_.pop_back();
    result_ = schema_of(object);
    if (object.type.name.empty()) return;
    defs_[std::string(object.type.name)] = std::move(result_);
    result_ = reference_to(object.type.name);
    if (object.type.is_base) result_["unevaluatedProperties"] = false;
  }
  bool begin_member(std::string_view key, const FieldRule& rule, Presence presence, bool /*is_there*/) override {
    if (presence == Presence::always) objects_.back().required.push_back(key);
    objects_.back().member = key;
    docs_.emplace_back(rule.doc);
    return true;
  }
  void end_member() override {
    const std::string_view doc = docs_.back();
    docs_.pop_back();
    if (!doc.empty()) result_["description"] = doc;
    ObjectSchema& object = objects_.back();
    object.properties[std::string(object.member)] = std::move(result_);
  }

  void begin_base(const TypeInfo& type) override { objects_.push_back({.type = type}); }
  void end_base() override {
    ObjectSchema base = std::move(objects_.back());
    objects_.pop_back();
    ObjectSchema& object = objects_.back();
    for (const Json& key : base.required) object.required.push_back(key);
    object.base = base.type.name;
    defs_[std::string(base.type.name)] = schema_of(base);
  }

  std::size_t begin_list(std::size_t /*size*/, const FieldRule& rule) override {
    rules_.push_back(rule);
    return 1;
  }
  void begin_element(std::size_t /*index*/) override {}
  void end_element() override {}
  void end_list() override {
    const FieldRule rule = take_rule();
    Json schema{{"type", "array"}};
    if (rule.min_items > 0) schema["minItems"] = rule.min_items;
    if (rule.max_items > 0) schema["maxItems"] = rule.max_items;
    schema["items"] = std::move(result_);
    state(std::move(schema), rule);
  }

  std::vector<std::string> begin_map(std::vector<std::string> /*keys*/, const FieldRule& rule) override {
    rules_.push_back(rule);
    return {""};
  }
  void begin_entry(const std::string& /*key*/) override {}
  void end_entry() override {}
  void end_map() override {
    const FieldRule rule = take_rule();
    Json schema{{"type", "object"}};
    if (*rule.required_key != '\0') schema["required"] = {rule.required_key};
    if (!rule.names.empty() && *rule.names_def == '\0') {
      schema["additionalProperties"] = false;
      for (const std::string_view name : rule.names) schema["properties"][std::string(name)] = result_;
    } else {
      if (!rule.names.empty()) {
        schema["propertyNames"] = reference_to(rule.names_def);
        defs_[rule.names_def] = enumeration(rule);
      }
      schema["additionalProperties"] = std::move(result_);
    }
    state(std::move(schema), rule);
  }

  bool begin_nullable(bool /*is_null*/, const FieldRule& rule) override {
    rules_.push_back(rule);
    return true;
  }
  void end_nullable() override {
    const FieldRule rule = take_rule();
    if (result_.contains("enum")) {
      result_["enum"].push_back(nullptr);
    } else if (result_.contains("type") && result_["type"] != "object") {
      result_["type"] = {result_["type"], "null"};
    } else {
      Json either = Json::array({{{"type", "null"}}});
      either.push_back(std::move(result_));
      result_ = {{"oneOf", std::move(either)}};
    }
    state(std::move(result_), rule);
  }

 private:
  struct ObjectSchema {
    TypeInfo type{};
    std::string_view base{};    ///< the type whose members it has too
    std::string_view member{};  ///< the member under way
    Json required = Json::array();
    Json properties = Json::object();
  };

  // Members beyond a base's are forbidden by those that have the base.
  [[nodiscard]] static Json schema_of(ObjectSchema& object) {
    Json schema{{"type", "object"}};
    if (!object.type.doc.empty()) schema["description"] = object.type.doc;
    if (!object.base.empty()) schema["$ref"] = "#/$defs/" + std::string(object.base);
    if (!object.type.is_base) schema[object.base.empty() ? "additionalProperties" : "unevaluatedProperties"] = false;
    if (!object.required.empty()) schema["required"] = std::move(object.required);
    if (!object.properties.empty()) schema["properties"] = std::move(object.properties);
    return schema;
  }

  static Json enumeration(const FieldRule& rule) {
    Json names = Json::array();
    for (const std::string_view name : rule.names) names.push_back(name);
    return {{"enum", std::move(names)}};
  }

  FieldRule take_rule() {
    const FieldRule rule = rules_.back();
    rules_.pop_back();
    return rule;
  }

  void state_integer(const FieldRule& rule) {
    if (rule.minimum) return state({{"type", "integer"}, {"minimum", *rule.minimum}}, rule);
    define("count", {{"type", "integer"}, {"minimum", 0}}, rule);
  }
  // In place, or under the rule's name.
  void state(Json schema, const FieldRule& rule) {
    result_ = std::move(schema);
    if (*rule.def != '\0') define(rule.def, std::move(result_), rule);
  }
  void define(const char* name, Json schema, const FieldRule& rule) {
    if (*rule.def_doc != '\0') schema["description"] = rule.def_doc;
    defs_[name] = std::move(schema);
    result_ = reference_to(name);
  }

  Json result_;
  Json defs_ = Json::object();
  std::vector<ObjectSchema> objects_;
  std::vector<FieldRule> rules_;        ///< the rules of the lists, maps and nullable values under way
  std::vector<std::string_view> docs_;  ///< the descriptions of the members under way
};

}  // namespace

Json schema_of(const SchemaHead& head, const std::function<void(Archive&)>& describe) {
  SchemaWriter writer;
  describe(writer);
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}};
  if (!head.id.empty()) schema["$id"] = head.id;
  schema["title"] = head.title;
  schema["description"] = head.description;
  schema.update(writer.take_result());
  schema["$defs"] = writer.defs();
  return schema;
}

// Checks between the members of a report, beyond those made while reading them.

namespace {

Result<void> validate(const TensorBox& box, const std::string& where) {
  if (box.begin.size() != box.shape.size() || box.extent.size() != box.shape.size()) {
    return fail(where, fmt::format("shape, begin and extent have {}, {} and {} dimensions", box.shape.size(),
                                   box.begin.size(), box.extent.size()));
  }
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < box.shape.size(); ++d) {
    if (box.begin[d] < 0 || box.extent[d] < 0 || box.extent[d] > box.shape[d] ||
        box.begin[d] > box.shape[d] - box.extent[d]) {
      return fail(where, fmt::format("dimension {}: the box [{}, +{}) is not within {}", d, box.begin[d], box.extent[d],
                                     box.shape[d]));
    }
    if (__builtin_mul_overflow(elements, box.extent[d], &elements)) return fail(where, "the box is too large");
  }
  if (static_cast<std::size_t>(elements) == box.values.size()) return {};
  return fail(json_path(where, "values"), fmt::format("{} values for {} elements", box.values.size(), elements));
}

Result<void> validate(const ElementMap& map, const std::string& where) {
  if (auto box = validate(map.got, json_path(where, "got")); !box) return box;
  for (const std::size_t size : {map.expected.size(), map.exact.size(), map.admissible.size()}) {
    if (size == map.got.values.size()) continue;
    return fail(where, fmt::format("got has {} values, another of its lists {}", map.got.values.size(), size));
  }
  if (!map.parameter.empty() && map.parameter.size() != map.got.values.size()) {
    return fail(json_path(where, "parameter"),
                fmt::format("{} positions for {} elements", map.parameter.size(), map.got.values.size()));
  }
  for (std::size_t i = 0; i < map.inputs.size(); ++i) {
    if (auto box = validate(map.inputs[i], json_path(json_path(where, "inputs"), i)); !box) return box;
  }
  return {};
}

Result<void> validate(const Finding& finding, const std::string& where) {
  const auto check = [&](const std::optional<ElementMap>& map, const char* key) -> Result<void> {
    return map ? validate(*map, json_path(where, key)) : Result<void>();
  };
  if (auto own = check(finding.element_map, "picture"); !own) return own;
  if (finding.shrinking) {
    if (auto of = check(finding.shrinking->element_map, "shrinking.original.picture"); !of) return of;
  }
  return finding.representative ? check(finding.representative->element_map, "telling.picture") : Result<void>();
}

Result<void> validate(const CampaignTimeline& timeline, const std::string& where) {
  if (!std::has_single_bit(timeline.group_blocks)) {
    return fail(json_path(where, "group_blocks"),
                fmt::format("expected a power of two, got {}", timeline.group_blocks));
  }
  for (std::size_t i = 0; i < timeline.groups.size(); ++i) {
    const std::uint64_t first = timeline.groups[i].first;
    if (first % timeline.group_blocks == 0 && (i == 0 || first > timeline.groups[i - 1].first)) continue;
    return fail(json_path(json_path(json_path(where, "groups"), i), "first"),
                fmt::format("expected multiples of group_blocks, ascending, got {}", first));
  }
  for (std::size_t i = 0; i < timeline.corner_cases.size(); ++i) {
    if (corner_case_with_id(timeline.corner_cases[i].corner_case) != nullptr) continue;
    return fail(json_path(json_path(json_path(where, "corner_cases"), i), "id"),
                fmt::format("no corner case \"{}\"", timeline.corner_cases[i].corner_case));
  }
  return {};
}

}  // namespace

Result<void> validate(const Report& report) {
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    if (auto valid = validate(report.findings[i], json_path("findings", i)); !valid) return valid;
  }
  return report.campaign ? validate(report.campaign->timeline, "campaign.course") : Result<void>();
}

}  // namespace qconform

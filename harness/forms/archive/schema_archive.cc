#include "harness/forms/archive/schema_archive.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

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
    Object object = std::move(objects_.back());
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
    Object& object = objects_.back();
    object.properties[std::string(object.member)] = std::move(result_);
  }

  void begin_base(const TypeInfo& type) override { objects_.push_back({.type = type}); }
  void end_base() override {
    Object base = std::move(objects_.back());
    objects_.pop_back();
    Object& object = objects_.back();
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
  struct Object {
    TypeInfo type{};
    std::string_view base{};    ///< whose members it has too
    std::string_view member{};  ///< under way
    Json required = Json::array();
    Json properties = Json::object();
  };

  // Members beyond a base's are forbidden by those that have the base.
  [[nodiscard]] static Json schema_of(Object& object) {
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
  std::vector<Object> objects_;
  std::vector<FieldRule> rules_;        ///< of the lists, maps and nullable values under way
  std::vector<std::string_view> docs_;  ///< of the members under way
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

}  // namespace qconform

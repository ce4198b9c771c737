#include "harness/forms/defects/defect_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/core/limits.h"
#include "harness/forms/archive/archive.h"
#include "harness/forms/json/json_text.h"
#include "harness/model/defects/defect.h"
#include "harness/model/defects/expression.h"
#include "harness/model/operator.h"

namespace qconform::diagnose {
namespace {

// A defect with the texts and the expression that it refers to.
struct OwnedDefect {
  StatedDefect stated;
  std::string rules;
  Expression expression;

  [[nodiscard]] Defect defect() const {
    OpSet op_types;
    for (const std::string& op_type : stated.op_types) op_types.add(op_type);
    return {.id = stated.id,
            .description = stated.description,
            .operators = op_types,
            .trigger = stated.trigger,
            .rule = rules,
            .evidence = stated.evidence,
            .expression = &expression};
  }
};

// They live as long as the program; a list, since defects refer to them.
std::deque<OwnedDefect>& owned_defects() {
  static std::deque<OwnedDefect> all;
  return all;
}

std::vector<std::string>& added_files() {
  static std::vector<std::string> files;
  return files;
}

Result<void> check_operators(const std::vector<std::string>& op_types) {
  for (std::size_t i = 0; i < op_types.size(); ++i) {
    if (std::find(op_types.begin(), op_types.end(), op_types[i]) == op_types.begin() + static_cast<std::ptrdiff_t>(i))
      continue;
    return fail(fmt::format("operators[{}]", i),
                fmt::format("expected each operator once, got \"{}\" again", op_types[i]));
  }
  return {};
}

// Lists and reports show it in a line.
Result<void> check_line(const char* field, const std::string& text) {
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7F; };
  if (std::none_of(text.begin(), text.end(), is_control)) return {};
  return fail(field, fmt::format("expected one line without control characters, got \"{}\"", printable(text)));
}

Result<void> check_texts(const StatedDefect& stated) {
  QCONFORM_TRY(check_line("description", stated.description));
  QCONFORM_TRY(check_line("trigger", stated.trigger));
  QCONFORM_TRY(check_line("evidence", stated.evidence));
  return check_operators(stated.op_types);
}

// Returns the expression that computes `wrong` where the condition holds, and the right value elsewhere.
Result<Expression> under_condition(const Expression& wrong, std::string_view when) {
  const ExpressionSlot& slot = wrong.slot();
  if (slot.allowed == Operators::none) {
    return fail("when", fmt::format("expected no condition, got \"{}\": stage {} takes one name alone", printable(when),
                                    slot.name));
  }
  QCONFORM_ASSIGN(const auto condition, in_context("when", Expression::parse(slot, when)));
  return in_context("when", Expression::parse(slot, fmt::format("({}) ? ({}) : ({})", condition.text(), wrong.text(),
                                                                slot.reference)));
}

Result<OwnedDefect> owned(StatedDefect stated) {
  QCONFORM_TRY(check_texts(stated));
  QCONFORM_ASSIGN(auto expression, expression_in(stated.op_types, stated.stage, stated.expression));
  if (expression.text() == expression.slot().reference) {
    return fail("expression", fmt::format("expected what differs from the right value of stage {}, got \"{}\"",
                                          stated.stage, printable(stated.expression)));
  }
  if (!stated.when.empty()) {
    QCONFORM_ASSIGN(expression, under_condition(expression, stated.when));
  }
  std::string rules = fmt::format("{}", fmt::join(stated.rules, ", "));
  return OwnedDefect{std::move(stated), std::move(rules), std::move(expression)};
}

Result<void> add_all(std::vector<StatedDefect> stated) {
  std::deque<OwnedDefect>& all = owned_defects();
  const std::size_t before = all.size();
  std::vector<Defect> added;
  const auto add = [&]() -> Result<void> {
    for (std::size_t i = 0; i < stated.size(); ++i) {
      auto one = owned(std::move(stated[i]));
      if (!one) return fail(fmt::format("defects[{}].{}", i, one.error().field), one.error().message);
      added.push_back(all.emplace_back(*std::move(one)).defect());
    }
    return add_defects(added);
  };
  const Result<void> done = add();
  while (!done && all.size() > before) all.pop_back();
  return done;
}

}  // namespace

const FieldRule& StatedDefect::operator_rule() {
  static const FieldRule kRule{.names = operator_names()};
  return kRule;
}

const FieldRule& StatedDefect::rule_rule() {
  static const FieldRule kRule{.pattern = "^([A-Z][0-9]+|formula|signature)$",
                               .pattern_says = "a rule of docs/numerics.md, such as C19 or formula"};
  return kRule;
}

Result<void> add_defects_of(const std::string& path) {
  QCONFORM_ASSIGN(const auto text, read_file(path, limits::kJsonFileBytes));
  const auto read = [&]() -> Result<void> {
    QCONFORM_ASSIGN(const auto json, parse_json(text));
    QCONFORM_ASSIGN(auto file, read_document<DefectsFile>(json, Author::people));
    return add_all(std::move(file.defects));
  };
  QCONFORM_TRY(in_context(path, read()));
  added_files().push_back(path);
  return {};
}

std::span<const std::string> defect_files() {
  return added_files();
}

namespace {

struct LearntDefect {
  Expression expression;
  std::string id;
  std::string description;
  std::string operator_name;
  Defect defect;
};

// A list, since models are known by their addresses.
class LearntModels {
 public:
  const Defect& model_of(std::string_view op_type, const Expression& expression) {
    const std::lock_guard lock(mutex_);
    const ExpressionSlot& slot = expression.slot();
    std::string id = fmt::format("{} = {}", slot.name, expression.text());
    const auto [at, is_new] = by_name_.try_emplace({std::string(op_type), id}, nullptr);
    if (!is_new) return at->second->defect;
    std::string description = fmt::format("behaves as: {}; right is {} ({})", id, slot.reference, slot.describes);
    LearntDefect& learnt = all_.emplace_back(
        LearntDefect{expression, std::move(id), std::move(description), std::string(op_type), Defect{}});
    learnt.defect.id = learnt.id;
    learnt.defect.description = learnt.description;
    learnt.defect.operators = {learnt.operator_name};
    learnt.defect.rule = "formula";
    learnt.defect.expression = &learnt.expression;
    learnt.defect.is_learnt = true;
    at->second = &learnt;
    return learnt.defect;
  }

 private:
  std::mutex mutex_;
  std::deque<LearntDefect> all_;
  std::map<std::pair<std::string, std::string>, LearntDefect*> by_name_;
};

Result<const Defect*> model_of_file(const ModelFile& file) {
  QCONFORM_ASSIGN(const auto expression, expression_in(std::span(&file.op_type, 1), file.stage, file.expression));
  return &model_of(file.op_type, expression);
}

std::string unknown_id(std::string_view id) {
  std::vector<std::string_view> ids;
  for (const Defect& defect : defects()) ids.push_back(defect.id);
  std::string text = "no defect model \"" + std::string(id) + "\"";
  const std::vector<std::string_view> near = near_names(id, ids);
  for (std::size_t i = 0; i < near.size(); ++i) text += (i == 0 ? "; did you mean " : ", ") + std::string(near[i]);
  return text + (near.empty() ? "; see" : "? See") + " `qconform list defects`";
}

}  // namespace

const Defect& model_of(std::string_view op_type, const Expression& expression) {
  static LearntModels models;
  return models.model_of(op_type, expression);
}

Result<const Defect*> load_model(const std::string& path) {
  QCONFORM_ASSIGN(const auto text, read_file(path, limits::kJsonFileBytes));
  const auto read = [&]() -> Result<const Defect*> {
    QCONFORM_ASSIGN(const auto json, parse_json(text));
    QCONFORM_ASSIGN(const auto file, read_document<ModelFile>(json));
    return model_of_file(file);
  };
  return in_context(path, read());
}

std::string model_text(const Defect& defect, std::string_view note) {
  const Expression& expression = *defect.expression;
  return print_json(write_document(
      description_of(ModelFile{std::string(*defect.operators.begin()), std::string(expression.slot().name),
                               expression.text(), std::string(note)})));
}

bool names_a_file(std::string_view id) {
  return id.ends_with(".json") || id.find('/') != std::string_view::npos;
}

Result<DefectModel> model_named(std::string_view ids, reference::RoundingProfile profile, const std::string& field) {
  DefectModel model(profile);
  for (std::size_t begin = 0; begin <= ids.size();) {
    const std::size_t end = std::min(ids.find('+', begin), ids.size());
    const std::string_view id = ids.substr(begin, end - begin);
    const Defect* defect = find_defect(id);
    if (defect == nullptr && names_a_file(id)) {
      QCONFORM_ASSIGN(defect, in_context(field, load_model(std::string(id))));
    }
    if (defect == nullptr) return fail(field, unknown_id(id));
    if (const Result<void> added = model.add(*defect); !added) return fail(field, added.error().message);
    begin = end + 1;
  }
  return model;
}

}  // namespace qconform::diagnose

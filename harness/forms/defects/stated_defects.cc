#include "harness/forms/defects/stated_defects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <string_view>
#include <utility>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/core/limits.h"
#include "harness/forms/archive/json_archives.h"
#include "harness/forms/json/json_text.h"
#include "harness/model/defects/defect.h"
#include "harness/model/defects/expression.h"

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

}  // namespace qconform::diagnose

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

constexpr std::string_view kLowerCase = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kNumerals = "0123456789";

// A defect with the texts and the expression that it refers to.
struct HeldDefect {
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
std::deque<HeldDefect>& held_defects() {
  static std::deque<HeldDefect> held;
  return held;
}

std::vector<std::string>& added_files() {
  static std::vector<std::string> files;
  return files;
}

bool is_id(std::string_view text) {
  const auto is_word = [](char c) {
    return kLowerCase.find(c) != std::string_view::npos || kNumerals.find(c) != std::string_view::npos;
  };
  if (text.empty() || text.starts_with('-') || text.ends_with('-')) return false;
  if (text.find("--") != std::string_view::npos) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) { return c == '-' || is_word(c); });
}

// "C19", or a word of docs/numerics.md.
bool is_rule(std::string_view text) {
  if (text == "formula" || text == "signature") return true;
  if (text.size() < 2 || text[0] < 'A' || text[0] > 'Z') return false;
  return text.find_first_not_of(kNumerals, 1) == std::string_view::npos;
}

Result<void> check_operators(const std::vector<std::string>& op_types) {
  const auto known = operator_names();
  if (op_types.empty()) return fail("operators", fmt::format("expected one or more of {}", fmt::join(known, ", ")));
  for (std::size_t i = 0; i < op_types.size(); ++i) {
    const auto field = fmt::format("operators[{}]", i);
    const std::string shown = printable(op_types[i]);
    if (std::find(known.begin(), known.end(), op_types[i]) == known.end())
      return fail(field, fmt::format("expected one of {}, got \"{}\"", fmt::join(known, ", "), shown));
    if (std::find(op_types.begin(), op_types.end(), op_types[i]) != op_types.begin() + static_cast<std::ptrdiff_t>(i))
      return fail(field, fmt::format("expected each operator once, got \"{}\" again", shown));
  }
  return {};
}

Result<void> check_rules(const std::vector<std::string>& rules) {
  constexpr std::string_view kExpected = "a rule of docs/numerics.md, such as C19 or formula";
  if (rules.empty()) return fail("rules", fmt::format("expected {}", kExpected));
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (is_rule(rules[i])) continue;
    return fail(fmt::format("rules[{}]", i), fmt::format("expected {}, got \"{}\"", kExpected, printable(rules[i])));
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
  if (!is_id(stated.id)) {
    return fail("id", fmt::format("expected lower-case letters and digits, in words joined by -, got \"{}\"",
                                  printable(stated.id)));
  }
  if (stated.description.empty()) return fail("description", "must not be empty");
  if (stated.trigger.empty()) return fail("trigger", "must not be empty");
  QCONFORM_TRY(check_line("description", stated.description));
  QCONFORM_TRY(check_line("trigger", stated.trigger));
  QCONFORM_TRY(check_line("evidence", stated.evidence));
  QCONFORM_TRY(check_operators(stated.op_types));
  return check_rules(stated.rules);
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

Result<HeldDefect> held(StatedDefect stated) {
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
  return HeldDefect{std::move(stated), std::move(rules), std::move(expression)};
}

Result<void> add_all(std::vector<StatedDefect> stated) {
  if (stated.empty()) return fail("defects", "expected one defect or more");
  std::deque<HeldDefect>& all = held_defects();
  const std::size_t before = all.size();
  std::vector<Defect> added;
  const auto add = [&]() -> Result<void> {
    for (std::size_t i = 0; i < stated.size(); ++i) {
      auto one = held(std::move(stated[i]));
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
  static const FieldRule kRule{.pattern = "^([A-Z][0-9]+|formula|signature)$"};
  return kRule;
}

Result<void> add_defects_of(const std::string& path) {
  QCONFORM_ASSIGN(const auto text, read_file(path, limits::kJsonFileBytes));
  const auto read = [&]() -> Result<void> {
    QCONFORM_ASSIGN(const auto json, parse_json(text));
    QCONFORM_ASSIGN(auto file, read_document<DefectsFile>(json));
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

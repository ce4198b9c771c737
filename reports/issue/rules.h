// The statements of the rules, as docs/numerics.md makes them.
#pragma once

#include <span>
#include <string_view>

namespace qconform::report {

struct RuleStatement {
  std::string_view id;         ///< "C19", as messages name it: "[rule C19]"
  std::string_view statement;  ///< the page's row, without markup
};

/// All rules of docs/numerics.md, in the page's order.
[[nodiscard]] std::span<const RuleStatement> rules();

/// The statement of the rule with that id ("C19"); empty where the page has none.
[[nodiscard]] std::string_view statement_of(std::string_view rule);

}  // namespace qconform::report

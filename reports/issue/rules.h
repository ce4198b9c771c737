// The statements of the rules, as docs/numerics.md makes them.
#pragma once

#include <string_view>

namespace qconform::report {

/// The statement of the rule with that id ("C19"); empty where the page has none.
[[nodiscard]] std::string_view statement_of(std::string_view rule);

}  // namespace qconform::report

// The cases of a suite, one after the other, for tests of what holds of all of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "harness/suites/select.h"

namespace qconform::testing {

/// Calls visit(test_case) for the cases of the suite `name` with seed 4, at most `cases` of what is drawn. Ends where
/// a test fails for good in it.
template <typename Visit>
void for_each_case(const std::string& name, std::uint64_t cases, Visit visit) {
  auto sources = open_suite(name, {.seed = 4, .cases = cases});
  ASSERT_TRUE(sources) << sources.error().text();
  for (const auto& source : *sources) {
    while (true) {
      const auto next = source->next();
      ASSERT_TRUE(next) << next.error().text();
      if (!*next) break;
      visit(**next);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace qconform::testing

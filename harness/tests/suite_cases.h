// Sources whose cases are a function of seed and index.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "harness/core/case.h"
#include "harness/core/suite.h"

namespace qconform::testing {

/// Returns a number that stays the same as long as each of the first `count` cases does.
template <class CaseOf>
[[nodiscard]] std::uint64_t digest_of_cases(CaseOf case_of, std::uint64_t count) {
  std::uint64_t digest = 0;
  for (std::uint64_t index = 0; index < count; ++index) digest += digest_of(case_of(index));
  return digest;
}

/// Expects that the source gives `count` cases, those of the indices from 0 on, and ends.
template <class CaseOf>
void expect_cases_of(Suite& source, CaseOf case_of, std::uint64_t count) {
  for (std::uint64_t index = 0; index < count; ++index) {
    const auto next = source.next();
    ASSERT_TRUE(next.has_value() && next->has_value());
    EXPECT_EQ(**next, case_of(index));
  }
  EXPECT_FALSE(source.next()->has_value());
}

}  // namespace qconform::testing

#include "harness/base/error.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace qconform {
namespace {

Result<std::unique_ptr<int>> checked(int value, int& calls) {
  ++calls;
  if (value < 0) return fail("value", "below 0");
  return std::make_unique<int>(value);
}

Result<std::string> text_of_sum(int a, int b, int& calls) {
  if (a != 0) QCONFORM_TRY(checked(a, calls));
  QCONFORM_ASSIGN(auto sum, checked(a, calls));
  std::unique_ptr<int> other;
  QCONFORM_ASSIGN(other, in_context("b", checked(b, calls)));
  return std::to_string(*sum + *other);
}

TEST(Error, TryAndAssignEvaluateOnceAndMoveTheValue) {
  int calls = 0;
  EXPECT_EQ(text_of_sum(2, 3, calls).value(), "5");
  EXPECT_EQ(calls, 3);
}

TEST(Error, TryAndAssignReturnTheFirstError) {
  int calls = 0;
  EXPECT_EQ(text_of_sum(-1, -1, calls).error().text(), "value: below 0");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(text_of_sum(0, -1, calls).error().text(), "b: value: below 0");
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace qconform

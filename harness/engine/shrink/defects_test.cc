// Every planted defect becomes a case that shows it at a glance.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/select.h"
#include "harness/engine/shrink/shrink.h"
#include "harness/forms/json/case_json.h"
#include "harness/model/defects/defect.h"
#include "harness/model/judge/judge.h"
#include "harness/model/reductions/reductions.h"
#include "harness/model/text.h"
#include "harness/suites/drawn.h"
#include "harness/suites/select.h"

namespace qconform::shrink {
namespace {

// The cases that are tried: the reviewed ones, then random ones.
std::vector<Case> candidate_cases() {
  std::vector<Case> cases;
  auto corpus = open_suite("corpus", {});
  for (const auto& source : *corpus) {
    for (auto next = source->next(); next && *next; next = source->next()) cases.push_back(std::move(**next));
  }
  for (std::uint64_t i = 0; i < 300; ++i) cases.push_back(random_case(21, i));
  return cases;
}

// The largest failing case of the first few: the hardest to shrink.
std::optional<Case> failing_case(const std::vector<Case>& cases, const Runner& runner) {
  std::optional<Case> largest;
  int found = 0;
  for (std::size_t i = cases.size(); i-- > 0 && found < 5;) {
    if (!is_failure(judge(expect(cases[i], {}), runner(cases[i])).kind)) continue;
    ++found;
    if (!largest || cases[i].input(0)->elements() > largest->input(0)->elements()) largest = cases[i];
  }
  return largest;
}

Outcome right_outcome(const Expected& expected) {
  return outcome::Produced{expected.answers()};
}

std::int64_t taps_of(const Case& test_case) {
  const Tensor* w = tensor_named(test_case, "w");
  return w == nullptr ? 1 : w->elements();
}

template <typename T>
T median(std::vector<T> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

Failure failure_of_case(const Case& test_case, const Runner& runner) {
  const Expected expected = expect(test_case, {});
  const Outcome outcome = runner(test_case);
  return failure_of(expected, outcome, judge(expected, outcome));
}

// The case written for a failure fails as that did, and proves of whoever gets it right that the defect is gone.
void expect_reproducer(const Case& original, const Case& smallest, const Runner& defective) {
  SCOPED_TRACE(summary_of(smallest));
  const auto read = read_cases_json(case_json(smallest));
  ASSERT_TRUE(read) << read.error().text();
  const Case& written = read->front();
  EXPECT_EQ(failure_of_case(written, defective), failure_of_case(original, defective));
  Expected expected = expect(written, {});
  assess(written, expected);
  EXPECT_FALSE(expected.defect_disputed);
  EXPECT_TRUE(expected.defect);
  const Outcome right = expected.classification.expectation() == Expectation::invalid
                            ? Outcome(outcome::Rejected{"out of contract"})
                            : right_outcome(expected);
  EXPECT_EQ(judge(expected, right).kind, VerdictKind::pass);
}

TEST(ShrinkDefects, BecomeOneElementOfAFewTaps) {
  const std::vector<Case> cases = candidate_cases();
  std::vector<std::int64_t> elements;
  std::vector<std::int64_t> taps;
  for (const diagnose::Defect& defect : diagnose::defects()) {
    auto backend = backend::select("defect:" + std::string(defect.id), RoundingProfile::correctly_rounded);
    ASSERT_TRUE(backend) << backend.error().text();
    const Runner runner = in_process(**backend);
    const auto original = failing_case(cases, runner);
    if (!original) continue;  // none of these cases reaches it
    const Result result = shrink(*original, runner, {});
    const Verdict verdict = judge(expect(result.smallest, {}), runner(result.smallest));
    EXPECT_TRUE(is_failure(verdict.kind)) << defect.id;
    expect_reproducer(*original, result.smallest, runner);
    const Classification classification = classify(result.smallest);
    elements.push_back(classification.lowered ? elements_of(classification.lowered->output_shape()) : 1);
    taps.push_back(taps_of(result.smallest));
    std::cout << defect.id << ": " << elements.back() << " elements, " << taps.back() << " taps, " << result.runs
              << " runs, " << result.seconds << " s, " << name_of(result.ending) << ": " << summary_of(result.smallest)
              << "\n";
  }
  ASSERT_GE(elements.size(), 20U);
  EXPECT_EQ(median(elements), 1);
  EXPECT_LE(median(taps), 4);
  // Sums beyond a float's 24 bits need many products, with and without a bias, and those beyond int32; two defects are
  // of kernels for 3x3, and for 8 filters of 8 weights. Nothing else needs many: a sum beyond int16 needs two, and may
  // be left with six of middling values, each of which it cannot do without.
  EXPECT_LE(std::count_if(taps.begin(), taps.end(), [](std::int64_t count) { return count > 6; }), 5);
}

}  // namespace
}  // namespace qconform::shrink

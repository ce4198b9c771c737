#include "harness/engine/shrink/shrink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/backends/select.h"
#include "harness/model/case_builder.h"
#include "harness/model/family.h"
#include "harness/model/judge/judge.h"
#include "harness/model/reductions/reductions.h"
#include "harness/model/text.h"
#include "harness/operators/convolution/hooks.h"
#include "harness/suites/drawn.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/linear_builder.h"
#include "harness/tests/planted_kernels.h"
#include "harness/tests/test_scale.h"

namespace qconform::shrink {
namespace {

Verdict verdict_on(const Case& test_case, const Runner& runner) {
  return judge(expect(test_case, {}), runner(test_case));
}

Failure failure_on(const Case& test_case, const Runner& runner) {
  const Expected expected = expect(test_case, {});
  const Outcome outcome = runner(test_case);
  return failure_of(expected, outcome, judge(expected, outcome));
}

Measure measure_of(const Case& test_case) {
  const Classification classification = classify(test_case);
  std::optional<std::int64_t> elements;
  if (classification.lowered) elements = elements_of(classification.lowered->output_shape());
  return measure(test_case, elements);
}

// A runner that computes everything as the reference does, but for what `spoil` makes of it.
Runner spoiled(std::function<void(const Case&, Outcome&)> spoil) {
  const auto scalar = std::shared_ptr<Backend>(testing::planted_backend("scalar"));
  return [=, right = in_process(*scalar)](const Case& test_case) {
    const auto keep_alive = scalar;
    Outcome outcome = right(test_case);
    spoil(test_case, outcome);
    return outcome;
  };
}

// The random cases that fail, up to `count`.
std::vector<Case> failing_cases(const Runner& runner, std::size_t count) {
  std::vector<Case> cases;
  for (std::uint64_t i = 0; cases.size() < count && i < 400; ++i) {
    Case candidate = random_case(5, i);
    if (is_failure(verdict_on(candidate, runner).kind)) cases.push_back(std::move(candidate));
  }
  return cases;
}

// One index of every extent left out, one attribute, one entry of it a step plainer, one value made neutral or a step
// nearer to that, one zero point 0, one scale 1: written without the reductions.
std::vector<Case> neighbours_of(const Case& test_case, const std::vector<std::int64_t>& wrong) {
  std::vector<Case> result;
  const auto changed = [&](auto change) {
    Case other = test_case;
    change(other);
    result.push_back(std::move(other));
  };
  for (const Extent& extent : family_of(test_case)->shrinking.extents(test_case, wrong)) {
    for (std::int64_t left_out = 0; left_out < extent.length; ++left_out) {
      std::vector<std::int64_t> keep = positions(extent.length);
      keep.erase(keep.begin() + left_out);
      result.push_back(extent.cut(test_case, keep));
    }
  }
  for (std::size_t i = 0; i < test_case.node().attributes.size(); ++i) {
    const Attribute& attribute = test_case.node().attributes[i];
    changed([&](Case& c) { c.node().attributes.erase(c.node().attributes.begin() + static_cast<std::ptrdiff_t>(i)); });
    const auto* entries = std::get_if<std::vector<std::int64_t>>(&attribute.value);
    const std::int64_t plain = attribute.name == "pads" ? 0 : 1;
    for (std::size_t entry = 0; entries != nullptr && entry < entries->size(); ++entry) {
      changed([&](Case& c) { (*integers_of(c, attribute.name))[entry] += (*entries)[entry] > plain ? -1 : 1; });
    }
  }
  for (const Role& role : roles_of(test_case)) {
    const Tensor& tensor = *test_case.input(role.position);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const auto set = [&](std::uint64_t bits) {
        changed([&](Case& c) { set_bits_at(*c.inputs[role.position], i, bits); });
      };
      if (role.part == InputPart::scale) set(one_bits(tensor.type));
      if (role.part == InputPart::scale || !is_integer(tensor.type)) continue;
      const std::int64_t value = integer_at(tensor, i);
      const std::int64_t neutral = role.part == InputPart::zero_point ? 0 : neutral_value(test_case, role, i);
      set(integer_bits(tensor.type, neutral));
      set(integer_bits(tensor.type, value + (value > neutral ? -1 : 1)));
    }
  }
  return result;
}

// Checks the claim of the word "minimal".
void expect_no_smaller_neighbour(const Case& minimal, const Runner& runner) {
  const Failure failure = failure_on(minimal, runner);
  const Verdict verdict = verdict_on(minimal, runner);
  const auto wrong = verdict.worst ? verdict.worst->index : std::vector<std::int64_t>{};
  std::vector<Case> neighbours = neighbours_of(minimal, wrong);
  for (Case& other : simpler(minimal)) neighbours.push_back(std::move(other));
  for (const Case& other : neighbours) {
    if (requirement_of(classify(other)) != requirement_of(classify(minimal)) ||
        !(measure_of(other) < measure_of(minimal)))
      continue;
    EXPECT_NE(failure_on(other, runner), failure) << summary_of(minimal) << " is not minimal: " << summary_of(other);
  }
}

// Takes every offer down, and none.
class Offers final : public Subject {
 public:
  explicit Offers(const Case& test_case) : case_(test_case) {}
  [[nodiscard]] const Case& current() const override { return case_; }
  [[nodiscard]] const std::vector<std::int64_t>& wrong_element() const override { return nowhere_; }
  bool offer(Case candidate) override {
    offers_.push_back(std::move(candidate));
    return false;
  }
  [[nodiscard]] bool exhausted() const override { return false; }
  [[nodiscard]] const std::vector<Case>& taken() const { return offers_; }

 private:
  const Case& case_;
  std::vector<std::int64_t> nowhere_;
  std::vector<Case> offers_;
};

class PlantedShrink : public ::testing::TestWithParam<const char*> {};

// Shrinking keeps its promises whatever failing case it is given.
TEST_P(PlantedShrink, KeepsTheFailureAndNeverGrows) {
  const auto backend = testing::planted_backend(GetParam());
  const Runner runner = in_process(*backend);
  const auto cases = failing_cases(runner, static_cast<std::size_t>(testing::scaled(20)));
  ASSERT_FALSE(cases.empty());
  for (const Case& original : cases) {
    SCOPED_TRACE(original.id);
    const Result result = shrink(original, runner, {});
    EXPECT_EQ(result.ending, Ending::minimal);
    EXPECT_EQ(failure_on(result.smallest, runner), failure_on(original, runner));
    EXPECT_EQ(requirement_of(classify(result.smallest)), requirement_of(classify(original)));
    EXPECT_LT(measure_of(result.smallest), measure_of(original));
    EXPECT_EQ(elements_of(classify(result.smallest).lowered->output_shape()), 1) << summary_of(result.smallest);

    const Result again = shrink(result.smallest, runner, {});
    EXPECT_EQ(again.steps, 0U) << summary_of(again.smallest);
    EXPECT_EQ(digest_of(again.smallest), digest_of(result.smallest));
    expect_no_smaller_neighbour(result.smallest, runner);
    EXPECT_EQ(shrink(original, runner, {}).smallest, result.smallest) << "not deterministic";
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, PlantedShrink,
                         ::testing::Values("pad-raw-zero", "pair-sat-i16", "past-end", "before-start"));

// Wrong in the ninth column of the second channel, whatever the window of that is.
TEST(Shrink, NeitherPaddingNorTapsStayThatDoNotMatter) {
  const Runner runner = spoiled([](const Case& test_case, Outcome& outcome) {
    auto* produced = std::get_if<outcome::Produced>(&outcome);
    if (produced == nullptr || test_case.node().op_type != "QLinearConv") return;
    Tensor& y = produced->outputs.front();
    if (y.shape.size() != 4 || y.shape[1] < 2 || y.shape[3] < 9) return;
    std::byte& wrong = y.bytes[static_cast<std::size_t>(y.shape[2] * y.shape[3] + 8)];
    wrong = std::byte{static_cast<std::uint8_t>(std::to_integer<unsigned>(wrong) + 20)};
  });
  const Case original = QLinearConvBuilder()
                            .x(make::uint8({1, 1, 1, 5}, {3, 9, 4, 7, 2}))
                            .x_zero_point(2)
                            .w(make::filled(ElementType::int8, {2, 1, 2, 6}, 3))
                            .dilations({2, 2})
                            .pads({0, 7, 2, 7})
                            .y_scale(4)
                            .build();
  ASSERT_EQ(verdict_on(original, runner).kind, VerdictKind::wrong);
  const Result result = shrink(original, runner, {});
  EXPECT_EQ(result.ending, Ending::minimal);
  EXPECT_EQ(result.smallest.input(0)->shape, (make::Shape{1, 1, 1, 9})) << summary_of(result.smallest);
  EXPECT_EQ(result.smallest.input(3)->shape, (make::Shape{2, 1, 1, 1}));
  EXPECT_TRUE(result.smallest.node().attributes.empty());
  expect_no_smaller_neighbour(result.smallest, runner);
}

// Each of these steps changes several things at once, and no output.
TEST(Shrink, StepsOfWindowsKeepTheOutputs) {
  int offered = 0;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(testing::scaled(300)); ++i) {
    const Case original = random_case(31, i);
    const auto right = [](const Case& test_case) { return expect(test_case, {}).output; };
    Offers offers(original);
    padding_as_values(offers);
    gaps_as_taps(offers);
    for (const Case& candidate : offers.taken()) {
      EXPECT_EQ(right(candidate), right(original)) << summary_of(original) << " and " << summary_of(candidate);
      EXPECT_LE(measure_of(candidate).elements, measure_of(original).elements);
      ++offered;
    }
  }
  EXPECT_GT(offered, 20);
}

TEST(Shrink, SaturatingPairsBecomeOnePair) {
  const auto backend = testing::planted_backend("pair-sat-i16");
  const Runner runner = in_process(*backend);
  const Case original = failing_cases(runner, 1).at(0);
  const Result result = shrink(original, runner, {});
  EXPECT_EQ(result.smallest.input(3)->elements(), 2) << summary_of(result.smallest);
  EXPECT_EQ(result.smallest.id, original.id + ".shrunk");
  EXPECT_THAT(result.smallest.note, ::testing::HasSubstr("shrunk from " + original.id));
  EXPECT_EQ(result.smallest.provenance, original.provenance);
}

// A kernel that takes what it must refuse: the case keeps breaking the same rule.
TEST(Shrink, InvalidCaseKeepsTheRuleItBreaks) {
  const Runner accepting = [](const Case&) -> Outcome { return outcome::Produced{make::uint8({1}, {0})}; };
  const Case wrong_group = QLinearConvBuilder()
                               .x(make::filled(ElementType::uint8, {2, 6, 9, 9}, 7))
                               .w(make::filled(ElementType::int8, {4, 3, 3, 3}, 5))
                               .pads({1, 1, 1, 1})
                               .group(3)
                               .build();
  const Result result = shrink(wrong_group, accepting, {});
  EXPECT_EQ(result.ending, Ending::minimal);
  EXPECT_EQ(result.verdict.kind, VerdictKind::not_rejected);
  EXPECT_EQ(requirement_of(classify(result.smallest)), requirement_of(classify(wrong_group)));
  EXPECT_LE(result.smallest.input(0)->elements(), 3) << summary_of(result.smallest);
}

TEST(Shrink, CrashKeepsItsSignal) {
  // Ends by signal 11 from three output channels on, by signal 8 from two input channels on.
  const Runner crashing = spoiled([](const Case& test_case, Outcome& outcome) {
    const Tensor& w = *test_case.input(3);
    if (w.shape[1] >= 2) outcome = outcome::Crashed{8, "division"};
    if (w.shape[0] >= 3) outcome = outcome::Crashed{11, "memory"};
  });
  const Case original = QLinearConvBuilder()
                            .x(make::filled(ElementType::uint8, {2, 4, 9, 9}, 7))
                            .w(make::filled(ElementType::int8, {8, 4, 3, 3}, 5))
                            .w_scale(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8})
                            .build();
  const Result result = shrink(original, crashing, {});
  EXPECT_EQ(result.verdict.kind, VerdictKind::crashed);
  EXPECT_THAT(result.verdict.detail, ::testing::HasSubstr("signal 11"));
  EXPECT_EQ(result.smallest.input(3)->shape, (make::Shape{3, 1, 1, 1}));
}

TEST(Shrink, GroupsGoWhereOutputChannelsMatter) {
  const Runner crashing = spoiled([](const Case& test_case, Outcome& outcome) {
    if (test_case.input(3)->shape[0] >= 4) outcome = outcome::Crashed{11, "memory"};
  });
  const Case original = QLinearConvBuilder()
                            .x(make::filled(ElementType::uint8, {1, 4, 1, 1}, 7))
                            .w(make::filled(ElementType::int8, {4, 1, 1, 1}, 5))
                            .group(4)
                            .build();
  const Result result = shrink(original, crashing, {});
  EXPECT_EQ(result.smallest.input(0)->shape, (make::Shape{1, 1, 1, 1}));
  EXPECT_EQ(result.smallest.input(3)->shape, (make::Shape{4, 1, 1, 1}));
}

// A defect of rounding hides behind none that is coarser, and that is what shrinking met.
TEST(Shrink, OffByOneStaysOne) {
  const Runner runner = spoiled([](const Case& test_case, Outcome& outcome) {
    auto* produced = std::get_if<outcome::Produced>(&outcome);
    if (produced == nullptr) return;
    // Coarse where the weight is 0, by one unit everywhere else.
    const bool coarse = integer_at(*test_case.input(3), 0) == 0;
    std::byte& first = produced->outputs.front().bytes[0];
    first = std::byte{static_cast<std::uint8_t>(std::to_integer<unsigned>(first) + (coarse ? 9 : 1))};
  });
  const Case original = QLinearConvBuilder().x(make::uint8({1, 1, 1, 1}, {5})).w(make::int8({1, 1, 1, 1}, {5})).build();
  const Result result = shrink(original, runner, {});
  ASSERT_TRUE(result.verdict.worst.has_value());
  EXPECT_EQ(result.verdict.worst->distance, 1);
  ASSERT_EQ(result.met.size(), 1U);
  EXPECT_EQ(verdict_on(result.met[0], runner).worst->distance, 9);
}

// The distance of the wrong value, its side, and where a stray access goes stay what they were, step by step: a backend
// whose defects depend on the size of the case shows each of them.
TEST(Shrink, NeverSlipsToAnotherFailure) {
  const std::function<void(Outcome&)> defects[] = {
      [](Outcome& outcome) {
        outcome = outcome::Crashed{11, "memory", "SIGSEGV in f"};
      },
      [](Outcome& outcome) {
        outcome = outcome::Crashed{11, "memory", "SIGSEGV in g"};
      },
      [](Outcome& outcome) {
        outcome = outcome::ReadOutOfBounds{"x", outcome::WroteOutOfBounds::Side::after, 1};
      },
      [](Outcome& outcome) {
        outcome = outcome::ReadOutOfBounds{"w", outcome::WroteOutOfBounds::Side::after, 1};
      },
      [](Outcome& outcome) {
        outcome = outcome::WroteOutOfBounds{outcome::WroteOutOfBounds::Side::before, 1};
      },
  };
  const std::int64_t errors[] = {1, -1, 30, -30};
  const auto runner_of = [&](std::size_t kinds) {
    return spoiled([&, kinds](const Case& test_case, Outcome& outcome) {
      auto* produced = std::get_if<outcome::Produced>(&outcome);
      if (produced == nullptr) return;
      const auto kind = static_cast<std::size_t>(test_case.input(0)->elements()) % kinds;
      if (kind < std::size(defects)) return defects[kind](outcome);
      std::byte& first = produced->outputs.front().bytes[0];
      const std::int64_t value = std::to_integer<std::int64_t>(first) + errors[kind - std::size(defects)];
      first = static_cast<std::byte>(std::clamp<std::int64_t>(value, 0, 255));
    });
  };
  const Runner runner = runner_of(std::size(defects) + std::size(errors));
  std::set<std::pair<std::string, int>> seen;
  for (std::int64_t length = 12; length < 34; ++length) {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < length; ++i) values.push_back(90 + i);
    const Case original =
        QLinearConvBuilder().x(make::uint8({1, 1, length}, values)).w(make::int8({1, 1, 1}, {1})).build();
    const Failure failure = failure_on(original, runner);
    seen.insert({failure.place, static_cast<int>(failure.distance) * failure.sign});
    const Result result = shrink(original, runner, {});
    EXPECT_EQ(failure_on(result.smallest, runner), failure) << summary_of(result.smallest);
    EXPECT_GT(result.steps, 0U);
    EXPECT_FALSE(result.met.empty());
    for (const Case& met : result.met) EXPECT_TRUE(is_failure(verdict_on(met, runner).kind));
  }
  EXPECT_EQ(seen.size(), std::size(defects) + std::size(errors));
}

TEST(Shrink, PackedAndBlockedCasesShrink) {
  // The last block's parameter is taken for all.
  const Runner runner = spoiled([](const Case& test_case, Outcome& outcome) {
    auto* produced = std::get_if<outcome::Produced>(&outcome);
    if (produced == nullptr || test_case.input(1)->elements() < 2) return;
    for (std::byte& byte : produced->outputs.front().bytes) byte ^= std::byte{0x40};
  });
  std::vector<std::int64_t> values;
  for (int i = 0; i < 48; ++i) values.push_back(i % 16 - 8);
  const Case original = LinearBuilder::dequantize()
                            .version(21)
                            .x(make::integers(ElementType::int4, {2, 24}, values))
                            .axis(1)
                            .attribute("block_size", std::int64_t{8})
                            .input(1, make::float32({2, 3}, {0.3F, 0.7F, 1.9F, 2, 4, 8}))
                            .input(2, make::integers(ElementType::int4, {2, 3}, {1, 2, 3, 4, 5, 6}))
                            .build();
  ASSERT_EQ(classify(original).expectation(), Expectation::valid);
  const Result result = shrink(original, runner, {});
  EXPECT_EQ(result.verdict.kind, VerdictKind::wrong);
  EXPECT_EQ(result.smallest.input(0)->elements(), 2) << summary_of(result.smallest);
  EXPECT_EQ(result.smallest.input(1)->elements(), 2);
}

// Image n is read from `offset` of n and the bytes of an image, as far as x goes.
Runner misplaced_images(std::int64_t (*offset)(std::int64_t n, std::int64_t image)) {
  const auto scalar = std::shared_ptr<Backend>(testing::planted_backend("scalar"));
  return [=](const Case& test_case) -> Outcome {
    Case moved = test_case;
    Tensor& x = *moved.inputs[0];
    const std::int64_t batch = x.shape.empty() ? 0 : x.shape[0];
    const std::int64_t image = batch == 0 ? 0 : x.elements() / batch;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::int64_t from = offset(i / image, image) + i % image;
      x.bytes[static_cast<std::size_t>(i)] =
          from < x.elements() ? test_case.input(0)->bytes[static_cast<std::size_t>(from)] : std::byte{};
    }
    return in_process(*scalar)(moved);
  };
}

// The shrunk case is as large as the offset needs, and has one output of each image.
TEST(Shrink, ImagesReadFromAWrongOffsetHaveOneOutputEach) {
  const Runner kernels[] = {
      misplaced_images([](std::int64_t n, std::int64_t image) { return n * image % 128; }),
      misplaced_images([](std::int64_t n, std::int64_t image) { return n * image % 256; }),
  };
  for (const Runner& runner : kernels) {
    int found = 0;
    for (std::uint64_t i = 0; found < 2; ++i) {
      ASSERT_LT(i, 6000U);
      const Case original = random_case(5, i);
      const std::string op_type = original.node().op_type;
      if (op_type != "QLinearConv" && op_type != "ConvInteger") continue;
      if (!is_failure(verdict_on(original, runner).kind)) continue;
      ++found;
      const Failure failure = failure_on(original, runner);
      SCOPED_TRACE(summary_of(original) + ", distance " + std::to_string(static_cast<int>(failure.distance)) +
                   ", sign " + std::to_string(failure.sign));
      const Result result = shrink(original, runner, {}, {.seconds = 100, .clock = {}});
      EXPECT_EQ(result.ending, Ending::minimal);
      const std::int64_t images = result.smallest.input(0)->shape[0];
      EXPECT_EQ(elements_of(classify(result.smallest).lowered->output_shape()), images) << summary_of(result.smallest);
    }
  }
}

// By halves 14 columns become 7, and never 2.
TEST(Shrink, AnEvenNumberBecomesTwo) {
  const Runner runner = spoiled([](const Case& test_case, Outcome& outcome) {
    auto* produced = std::get_if<outcome::Produced>(&outcome);
    if (produced == nullptr || test_case.input(0)->shape[3] % 2 != 0) return;
    for (std::byte& byte : produced->outputs.front().bytes) byte ^= std::byte{0x40};
  });
  const Case original = QLinearConvBuilder()
                            .x(make::filled(ElementType::uint8, {1, 1, 1, 14}, 7))
                            .w(make::filled(ElementType::int8, {1, 1, 1, 3}, 5))
                            .build();
  const Result result = shrink(original, runner, {});
  EXPECT_EQ(result.smallest.input(0)->shape, (make::Shape{1, 1, 1, 2})) << summary_of(result.smallest);
}

// Nine middling products leave int16, as two large ones do.
TEST(Shrink, ALargeSumBecomesFewLargeProducts) {
  auto backend = backend::select("defect:acc-wrap-i16-9tap", RoundingProfile::correctly_rounded);
  ASSERT_TRUE(backend) << backend.error().text();
  const Case original = QLinearConvBuilder()
                            .x(make::filled(ElementType::int8, {1, 1, 3, 3}, 90))
                            .w(make::filled(ElementType::int8, {1, 1, 3, 3}, 60))
                            .y_scale(1000)
                            .build();
  const Result result = shrink(original, in_process(**backend), {});
  ASSERT_EQ(result.ending, Ending::minimal);
  EXPECT_EQ(result.smallest.input(3)->elements(), 2) << summary_of(result.smallest);
}

TEST(Shrink, PassingCaseIsLeftAlone) {
  const auto backend = testing::planted_backend("scalar");
  const Case passing = random_case(1, 1);
  const Result result = shrink(passing, in_process(*backend), {});
  EXPECT_EQ(result.ending, Ending::does_not_fail);
  EXPECT_EQ(result.smallest, passing);
}

TEST(Shrink, FailureThatComesAndGoesKeepsTheCase) {
  const auto runs = std::make_shared<int>(0);
  const Runner flaky = spoiled([runs](const Case&, Outcome& outcome) {
    if (++*runs > 4) return;
    outcome = outcome::LeftUnwritten{"at times"};
  });
  const Case original = random_case(1, 1);
  const Result result = shrink(original, flaky, {});
  EXPECT_EQ(result.ending, Ending::not_reproduced);
  EXPECT_EQ(result.smallest, original);
  EXPECT_EQ(shrink(original, spoiled([](const Case&, Outcome&) {}), {}, {}, VerdictKind::wrong).ending,
            Ending::not_reproduced);
}

TEST(Shrink, LimitsEndTheSearch) {
  const auto backend = testing::planted_backend("past-end");
  const Runner runner = in_process(*backend);
  const Case original = failing_cases(runner, 1).at(0);
  const Result few_runs = shrink(original, runner, {}, {.runs = 3, .seconds = 100, .clock = {}});
  EXPECT_EQ(few_runs.ending, Ending::runs);
  EXPECT_LE(few_runs.runs, 4U) << "three, and the result once more";
  EXPECT_TRUE(is_failure(verdict_on(few_runs.smallest, runner).kind));

  const auto time = std::make_shared<double>(0);
  const Result short_time =
      shrink(original, runner, {}, {.runs = 1000, .seconds = 4, .clock = [time] { return *time += 1; }});
  EXPECT_EQ(short_time.ending, Ending::seconds);
  EXPECT_LE(short_time.runs, 5U);
}

TEST(Simpler, KeepsTheRequirementAndIsSmaller) {
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(testing::scaled(40)); ++i) {
    const Case original = random_case(11, i);
    const std::vector<Case> candidates = simpler(original, 60);
    EXPECT_FALSE(candidates.empty()) << original.id;
    for (const Case& candidate : candidates) {
      EXPECT_EQ(requirement_of(classify(candidate)), requirement_of(classify(original))) << original.id;
      EXPECT_LT(measure_of(candidate), measure_of(original)) << original.id;
    }
  }
}

// A kernel that is wrong wherever x is 85, on another x that the prepared node gets too.
Runner wrong_at_85() {
  return spoiled([](const Case& test_case, Outcome& outcome) {
    const auto spoil = [](const Tensor& x, Tensor& y) {
      for (std::int64_t i = 0; i < x.elements(); ++i) {
        if (x.bytes[static_cast<std::size_t>(i)] == std::byte{85})
          y.bytes[static_cast<std::size_t>(4 * i)] ^= std::byte{1};
      }
    };
    auto* produced = std::get_if<outcome::Produced>(&outcome);
    if (produced == nullptr) return;
    Case other = test_case;
    for (std::byte& byte : other.inputs[0]->bytes) byte ^= std::byte{85};
    spoil(*test_case.inputs[0], produced->outputs.front());
    Tensor y = *expect(other, {}).output;
    spoil(*other.inputs[0], y);
    outcome.on_other_input = {0, *other.inputs[0], {y}};
  });
}

TEST(Shrink, EndsWithTheXThatTheValuesAreWrongFor) {
  const auto of_x = [](std::vector<std::int64_t> x) {
    const auto size = static_cast<std::int64_t>(x.size());
    return LinearBuilder::dequantize().x(make::uint8({size}, std::move(x))).scale(3).build();
  };
  const Runner runner = wrong_at_85();
  // Wrong on the x of the case; zeros in its place would fail on another x alone. Then a case that begins so.
  for (const Case& failing : {of_x({7, 85, 9}), of_x({7, 0, 9})}) {
    const Result result = shrink(failing, runner, {}, {});
    ASSERT_EQ(result.verdict.kind, VerdictKind::wrong);
    EXPECT_THAT(result.verdict.detail, ::testing::Not(::testing::HasSubstr("another x")));
    ASSERT_EQ(result.smallest.inputs[0]->elements(), 1);
    EXPECT_EQ(result.smallest.inputs[0]->bytes[0], std::byte{85});
  }
}

}  // namespace
}  // namespace qconform::shrink

// The self-check of adapters: what is right passes, every fault of an adapter is seen, and what it concerns is
// declined. A wrong number is the library's, and hides nothing.
#include "harness/backends/kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "harness/backends/select.h"
#include "harness/engine/execute.h"
#include "harness/suites/select.h"

namespace qconform::backend {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Kind = SelfCheckRow::Kind;

std::unique_ptr<Backend> sample(const std::string& how) {
  auto opened = select("process:" QCONFORM_PROCESS_CHILD " " + how, RoundingProfile::correctly_rounded);
  EXPECT_TRUE(opened) << opened.error().text();
  return opened ? std::move(*opened) : nullptr;
}

// Its answers are those that the check states by hand: both would have to be wrong alike.
TEST(SelfCheck, AgreesWithTheReference) {
  const auto backend = sample("units");
  ASSERT_NE(backend, nullptr);
  for (const SelfCheckRow& row : self_check(*backend)) {
    EXPECT_EQ(row.kind, Kind::right) << row.subject << ": " << row.detail;
  }
}

TEST(SelfCheck, ChangesNothingOfWhatPasses) {
  auto backend = sample("units");
  ASSERT_NE(backend, nullptr);
  const Backend* before = backend.get();
  EXPECT_EQ(self_checked(std::move(backend)).get(), before);
}

struct SubjectFault {
  const char* fault;
  std::vector<std::string> not_offered;  // how each entry begins
};
void PrintTo(const SubjectFault& planted, std::ostream* out) {
  *out << planted.fault;
}

class PlantedFault : public ::testing::TestWithParam<SubjectFault> {};

TEST_P(PlantedFault, IsNotOffered) {
  const auto backend = self_checked(sample(GetParam().fault));
  const std::vector<std::string>& not_offered = backend->info().not_offered;
  ASSERT_EQ(not_offered.size(), GetParam().not_offered.size()) << ::testing::PrintToString(not_offered);
  for (std::size_t i = 0; i < not_offered.size(); ++i)
    EXPECT_THAT(not_offered[i], StartsWith(GetParam().not_offered[i]));
}

// Whatever concerns it is declined with a reason that says so, in every order of cases; the rest is computed.
TEST_P(PlantedFault, IsDeclinedAndNothingElse) {
  const auto backend = self_checked(sample(GetParam().fault));
  Worker& worker = *backend->worker();
  std::size_t computed = 0;
  std::size_t declined = 0;
  for (const char* suite : {"graphs", "random"}) {
    auto cases = open_suite(suite, {.seed = 3, .cases = 60});
    ASSERT_TRUE(cases) << cases.error().text();
    for (auto next = cases->front()->next(); next && *next; next = cases->front()->next()) {
      worker.start(**next);
      const Outcome outcome = worker.finish();
      EXPECT_FALSE(std::holds_alternative<outcome::BrokenInterface>(outcome)) << (*next)->id;
      if (std::holds_alternative<outcome::Produced>(outcome)) ++computed;
      const auto* unsupported = std::get_if<outcome::Unsupported>(&outcome);
      if (unsupported != nullptr && unsupported->reason.starts_with("not offered: ")) ++declined;
    }
  }
  EXPECT_GT(computed, 0U);
  EXPECT_GT(declined, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    All, PlantedFault,
    ::testing::Values(
        SubjectFault{"first-node-only", {"graphs: output 0 is float", "scalars: ", "several outputs: "}},
        SubjectFault{"first-output-only",
                     {"several outputs: broke the protocol: sent DONE with its output 1 of 2, expected PART"}},
        SubjectFault{"outputs-swapped", {"several outputs: output 0 is float"}},
        SubjectFault{"scalar-as-one", {"scalars: output 0 is int8 [1]", "several outputs: output 1 is float [1]"}}),
    [](const auto& test) {
      std::string name = test.param.fault;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// The elements are those of the right answer: no arithmetic does that.
TEST(SelfCheck, SeesElementsInAnotherOrder) {
  const auto rows = self_check(*sample("elements-reversed"));
  EXPECT_THAT(rows,
              Contains(AllOf(::testing::Field(&SelfCheckRow::subject, "single QLinearConv"),
                             ::testing::Field(&SelfCheckRow::kind, Kind::adapter_fault),
                             ::testing::Field(&SelfCheckRow::detail, "output 0 has its elements in another order"))));
}

TEST(SelfCheck, LeavesWrongNumbersToTheJudge) {
  const auto backend = self_checked(sample("one-too-many"));
  EXPECT_THAT(backend->info().not_offered, IsEmpty());
  const auto rows = self_check(*backend);
  const auto wrong = std::count_if(rows.begin(), rows.end(), [](const SelfCheckRow& row) {
    return row.kind == Kind::library_fault && row.detail.ends_with(" gives a wrong value");
  });
  EXPECT_GT(wrong, 10);
}

}  // namespace
}  // namespace qconform::backend

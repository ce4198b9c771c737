// Every library that is here, on the corpus and on random cases: it must get through all of them, whatever
// it answers. What it answers wrongly is data; that it is asked rightly shows in what it gets right.
#include "harness/libraries/libraries.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "harness/backend/select.h"
#include "harness/judge/judge.h"
#include "harness/run/execute.h"
#include "harness/source/select.h"
#include "harness/tests/test_scale.h"

namespace qconform::libraries {
namespace {

std::vector<Case> cases_of(const std::string& suite, std::uint64_t count) {
  SuiteOptions options;
  options.cases = count;
  auto sources = open_suite(suite, options);
  std::vector<Case> cases;
  if (!sources) return cases;
  for (const auto& source : *sources) {
    for (auto next = source->next(); next && *next; next = source->next()) cases.push_back(std::move(**next));
  }
  return cases;
}

class Tally {
 public:
  void add(VerdictKind kind) { ++verdicts_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::size_t of(VerdictKind kind) const { return verdicts_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < verdicts_.size(); ++i) {
      if (verdicts_[i] == 0) continue;
      text += (text.empty() ? "" : ", ") + std::to_string(verdicts_[i]) + " ";
      text += name_of(static_cast<VerdictKind>(i));
    }
    return text;
  }

 private:
  std::array<std::size_t, kVerdictKinds> verdicts_{};
};

void report(const std::string& name, const Case& test_case, const Verdict& verdict) {
  if (!is_failure(verdict.kind) || std::getenv("QCONFORM_PRINT_VERDICTS") == nullptr) return;
  std::printf("%s %s %s: %s", name.c_str(), std::string(name_of(verdict.kind)).c_str(), test_case.id.c_str(),
              verdict.detail.c_str());
  if (verdict.worst) {
    std::printf(" got %s admissible %s exact %s", verdict.worst->got.c_str(), verdict.worst->admissible.c_str(),
                verdict.worst->exact.c_str());
  }
  std::printf("\n");
}

void judge_library(const std::string& name, const std::string& suite, std::uint64_t count) {
  backend::offer_libraries(libraries());
  const std::vector<Case> cases = cases_of(suite, count);
  ASSERT_FALSE(cases.empty());
  // In a worker: a library that brings its process down has answered the case.
  auto backend = backend::select(name, RoundingProfile::correctly_rounded);
  if (!backend && backend.error().text().ends_with("CPU")) GTEST_SKIP() << backend.error().text();
  ASSERT_TRUE(backend) << backend.error().text();
  Tally tally;
  GuardedOutput output;
  for (const Case& test_case : cases) {
    const Expected expected = expect(test_case, Policy{});
    const Verdict verdict = judge(expected, execute(**backend, test_case, output));
    report(name, test_case, verdict);
    tally.add(verdict.kind);
  }
  std::printf("%s, %s: %s\n", name.c_str(), suite.c_str(), tally.text().c_str());
  // These would be the adapter's doing.
  EXPECT_EQ(tally.of(VerdictKind::unwritten), 0U);
  EXPECT_EQ(tally.of(VerdictKind::timed_out), 0U);
  EXPECT_GT(tally.of(VerdictKind::pass), 0U);
}

class Libraries : public ::testing::TestWithParam<std::string> {};

TEST_P(Libraries, GetThroughTheCorpus) {
  judge_library(GetParam(), "corpus", 0);
}

TEST_P(Libraries, GetThroughRandomCases) {
  judge_library(GetParam(), "random", static_cast<std::uint64_t>(qconform::testing::scaled(2000)));
}

// A convolution that changes nothing: each code of x is an element of y, whatever form the adapter gives
// the tensors. Its weight is even, because oneDNN without VNNI halves weights (docs/bugs-found.md).
Case all_codes(ElementType type) {
  std::vector<std::uint8_t> codes(256);
  std::iota(codes.begin(), codes.end(), std::uint8_t{0});
  const Tensor zero = Tensor::scalar<std::uint8_t>(type, 0);
  const Tensor one = Tensor::scalar<float>(ElementType::float32, 1.0F);
  Case test_case;
  test_case.id = "all-codes";
  test_case.op_type = "QLinearConv";
  test_case.opset_version = 10;
  test_case.inputs = {Tensor::of(type, {1, 1, 16, 16}, codes),
                      one,
                      zero,
                      Tensor::of(ElementType::int8, {1, 1, 1, 1}, std::vector<std::int8_t>{2}),
                      Tensor::scalar<float>(ElementType::float32, 0.5F),
                      Tensor::scalar<std::int8_t>(ElementType::int8, 0),
                      one,
                      zero};
  return test_case;
}

TEST_P(Libraries, EveryCodeComesBack) {
  backend::offer_libraries(libraries());
  auto backend = backend::select(GetParam(), RoundingProfile::correctly_rounded);
  if (!backend && backend.error().text().ends_with("CPU")) GTEST_SKIP() << backend.error().text();
  ASSERT_TRUE(backend) << backend.error().text();
  GuardedOutput output;
  int computed = 0;
  for (const ElementType type : {ElementType::uint8, ElementType::int8}) {
    const Case test_case = all_codes(type);
    const Outcome outcome = execute(**backend, test_case, output);
    const auto* produced = std::get_if<outcome::Produced>(&outcome);
    if (produced == nullptr) continue;
    ++computed;
    EXPECT_EQ(produced->output.bytes, test_case.inputs[0]->bytes) << name_of(type);
  }
  EXPECT_GT(computed, 0);
}

std::vector<std::string> names_here() {
  std::vector<std::string> names;
  for (const backend::Library& library : libraries()) {
    if (!library.state().absent.empty()) continue;
    names.emplace_back(library.name);
    for (const std::string_view variant : library.variants)
      names.push_back(std::string(library.name) + "@" + std::string(variant));
  }
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (c == '@') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Here, Libraries, ::testing::ValuesIn(names_here()), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Libraries);

}  // namespace
}  // namespace qconform::libraries

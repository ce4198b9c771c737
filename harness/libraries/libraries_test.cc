// Every library that is here, on the corpus and on random cases: it must get through all of them, whatever
// it answers. What it answers wrongly is data; that it is asked rightly shows in what it gets right.
#include "harness/libraries/libraries.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

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

// Shared between the test and the processes that libraries run in.
struct Tally {
  std::size_t next = 0;  ///< the case under way
  std::array<std::size_t, kVerdictKinds> verdicts{};

  [[nodiscard]] std::size_t of(VerdictKind kind) const { return verdicts[static_cast<std::size_t>(kind)]; }
  void add(VerdictKind kind) {
    ++verdicts[static_cast<std::size_t>(kind)];
    ++next;
  }
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
  std::fflush(stdout);  // the library may take the process with it
}

constexpr int kNotOnThisCpu = 77;

// The rest of the cases, in the process that this is called in.
[[nodiscard]] int run_cases(const std::string& name, const std::vector<Case>& cases, Tally& tally) {
  auto backend = backend::select(name, RoundingProfile::correctly_rounded);
  if (!backend) {
    std::fprintf(stderr, "%s\n", backend.error().text().c_str());
    return backend.error().message.ends_with("CPU") ? kNotOnThisCpu : 1;
  }
  GuardedOutput output;
  while (tally.next < cases.size()) {
    const Case& test_case = cases[tally.next];
    const Expected expected = expect(test_case, Policy{});
    const Verdict verdict = judge(expected, execute(**backend, test_case, output));
    report(name, test_case, verdict);
    tally.add(verdict.kind);
  }
  std::fflush(stdout);
  return 0;
}

// A library that brings its process down has answered the case; the next one gets a new process.
void run_in_processes(const std::string& name, const std::vector<Case>& cases, Tally& tally) {
  while (tally.next < cases.size()) {
    std::fflush(stdout);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(run_cases(name, cases, tally));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
      if (std::getenv("QCONFORM_PRINT_VERDICTS") != nullptr) {
        std::printf("%s crashed %s: signal %d\n", name.c_str(), cases[tally.next].id.c_str(), WTERMSIG(status));
      }
      tally.add(VerdictKind::crashed);
      continue;
    }
    if (WEXITSTATUS(status) == kNotOnThisCpu) GTEST_SKIP() << name << " does not run on this CPU";
    ASSERT_EQ(WEXITSTATUS(status), 0);
  }
}

void judge_library(const std::string& name, const std::string& suite, std::uint64_t count) {
  backend::offer_libraries(libraries());
  const std::vector<Case> cases = cases_of(suite, count);
  ASSERT_FALSE(cases.empty());
  void* memory = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Tally& tally = *new (memory) Tally;
  run_in_processes(name, cases, tally);
  if (::testing::Test::IsSkipped()) return;
  std::printf("%s, %s:", name.c_str(), suite.c_str());
  for (std::size_t i = 0; i < tally.verdicts.size(); ++i) {
    if (tally.verdicts[i] == 0) continue;
    std::printf(" %zu %s", tally.verdicts[i], std::string(name_of(static_cast<VerdictKind>(i))).c_str());
  }
  std::printf("\n");
  EXPECT_EQ(tally.next, cases.size());
  // These would be the adapter's doing.
  EXPECT_EQ(tally.of(VerdictKind::unwritten), 0U);
  EXPECT_EQ(tally.of(VerdictKind::bad_shape), 0U);
  EXPECT_GT(tally.of(VerdictKind::pass), 0U);
  munmap(memory, sizeof(Tally));
}

class Libraries : public ::testing::TestWithParam<std::string> {};

TEST_P(Libraries, GetThroughTheCorpus) {
  judge_library(GetParam(), "corpus", 0);
}

TEST_P(Libraries, GetThroughRandomCases) {
  judge_library(GetParam(), "random", static_cast<std::uint64_t>(qconform::testing::scaled(2000)));
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

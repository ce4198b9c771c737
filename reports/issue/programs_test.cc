// The programs are compiled and run without qconform, and fail as the findings say: on smallest cases that
// docs/bugs-found.md states, and beside them on cases that the libraries get right.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/backends/issue_program.h"
#include "harness/backends/libraries/libraries.h"
#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/engine/execute.h"
#include "harness/model/case_builder.h"
#include "harness/suites/random.h"
#include "harness/suites/select.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::report {
namespace {

namespace fs = std::filesystem;

struct Sample {
  std::string backend;
  std::string file;  // path in the corpus
  std::vector<std::string> ids;
  std::size_t failing;  // how many of these fail, on every processor that has the backend
};

std::vector<Case> cases_of(const Sample& sample) {
  const fs::path file = fs::path(QCONFORM_SOURCE_DIRECTORY) / "corpus" / sample.file;
  auto sources = open_suite(file.string(), {});
  std::vector<Case> cases;
  if (!sources) return cases;
  for (const auto& source : *sources) {
    for (auto next = source->next(); next && *next; next = source->next()) {
      if (std::find(sample.ids.begin(), sample.ids.end(), (*next)->id) != sample.ids.end()) cases.push_back(**next);
    }
  }
  return cases;
}

// Exit status of the program of a case with that verdict, as the shell has it: after a crash, 128 and the signal.
int status_for(const Verdict& verdict, const Outcome& outcome) {
  switch (verdict.kind) {
    case VerdictKind::wrong:
    case VerdictKind::bad_shape:
    case VerdictKind::not_rejected: return 1;
    case VerdictKind::crashed: return 128 + std::get<outcome::Crashed>(outcome).signal;
    case VerdictKind::unsupported: return 2;
    default: return 0;
  }
}

int status_of(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The command of a program, with what is peculiar to this machine.
std::string here(std::string build, const fs::path& folder) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = build.find(from); at != std::string::npos; at = build.find(from, at + to.size())) {
      build.replace(at, from.size(), to);
    }
  };
  replace("ORT/include", QCONFORM_ONNXRUNTIME_INCLUDE);
  replace("ORT/lib", folder.string());
  replace("c++ ", QCONFORM_COMPILER " -O0 -w ");
  return "cd " + folder.string() + " && " + build;
}

class IssuePrograms : public ::testing::TestWithParam<Sample> {};

TEST_P(IssuePrograms, EndAsTheFindingSays) {
  backend::offer_libraries(libraries::libraries());
  auto backend = backend::select(GetParam().backend, RoundingProfile::correctly_rounded);
  if (!backend) GTEST_SKIP() << backend.error().text();
  const auto what = backend::parse_specification(GetParam().backend);
  ASSERT_TRUE(what);
  const testing::TemporaryFolder folder;
  // The linker wants the plain name, the loader the one with a number.
  const fs::path runtime = fs::path(QCONFORM_ONNXRUNTIME_INCLUDE).parent_path() / "lib/libonnxruntime.so.1";
  for (const char* name : {"libonnxruntime.so", "libonnxruntime.so.1"})
    fs::create_symlink(runtime, folder.path() / name);
  const std::vector<Case> cases = cases_of(GetParam());
  ASSERT_EQ(cases.size(), GetParam().ids.size());
  std::size_t failing = 0;
  for (const Case& test_case : cases) {
    SCOPED_TRACE(test_case.id);
    const Expected expected = expect(test_case, {});
    GuardedOutput output;
    const Outcome outcome = execute(**backend, test_case, output);
    const Verdict verdict = judge(expected, outcome);
    failing += is_failure(verdict.kind) ? 1 : 0;
    const auto program = issue::program_for(expected, *what, (*backend)->info());
    ASSERT_TRUE(program) << program.error().text();
    ASSERT_TRUE(write_file(folder.path() / "case.cc", program->source));
    ASSERT_EQ(status_of(here(program->build, folder.path())), 0) << program->source;
    EXPECT_EQ(status_of("cd " + folder.path().string() + " && ./case"), status_for(verdict, outcome))
        << name_of(verdict.kind) << ": " << verdict.detail << "\n"
        << program->source;
  }
  EXPECT_GE(failing, GetParam().failing);
}

INSTANTIATE_TEST_SUITE_P(
    Samples, IssuePrograms,
    ::testing::Values(
        Sample{
            "onnxruntime",
            "regressions/backends/onnxruntime.json",
            {"no-elements-in-blocks-smallest", "float16-infinite-smallest", "int2-bounds-smallest",
             "float16-quotient-in-the-scales-type-smallest", "precision-bfloat16-smallest", "auto-pad-empty-smallest"},
            6},
        Sample{"opencv",
               "regressions/backends/opencv.json",
               {"uint8-weight-zero-point", "same-lower", "tie-away-from-zero", "scales-of-an-axis", "group-of-zero"},
               5},
        Sample{"onednn",
               "regressions/backends/onednn.json",
               {"zero-point-before-rounding", "bias-in-float32", "last-weight-of-groups"},
               2},
        Sample{"onednn@avx2", "regressions/backends/onednn.json", {"int16-pair", "int8-weights-halved"}, 2},
        Sample{"xnnpack", "quantize_linear/rounding.json", {"division-not-reciprocal-v13", "no-reciprocal-v13"}, 2},
        Sample{"xnnpack", "qlinear_conv/tails.json", {"nine-taps-of-3-channels"}, 0},
        Sample{"onednn", "qlinear_conv/padding.json", {"pads-equal-to-the-kernel"}, 0},
        Sample{"opencv", "qlinear_conv/padding.json", {"pads-equal-to-the-kernel"}, 0},
        Sample{"onnxruntime", "qlinear_conv/padding.json", {"four-different-pads"}, 0}),
    [](const auto& sample) {
      std::string name = sample.param.backend + "_" + sample.param.ids.front();
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
      return name;
    });

// A form that a library's interface lacks is said, whether or not its backend would have taken the case.
TEST(IssuePrograms, EveryCaseHasOneOrAReason) {
  int programs = 0;
  BackendInfo info;
  info.version = "2";
  const auto try_all = [&](const Case& test_case) {
    const Expected expected = expect(test_case, {});
    const Lowered* lowered = expected.classification.lowered.get();
    constexpr std::int64_t kMostElements = 32;  // the right codes of each are looked for one by one
    if (lowered != nullptr && elements_of(lowered->output_shape()) > kMostElements) return;
    for (const char* name : {"onnxruntime", "opencv", "onednn", "xnnpack"}) {
      const auto what = backend::parse_specification(name);
      const auto program = issue::program_for(expected, *what, info);
      if (program) ++programs;
      EXPECT_TRUE(program ? !program->source.empty() : !program.error().text().empty()) << test_case.id << " " << name;
    }
  };
  for (std::uint64_t i = 0; i < 600; ++i) try_all(random_case(11, i));
  for (const ElementType type : {ElementType::uint8, ElementType::int8, ElementType::int32}) {
    for (const std::int64_t length : {0, 1, 3}) {
      const std::vector<float> scales(static_cast<std::size_t>(length), 0.5F);
      try_all(LinearBuilder::dequantize().version(21).x(make::filled(type, {2, length}, 1)).scale(scales).build());
    }
  }
  EXPECT_GT(programs, 300);
}

}  // namespace
}  // namespace qconform::report

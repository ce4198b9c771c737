#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/issue_program.h"
#include "harness/backends/libraries/libraries.h"
#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/engine/execute.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/model/defects/defect.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/suites/drawn.h"
#include "harness/suites/select.h"
#include "harness/tests/committed_vectors.h"
#include "harness/tests/linear_builder.h"
#include "harness/tests/temporary_folder.h"
#include "reports/issue/page.h"
#include "reports/issue/rules.h"

namespace qconform::report {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Returns the text behind the last "= " of a step.
std::string result_of(const std::string& step) {
  return step.substr(step.rfind("= ") + 2);
}

// Evaluates "(3 - 1) * 2 + 3/8" as a reader does, from the decimals; nothing where the text is no expression.
class Evaluator {
 public:
  static std::optional<long double> value_of(std::string text) {
    if (text.starts_with("about ")) text = text.substr(6);
    Evaluator evaluator(std::move(text));
    const long double value = evaluator.sum();
    if (evaluator.is_wrong_ || evaluator.at_ != evaluator.text_.size()) return std::nullopt;
    return value;
  }

 private:
  explicit Evaluator(std::string text) : text_(std::move(text)) {}

  bool takes(char wanted) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  long double sum() {
    long double value = product();
    for (;;) {
      if (takes('+')) {
        value += product();
      } else if (takes('-')) {
        value -= product();
      } else {
        return value;
      }
    }
  }
  long double product() {
    long double value = factor();
    for (;;) {
      if (takes('*')) {
        value *= factor();
      } else if (takes('/')) {
        value /= factor();
      } else {
        return value;
      }
    }
  }
  long double factor() {
    if (takes('(')) {
      const long double value = sum();
      is_wrong_ = is_wrong_ || !takes(')');
      return value;
    }
    if (takes('-')) return -factor();
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const char* begin = text_.c_str() + at_;
    char* end = nullptr;
    const long double value = std::strtold(begin, &end);
    is_wrong_ = is_wrong_ || end == begin;
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string text_;
  std::size_t at_ = 0;
  bool is_wrong_ = false;
};

// The expressions of "what: A = B" or "formula = A = B" that a reader can evaluate.
std::vector<std::string> printed_values(const std::string& step) {
  const std::size_t colon = step.rfind(": ");
  std::string rest = colon == std::string::npos ? step : step.substr(colon + 2);
  std::vector<std::string> all;
  for (std::size_t end = 0; end != std::string::npos; rest = rest.substr(std::min(rest.size(), end + 3))) {
    end = rest.find(" = ");
    if (Evaluator::value_of(rest.substr(0, end))) all.push_back(rest.substr(0, end));
    if (end == std::string::npos) break;
  }
  return all;
}

// A decimal of 17 digits is half a unit of its last place off at most, and an expression has four of them; a fraction
// before rounding has 12 digits.
bool agree(long double a, long double b) {
  if (std::isnan(a) || std::isinf(a)) return std::isnan(a) ? std::isnan(b) : a == b;
  return std::fabs(a - b) <= 4e-16L * std::fabs(a) + 5e-13L;
}

TEST(WorkedOut, EveryExpressionEvaluatesToWhatIsPrintedBehindIt) {
  std::map<std::string, std::uint64_t> checked;
  for (const Case& vector : committed_vectors()) {
    if (is_judged_as_graph(vector)) continue;
    const Expected expected = expect(vector, {});
    if (!expected.output) continue;
    for (std::int64_t index = 0; index < std::min<std::int64_t>(expected.output->elements(), 4); ++index) {
      for (const std::string& step : worked_out(expected, index)) {
        const std::vector<std::string> values = printed_values(step);
        if (values.size() < 2) continue;
        ASSERT_EQ(values.size(), 2U) << step;
        EXPECT_TRUE(agree(*Evaluator::value_of(values[0]), *Evaluator::value_of(values[1]))) << step;
        ++checked[vector.node().op_type];
      }
    }
  }
  for (const char* op : {"ConvInteger", "QLinearConv", "QuantizeLinear", "DequantizeLinear"}) {
    EXPECT_GT(checked[op], 100U) << op;
  }
}

// The steps of the first and the last element.
TEST(WorkedOut, ComesToTheReferencesValue) {
  std::size_t checked = 0;
  for (const Case& vector : committed_vectors()) {
    if (is_judged_as_graph(vector)) continue;  // a page is of a single operator
    const Expected expected = expect(vector, {});
    if (!expected.output || expected.output->elements() == 0) continue;
    for (const std::int64_t index : {std::int64_t{0}, expected.output->elements() - 1}) {
      SCOPED_TRACE(name_of_vector(vector));
      const std::vector<std::string> steps = worked_out(expected, index);
      if (const auto* conv = qlinear_conv_of(*expected.classification.lowered)) {
        ASSERT_EQ(steps.size(), conv->operands.bias.empty() ? 3U : 4U);
        EXPECT_THAT(expected.classification.lowered->exact_value(index),
                    StartsWith(result_of(steps[steps.size() - 2])));
      }
      ASSERT_FALSE(steps.empty());
      const std::string right = element_text(*expected.output, index);
      EXPECT_THAT(steps.back(), EndsWith(" " + right));
      ++checked;
    }
  }
  EXPECT_GT(checked, 1000U);
}

// The first output has no elements, and fewer dimensions than the second, whose last element is wrong.
TEST(IssuePage, OfAGraphNamesTheOutputThatIsWrong) {
  GraphBuilder b(13);
  const std::string none = b.node("Relu", {b.input(make::float32({0}, {}))});
  const std::string some = b.node("Relu", {b.input(make::float32({1, 2}, {1, -2}))});
  const Case graph = b.build({none, some});
  const Expected expected = expect(graph, {});
  ASSERT_TRUE(expected.output);
  const std::vector<Tensor> answers{make::float32({0}, {}), make::float32({1, 2}, {1, 5})};
  const Explained explained{graph, "mine", judge(expected, outcome::Produced(answers)), {}, {}, {}, {}};
  const std::string page = issue_page(
      {explained, expected, {}, {}, issue::program_for(expected, *backend::parse_specification("onednn"), {}), {}, {}});
  EXPECT_THAT(page, HasSubstr("# Relu+Relu on mine"));
  EXPECT_THAT(page, HasSubstr(some + "[0,1] must be {0"));
  EXPECT_THAT(page, HasSubstr(", and is 5:"));
  EXPECT_THAT(page, HasSubstr("Relu: " + some + "[0,0] = {1}; " + some + "[0,1] = {0, zero of either sign}"));
}

// The right values of each node's output, the last of which is the case's.
TEST(WorkedOut, EveryNodeOfAGraphHasAStep) {
  std::size_t checked = 0;
  for (const Case& vector : committed_vectors()) {
    if (!is_judged_as_graph(vector) || vector.nodes.size() < 2) continue;
    const Expected expected = expect(vector, {});
    if (!expected.output || expected.output->elements() != 1 || vector.outputs.size() != 1) continue;
    SCOPED_TRACE(name_of_vector(vector));
    const std::vector<std::string> steps = worked_out(expected, 0);
    if (steps.empty()) continue;  // some value inside has no type that an output may have
    EXPECT_GE(steps.size(), vector.nodes.size());
    const std::string right = qconform::text_of(expected.classification.lowered->right_values(0, {}));
    EXPECT_TRUE(std::any_of(steps.begin(), steps.end(),
                            [&](const std::string& step) {
                              return step.find(vector.outputs.front() + "[") != std::string::npos &&
                                     step.find(right) != std::string::npos;
                            }))
        << right << " in\n"
        << fmt::format("{}", fmt::join(steps, "\n"));
    ++checked;
  }
  EXPECT_GT(checked, 10U);
}

TEST(Rules, OfEveryDefectAreStated) {
  for (const auto& defect : diagnose::defects()) {
    EXPECT_TRUE(defect.rule == "formula" || defect.rule == "signature" || !statement_of(defect.rule).empty())
        << defect.rule;
  }
  EXPECT_TRUE(statement_of("C0").empty());
}

// The programs are compiled and run without qconform, and fail as the findings say: on smallest cases that
// docs/bugs-found.md states, and beside them on cases that the libraries get right.

namespace fs = std::filesystem;

struct IssueSample {
  std::string backend;
  std::string file;  // path in the corpus
  std::vector<std::string> ids;
  std::size_t failing;  // how many of these fail, on every processor that has the backend
};

std::vector<Case> cases_of(const IssueSample& sample) {
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

class IssuePrograms : public ::testing::TestWithParam<IssueSample> {};

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
    if (program->python.empty()) continue;
    ASSERT_TRUE(write_file(folder.path() / "case.py", program->python));
    EXPECT_EQ(status_of("cd " + folder.path().string() + " && python3 -m py_compile case.py"), 0) << program->python;
    EXPECT_LT(std::count(program->python.begin(), program->python.end(), '\n'), 60);
  }
  EXPECT_GE(failing, GetParam().failing);
}

INSTANTIATE_TEST_SUITE_P(
    Samples, IssuePrograms,
    ::testing::Values(
        IssueSample{
            "onnxruntime",
            "regressions/backends/onnxruntime.json",
            {"no-elements-in-blocks-smallest", "float16-infinite-smallest", "int2-bounds-smallest",
             "float16-quotient-in-the-scales-type-smallest", "precision-bfloat16-smallest", "auto-pad-empty-smallest"},
            6},
        IssueSample{"onnxruntime@all", "graph/requantization.json", {"double-pair-of-two-ranges"}, 1},
        IssueSample{"onnxruntime@all", "graph/pools.json", {"max-of-what-pad-added"}, 1},
        IssueSample{"onnxruntime@all", "graph/elementwise.json", {"clip-of-tiny-numbers"}, 1},
        IssueSample{"onnxruntime@all", "graph/products.json", {"activations-before-one-column"}, 1},
        IssueSample{"onnxruntime@disabled", "graph/pools.json", {"max-of-what-pad-added"}, 0},
        IssueSample{
            "opencv",
            "regressions/backends/opencv.json",
            {"uint8-weight-zero-point", "same-lower", "tie-away-from-zero", "scales-of-an-axis", "group-of-zero"},
            5},
        IssueSample{"onednn",
                    "regressions/backends/onednn.json",
                    {"zero-point-before-rounding", "bias-in-float32", "last-weight-of-groups"},
                    2},
        IssueSample{"onednn@avx2", "regressions/backends/onednn.json", {"int16-pair", "int8-weights-halved"}, 2},
        IssueSample{
            "xnnpack", "quantize_linear/rounding.json", {"division-not-reciprocal-v13", "no-reciprocal-v13"}, 2},
        IssueSample{"xnnpack", "qlinear_conv/tails.json", {"nine-taps-of-3-channels"}, 0},
        IssueSample{"onednn", "qlinear_conv/padding.json", {"pads-equal-to-the-kernel"}, 0},
        IssueSample{"opencv", "qlinear_conv/padding.json", {"pads-equal-to-the-kernel"}, 0},
        IssueSample{"onnxruntime", "qlinear_conv/padding.json", {"four-different-pads"}, 0}),
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

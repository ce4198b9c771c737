// Tests the messages of qconform about missing and damaged roots of peers, which the test makes. Where the root of a
// runtime is here, its peer answers a small case right.
#include "harness/backends/libraries/libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "harness/backends/kinds.h"
#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/engine/execute.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::libraries {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

constexpr const char* kPython = "/usr/bin/python3";

Result<std::unique_ptr<Backend>> opened(const std::string& name, const backend::SandboxPolicy& policy = {}) {
  backend::offer_libraries(libraries());
  return backend::select(name, RoundingProfile::correctly_rounded, policy);
}

class PeerRoots : public ::testing::Test {
 protected:
  PeerRoots() {
    if (const char* stated = std::getenv("QCONFORM_ROOTS")) before_ = stated;
    setenv("QCONFORM_ROOTS", folder_.path().c_str(), 1);
    backend::offer_libraries(libraries());
  }
  ~PeerRoots() override { before_ ? setenv("QCONFORM_ROOTS", before_->c_str(), 1) : unsetenv("QCONFORM_ROOTS"); }
  PeerRoots(const PeerRoots&) = delete;
  PeerRoots& operator=(const PeerRoots&) = delete;

  [[nodiscard]] fs::path add(const std::string& name) const {
    const fs::path root = folder_.path() / name;
    fs::create_directories(root / "bin");
    EXPECT_TRUE(write_file(root / "VERSION", "kind:x"));
    return root;
  }
  /// Expects an error that names the root, the damage and the remedy.
  static void expect_damaged(const std::string& name, const fs::path& root, const std::string& why) {
    const auto backend = opened(name);
    ASSERT_FALSE(backend);
    EXPECT_THAT(backend.error().text(),
                AllOf(HasSubstr("--backend: \"" + name + "\": the root " + root.string() + " is damaged: "),
                      HasSubstr(why), HasSubstr("; scripts/library-root openvino:2025.4.1 fetches it again")));
  }

  qconform::testing::TemporaryFolder folder_;

 private:
  std::optional<std::string> before_;
};

TEST_F(PeerRoots, AbsentOneIsToldWithTheCommandThatBringsIt) {
  const auto backend = opened("openvino");
  ASSERT_FALSE(backend);
  EXPECT_EQ(backend.error().text(),
            "--backend: openvino is not available: scripts/library-root openvino fetches its newest release");
  EXPECT_THAT(opened("onnx-reference:1.2").error().text(), HasSubstr("no release 1.2 of onnx-reference here"));
}

TEST_F(PeerRoots, OneWithoutInterpreterIsDamaged) {
  const fs::path root = add("openvino-2025.4.1");
  expect_damaged("openvino", root, "it lacks the file python, which names its interpreter");
  ASSERT_TRUE(write_file(root / "python", "/nowhere/python3\n"));
  expect_damaged("openvino:2025", root, "its interpreter \"/nowhere/python3\" is gone");
}

// A relative one is in the root.
TEST_F(PeerRoots, OneWithoutItsOwnInterpreterIsDamaged) {
  const fs::path root = add("openvino-2025.4.1");
  ASSERT_TRUE(write_file(root / "python", "bin/python\n"));
  expect_damaged("openvino", root, "its interpreter \"" + (root / "bin/python").string() + "\" is gone");
}

TEST_F(PeerRoots, OneWithoutPackagesIsDamaged) {
  if (!fs::exists(kPython)) GTEST_SKIP() << "needs " << kPython;
  const fs::path root = add("openvino-2025.4.1");
  ASSERT_TRUE(write_file(root / "python", std::string(kPython) + "\n"));
  expect_damaged("openvino", root, "lacks a package: No module named");
}

TEST_F(PeerRoots, OneWithoutProgramIsDamaged) {
  const fs::path root = add("rten-0.27.0");
  EXPECT_THAT(opened("rten").error().text(),
              AllOf(HasSubstr("it lacks bin/peer"), HasSubstr("scripts/library-root rten:0.27.0 fetches it again")));
}

// A program that says hello and ends where it is asked.
void write_program(const fs::path& path) {
  ASSERT_TRUE(
      write_file(path, "#!/bin/sh\nprintf 'HELO\\001\\000\\000\\000\\004\\000\\000\\000mine'\nhead -c 1 >/dev/null\n"));
  fs::permissions(path, fs::perms::owner_all);
}

TEST_F(PeerRoots, AreReleasesSideBySide) {
  for (const char* root : {"rten-0.9.0", "rten-0.27.0", "rten-0.30.1"}) write_program(add(root) / "bin" / "peer");
  EXPECT_THAT(*backend::whole_names({"rten:0.9..0.27"}, {}), ElementsAre("rten:0.9.0", "rten:0.27.0"));
  const auto one = opened("rten:0.9");
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ((*one)->info().name, "rten:0.9");
  EXPECT_EQ((*one)->info().version, "0.9.0");
  EXPECT_EQ((*one)->info().kind, "library");
  const auto newest = opened("rten");
  ASSERT_TRUE(newest) << newest.error().text();
  EXPECT_EQ((*newest)->info().version, "0.30.1");
}

TEST_F(PeerRoots, AreJudgedOnlyWhereTheyAreNamed) {
  write_program(add("rten-0.27.0") / "bin" / "peer");
  EXPECT_THAT(backend::default_backends(), AllOf(Contains("scalar"), Not(Contains("rten"))));
}

TEST_F(PeerRoots, TakeNoProcessorAndNoThreadsAndNoUnknownWord) {
  write_program(add("rten-0.27.0") / "bin" / "peer");
  EXPECT_THAT(opened("rten[Haswell]").error().text(), HasSubstr("runs on this processor only: [CPU] is not possible"));
  EXPECT_THAT(backend::whole_names({"rten"}, {"Haswell"}).error().text(), HasSubstr("chooses its processor itself"));
  EXPECT_THAT(opened("rten", {.limits = {}, .threads = 4}).error().text(), HasSubstr("one thread at a time"));
  EXPECT_THAT(opened("rten@fast").error().text(), HasSubstr("fast"));
}

class Peers : public ::testing::TestWithParam<std::string> {};

// No tie (runtimes differ there), a zero point, saturation at both ends.
TEST_P(Peers, QuantizesRight) {
  Case test_case;
  test_case.id = "ties";
  test_case.node().op_type = "QuantizeLinear";
  test_case.node().opset_version = 13;
  test_case.inputs = {Tensor::of(ElementType::float32, {1, 4}, std::vector<float>{3.0F, 12.0F, -400.0F, 2000.0F}),
                      Tensor::scalar<float>(ElementType::float32, 4.0F),
                      Tensor::scalar<std::uint8_t>(ElementType::uint8, 10)};
  const auto backend = opened(GetParam());
  if (!backend) {
    ASSERT_THAT(backend.error().text(), HasSubstr("scripts/library-root " + GetParam() + " fetches"));
    GTEST_SKIP() << "the runtime is not here: scripts/library-root NAME fetches it (docs/backends.md)";
  }
  GuardedOutput output;
  const Outcome outcome = execute(**backend, test_case, output);
  const Tensor* y = output_of(outcome);
  ASSERT_NE(y, nullptr) << GetParam() << " " << (*backend)->info().version << " refuses the case";
  EXPECT_EQ(y->type, ElementType::uint8);
  const auto codes = std::array{11, 13, 0, 255};
  ASSERT_EQ(y->bytes.size(), codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(static_cast<int>(y->bytes[i]), codes[i]) << "element " << i;
}

// `programs`: peers alone.
std::vector<std::string> names(bool programs) {
  std::vector<std::string> names;
  for (const backend::Library& library : libraries()) {
    if (library.start != nullptr || !programs) names.emplace_back(library.name);
  }
  return names;
}

// Libraries and peers, those of them that are here.
class Adapters : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto opened_one = opened(GetParam());
    if (!opened_one) GTEST_SKIP() << opened_one.error().text();
    backend_ = std::move(*opened_one);
  }
  std::unique_ptr<Backend> backend_;
};

// An adapter does not offer what it does not hand on right.
TEST_P(Adapters, PassTheirSelfCheckInWhatTheyOffer) {
  std::size_t right = 0;
  for (const backend::SelfCheckRow& row : backend::self_check(*backend_)) {
    EXPECT_NE(row.kind, backend::SelfCheckRow::Kind::adapter_fault) << row.subject << ": " << row.detail;
    if (row.kind == backend::SelfCheckRow::Kind::right) ++right;
  }
  EXPECT_GT(right, 0U) << "the check says nothing where everything is declined";
}

TEST_P(Adapters, SayWhatTheyPin) {
  const std::vector<std::string>& pinned = backend_->info().pinned;
  EXPECT_THAT(pinned, Contains("threads=1"));
  EXPECT_THAT(pinned, Contains(::testing::StartsWith("precision=")));
}

// A subnormal number is 0 where it is flushed: what is stated is what happens.
TEST_P(Adapters, TreatSubnormalsAsTheySay) {
  const std::vector<std::string>& pinned = backend_->info().pinned;
  const auto states = [&](const char* text) { return std::find(pinned.begin(), pinned.end(), text) != pinned.end(); };
  if (!states("subnormals=kept") && !states("subnormals=flushed")) GTEST_SKIP() << "it says nothing of subnormals";
  Case test_case;
  test_case.node().op_type = "DequantizeLinear";
  test_case.node().opset_version = 13;
  test_case.inputs = {Tensor::of(ElementType::uint8, {1, 4}, std::vector<std::uint8_t>{1, 2, 3, 4}),
                      Tensor::scalar<float>(ElementType::float32, 0x1p-130F),
                      Tensor::scalar<std::uint8_t>(ElementType::uint8, 0)};
  GuardedOutput output;
  const Outcome outcome = execute(*backend_, test_case, output);
  const Tensor* y = output_of(outcome);
  ASSERT_NE(y, nullptr) << "it does not take the scale";
  EXPECT_EQ(float_at(*y, 0), states("subnormals=kept") ? 0x1p-130F : 0.0F);
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Named, Peers, ::testing::ValuesIn(names(true)), test_name);
INSTANTIATE_TEST_SUITE_P(Named, Adapters, ::testing::ValuesIn(names(false)), test_name);
INSTANTIATE_TEST_SUITE_P(Set, Adapters,
                         ::testing::Values("onnxruntime@all", "onnxruntime@session.set_denormal_as_zero=1",
                                           "onednn@graph", "xnnpack@subgraph", "litert@reference"),
                         test_name);

// On processors with AVX512_BF16 or AMX the runtime would choose bfloat16.
TEST(OpenVino, ComputesInTheStatedPrecision) {
  for (const auto& [name, precision] : {std::pair("openvino", "float32"), {"openvino@precision=bf16", "bfloat16"}}) {
    const auto backend = opened(name);
    if (!backend) GTEST_SKIP() << backend.error().text();
    const std::vector<std::string>& pinned = (*backend)->info().pinned;
    const bool is_in_use =
        std::find(pinned.begin(), pinned.end(), std::string("precision=") + precision) != pinned.end();
    EXPECT_TRUE(is_in_use || std::string(name) != "openvino") << ::testing::PrintToString(pinned);
    Case product;
    product.nodes = {{"MatMul", "", 13, {}, {"a", "b"}, {"c"}}, {"Relu", "", 13, {}, {"c"}, {"y"}}};
    product.input_names = {"a", "b"};
    product.fed_inputs = 1;
    product.outputs = {"y"};
    product.inputs = {Tensor::of(ElementType::float32, {1, 1}, std::vector<float>{1.0F + 0x1p-12F}),
                      Tensor::of(ElementType::float32, {1, 1}, std::vector<float>{1.0F})};
    GuardedOutput output;
    const Outcome outcome = execute(**backend, product, output);
    const Tensor* y = output_of(outcome);
    ASSERT_EQ(y != nullptr, is_in_use) << "on a processor without bfloat16 it declines";
    if (y == nullptr) continue;
    EXPECT_EQ(float_at(*y, 0), std::string(precision) == "float32" ? 1.0F + 0x1p-12F : 1.0F);
  }
}

TEST(OpenVino, TakesNoUnknownPrecision) {
  EXPECT_THAT(opened("openvino@precision=f16").error().text(),
              HasSubstr("\"openvino@precision=f16\": no precision \"f16\"; expected f32 or bf16"));
  EXPECT_THAT(opened("openvino@snippets=none").error().text(), HasSubstr("no snippets \"none\"; expected on or off"));
}

TEST(OpenVino, StatesTheRewritingsThatExperimentsSwitchOff) {
  backend::offer_libraries(libraries());
  const auto switches = backend::switches_of("openvino");
  ASSERT_EQ(switches.size(), 2U);
  EXPECT_EQ(backend::with_switches("openvino@precision=f32", switches),
            "openvino@precision=f32,low-precision=off,snippets=off");
}

}  // namespace
}  // namespace qconform::libraries

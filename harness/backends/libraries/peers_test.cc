// What qconform says of missing and damaged roots of peers, which the test makes. Where the root of a runtime is here,
// its peer answers a small case right.
#include "harness/backends/libraries/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "harness/backends/libraries/libraries.h"
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
  /// What an error says of the root and its remedy.
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
  EXPECT_THAT(opened("onnx-reference:1.2").error().text(), HasSubstr("version 1.2 of onnx-reference is not available"));
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

// A program that says hello and answers nothing.
void write_program(const fs::path& path) {
  ASSERT_TRUE(
      write_file(path, "#!/bin/sh\nprintf 'HELO\\001\\000\\000\\000\\004\\000\\000\\000mine'\ncat >/dev/null\n"));
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
  EXPECT_THAT(opened("rten[Haswell]").error().text(), HasSubstr("runs as a program of this processor"));
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

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const backend::Library& library : libraries()) {
    if (library.start != nullptr) names.emplace_back(library.name);
  }
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Named, Peers, ::testing::ValuesIn(names()), test_name);

}  // namespace
}  // namespace qconform::libraries

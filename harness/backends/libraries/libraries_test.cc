// Every library that is here, on the corpus and on random cases: it must get through all of them. What it
// answers wrongly is data, and recorded; that it is asked rightly shows in what it gets right.
#include "harness/backends/libraries/libraries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <optional>
#include <set>

#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/engine/environment.h"
#include "harness/engine/execute.h"
#include "harness/engine/waivers.h"
#include "harness/model/judge/judge.h"
#include "harness/suites/select.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/temporary_folder.h"
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

class KindCounts {
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

// In a worker: a library that brings its process down has answered the case. Null where the CPU lacks what
// the variant needs, or a release its program, which the message tells.
std::unique_ptr<Backend> open(const std::string& name, std::string& missing) {
  backend::offer_libraries(libraries());
  auto backend = backend::select(name, RoundingProfile::correctly_rounded);
  if (backend) return std::move(*backend);
  missing = backend.error().text();
  EXPECT_TRUE(missing.ends_with("CPU") || missing.ends_with("makes it")) << missing;
  return nullptr;
}

/// Calls visit(case, outcome, verdict) for every case of the suite.
template <typename Visit>
void judge_all(Backend& backend, const std::string& suite, std::uint64_t count, Visit visit) {
  const std::vector<Case> cases = cases_of(suite, count);
  ASSERT_FALSE(cases.empty());
  KindCounts counts;
  GuardedOutput output;
  for (const Case& test_case : cases) {
    const Outcome outcome = execute(backend, test_case, output);
    const Verdict verdict = judge(expect(test_case, Policy{}), outcome);
    counts.add(verdict.kind);
    visit(test_case, outcome, verdict);
  }
  std::printf("%s, %s: %s\n", backend.info().name.c_str(), suite.c_str(), counts.text().c_str());
  // These would be the adapter's doing.
  EXPECT_EQ(counts.of(VerdictKind::unwritten), 0U);
  EXPECT_EQ(counts.of(VerdictKind::timed_out), 0U);
  EXPECT_GT(counts.of(VerdictKind::pass), 0U);
}

bool is_recorded(const Waivers& waivers, const BackendInfo& info) {
  const auto& recorded = waivers.recorded();
  return std::any_of(recorded.begin(), recorded.end(), [&](const RecordedLibrary& library) {
    return library.backend == name_of_every_release(info.name) && library.version == info.version &&
           library.cpu == cpu_level();
  });
}

// The pinned cases that must be met on this CPU.
std::set<std::uint64_t> to_be_met(const Waivers& waivers, const BackendInfo& info) {
  std::set<std::uint64_t> result;
  for (const Waiver* waiver : waivers.of(info)) {
    for (const WaivedCase& waived : waiver->cases) result.insert(waived.digest);
  }
  return result;
}

class Libraries : public ::testing::TestWithParam<std::string> {};

// The failures that the corpus shows in the libraries are recorded, answer by answer: none may appear anew, and none
// vanish. A library, version or CPU without a record is not judged here.
TEST_P(Libraries, FailTheCorpusAsRecorded) {
  std::string missing;
  const auto backend = open(GetParam(), missing);
  if (!backend) GTEST_SKIP() << missing;
  const auto waivers = Waivers::load(waivers_file());
  ASSERT_TRUE(waivers) << waivers.error().text();
  const BackendInfo& info = backend->info();
  if (!is_recorded(*waivers, info)) {
    GTEST_SKIP() << "waivers/libraries.json has no record of " << info.name << " " << info.version
                 << " on a CPU of level " << cpu_level();
  }
  std::set<std::uint64_t> vanished = to_be_met(*waivers, info);
  judge_all(*backend, "corpus", 0, [&](const Case& test_case, const Outcome& outcome, const Verdict& verdict) {
    if (!is_failure(verdict.kind)) return;
    const Waiver* waiver = waivers->covering(info, test_case, outcome, verdict, Policy{});
    EXPECT_NE(waiver, nullptr) << "new: " << name_of(verdict.kind) << " " << test_case.node().op_type << " "
                               << test_case.id << ": " << verdict.detail;
    if (waiver != nullptr) vanished.erase(digest_of(test_case));
  });
  for (const Case& test_case : cases_of("corpus", 0)) {
    EXPECT_FALSE(vanished.contains(digest_of(test_case)))
        << "no longer as recorded: " << test_case.node().op_type << " " << test_case.id;
    vanished.erase(digest_of(test_case));
  }
  EXPECT_TRUE(vanished.empty()) << vanished.size() << " recorded cases are not in the corpus";
}

TEST_P(Libraries, GetThroughRandomCases) {
  std::string missing;
  const auto backend = open(GetParam(), missing);
  if (!backend) GTEST_SKIP() << missing;
  judge_all(*backend, "random", static_cast<std::uint64_t>(qconform::testing::scaled(500)),
            [](const Case& /*test_case*/, const Outcome& /*outcome*/, const Verdict& /*verdict*/) {});
}

// A convolution that changes nothing: each code of x is an element of y, whatever form the adapter gives
// the tensors. Its weight is even, because oneDNN without VNNI halves weights (docs/bugs-found.md).
Case all_codes(ElementType type) {
  std::vector<std::uint8_t> codes(256);
  std::iota(codes.begin(), codes.end(), std::uint8_t{0});
  return QLinearConvBuilder()
      .id("all-codes")
      .x(Tensor::of(type, {1, 1, 16, 16}, codes))
      .w(make::int8({1, 1, 1, 1}, {2}))
      .w_scale(0.5F)
      .y_type(type)
      .build();
}

TEST_P(Libraries, EveryCodeComesBack) {
  std::string missing;
  const auto backend = open(GetParam(), missing);
  if (!backend) GTEST_SKIP() << missing;
  GuardedOutput output;
  int computed = 0;
  for (const ElementType type : {ElementType::uint8, ElementType::int8}) {
    const Case test_case = all_codes(type);
    const Outcome outcome = execute(*backend, test_case, output);
    const Tensor* produced = output_of(outcome);
    if (produced == nullptr) continue;
    ++computed;
    EXPECT_EQ(produced->bytes, test_case.inputs[0]->bytes) << name_of(type);
  }
  EXPECT_GT(computed, 0);
}

// Releases in folders of a test's own; what is stated of the environment is as it was afterwards.
class Roots : public ::testing::Test {
 protected:
  Roots() {
    if (const char* stated = std::getenv("QCONFORM_ROOTS")) before_ = stated;
    setenv("QCONFORM_ROOTS", folder_.path().c_str(), 1);
  }
  ~Roots() override { before_ ? setenv("QCONFORM_ROOTS", before_->c_str(), 1) : unsetenv("QCONFORM_ROOTS"); }
  Roots(const Roots&) = delete;
  Roots& operator=(const Roots&) = delete;

  void add(const std::string& name, const std::string& library) const {
    const auto root = folder_.path() / name;
    std::filesystem::create_directories(root / "lib");
    ASSERT_TRUE(write_file(root / "lib" / "libonnxruntime.so", library));
    ASSERT_TRUE(write_file(root / "VERSION", "npm:x"));
  }
  static std::string asked(const std::string& version) {
    const auto root = root_for({.name = "onnxruntime", .version = version}, "1.30.0");
    return root ? root->version : root.error().text();
  }

  qconform::testing::TemporaryFolder folder_;

 private:
  std::optional<std::string> before_;
};

TEST_F(Roots, StandInTheOrderOfTheirVersions) {
  for (const char* version : {"1.14.0", "1.9.0", "1.14.2", "1.20.1-rev"})
    add(std::string("onnxruntime-") + version, "");
  add("onednn-3.7", "");
  std::filesystem::create_directories(folder_.path() / "onnxruntime-1.8.0" / "lib");
  std::vector<std::string> versions;
  for (const LibraryRoot& root : roots_of("onnxruntime")) versions.push_back(root.version);
  EXPECT_EQ(versions, (std::vector<std::string>{"1.9.0", "1.14.0", "1.14.2", "1.20.1-rev"}));
  EXPECT_EQ(asked("1.14.0"), "1.14.0");
  EXPECT_EQ(asked("1.14"), "1.14.2");
  EXPECT_EQ(asked("1.8.0"),
            "--backend: \"onnxruntime:1.8.0\": no release 1.8.0 of onnxruntime here; there are 1.9.0, 1.14.0, 1.14.2, "
            "1.20.1-rev, 1.30.0; scripts/library-root onnxruntime:1.8.0 fetches it if "
            "scripts/library-root --list has it");
}

TEST_F(Roots, ADamagedOneIsToldByName) {
  const auto all = libraries();
  const auto library = std::find_if(all.begin(), all.end(), [](const auto& l) { return l.name == "onnxruntime"; });
  if (library->open_release == nullptr) GTEST_SKIP() << library->state().absent;
  add("onnxruntime-1.14.0", "no library");
  const auto opened = library->open_release({.name = "onnxruntime", .version = "1.14.0"});
  ASSERT_FALSE(opened);
  const std::string text = opened.error().text();
  EXPECT_TRUE(text.find("the root " + (folder_.path() / "onnxruntime-1.14.0").string() + " is damaged: ") !=
              std::string::npos)
      << text;
  EXPECT_TRUE(text.find("scripts/library-root onnxruntime:1.14.0 fetches it again") != std::string::npos) << text;
}

// Returns the file of a library that this process has loaded, whose name begins so; an empty path without one.
std::filesystem::path loaded_file(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find('/');
    if (at == std::string::npos) continue;
    const std::filesystem::path file = line.substr(at);
    if (file.filename().string().starts_with(name)) return file;
  }
  return {};
}

// A folder of the user's, an archive's or Python's, in the place of a release.
TEST_F(Roots, OnnxRuntimeMayLieAnywhere) {
  const auto all = libraries();
  const auto library = std::find_if(all.begin(), all.end(), [](const auto& l) { return l.name == "onnxruntime"; });
  if (library->open_release == nullptr) GTEST_SKIP() << library->state().absent;
  const auto opened = [&](const std::filesystem::path& place) {
    const auto backend = library->open_release({.name = "onnxruntime", .version = place.string()});
    return backend ? (*backend)->info().version : backend.error().text();
  };
  const std::string folder = folder_.path().string();
  EXPECT_EQ(opened(folder), "--backend: \"onnxruntime:" + folder +
                                "\": no libonnxruntime.so in onnxruntime/capi, capi, lib or the folder itself");
  const std::filesystem::path file = loaded_file("libonnxruntime.so");
  ASSERT_FALSE(file.empty()) << "the library is available, and no file of it is mapped";
  const std::filesystem::path capi = folder_.path() / "onnxruntime" / "capi";
  std::filesystem::create_directories(capi);
  std::filesystem::create_symlink(file, capi / "libonnxruntime.so.1.30.0");
  const std::string version = library->state().version;
  EXPECT_EQ(opened(folder), version);
  EXPECT_EQ(opened(folder_.path() / "onnxruntime"), version);
  EXPECT_EQ(opened(capi), version);
  EXPECT_EQ(opened(capi / "libonnxruntime.so.1.30.0"), version);
}

// A program beside this one, as long as a test wants it. Tests run at the same time: each has a name of its own.
class ProgramBeside {
 public:
  ProgramBeside(const std::string& name, const std::string& script)
      : path_(std::filesystem::read_symlink("/proc/self/exe").parent_path() / name) {
    EXPECT_TRUE(write_file(path_, "#!/bin/sh\n" + script));
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~ProgramBeside() { std::filesystem::remove(path_); }
  ProgramBeside(const ProgramBeside&) = delete;
  ProgramBeside& operator=(const ProgramBeside&) = delete;

 private:
  std::filesystem::path path_;
};

std::string error_of_program(const std::string& name) {
  const auto program = worker_program({.name = name, .version = "1.2"});
  return program ? "" : program.error().text();
}

TEST_F(Roots, AProgramThatIsNotBuiltIsToldWithTheCommandThatBuildsIt) {
  add("sample-1.2.3", "");
  const std::string text = error_of_program("sample");
  EXPECT_NE(text.find("\"sample:1.2\": there is no "), std::string::npos) << text;
  EXPECT_NE(text.find("/worker-sample-1.2.3 for " + folder_.path().string()), std::string::npos) << text;
  EXPECT_NE(text.find(": scripts/build "), std::string::npos) << text;
}

TEST_F(Roots, AProgramThatDoesNotStartTellsOfADamagedRoot) {
  add("sample-1.2.4", "");
  const ProgramBeside program("worker-sample-1.2.4", "echo 'libsample.so: file too short' >&2; exit 127");
  const std::string text = error_of_program("sample");
  EXPECT_NE(
      text.find("sample-1.2.4 is damaged: libsample.so: file too short; scripts/library-root sample:1.2.4 fetches"),
      std::string::npos)
      << text;
}

TEST_F(Roots, AProgramOfAnotherRootIsNotTaken) {
  add("sample-1.2.5", "");
  const ProgramBeside program("worker-sample-1.2.5", "echo 'sample 1.2.5 in /elsewhere'");
  const std::string text = error_of_program("sample");
  EXPECT_NE(text.find("was built for /elsewhere, not for " + folder_.path().string()), std::string::npos) << text;
}

TEST(Siblings, AreTheOtherLevels) {
  backend::offer_libraries(libraries());
  if (!backend::select("onnxruntime", RoundingProfile::correctly_rounded)) GTEST_SKIP() << "ONNX Runtime is not here";
  EXPECT_EQ(backend::siblings_of("onnxruntime@all"),
            (std::vector<std::string>{"onnxruntime@disabled", "onnxruntime@basic", "onnxruntime@extended"}));
  EXPECT_EQ(backend::siblings_of("onnxruntime").size(), 3U) << "without a word it is disabled";
  EXPECT_TRUE(backend::siblings_of("onnxruntime@opt").empty());
  EXPECT_TRUE(backend::siblings_of("scalar").empty());
}

// A bias of oneDNN 3 is a real number: one that is no float32 is not rounded, but declined.
TEST(OneDnn3, DeclinesABiasThatIsNoFloat) {
  backend::offer_libraries(libraries());
  const auto backend = backend::select("onednn:3", RoundingProfile::correctly_rounded);
  if (!backend)
    GTEST_SKIP() << "scripts/library-root onednn:3.7.2 and scripts/build dev bring it: " << backend.error().text();
  GuardedOutput output;
  Case test_case = all_codes(ElementType::uint8);
  test_case.inputs.emplace_back(Tensor::of(ElementType::int32, {1}, std::vector<std::int32_t>{4}));
  EXPECT_NE(output_of(execute(**backend, test_case, output)), nullptr);
  test_case.inputs[1] = Tensor::scalar<float>(ElementType::float32, 0.1F);
  test_case.inputs[8] = Tensor::of(ElementType::int32, {1}, std::vector<std::int32_t>{3});
  const Outcome outcome = execute(**backend, test_case, output);
  const auto* unsupported = std::get_if<outcome::Unsupported>(&outcome);
  ASSERT_NE(unsupported, nullptr);
  EXPECT_NE(unsupported->reason.find("is no float32"), std::string::npos) << unsupported->reason;
}

std::vector<std::string> names_here() {
  std::vector<std::string> names;
  for (const backend::Library& library : libraries()) {
    if (library.start != nullptr || !library.state().absent.empty()) continue;  // peers have peers_test
    names.emplace_back(library.name);
    for (const std::string_view word : library.accepted.words) {
      if (word.ends_with("graph")) continue;  // graph_interfaces_test.cc
      names.push_back(std::string(library.name) + "@" + std::string(word));
    }
    if (library.releases == nullptr) continue;
    for (const std::string& version : library.releases()) names.push_back(std::string(library.name) + ":" + version);
  }
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

// Releases number types of 2 bits differently. By another's number a tensor gets another type, and no case is computed.
TEST(OnnxRuntime, ReadsTensorsOfTwoBitsInEveryReleaseThatHasThem) {
  const std::vector<Case> cases = cases_of("corpus", 0);
  int releases = 0;
  for (const std::string& name : names_here()) {
    if (name != "onnxruntime" && !name.starts_with("onnxruntime:")) continue;
    std::string missing;
    const auto backend = open(name, missing);
    ASSERT_NE(backend, nullptr) << missing;
    const std::string& version = backend->info().version;
    if (std::atoi(version.c_str()) == 1 && std::atoi(version.c_str() + 2) < 30) continue;  // lacks them
    ++releases;
    GuardedOutput output;
    for (const ElementType type : {ElementType::uint2, ElementType::int2}) {
      const auto is_right = [&](const Case& test_case) {
        if (test_case.inputs.empty() || !test_case.inputs[0] || test_case.inputs[0]->type != type) return false;
        return test_case.subject() == "DequantizeLinear" &&
               judge(expect(test_case, Policy{}), execute(*backend, test_case, output)).kind == VerdictKind::pass;
      };
      EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), is_right)) << name << ": " << name_of(type);
    }
  }
  if (releases == 0) GTEST_SKIP() << "no release from 1.30 on is here";
}

INSTANTIATE_TEST_SUITE_P(Here, Libraries, ::testing::ValuesIn(names_here()), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Libraries);

}  // namespace
}  // namespace qconform::libraries

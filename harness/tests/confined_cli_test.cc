// Workers in namespaces of their own, where bubblewrap can make them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "harness/tests/program.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(Confined, ALibraryReadsFilesAndWritesNone) {
  const TemporaryFolder folder;
  const fs::path written = folder.path() / "written";
  const std::string environment = "QCONFORM_WRITES=" + written.string();
  const std::string run = "run --suite corpus --no-shrink --out " + (folder.path() / "out").string() +
                          " --backend plugin:" QCONFORM_PLUGINS "/misbehaves.so@way=open-writes-a-file";
  const auto free = run_program(QCONFORM_PROGRAM, run, environment);
  EXPECT_TRUE(fs::exists(written)) << free.output;
  fs::remove(written);

  const auto confined = run_program(QCONFORM_PROGRAM, run + " --isolation confined", environment);
  if (confined.output.find("confined needs bubblewrap") != std::string::npos) {
    EXPECT_EQ(confined.exit_code, 2) << "never a silent fallback";
    GTEST_SKIP() << "bubblewrap is not here or makes no namespaces: scripts/install-packages confine";
  }
  EXPECT_EQ(confined.exit_code, free.exit_code) << confined.output;
  EXPECT_THAT(confined.output, HasSubstr("ConvInteger"));
  EXPECT_FALSE(fs::exists(written)) << "a confined library wrote a file";
}

}  // namespace
}  // namespace qconform::testing

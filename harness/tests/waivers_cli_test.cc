// Waivers on the command line: drafted, filled in, and used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/file.h"
#include "harness/tests/program.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

TEST(Waivers, ADraftCoversTheSameRunOnceItHasReasons) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "waivers.json").string();
  const std::string run = "run --no-shrink --suite random --cases 300 --out " + folder.path().string() + " --backend ";
  const std::string draft = run + "defect:half-away --draft-waivers " + file;
  const auto found = run_program(QCONFORM_PROGRAM, draft);
  EXPECT_EQ(found.exit_code, 1) << found.output;

  const auto unfinished = run_program(QCONFORM_PROGRAM, run + "defect:half-away --waivers " + file);
  EXPECT_EQ(unfinished.exit_code, 2);
  EXPECT_THAT(unfinished.output, AllOf(HasSubstr("--waivers"), HasSubstr("waivers[0].reason: must not be empty")));

  std::string text = *read_file(file, 1 << 20);
  replace_all(text, "\"\"", "\"known to us\"");
  ASSERT_TRUE(write_file(file, text));
  const auto waived = run_program(QCONFORM_PROGRAM, run + "defect:half-away --waivers " + file);
  EXPECT_EQ(waived.exit_code, 0) << waived.output;
  EXPECT_THAT(waived.output, AllOf(HasSubstr(" waived)"), HasSubstr("known to us"), HasSubstr("0 findings beyond")));

  // Another backend, and another defect of it, are not covered.
  EXPECT_EQ(run_program(QCONFORM_PROGRAM, run + "defect:half-up --waivers " + file).exit_code, 1);
  replace_all(text, "defect:half-away", "defect:half-up");
  ASSERT_TRUE(write_file(file, text));
  EXPECT_EQ(run_program(QCONFORM_PROGRAM, run + "defect:half-up --waivers " + file).exit_code, 1);
}

}  // namespace
}  // namespace qconform::testing

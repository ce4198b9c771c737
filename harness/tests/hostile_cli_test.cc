// Hostile backends at the command line. A plugin whose name, version, reasons and output are made to control the
// terminal: whatever the command and the form, they are shown and not sent. Workers that are confined, where the system
// can do that.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/tests/program.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {
namespace {

using ::testing::HasSubstr;

class HostileText : public ::testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& name) const { return (folder_.path() / name).string(); }

  [[nodiscard]] std::string text(const std::string& name) const {
    const auto read = read_file(at(name), 1 << 26);
    return read ? *read : "";
  }

  // Runs a command and expects that what it prints is harmless.
  std::string run(const std::string& arguments, const std::string& environment = {}) {
    const ProgramResult result = qconform(arguments, environment);
    EXPECT_NE(result.exit_code, 2) << arguments << "\n" << shown_lines(result.output);
    expect_harmless(arguments, result.output);
    return result.output;
  }

  static void expect_harmless(const std::string& what, const std::string& output) {
    EXPECT_FALSE(output.empty()) << what;
    EXPECT_EQ(output, shown_lines(output)) << what;
    for (const std::string_view line : split(output, "\n")) EXPECT_FALSE(line.starts_with("FORGED")) << what;
  }

  static std::string plugin() { return "plugin:" QCONFORM_PLUGINS "/shouts.so"; }

  // A run with findings, in run/.
  std::string judged(const std::string& options = {}, const std::string& environment = {}) {
    return run("run --suite random --cases 150 --seed 3 --no-within --no-explain --no-shrink --backend " + plugin() +
                   " --out " + at("run") + " " + options,
               environment);
  }

 private:
  const TemporaryFolder folder_;
};

TEST_F(HostileText, IsShownByRunInEveryForm) {
  const std::string output = judged("--junit " + at("junit.xml") + " --markdown " + at("summary.md"));
  EXPECT_THAT(output, HasSubstr("\\x1b[2J"));
  EXPECT_THAT(output, HasSubstr("\\u202e"));
  for (const char* form : {"junit.xml", "summary.md"}) expect_harmless(form, text(form));
  for (const char* form : {"summary", "summary --brief", "summary --verbose", "markdown", "junit", "matrix"}) {
    run("report " + std::string(form) + " " + at("run/report.json"));
  }
  run("gate --baseline " + at("run/report.json") + " " + at("run/report.json"));
  // Colours are qconform's own.
  EXPECT_THAT(run("report summary " + at("run/report.json"), "CLICOLOR_FORCE=1"), HasSubstr("\x1b[31m"));
}

TEST_F(HostileText, IsShownByCommandsOnOneCase) {
  judged();
  const std::string on = " " + at("run/F1.json") + " --backend " + plugin();
  EXPECT_THAT(run("replay" + on), HasSubstr("printed   out \\x1b[2J"));
  run("shrink" + on + " -o " + at("small.json"));
  run("explain" + on + " --max-seconds 2");
  run("bisect" + on + " --backend scalar");
}

TEST_F(HostileText, IsShownByOtherCommands) {
  EXPECT_THAT(run("list backends " + plugin()), HasSubstr("1.0\\x1b[2J"));
  run("fuzz --cases 2000 --seed 1 --no-within --no-shrink --no-explain --backend " + plugin() + " --out " + at("fuzz"));
  run("matrix --suite random --cases 60 --no-within --no-shrink --backend " + plugin() + " --out " + at("matrix"));
  run("bench --time 0.01 --backend scalar --against " + plugin() + " --layers \"1x1 8->8 @4\" --out " + at("bench"));
  expect_harmless("bench.md", text("bench/bench.md"));
}

TEST(Colours, FollowTheEnvironment) {
  const std::string list = "list kernels";
  const auto has_colour = [&](const std::string& environment) {
    return qconform(list, environment).output.find('\x1b') != std::string::npos;
  };
  EXPECT_FALSE(has_colour(""));  // no terminal
  EXPECT_FALSE(has_colour("CLICOLOR_FORCE=0"));
  EXPECT_TRUE(has_colour("CLICOLOR_FORCE=1"));
  EXPECT_FALSE(has_colour("CLICOLOR_FORCE=1 NO_COLOR=1"));
  EXPECT_EQ(qconform(list, "COLUMNS=40").output, qconform(list).output);
}

// Returns the text that a line shows at last: a progress line is rewritten.
std::string_view last_state(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t begin = line.rfind("\r\x1b[K");
  return begin == std::string_view::npos ? line : line.substr(begin + 4);
}

std::size_t widest(const std::string& output) {
  std::size_t columns = 0;
  for (const std::string_view whole : split(output, "\n")) {
    const std::string_view line = last_state(whole);
    const std::string_view text = trimmed(line);
    // People copy these, and the terminal breaks them.
    if (!text.starts_with("replay ")) columns = std::max(columns, columns_of(line));
  }
  return columns;
}

TEST(Width, IsThatOfTheTerminal) {
  const TemporaryFolder folder;
  const std::string out = folder.path().string();
  const ProgramResult run = qconform(
      "run --suite random --cases 60 --no-explain --no-shrink --backend scalar --backend defect:half-away "
      "--backend defect:pad-raw-zero --out " +
      out);
  ASSERT_EQ(run.exit_code, 1) << run.output;
  for (const int columns : {40, 80, 200}) {
    for (const std::string form : {"report summary ", "report summary --brief ", "report summary --verbose "}) {
      const ProgramResult result = qconform_in_terminal(form + out + "/report.json", columns);
      EXPECT_EQ(result.exit_code, 0) << result.output;
      EXPECT_LE(widest(result.output), static_cast<std::size_t>(columns)) << result.output;
      EXPECT_THAT(result.output, HasSubstr("\x1b[32m"));
    }
  }
}

TEST(Progress, StaysInItsLine) {
  const TemporaryFolder folder;
  const ProgramResult result =
      qconform_in_terminal("fuzz --backend scalar --for 3s --no-within --out " + folder.path().string(), 60);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("\r\x1b[Kfuzz: "));
  for (std::string_view state : split(result.output, "\r\x1b[K")) {
    if (state.starts_with("fuzz: ")) {
      EXPECT_LT(columns_of(state.substr(0, state.find('\n'))), 60U) << state;
    }
  }
}

TEST(Width, ComesFromTheEnvironmentWhereThatStatesIt) {
  const auto lines = [](const std::string& environment) {
    return split(qconform_in_terminal("list backends", 200, environment).output, "\n").size();
  };
  EXPECT_GT(lines("COLUMNS=60"), lines(""));
}

TEST(Names, AreShortWhateverTheCommandIs) {
  const TemporaryFolder folder;
  const std::string out = folder.path().string();
  const std::string file = std::string(150, 'x') + "\nFORGED `|.so";
  std::filesystem::create_symlink(QCONFORM_PLUGINS "/shouts.so", folder.path() / file);
  const std::string backend = " --backend " + shell_word("plugin:" + out + "/" + file);
  const ProgramResult run = qconform(
      "run --suite random --cases 150 --seed 3 --no-within --no-explain "
      "--no-shrink" +
      backend + backend + " --out " + out + "/run --markdown " + out + "/summary.md");
  EXPECT_EQ(run.exit_code, 1) << run.output;
  EXPECT_THAT(run.output, HasSubstr("xxx...x"));
  EXPECT_THAT(run.output, HasSubstr("#2"));
  const auto markdown = read_file(folder.path() / "summary.md", 1 << 20);
  const auto json = read_file(folder.path() / "run" / "report.json", 1 << 26);
  ASSERT_TRUE(markdown && json);
  for (const std::string& text : {run.output, *markdown}) {
    for (const std::string_view line : split(text, "\n")) {
      EXPECT_FALSE(line.starts_with("FORGED")) << line;
      const bool is_replay = line.find("replay") != std::string_view::npos;
      EXPECT_TRUE(is_replay || line.find(std::string(60, 'x')) == std::string_view::npos) << line;
    }
  }
  EXPECT_THAT(*json, HasSubstr("\"specification\": \"plugin:" + out + "/" + std::string(150, 'x') + "\\nFORGED"));
}

TEST(Errors, ShowWhatArgumentsHave) {
  const ProgramResult result = qconform("replay \"$(printf 'no\\033[2Jfile')\" --backend scalar");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("no\\x1b[2Jfile"));
  EXPECT_EQ(result.output, shown_lines(result.output));
}

// Workers in namespaces of their own, where bubblewrap can make them.

namespace fs = std::filesystem;

TEST(Confined, ALibraryReadsFilesAndWritesNone) {
  const TemporaryFolder folder;
  const fs::path written = folder.path() / "written";
  const std::string environment = "QCONFORM_WRITES=" + written.string();
  const std::string run = "run --suite corpus --no-shrink --out " + (folder.path() / "out").string() +
                          " --backend plugin:" QCONFORM_PLUGINS "/misbehaves.so@way=open-writes-a-file";
  const auto free = qconform(run, environment);
  EXPECT_TRUE(fs::exists(written)) << free.output;
  fs::remove(written);

  const auto confined = qconform(run + " --isolation confined", environment);
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

#include "harness/backends/code_coverage/code_coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <sstream>

namespace qconform {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CodeListing read(const char* text) {
  CodeListingReader reader;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) reader.take(line);
  return reader.finish();
}

const CodeListing& listing() {
  static const CodeListing listing = read(R"(
libmine.so:     file format elf64-x86-64

Disassembly of section .text:

0000000000001139 <f>:
f():
/src/../src/mine.cc:12
    1139:	push   %r15
/src/mine.cc:13 (discriminator 2)
    113b:	call   1030 <__sanitizer_cov_trace_pc@plt>
row_of<float>(int) const [clone .isra.0]:
/src/row.h:5
    1140:	call   *0x2fe2(%rip)        # 3fe8 <__sanitizer_cov_trace_pc_guard@Base>
    1146:	ret

0000000000001150 <g>:
g():
    1150:	ret
)");
  return listing;
}

TEST(CodeListing, HasInstructionsWithTheirPlaces) {
  EXPECT_THAT(listing().functions, ElementsAre("f", "row_of<float>(int) const", "g"));
  EXPECT_THAT(listing().files, ElementsAre("/src/mine.cc", "/src/row.h"));
  std::vector<std::uint32_t> lines;
  std::vector<std::string> functions;
  for (const auto& instruction : listing().instructions) {
    lines.push_back(instruction.line);
    functions.push_back(listing().functions[instruction.function]);
  }
  EXPECT_THAT(lines, ElementsAre(12, 13, 5, 5, 0));
  EXPECT_THAT(functions, ElementsAre("f", "f", "row_of<float>(int) const", "row_of<float>(int) const", "g"));
  EXPECT_TRUE(listing().has_lines());
}

TEST(CodeListing, KnowsTheCallsOfOneFormAndTheFunctionsOfTheLibrary) {
  const auto& instructions = listing().instructions;
  ASSERT_EQ(instructions.size(), 5U);
  EXPECT_TRUE(instructions[1].reports);
  EXPECT_FALSE(instructions[2].reports);
  EXPECT_EQ(instructions[0].symbol, instructions[3].symbol);
  EXPECT_NE(instructions[3].symbol, instructions[4].symbol);
}

TEST(CodeListing, FindsAnInstructionByAnyOfItsBytes) {
  EXPECT_EQ(listing().at(0x113F), 1U);
  EXPECT_EQ(listing().at(0x1140), 2U);
  EXPECT_EQ(listing().at(0x1000), listing().instructions.size());
}

TEST(CodeListing, SaysWhichFileCannotBeListed) {
  const auto listed = list_code("/no/such/library.so");
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().field, "/no/such/library.so");
  EXPECT_THAT(listed.error().message, HasSubstr("objdump"));
}

}  // namespace
}  // namespace qconform

#ifdef QCONFORM_RECORDS_CODE

// The functions that compilers call (code_coverage.cc).
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
void __sanitizer_cov_trace_pc_guard_init(std::uint32_t* begin, std::uint32_t* end);
void __sanitizer_cov_pcs_init(const std::uintptr_t* begin, const std::uintptr_t* end);
void __sanitizer_cov_trace_pc_guard(const std::uint32_t* guard);
void __sanitizer_cov_trace_pc();
}
// NOLINTEND(bugprone-reserved-identifier)

namespace qconform {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// As a worker that loads a library and runs cases.
void in_worker(CodeCoverage& code, const std::function<void()>& work) {
  const pid_t process = fork();
  if (process == 0) {
    code.record_here();
    work();
    _exit(0);
  }
  int status = 0;
  (void)waitpid(process, &status, 0);
  EXPECT_EQ(status, 0);
}

struct InstrumentedLibrary {
  std::array<std::uint32_t, 3> guards{};
  std::array<std::uintptr_t, 6> table{};

  // Code of the module that has the guards: this program.
  void fill_table() {
    const auto here = reinterpret_cast<std::uintptr_t>(&__sanitizer_cov_trace_pc_guard);
    for (std::size_t i = 0; i < guards.size(); ++i) table[2 * i] = here + i;
  }
  void load() {
    // Each of its files does so.
    for (int file = 0; file < 2; ++file) {
      __sanitizer_cov_trace_pc_guard_init(guards.data(), guards.data() + guards.size());
      __sanitizer_cov_pcs_init(table.data(), table.data() + table.size());
    }
  }
};

TEST(CodeCoverage, HearsNothingOfOtherCode) {
  CodeCoverage code;
  in_worker(code, [] {});
  EXPECT_EQ(code.form(), CodeCoverage::Form::none);
  EXPECT_EQ(code.edges(), std::nullopt);
  EXPECT_THAT(code.executed(), IsEmpty());
}

TEST(CodeCoverage, MarksGuardsOfAnyWorker) {
  CodeCoverage code;
  // Guards lie in a module.
  static InstrumentedLibrary first;
  static InstrumentedLibrary second;
  first.fill_table();
  second.fill_table();
  const auto load_both = [] {
    first.load();
    second.load();
    __sanitizer_cov_trace_pc_guard(first.guards.data());
  };
  in_worker(code, load_both);
  code.settle();
  EXPECT_EQ(code.form(), CodeCoverage::Form::guards);
  EXPECT_EQ(code.edges(), 6U);
  EXPECT_THAT(code.executed_by_loading(), ElementsAre(0U));
  EXPECT_THAT(code.executed(), IsEmpty());
  in_worker(code, [&] {
    load_both();
    __sanitizer_cov_trace_pc_guard(&second.guards[1]);
  });
  EXPECT_EQ(code.edges(), 6U);
  EXPECT_THAT(code.executed(), ElementsAre(4U));
  EXPECT_THAT(code.modules(), SizeIs(1));
  EXPECT_EQ(code.place(1).offset, code.place(0).offset + 1);
  code.forget();
  EXPECT_THAT(code.executed(), IsEmpty());
}

TEST(CodeCoverage, NumbersPlacesOfCalls) {
  CodeCoverage code;
  const auto call_twice = [] {
    for (int i = 0; i < 2; ++i) __sanitizer_cov_trace_pc();
  };
  in_worker(code, call_twice);
  EXPECT_EQ(code.form(), CodeCoverage::Form::calls);
  EXPECT_EQ(code.edges(), std::nullopt);
  const auto first = code.executed();
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_NE(code.place(first.front()).offset, CodePlace::kNowhere);
  code.forget();
  in_worker(code, call_twice);
  EXPECT_EQ(code.executed(), first);
}

}  // namespace
}  // namespace qconform

#endif

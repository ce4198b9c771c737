#include "harness/backends/code_coverage/code_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

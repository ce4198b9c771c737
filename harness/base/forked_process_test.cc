#include "harness/base/forked_process.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>
#include <vector>

namespace qconform {
namespace {

constexpr std::size_t kMapped = std::size_t{6} << 30;
constexpr ForkLimits kLimits{.cpu_seconds = 60, .address_space = std::uint64_t{1} << 30};

Result<std::string> allocated(std::size_t bytes) {
  return run_forked("work", kLimits, [&]() -> Result<std::string> {
    const std::vector<char> memory(bytes);
    return std::to_string(memory.size());
  });
}

// The workers of a run map more addresses than a fork may add.
TEST(RunForked, CountsWhatItsWorkAddsAlone) {
  if (!kCanLimitAddressSpace) GTEST_SKIP() << "this build's sanitizer maps terabytes";
  void* mapped = mmap(nullptr, kMapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto little = allocated(std::size_t{64} << 20);
  EXPECT_TRUE(little) << little.error().text();
  const auto much = allocated(std::size_t{2} << 30);
  ASSERT_FALSE(much);
  EXPECT_EQ(much.error().text(), "work: needs more than the limit of 1 GiB of memory [rule limit]");
  EXPECT_EQ(munmap(mapped, kMapped), 0);
}

TEST(RunForked, KeepsTheLimitOfTheProcessThatForks) {
  if (!kCanLimitAddressSpace) GTEST_SKIP() << "this build's sanitizer maps terabytes";
  EXPECT_FALSE(is_memory_confined());
  const auto nested = run_forked("outer", kLimits, []() -> Result<std::string> {
    return run_forked("inner", {.cpu_seconds = 60, .address_space = std::uint64_t{16} << 30},
                      []() -> Result<std::string> {
                        const std::vector<char> memory(std::size_t{2} << 30);
                        return std::to_string(memory.size());
                      });
  });
  EXPECT_FALSE(nested);
}

TEST(RunForked, TellsTheRuleOfAnError) {
  const auto failed = run_forked("work", kLimits, []() -> Result<std::string> { return fail("", "two\nlines", "C8"); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().text(), "work: two\nlines [rule C8]");
}

}  // namespace
}  // namespace qconform

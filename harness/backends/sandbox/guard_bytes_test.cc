#include "harness/backends/sandbox/guarded_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace qconform {
namespace {

constexpr std::size_t kLongest = 2 * kWholeVectors + 3;
constexpr std::byte kOld{0x11};
constexpr std::byte kNew{0xA5};

// Against the edge of a page without access: a byte too many is a fault.
TEST(GuardBytes, FillsTheRangeAlone) {
  GuardedMemory memory(kWholeVectors);
  for (std::size_t size = 0; size <= kLongest; ++size) {
    const std::span<std::byte> all = memory.place(kLongest, GuardedMemory::Against::end);
    std::fill(all.begin(), all.end(), kOld);
    fill_to_edge(all.data() + all.size() - size, kNew, size);
    EXPECT_EQ(std::count(all.begin(), all.end() - static_cast<std::ptrdiff_t>(size), kOld),
              static_cast<std::ptrdiff_t>(kLongest - size));
    EXPECT_EQ(std::count(all.end() - static_cast<std::ptrdiff_t>(size), all.end(), kNew),
              static_cast<std::ptrdiff_t>(size));
  }
}

TEST(GuardBytes, SeesEveryByteThatDiffers) {
  GuardedMemory memory(kWholeVectors);
  for (std::size_t size = 0; size <= kLongest; ++size) {
    const std::span<std::byte> placed = memory.place(size, GuardedMemory::Against::end);
    fill_to_edge(placed.data(), kNew, size);
    std::vector<std::byte> content(size, kNew);
    EXPECT_TRUE(equal_to_edge(content.data(), placed.data(), size));
    for (std::byte& byte : content) {
      byte ^= std::byte{0x80};
      EXPECT_FALSE(equal_to_edge(content.data(), placed.data(), size)) << size;
      byte = kNew;
    }
  }
}

}  // namespace
}  // namespace qconform

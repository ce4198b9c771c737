#include "harness/backends/sandbox/disk_channel.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "harness/base/pipe.h"

namespace qconform {
namespace {

class DiskChannelTest : public ::testing::Test {
 protected:
  DiskChannelTest() { EXPECT_EQ(ftruncate(file_.get(), static_cast<off_t>(DiskChannel::kBytes)), 0); }

  static std::vector<std::byte> bytes_of(std::uint32_t number, std::size_t size) {
    return std::vector<std::byte>(size, std::byte(number + 1));
  }
  static void expect(const std::optional<DiskChannel::Message>& message, std::uint32_t number, std::size_t size) {
    ASSERT_TRUE(message);
    EXPECT_EQ(message->mark, number);
    ASSERT_EQ(message->bytes.size(), size);
    EXPECT_TRUE(std::ranges::equal(message->bytes, bytes_of(number, size))) << number;
  }

  Descriptor file_{memfd_create("line", MFD_CLOEXEC)};
  DiskChannel host_{file_.get(), DiskChannel::Side::host};
  DiskChannel guest_{file_.get(), DiskChannel::Side::guest};
};

TEST_F(DiskChannelTest, HasNothingAtFirst) {
  EXPECT_FALSE(host_.receive());
  EXPECT_FALSE(guest_.receive());
  EXPECT_FALSE(host_.is_damaged() || guest_.is_damaged());
}

// Several times around the ring, up to as many messages as fit, in both directions.
TEST_F(DiskChannelTest, KeepsMessagesOfEverySizeInTheirOrder) {
  constexpr std::size_t kLineSizes[] = {0, 1, 495, 496, 497, 5000, 300'000, DiskChannel::kLargestMessage};
  const auto size_of = [&](std::uint32_t number) { return kLineSizes[number % std::size(kLineSizes)]; };
  std::uint32_t sent = 0;
  std::uint32_t answered = 0;
  std::uint32_t received = 0;
  while (received < 48) {
    for (; host_.has_room(size_of(sent)); ++sent) host_.send(bytes_of(sent, size_of(sent)), sent);
    host_.flush();
    for (; answered < sent && guest_.has_room(size_of(answered)); ++answered) {
      expect(guest_.receive(), answered, size_of(answered));
      guest_.send(bytes_of(answered, size_of(answered)), answered);
    }
    guest_.flush();
    for (; received < answered; ++received) expect(host_.receive(), received, size_of(received));
    EXPECT_FALSE(host_.receive());
  }
  EXPECT_FALSE(host_.is_damaged() || guest_.is_damaged());
}

TEST_F(DiskChannelTest, HasNoRoomForMoreThanTheLargestMessage) {
  EXPECT_TRUE(host_.has_room(DiskChannel::kLargestMessage));
  EXPECT_FALSE(host_.has_room(DiskChannel::kLargestMessage + 1));
}

TEST_F(DiskChannelTest, ShowsNothingBeforeTheFlush) {
  host_.send(bytes_of(7, 10), 7);
  EXPECT_FALSE(guest_.receive());
  host_.flush();
  expect(guest_.receive(), 7, 10);
}

// A sector that is half written tells nothing; a length that nobody sends ends it.
TEST_F(DiskChannelTest, DoesNotBelieveWhatMakesNoSense) {
  const std::uint64_t torn[] = {512, 0, 0};
  ASSERT_EQ(pwrite(file_.get(), torn, sizeof torn, 0), static_cast<ssize_t>(sizeof torn));
  EXPECT_FALSE(guest_.receive());
  EXPECT_FALSE(guest_.is_damaged());
  host_.send(bytes_of(0, 10), 0);
  host_.flush();
  const std::uint64_t length = ~std::uint64_t{0};
  ASSERT_EQ(pwrite(file_.get(), &length, sizeof length, 8192), static_cast<ssize_t>(sizeof length));
  EXPECT_FALSE(guest_.receive());
  EXPECT_TRUE(guest_.is_damaged());
}

}  // namespace
}  // namespace qconform

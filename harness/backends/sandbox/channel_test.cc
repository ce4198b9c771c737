#include "harness/backends/sandbox/channel.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "harness/base/process.h"

namespace qconform {
namespace {

constexpr std::size_t kSlot = 2 * CaseChannel::kSmallMessage;
constexpr std::size_t kSmall = CaseChannel::kSmallMessage;
constexpr std::size_t kSizes[] = {1, kSmall - 1, kSmall, kSmall + 1, kSlot};

std::byte mark(std::uint32_t number) {
  return std::byte(number + 1);
}

bool is_all(std::span<const std::byte> bytes, std::byte value) {
  return std::all_of(bytes.begin(), bytes.end(), [value](std::byte byte) { return byte == value; });
}

std::size_t size_of(std::uint32_t number) {
  return kSizes[number % std::size(kSizes)];
}

// Both sides in this process: as many messages each way as there may be, small ones beside large ones.
TEST(CaseChannel, KeepsMessagesOfEverySizeApart) {
  CaseChannel channel(kSlot);
  channel.put_hello(0);
  for (std::uint32_t number = 0; number < CaseChannel::kSlots; ++number) {
    const auto memory = channel.request_memory(number, size_of(number));
    ASSERT_TRUE(memory && memory->size() == size_of(number));
    std::fill(memory->begin(), memory->end(), mark(number));
    channel.post(number, size_of(number), static_cast<RunMode>(number % 3));
  }
  for (std::uint32_t number = 0; number < CaseChannel::kSlots; ++number) {
    const auto memory = channel.answer_memory(number, size_of(number + 1));
    ASSERT_TRUE(memory && memory->size() == size_of(number + 1));
    std::fill(memory->begin(), memory->end(), ~mark(number));
  }
  for (std::uint32_t number = 0; number < CaseChannel::kSlots; ++number) {
    const CaseChannel::Request request = channel.take(number);
    EXPECT_EQ(request.bytes.size(), size_of(number));
    EXPECT_TRUE(is_all(request.bytes, mark(number))) << number;
    EXPECT_EQ(request.mode, static_cast<RunMode>(number % 3));
    channel.put(number, size_of(number + 1));
    EXPECT_EQ(channel.answer(number)->size(), size_of(number + 1));
    EXPECT_TRUE(is_all(*channel.answer(number), ~mark(number))) << number;
  }
}

TEST(CaseChannel, HasNoRoomForMoreThanASlot) {
  const CaseChannel channel(kSlot);
  EXPECT_FALSE(channel.request_memory(0, kSlot + 1));
  EXPECT_FALSE(channel.answer_memory(0, kSlot + 1));
}

TEST(CaseChannel, AnAnswerIsNeverLongerThanItsSlot) {
  CaseChannel channel(kSlot);
  channel.put(3, ~std::size_t{0});
  EXPECT_EQ(channel.answer(3)->size(), kSlot);
}

TEST(CaseChannel, GivesBackTheMemoryOfLargeMessages) {
  CaseChannel channel(kSlot);
  const auto blocks = [&] {
    struct stat status {};
    EXPECT_EQ(fstat(channel.file(), &status), 0);
    return status.st_blocks;
  };
  const auto before = blocks();
  for (const auto& memory : {channel.request_memory(5, kSlot), channel.answer_memory(5, kSlot)}) {
    ASSERT_TRUE(memory);
    std::memset(memory->data(), 1, memory->size());
  }
  channel.post(5, kSlot, RunMode::once);
  channel.put(5, kSlot);
  EXPECT_GE((blocks() - before) * 512, static_cast<blkcnt_t>(2 * kSlot));
  channel.release(5);
  EXPECT_EQ(blocks(), before);
}

// As a worker, which is a process of its own.
template <typename Memory>
[[noreturn]] void write_as_worker(Memory memory_in) {
  CaseChannel channel(kSlot);
  channel.make_requests_read_only();
  const std::span<std::byte> memory = memory_in(channel);
  std::memset(memory.data(), 1, memory.size());
  std::_Exit(0);
}

TEST(CaseChannelDeathTest, AWorkerWritesAnswersButNoRequests) {
  for (const std::size_t size : kSizes) {
    EXPECT_EXIT(write_as_worker([size](CaseChannel& channel) { return *channel.answer_memory(0, size); }),
                ::testing::ExitedWithCode(0), "")
        << size;
    EXPECT_DEATH(write_as_worker([size](CaseChannel& channel) { return *channel.request_memory(0, size); }), "")
        << size;
  }
}

class DiskChannelTest : public ::testing::Test {
 protected:
  DiskChannelTest() { EXPECT_EQ(ftruncate(file_.get(), static_cast<off_t>(DiskChannel::kBytes)), 0); }

  static std::vector<std::byte> bytes_of(std::uint32_t number, std::size_t size) {
    return std::vector<std::byte>(size, std::byte(number + 1));
  }
  static void expect(const std::optional<DiskChannel::DiskMessage>& message, std::uint32_t number, std::size_t size) {
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

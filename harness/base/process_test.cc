#include "harness/base/process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
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

// A library may start processes from threads of its own, and these others in turn.
TEST(Descendants, AreThoseOfEveryThreadAndOfEveryChild) {
  Pipe ready;
  ASSERT_TRUE(ready.open());
  std::thread([&] {
    const ForkedProcess child(ForkedProcess::Group::own, [&] {
      const pid_t grandchild = fork();
      if (grandchild != 0)
        (void)write_all(ready.write.get(), {reinterpret_cast<const char*>(&grandchild), sizeof(pid_t)});
      for (;;) pause();
    });
    pid_t grandchild = 0;
    ASSERT_TRUE(read_all_of(ready.read.get(), &grandchild, sizeof grandchild));
    const std::vector<pid_t> below = descendants_of(getpid());
    ASSERT_EQ(below.size(), 3U);  // the first one guards the child
    EXPECT_EQ(below[1], child.id());
    EXPECT_EQ(below[2], grandchild);
  }).join();
  EXPECT_TRUE(descendants_of(getpid()).empty());
}

// A campaign that was told to stop ends its processes while some of them begin.
TEST(ForkedProcess, EndsWithItsGuardHoweverEarlyThatIsKilled) {
  constexpr int kTimes = 400;
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // who adopts the child reaps it
  for (int i = 0; i < kTimes; ++i) {
    Pipe held;
    ASSERT_TRUE(held.open());
    ForkedProcess process(ForkedProcess::Group::own, [] {
      for (;;) pause();
    });
    ASSERT_TRUE(process.is_running());
    held.write.close();
    const std::vector<pid_t> below = descendants_of(getpid());
    ASSERT_FALSE(below.empty());
    (void)kill(below.front(), SIGKILL);
    EXPECT_EQ(process.wait(), SIGKILL);
    constexpr int kPatience = 10000;  // ms
    pollfd end{held.read.get(), 0, 0};
    const bool has_ended = ::poll(&end, 1, kPatience) == 1;
    kill_descendants();
    ASSERT_TRUE(has_ended) << "process " << below.back() << " outlives its guard";
  }
  EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

// Starts a process of the server and returns what it writes into its file.
std::string told_by(ForkServer& server) {
  Pipe pipe;
  EXPECT_TRUE(pipe.open());
  ForkedProcess process = server.start(std::array{pipe.write.get()});
  EXPECT_TRUE(process.is_running());
  pipe.write.close();
  std::string told(16, '\0');
  told.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(pipe.read.get(), told.data(), told.size()), 0)));
  EXPECT_EQ(process.wait(), 0);
  return told;
}

TEST(ForkServer, StartsProcessesWithoutWhatItsOwnerDidLater) {
  std::string state = "before";
  ForkServer server([&](std::span<const int> files) { (void)write_all(files[0], state); });
  EXPECT_EQ(told_by(server), "before");
  state = "after";
  EXPECT_EQ(told_by(server), "before");
}

TEST(ForkServer, BeginsAgainWhereItWasEnded) {
  std::string state = "before";
  ForkServer server([&](std::span<const int> files) { (void)write_all(files[0], state); });
  EXPECT_EQ(told_by(server), "before");
  for (const pid_t process : descendants_of(getpid())) (void)kill(process, SIGKILL);
  state = "after";
  EXPECT_EQ(told_by(server), "after");
}

TEST(ForkServer, EndsWhatItStartedWhenItEnds) {
  auto server = std::make_unique<ForkServer>([](std::span<const int>) { (void)pause(); });
  ForkedProcess process = server->start({});
  ASSERT_TRUE(process.is_running());
  server.reset();
  EXPECT_EQ(process.wait(), SIGKILL);
}

TEST(ForkServer, OutlivesTheThreadThatBeganIt) {
  ForkServer server([](std::span<const int>) { (void)pause(); });
  ForkedProcess process;
  std::thread([&] { process = server.start({}); }).join();
  ASSERT_TRUE(process.is_running());
  ForkedProcess second = server.start({});
  ASSERT_TRUE(second.is_running());
  EXPECT_FALSE(process.poll().has_value());
  EXPECT_EQ(second.end(), SIGKILL);
  EXPECT_EQ(process.end(), SIGKILL);
}

TEST(MessagePipe, CarriesTextsOfEverySize) {
  Pipe pipe;
  ASSERT_TRUE(pipe.open());
  const PipeMessage sent{'c', {"", std::string(1 << 20, 'x'), std::string("a\0b", 3)}};
  std::thread writer([&] {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(send(pipe.write.get(), sent));
    pipe.write.close();
  });
  MessageReader reader(pipe.read.get());
  for (int i = 0; i < 3; ++i) {
    const auto message = reader.next();
    EXPECT_TRUE(message);
    if (!message) break;
    EXPECT_EQ(message->kind, 'c');
    EXPECT_EQ(message->texts, sent.texts);
  }
  EXPECT_EQ(reader.next().error().text(), "ended");
  writer.join();
}

TEST(MessagePipe, TellsThatNothingCameInTime) {
  Pipe pipe;
  ASSERT_TRUE(pipe.open());
  MessageReader reader(pipe.read.get());
  const auto message = reader.next(1);
  ASSERT_TRUE(message);
  EXPECT_FALSE(*message);
}

TEST(MessagePipe, RefusesWhatIsNoMessage) {
  for (const std::string& bytes :
       {std::string(8, '\0'), std::string(8, '\xff'), std::string("\x09\0\0\0\0\0\0\0c\xff\0\0\0\0\0\0\0", 17)}) {
    Pipe pipe;
    ASSERT_TRUE(pipe.open());
    ASSERT_TRUE(write_all(pipe.write.get(), bytes));
    MessageReader reader(pipe.read.get());
    EXPECT_EQ(reader.next().error().text(), "wrote what is no message");
  }
}

TEST(ActivityOf, TellsAProcessThatSleepsFromOneThatComputes) {
  const auto until = [](pid_t process, auto holds) {
    for (;;) {
      const auto activity = activity_of(process);
      if (!activity || holds(*activity)) return activity.has_value();
      (void)usleep(1000);
    }
  };
  ForkedProcess sleeping(ForkedProcess::Group::own, [] { (void)pause(); });
  EXPECT_TRUE(until(sleeping.id(), [](const ProcessActivity& activity) { return activity.sleeps; }));
  ForkedProcess computing(ForkedProcess::Group::own, [] {
    for (std::atomic<int> i = 0;; ++i) {
    }
  });
  EXPECT_TRUE(until(computing.id(), [](const auto& activity) { return !activity.sleeps && activity.cpu_seconds > 0; }));
  (void)kill(sleeping.id(), SIGSTOP);
  EXPECT_TRUE(until(sleeping.id(), [](const auto& activity) { return !activity.sleeps; })) << "stopped is not asleep";
}

}  // namespace
}  // namespace qconform

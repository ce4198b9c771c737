#include "harness/base/pipe.h"

#include <gtest/gtest.h>

#include <thread>

namespace qconform {
namespace {

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

}  // namespace
}  // namespace qconform

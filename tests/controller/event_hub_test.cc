#include "controller/event_hub.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

namespace vortex::controller {
namespace {

namespace asio = boost::asio;

class EventHubTest : public ::testing::Test {
 protected:
  api::EventFeed::Next next(std::uint64_t after, Duration wait = {}) {
    asio::io_context io;
    auto result = asio::co_spawn(io, hub.next(after, wait), asio::use_future);
    io.run();
    return result.get();
  }

  EventHub hub{100};
};

TEST_F(EventHubTest, GivesWhatIsNewerThanAsked) {
  hub.publish(1, 2, "a\nb\n");
  hub.publish(3, 3, "c\n");
  EXPECT_EQ(next(0).lines.size(), 2U);
  EXPECT_EQ(next(1).lines.size(), 2U) << "the block with event 2 is given whole";
  ASSERT_EQ(next(2).lines.size(), 1U);
  EXPECT_EQ(*next(2).lines[0].text, "c\n");
  EXPECT_TRUE(next(3).lines.empty());
}

TEST_F(EventHubTest, TellsAReaderThatIsBehindHowFarToReadTheStore) {
  hub.publish(1, 10, std::string(80, 'x'));
  hub.publish(11, 20, std::string(80, 'y'));  // the first block no longer fits
  const auto behind = next(5);
  EXPECT_TRUE(behind.behind);
  EXPECT_EQ(behind.read_to, 10U);
  EXPECT_FALSE(next(10).behind);
}

TEST_F(EventHubTest, WhatWasBeforeItsTimeIsInTheStore) {
  hub.begin_at(7);
  EXPECT_TRUE(next(3).behind);
  EXPECT_EQ(next(3).read_to, 7U);
  EXPECT_FALSE(next(7).behind);
}

TEST_F(EventHubTest, AHoleInTheSequenceForgetsWhatWasBefore) {
  hub.publish(1, 2, "a\n");
  hub.publish(9, 9, "b\n");
  EXPECT_TRUE(next(2).behind);
  EXPECT_EQ(next(2).read_to, 8U);
}

TEST_F(EventHubTest, WakesReadersThatWait) {
  asio::io_context io;
  auto result = asio::co_spawn(io, hub.next(0, seconds(60)), asio::use_future);
  io.poll();  // it waits now
  hub.publish(1, 1, "a\n");
  io.restart();
  io.run();
  EXPECT_EQ(result.get().lines.size(), 1U);
}

}  // namespace
}  // namespace vortex::controller

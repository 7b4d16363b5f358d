// One courier against a real receiver, with a core and a store that are driven by hand.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/secrets.h"
#include "base/clock.h"
#include "controller/webhook_courier.h"
#include "tests/api/desk.h"
#include "tests/controller/receiver.h"

namespace vortex::controller {
namespace {

namespace asio = boost::asio;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Couriers : public ::testing::Test {
 protected:
  // Something happens that is worth an event; its sequence.
  std::uint64_t happen() {
    paused_ = !paused_;
    desk_.step(core::PauseQueue{{}, "slow", paused_});
    return desk_.feed.last_seq();
  }

  // Writes the row as the interface would, and sends the courier off.
  std::shared_ptr<Courier> send(WebhookRow row) {
    const WebhookRow written = row;
    asio::co_spawn(io_, desk_.write(api::WriteWebhook{written}), asio::detached);
    run_until([&] { return stored().has_value(); });
    auto courier = std::make_shared<Courier>(
        Courier::Parts{io_.get_executor(),
                       desk_,
                       [this](LogLevel, std::string what) { said_ = what; },
                       {millis(1), millis(4), 3}},
        std::move(row));
    asio::co_spawn(io_, Courier::run(courier), asio::detached);
    return courier;
  }

  WebhookRow row() const {
    WebhookRow made;
    made.name = "ci";
    made.url = receiver_->url();
    made.kinds = "queue_paused,queue_resumed";
    made.secret = secret_;
    made.created_at = desk_.clock;
    made.progress.after = desk_.feed.last_seq();
    return made;
  }

  std::optional<WebhookRow> stored() {
    std::optional<WebhookRow> found;
    const auto read = [&](store::Reader& reader) {
      const auto rows = reader.webhooks();
      if (rows && !rows->empty()) found = rows->front();
    };
    asio::co_spawn(io_, desk_.read(read), asio::detached);
    io_.restart();  // it stops by itself when there was nothing to do
    io_.poll();
    return found;
  }

  template <class Done>
  void run_until(Done done) {
    const Instant limit = boot_clock_now() + seconds(20);
    while (!done() && boot_clock_now() < limit) {
      io_.restart();
      io_.run_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(done());
  }
  void run_until_told(std::size_t times) {
    run_until([&] { return receiver_->told().size() >= times; });
  }

  std::vector<std::string> ids() const {
    std::vector<std::string> all;
    for (const Told& told : receiver_->told()) all.push_back(told.id);
    return all;
  }
  static std::string id(std::uint64_t seq) { return fmt::format("ci-{}", seq); }

  asio::io_context io_;
  api::Desk desk_{io_};
  std::unique_ptr<TestReceiver> receiver_ = std::make_unique<TestReceiver>(io_);
  const std::string secret_ = api::mint_webhook_secret();
  std::string said_;
  bool paused_ = false;
};

TEST_F(Couriers, EveryWantedEventIsToldInOrderSignedAndCounted) {
  happen();
  send(row());
  const std::uint64_t first = happen();
  const std::uint64_t second = happen();
  run_until_told(2);
  EXPECT_THAT(ids(), ElementsAre(id(first), id(second))) << "and not what came before it was made";
  for (const Told& told : receiver_->told()) {
    EXPECT_EQ(told.signature, api::sign_webhook(secret_, {told.id, told.timestamp, told.body}));
  }
  EXPECT_THAT(receiver_->told()[0].body, HasSubstr(R"("specversion":"1.0")"));
  EXPECT_THAT(receiver_->told()[0].body, HasSubstr(R"("type":"vortex.queue_resumed")"));
  run_until([&] { return stored()->progress.delivered == 2; });
  EXPECT_EQ(stored()->progress.after, second);
  EXPECT_EQ(stored()->progress.trouble, "");
}

TEST_F(Couriers, WhatIsNotTakenIsToldAgainBeforeAnythingLater) {
  receiver_->answer_with({503, 429, 302, 500});
  send(row());
  const std::uint64_t first = happen();
  const std::uint64_t second = happen();
  run_until_told(6);
  EXPECT_THAT(ids(),
              ElementsAre(id(first), id(first), id(first), id(first), id(first), id(second)));
  run_until([&] { return stored()->progress.delivered == 2; });
  EXPECT_EQ(stored()->progress.given_up, 0U);
}

TEST_F(Couriers, TroubleIsWrittenDownWhileItLasts) {
  receiver_->answer_with(std::vector<int>(1'000, 503));
  send(row());
  happen();
  run_until([&] { return stored()->progress.trouble == "it answered 503"; });
  EXPECT_THAT(said_, HasSubstr("did not accept a message: it answered 503"));
  receiver_->answer_with({});
  run_until([&] { return stored()->progress.trouble.empty(); });
  EXPECT_THAT(said_, HasSubstr("accepts messages again"));
}

TEST_F(Couriers, AMessageThatIsRefusedForItselfIsGivenUpAndTheNextIsTold) {
  receiver_->answer_with({422, 422, 422});
  send(row());
  const std::uint64_t first = happen();
  const std::uint64_t second = happen();
  run_until_told(4);
  EXPECT_THAT(ids(), ElementsAre(id(first), id(first), id(first), id(second)));
  run_until([&] { return stored()->progress.delivered == 1; });
  EXPECT_EQ(stored()->progress.given_up, 1U);
  EXPECT_EQ(stored()->progress.after, second);
}

TEST_F(Couriers, AReceiverThatIsAwayIsWaitedFor) {
  const std::uint16_t port = receiver_->server().port();
  WebhookRow made = row();
  bool gone = false;
  asio::co_spawn(io_, receiver_->server().stop(), [&](const std::exception_ptr&) { gone = true; });
  run_until([&] { return gone; });
  receiver_.reset();
  send(made);
  const std::uint64_t first = happen();
  run_until([&] { return !stored()->progress.trouble.empty(); });
  receiver_ = std::make_unique<TestReceiver>(io_, port);
  run_until_told(1);
  EXPECT_THAT(ids(), ElementsAre(id(first)));
}

TEST_F(Couriers, TheNextOneGoesOnWhereTheLastHadCome) {
  desk_.feed.blocks_max = 1;  // the rest comes from the store
  const auto first = send(row());
  happen();
  run_until([&] { return stored()->progress.delivered == 1; });
  first->stop();
  const std::uint64_t second = happen();
  const std::uint64_t third = happen();
  send(*stored());
  run_until_told(3);
  EXPECT_EQ(ids()[1], id(second));
  EXPECT_EQ(ids()[2], id(third));
}

TEST_F(Couriers, AStoppedOneTellsNothingMore) {
  receiver_->answer_with(std::vector<int>(1'000, 503));
  const auto courier = send(row());
  happen();
  run_until_told(1);
  courier->stop();
  run_until([&] { return courier.use_count() == 1; });
  const std::size_t told = receiver_->told().size();
  happen();
  io_.restart();
  io_.run_for(std::chrono::milliseconds(20));
  EXPECT_EQ(receiver_->told().size(), told);
}

TEST_F(Couriers, EventsThatAreNoLongerKeptAreCountedAsMissed) {
  WebhookRow made = row();
  const std::uint64_t last = happen();
  made.progress.after = 0;
  desk_.feed.blocks_max = 1;
  desk_.forget_events();
  const std::uint64_t next = happen();
  send(made);
  run_until_told(1);
  EXPECT_THAT(ids(), ElementsAre(id(next)));
  run_until([&] { return stored()->progress.delivered == 1; });
  EXPECT_EQ(stored()->progress.missed, last);
}

TEST_F(Couriers, AnAddressThatPointsElsewhereIsNotFollowed) {
  receiver_->answer_with({301});
  send(row());
  happen();
  run_until([&] { return !said_.empty(); });
  EXPECT_THAT(said_, HasSubstr("it answered 301"));
}

TEST(Refusals, AreThoseOfTheMessageItself) {
  for (const int status : {400, 413, 415, 422}) {
    EXPECT_TRUE(refuses_message(
        {.taken = false, .status = status, .trouble = {}, .retry_after = {}, .took = {}}));
  }
  for (const int status : {0, 301, 401, 403, 404, 408, 410, 429, 500, 503}) {
    EXPECT_FALSE(refuses_message(
        {.taken = false, .status = status, .trouble = {}, .retry_after = {}, .took = {}}));
  }
}

}  // namespace
}  // namespace vortex::controller

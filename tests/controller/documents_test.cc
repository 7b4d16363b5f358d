// Large documents: read in turns, within bounds, and never at the cost of a heartbeat.

#include "controller/documents.h"

#include <atomic>
#include <cstdlib>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/controller/server.h"

namespace vortex::controller {
namespace {

using ::testing::ElementsAre;
using Turn = api::Backend::Turn;

// One thread reads, and waits at the first document until it may go on.
class Pile {
 public:
  explicit Pile(std::uint32_t waiting_max) : documents_(1, waiting_max) {
    thread_ = std::thread([this] { io_.run(); });
    add({"first", false}, "first", [this] {
      begun_.set_value();
      go_.get_future().wait();
    });
    begun_.get_future().wait();
  }
  ~Pile() {
    work_.reset();
    thread_.join();
  }
  Pile(const Pile&) = delete;
  Pile& operator=(const Pile&) = delete;

  // Whether it was taken, once that is known.
  std::future<bool> add(Turn turn, std::string name, std::function<void()> work = [] {}) {
    auto read = [this, name = std::move(name), work = std::move(work)] {
      work();
      const std::scoped_lock lock(guard_);
      order_.push_back(name);
    };
    return boost::asio::co_spawn(io_, documents_.run(std::move(turn), std::move(read)),
                                 boost::asio::use_future);
  }
  // Returns when the one before has been judged.
  void settle() {
    boost::asio::co_spawn(
        io_, [] -> boost::asio::awaitable<void> { co_return; }(), boost::asio::use_future)
        .wait();
  }
  void let_go() { go_.set_value(); }
  std::vector<std::string> order() {
    const std::scoped_lock lock(guard_);
    return order_;
  }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      boost::asio::make_work_guard(io_)};
  std::promise<void> begun_;
  std::promise<void> go_;
  std::mutex guard_;
  std::vector<std::string> order_;
  Documents documents_;
  std::thread thread_;
};

TEST(Documents, AWorkerDoesNotWaitForThoseOfClients) {
  Pile pile(100);
  EXPECT_TRUE(pile.add({"a", true}, "w1").get()) << "while the first one is being read";
  pile.let_go();
}

TEST(Documents, ClientsTakeTurns) {
  Pile pile(100);
  std::vector<std::future<bool>> all;
  for (const char* name : {"a1", "a2", "a3", "b1", "b2", "c1"}) {
    all.push_back(pile.add({std::string(name, 1), false}, name));
    pile.settle();
  }
  pile.let_go();
  for (auto& one : all) EXPECT_TRUE(one.get());
  EXPECT_THAT(pile.order(), ElementsAre("first", "a1", "b1", "c1", "a2", "b2", "a3"));
}

TEST(Documents, WhatWaitsIsBoundedInAllAndForEachClient) {
  Pile pile(4);
  std::vector<std::future<bool>> taken;
  for (int i = 0; i < 2; ++i) taken.push_back(pile.add({"a", false}, "a"));
  EXPECT_FALSE(pile.add({"a", false}, "a").get()) << "half of it is for others";
  for (int i = 0; i < 2; ++i) {
    taken.push_back(pile.add({"b" + std::to_string(i), false}, "b"));
    pile.settle();
  }
  EXPECT_FALSE(pile.add({"c", false}, "c").get());
  taken.push_back(pile.add({"c", true}, "w"));
  pile.let_go();
  for (auto& one : taken) EXPECT_TRUE(one.get());
}

TEST(Documents, OneThatThrowsHarmsNobody) {
  Pile pile(10);
  auto bad = pile.add({"a", false}, "a", [] { throw std::bad_alloc(); });
  auto good = pile.add({"b", false}, "b");
  pile.let_go();
  EXPECT_TRUE(bad.get());
  EXPECT_TRUE(good.get());
}

// One task with many variables, about 20 bytes each.
std::string wide_dag(int variables) {
  std::string dag = R"({"name":"wide","tasks":{"a":{"run":["true"],"env":{)";
  for (int i = 0; i < variables; ++i) {
    dag += fmt::format(R"({}"VARIABLE_{}":"x")", i == 0 ? "" : ",", i);
  }
  return dag + "}}}}";
}

// Finding: two such documents at a time stopped the controller for minutes.
TEST(Documents, AFloodOfThemDelaysNoHeartbeat) {
  TestServer server;
  TestWorker worker(server, "w1");
  // A sanitizer takes many times as long for each.
  const std::string dag = wide_dag(std::getenv("VX_SANITIZED") != nullptr ? 10'000 : 80'000);
  std::atomic<bool> stop = false;
  std::atomic<int> answered = 0;
  std::atomic<int> sending = 8;
  std::vector<std::thread> flood;
  for (int i = 0; i < 8; ++i) {
    flood.emplace_back([&] {
      while (!stop) {
        const auto answer = server.post("/api/dags/validate", dag);
        if (answer.status > 0) ++answered;
      }
      --sending;
    });
  }
  Duration longest{};
  for (int i = 0; i < 200 || sending > 0; ++i) {
    if (i >= 200 && answered >= 16) stop = true;
    const Instant begun = boot_clock_now();
    worker.sync();
    longest = std::max(longest, boot_clock_now() - begun);
    ASSERT_EQ(worker.last_status(), 200);
  }
  for (std::thread& thread : flood) thread.join();
  RecordProperty("longest_sync_us", static_cast<int>(longest.us));
  EXPECT_EQ(server.get("/api/workers/w1").body.at("state").as_string(), "IDLE");
}

}  // namespace
}  // namespace vortex::controller

// What a supervisor has to tell is kept until a controller has taken it, in order.

#include "worker/journal.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "net/server.h"
#include "tests/worker/executing.h"
#include "worker/proof.h"
#include "worker/slot/slot_record.h"

namespace vortex::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Takes what it is sent, or answers 503.
class Receiver {
 public:
  explicit Receiver(bool takes) : takes_(takes) {
    net::Handler handler =
        [this](net::Exchange& exchange) -> boost::asio::awaitable<net::Response> {
      net::Response response;
      response.status = takes_ ? 204 : 503;
      const std::lock_guard lock(guard_);
      ++calls_;
      if (takes_) bodies_.push_back(exchange.request().body);
      co_return response;
    };
    auto server = net::Server::listen(io_, {}, handler, [](int status, std::string_view) {
      net::Response response;
      response.status = status;
      return response;
    });
    EXPECT_TRUE(server.has_value());
    if (server) server_ = *std::move(server);
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Receiver() {
    io_.stop();
    thread_.join();
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  net::ClientConfig client() const {
    net::ClientConfig config;
    config.endpoint.port = server_->port();
    return config;
  }
  void take_from_now() { takes_ = true; }
  std::vector<std::string> bodies() {
    const std::lock_guard lock(guard_);
    return bodies_;
  }
  int calls() const { return calls_; }
  void wait_for_calls(int count) const {
    while (calls_ < count) std::this_thread::yield();
  }

 private:
  boost::asio::io_context io_;
  std::atomic<bool> takes_;
  std::atomic<int> calls_ = 0;
  std::mutex guard_;
  std::vector<std::string> bodies_;
  std::unique_ptr<net::Server> server_;
  std::thread thread_;
};

Journal::Config config_for(const Receiver& receiver, const TempFolder& folder) {
  return {.path = folder.path() + "/s.journal",
          .machine = "host",
          .supervisor = "s",
          .controllers = std::make_shared<KnownControllers>(std::vector{receiver.client()}),
          .log = [](LogLevel, const std::string&) {}};
}

JournalEntry entry(EventKind kind, const char* reason) {
  return {kind, WorkerId("s-1"), {}, {{"reason", std::string(reason)}}};
}

TEST(SupervisorJournal, M06_EntriesReachTheControllerInOrder) {
  const TempFolder folder;
  Receiver receiver(true);
  {
    Journal journal(config_for(receiver, folder));
    journal.write(entry(EventKind::kWorkerSpawn, "first"));
    journal.write(entry(EventKind::kWorkerSpawnRetry, "second"));
  }
  std::string all;
  for (const std::string& body : receiver.bodies()) all += body;
  EXPECT_THAT(all, HasSubstr(R"("machine":"host")"));
  EXPECT_THAT(all, HasSubstr(R"("event":"worker_spawn")"));
  EXPECT_LT(all.find("first"), all.find("second"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/s.journal")) << "nothing is left to tell";
}

TEST(SupervisorJournal, M01_WhatNobodyTookIsToldByTheNextSupervisorWithTheSameNumbers) {
  const TempFolder folder;
  Receiver receiver(false);
  {
    Journal journal(config_for(receiver, folder));
    journal.write(entry(EventKind::kWorkerSpawn, "first"));
    journal.write(entry(EventKind::kWorkerSpawnFailed, "second"));
    receiver.wait_for_calls(1);
  }
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/s.journal"));
  receiver.take_from_now();
  {
    Journal journal(config_for(receiver, folder));
    journal.write(entry(EventKind::kWorkerSpawn, "third"));
  }
  std::string all;
  for (const std::string& body : receiver.bodies()) all += body;
  EXPECT_THAT(all, HasSubstr(R"({"id":1,)"));
  EXPECT_THAT(all, HasSubstr(R"({"id":2,)"));
  EXPECT_THAT(all, HasSubstr(R"({"id":3,)"));
  EXPECT_LT(all.find("first"), all.find("second"));
  EXPECT_LT(all.find("second"), all.find("third"));
}

TEST(SupervisorJournal, A02_ItsEndWaitsForNoControllerThatDoesNotTakeIt) {
  const TempFolder folder;
  Receiver receiver(false);
  int before = 0;
  {
    Journal journal(config_for(receiver, folder));
    journal.write(entry(EventKind::kWorkerSpawn, "first"));
    receiver.wait_for_calls(1);
    before = receiver.calls();
  }
  // One may have been on its way; then one last try, not two seconds of them.
  EXPECT_LE(receiver.calls(), before + 2);
}

TEST(SupervisorJournal, ItIsBoundedAndSaysWhatItLost) {
  const TempFolder folder;
  Receiver receiver(false);
  {
    Journal journal(config_for(receiver, folder));
    for (std::size_t i = 0; i < Journal::kEntriesMax + 5; ++i) {
      journal.write(entry(EventKind::kWorkerSpawn, "again"));
    }
  }
  receiver.take_from_now();
  {
    Journal journal(config_for(receiver, folder));
  }
  std::string all;
  for (const std::string& body : receiver.bodies()) all += body;
  EXPECT_EQ(all.find(R"({"id":5,)"), std::string::npos);
  EXPECT_THAT(all, HasSubstr(R"({"id":6,)"));
  EXPECT_THAT(all, HasSubstr(fmt::format(R"({{"id":{},)", Journal::kEntriesMax + 5)));
}

TEST(SupervisorJournal, ADamagedFileIsBegunAnew) {
  const TempFolder folder;
  std::ofstream(folder.path() + "/s.journal") << "nonsense\n{{{\n";
  Receiver receiver(true);
  {
    Journal journal(config_for(receiver, folder));
    journal.write(entry(EventKind::kWorkerSpawn, "fine"));
  }
  ASSERT_FALSE(receiver.bodies().empty());
  EXPECT_THAT(receiver.bodies().front(), HasSubstr(R"({"id":1,)"));
}

TEST(Proof, CoversEveryLifeThatTheProcessPutOnRecord) {
  const TempFolder folder;
  const std::string path = folder.path() + "/w.slots";
  auto record = SlotRecord::create({.path = path, .slots = 2, .work_dir = {}});
  ASSERT_TRUE(record.has_value());
  record->note_life({7});
  record->note_life({7});
  record->note_life({8});
  const RecordContents contents = read_record(path);
  EXPECT_THAT(contents.lives, ElementsAre(Incarnation{7}, Incarnation{8}));
  const std::string body =
      proof_body({WorkerId("w"), {8}, {}, contents.lives, /*status: signal*/ 9});
  EXPECT_EQ(body, R"({"incarnation":8,"started":[],"incarnations":[7,8],"signal":9})");
}

TEST(Proof, TheSecretOfTheNewestLifeIsOnRecordForItsSupervisorAlone) {
  const TempFolder folder;
  const std::string path = folder.path() + "/w.slots";
  auto record =
      SlotRecord::create({.path = path, .slots = 2, .work_dir = {}, .pid_space = 1, .worker = "w"});
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(read_record(path).session, "");
  record->note_life({7});
  record->note_session({7}, "vxs_seven");
  record->note_life({8});
  record->note_session({9}, "vxs_unknown");
  const RecordContents contents = read_record(path);
  EXPECT_EQ(contents.session, "vxs_seven") << "the answer to the eighth was lost";
  EXPECT_EQ(contents.worker_id, "w");
  record->note_session({8}, "vxs_eight");
  EXPECT_EQ(read_record(path).session, "vxs_eight");
  struct stat seen{};
  ASSERT_EQ(::stat(path.c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 0777U, 0600U);
}

TEST(Proof, TheNewestLivesStayOnRecordHoweverManyThereWere) {
  const TempFolder folder;
  const std::string path = folder.path() + "/w.slots";
  auto record = SlotRecord::create({.path = path, .slots = 1, .work_dir = {}});
  ASSERT_TRUE(record.has_value());
  for (std::uint64_t life = 1; life <= 100; ++life) record->note_life({life});
  const RecordContents contents = read_record(path);
  EXPECT_EQ(contents.lives.size(), 16U);
  EXPECT_THAT(contents.lives, testing::Contains(Incarnation{100}));
  EXPECT_THAT(contents.lives, testing::Contains(Incarnation{85}));
}

}  // namespace
}  // namespace vortex::worker

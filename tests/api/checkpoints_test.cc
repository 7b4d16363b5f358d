// Checkpoints in pieces and the journals of supervisors, through the interface.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

class Pieces : public ::testing::Test {
 protected:
  Pieces() : worker_(join(client_, "w")) {
    submit(client_, one_task_dag());
    held_ = take(client_, worker_);
    report(client_, worker_, held_, R"("kind":"started")");
  }
  std::string path(const std::string& what, const std::string& rest) {
    return fmt::format("/api/tasks/{}/checkpoint{}?epoch={}&worker=w&incarnation={}{}", held_.task,
                       what, held_.epoch, worker_.incarnation, rest);
  }
  // The whole way; the status of the last call.
  int save(const std::string& bytes) {
    const Answer begun = client_.post(path("", fmt::format("&bytes={}", bytes.size())));
    if (begun.status != 200) return begun.status;
    const std::string named =
        fmt::format("&upload={}&bytes={}", begun.number("/upload"), bytes.size());
    for (std::size_t offset = 0; offset < bytes.size(); offset += kPiece) {
      const int status = client_
                             .put(path("", fmt::format("{}&offset={}", named, offset)),
                                  bytes.substr(offset, kPiece))
                             .status;
      if (status != 204) return status;
    }
    return client_.post(path("/keep", named)).status;
  }
  // What the next worker is told, and what it can read.
  std::string read_back(const Answer& answer) {
    const auto& assignment = answer.at("/assignments/0");
    const std::int64_t upload = assignment.at("checkpoint_upload").as_int64();
    const auto bytes = static_cast<std::size_t>(assignment.at("checkpoint_bytes").as_int64());
    std::string out;
    while (out.size() < bytes) {
      const Answer piece = client_.get(fmt::format("/api/tasks/{}/checkpoint?upload={}&offset={}",
                                                   held_.task, upload, out.size()));
      EXPECT_EQ(piece.status, 200) << piece.body;
      if (piece.status != 200) break;
      out += piece.body;
    }
    return out;
  }
  Answer next_worker() {
    client_.post("/api/workers/w/exited",
                 fmt::format(R"({{"incarnation":{}}})", worker_.incarnation));
    Worker next = join(client_, "next");
    return sync(client_, next);
  }
  std::string events() { return client_.get("/api/events?kind=checkpoint_refused").body; }

  static constexpr std::size_t kPiece = 1U << 20;
  Client client_;
  Worker worker_;
  Held held_;
};

TEST_F(Pieces, V05_AreHandedToTheNextAttemptWhole) {
  std::string bytes(3 * kPiece + 17, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  EXPECT_EQ(save(bytes), 204);
  EXPECT_EQ(client_.get("/api/tasks/" + held_.task).number("/checkpoint_bytes"),
            static_cast<std::int64_t>(bytes.size()));
  const Answer answer = next_worker();
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(read_back(answer) == bytes);
}

TEST_F(Pieces, ABrokenUploadLeavesTheOneBefore) {
  EXPECT_EQ(save("first"), 204);
  const Answer begun = client_.post(path("", "&bytes=2097152"));
  const std::string named = fmt::format("&upload={}&bytes=2097152", begun.number("/upload"));
  EXPECT_EQ(client_.put(path("", named + "&offset=0"), std::string(kPiece, 'x')).status, 204);
  EXPECT_EQ(client_.post(path("/keep", named)).status, 409) << "half of it is missing";
  EXPECT_EQ(client_.put(path("", named + "&offset=2097152"), "x").status, 409) << "a gap";
  const Answer answer = next_worker();
  EXPECT_EQ(read_back(answer), "first");
}

TEST_F(Pieces, APieceThatIsSentTwiceCountsOnce) {
  const Answer begun = client_.post(path("", "&bytes=3"));
  const std::string named = fmt::format("&upload={}&bytes=3", begun.number("/upload"));
  EXPECT_EQ(client_.put(path("", named + "&offset=0"), "abc").status, 204);
  EXPECT_EQ(client_.put(path("", named + "&offset=0"), "xyz").status, 204);
  EXPECT_EQ(client_.post(path("/keep", named)).status, 204);
  EXPECT_EQ(client_.post(path("/keep", named)).status, 204);
  EXPECT_EQ(read_back(next_worker()), "abc");
}

TEST_F(Pieces, TooLargeIsRefusedWithAnEventAndTheOneBeforeStays) {
  EXPECT_EQ(save("kept"), 204);
  const Answer refused = client_.post(path("", "&bytes=104857600"));
  EXPECT_EQ(refused.status, 413);
  EXPECT_NE(refused.body.find("checkpoint_max_mib"), std::string::npos) << refused.body;
  EXPECT_NE(events().find(R"("bytes":104857600)"), std::string::npos) << events();
  EXPECT_NE(events().find(R"("level":"WARN")"), std::string::npos);
  EXPECT_EQ(read_back(next_worker()), "kept");
}

TEST_F(Pieces, WhatIsNotAFileIsSaidAloud) {
  EXPECT_EQ(client_.post(path("", "&refused=not+a+regular+file")).status, 413);
  EXPECT_NE(events().find("not a regular file"), std::string::npos) << events();
}

TEST_F(Pieces, AreTakenFromNobodyButTheHolder) {
  const Answer begun = client_.post(path("", "&bytes=3"));
  const std::string named = fmt::format("&upload={}&bytes=3", begun.number("/upload"));
  EXPECT_EQ(client_.put(path("", named + "&offset=0"), "abc").status, 204);
  worker_.incarnation += 1;
  EXPECT_EQ(client_.post(path("", "&bytes=3")).status, 409);
  EXPECT_EQ(client_.post(path("", "&bytes=999999999999")).status, 409);
  EXPECT_EQ(client_.put(path("", named + "&offset=3"), "x").status, 409);
  EXPECT_EQ(client_.post(path("/keep", named)).status, 409);
  worker_.incarnation -= 1;
  held_.epoch += 1;
  EXPECT_EQ(client_.post(path("/keep", named)).status, 409);
  held_.epoch -= 1;
  EXPECT_EQ(events().find("checkpoint_refused"), std::string::npos) << "a stranger makes no events";
  EXPECT_EQ(client_.post(path("/keep", named)).status, 204);
}

TEST_F(Pieces, BadRequestsAreRefusedAndChangeNothing) {
  EXPECT_EQ(client_.post("/api/tasks/" + held_.task + "/checkpoint").status, 400);
  EXPECT_EQ(client_.put(path("", "&upload=1&offset=0"), std::string(kPiece + 1, 'x')).status, 413);
  EXPECT_EQ(client_.put(path("", "&upload=1&offset=9223372036854775807"), "x").status, 413);
  EXPECT_EQ(client_.put(path("", "&upload=0&offset=0"), "x").status, 400);
  EXPECT_EQ(client_.post(path("/keep", "&upload=7&bytes=0")).status, 409);
  EXPECT_EQ(client_.get("/api/tasks/" + held_.task + "/checkpoint?upload=7").status, 404);
}

TEST(SupervisorEvents, M06_StandInTheMonitorLogOnceHoweverOftenTheyAreSent) {
  Client client;
  const std::string body =
      R"({"machine":"host","journal":"j","entries":[)"
      R"({"id":1,"event":"worker_spawn","worker":"s-1","at":"2026-01-01T00:00:00Z",)"
      R"("data":{"attempt":1,"unknown":2}},)"
      R"({"id":2,"event":"worker_spawn_failed","worker":"s-1","data":{"reason":"no \"root\""}}]})";
  EXPECT_EQ(client.post("/api/supervisors/s/events", body).status, 204);
  EXPECT_EQ(client.post("/api/supervisors/s/events", body).status, 204);
  const Answer page = client.get("/api/events?worker=s-1");
  const auto& events = page.at("/events").as_array();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].at("event").as_string(), "worker_spawn");
  EXPECT_EQ(events[0].at_pointer("/data/at").as_string(), "2026-01-01T00:00:00Z");
  EXPECT_EQ(events[1].at("level").as_string(), "ERROR");
  EXPECT_EQ(events[1].at_pointer("/data/reason").as_string(), "no \"root\"");
}

TEST(SupervisorEvents, OnlyEventsOfWorkersAreTaken) {
  Client client;
  const auto entry = [](const char* event) {
    return fmt::format(R"({{"machine":"m","journal":"j","entries":[{{"id":1,"event":"{}",)"
                       R"("worker":"w"}}]}})",
                       event);
  };
  EXPECT_EQ(client.post("/api/supervisors/s/events", entry("run_complete")).status, 422);
  EXPECT_EQ(client.post("/api/supervisors/s/events", entry("worker_ready")).status, 422);
  EXPECT_EQ(client.post("/api/supervisors/s/events", "{}").status, 422);
  EXPECT_EQ(client.get("/api/events").at("/events").as_array().size(), 0U);
}

TEST(Ids, ThatMeanAFolderAreRefused) {
  Client client;
  for (const char* id : {".", ".."}) {
    const Answer worker = client.post("/api/workers", fmt::format(R"({{"id":"{}"}})", id));
    EXPECT_EQ(worker.status, 422);
    EXPECT_NE(worker.body.find("not allowed"), std::string::npos) << worker.body;
    EXPECT_EQ(client.post("/api/workers", fmt::format(R"({{"id":"w","machine":"{}"}})", id)).status,
              422);
    EXPECT_EQ(
        client.post("/api/leases/orders/3/acquire", fmt::format(R"({{"agent":"{}"}})", id)).status,
        422);
    EXPECT_EQ(
        client.post("/api/tokens", fmt::format(R"({{"name":"{}","role":"viewer"}})", id)).status,
        422);
    EXPECT_EQ(client.post("/api/webhooks", fmt::format(R"({{"name":"{}","url":"http://x/"}})", id))
                  .status,
              422);
  }
}

TEST(Workers, C05_ShowHowOftenTheyWereLostAndWhetherTheyAreFlapping) {
  Client client;
  for (int i = 1; i <= 3; ++i) {
    client.desk.advance(seconds(1));
    const Worker worker = join(client, "w");
    EXPECT_FALSE(client.get("/api/workers/w").at("/flapping").as_bool());
    client.post("/api/workers/w/exited",
                fmt::format(R"({{"incarnation":{}}})", worker.incarnation));
    EXPECT_EQ(client.get("/api/workers/w").number("/times_lost"), i);
  }
  EXPECT_TRUE(client.get("/api/workers/w").at("/flapping").as_bool());
  client.post("/api/workers/w/reset-state");
  EXPECT_EQ(client.get("/api/workers/w").number("/times_lost"), 3);
  client.desk.advance(hours(1) + seconds(1));
  EXPECT_FALSE(client.get("/api/workers/w").at("/flapping").as_bool()) << "that was long ago";
  EXPECT_EQ(client.get("/api/workers/w").number("/times_lost"), 3);
}

}  // namespace
}  // namespace vortex::api

// The output of attempts: taken from workers, read in parts, followed while it grows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

struct Scene {
  Client client;
  Worker worker = join(client, "w1");
  std::string run = submit(client, one_task_dag());
  Held held = take(client, worker);
  std::string path = "/api/tasks/" + held.task + "/logs";

  Answer write(std::size_t offset, const std::string& text) {
    return client.post(fmt::format("{}?epoch={}&offset={}", path, held.epoch, offset), text,
                       {{"Content-Type", "application/octet-stream"}});
  }
};

TEST(Logs, V09_AreReadAsTextWithTheirPlace) {
  Scene scene;
  EXPECT_EQ(scene.write(0, "one\n").status, 204);
  EXPECT_EQ(scene.write(4, "two\n").status, 204);
  EXPECT_EQ(scene.write(0, "one\ntwo\n").status, 204) << "a repeat adds nothing";
  const Answer all = scene.client.get(scene.path);
  EXPECT_EQ(all.body, "one\ntwo\n");
  EXPECT_TRUE(all.type.starts_with("text/plain"));
  EXPECT_EQ(all.header("X-Vortex-Log-Offset"), "0");
  EXPECT_EQ(all.header("X-Vortex-Log-Next"), "8");
  EXPECT_EQ(all.header("X-Vortex-Log-Size"), "8");
  EXPECT_EQ(scene.client.get(scene.path + "?offset=4").body, "two\n");
  EXPECT_EQ(scene.client.get(scene.path + "?tail=3").body, "wo\n");
  const Answer part = scene.client.get(scene.path + "?limit=2");
  EXPECT_EQ(part.body, "on");
  EXPECT_EQ(part.header("X-Vortex-Log-Next"), "2");
}

TEST(Logs, AsJsonAreAlwaysValid) {
  Scene scene;
  scene.write(0, "a\xff\"\n");
  const Answer json = scene.client.get(scene.path, {{"Accept", "application/json"}});
  EXPECT_EQ(json.number("/size"), 4);
  EXPECT_FALSE(json.at("/ended").as_bool());
}

TEST(Logs, OfAnAttemptThatWasReplacedAreRefusedAndKept) {
  Scene scene;
  scene.write(0, "before\n");
  fail(scene.client, scene.worker, scene.held);
  ASSERT_EQ(scene.client.post("/api/tasks/" + scene.held.task + "/retry", "").status / 100, 2);
  EXPECT_EQ(scene.write(7, "after\n").code(), "VX-TASK-002");
  EXPECT_EQ(scene.client.get(scene.path).body, "before\n");
  EXPECT_EQ(scene.client.get(scene.path + "?attempt=1").body, "before\n");
  EXPECT_EQ(scene.client.get(fmt::format("{}?epoch={}", scene.path, scene.held.epoch)).body,
            "before\n");
  const Answer none = scene.client.get(scene.path + "?attempt=2");
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(none.text("/near/0"), "1") << none.body;
  EXPECT_EQ(scene.client.get(scene.path).header("X-Vortex-Log-Ended"), "true");
}

TEST(Logs, AGapIsRefused) {
  Scene scene;
  EXPECT_EQ(scene.write(5, "late\n").code(), "VX-TASK-004");
  EXPECT_EQ(scene.write(0, "early\n").status, 204) << "the piece that fits is taken";
}

TEST(Logs, TheLatestAttemptMayStillDeliverWhatItWroteOnceItHasEnded) {
  Scene scene;
  scene.write(0, "before\n");
  complete(scene.client, scene.worker, scene.held);
  EXPECT_EQ(scene.write(7, "after\n").status, 204);
  EXPECT_EQ(scene.client.get(scene.path).body, "before\nafter\n");
}

TEST(Logs, AreFollowedToTheEndOfTheAttempt) {
  Scene scene;
  scene.write(0, "one\n");
  auto stream = scene.client.begin(make_request("GET", scene.path + "?follow=true"));
  scene.client.until([&] { return stream->stream.text == "one\n"; });
  scene.write(4, "two\n");
  scene.client.until([&] { return stream->stream.text == "one\ntwo\n"; });
  EXPECT_FALSE(stream->response.has_value());
  scene.write(8, "three\n");
  fail(scene.client, scene.worker, scene.held);
  scene.client.until([&] { return stream->response.has_value(); });
  EXPECT_EQ(stream->stream.text, "one\ntwo\nthree\n");
}

TEST(Logs, AreFollowedFromBeforeTheFirstAttempt) {
  Client client;
  const std::string run = submit(client, one_task_dag());
  auto stream = client.begin(make_request("GET", "/api/tasks/" + run + "-L0-0/logs?follow=true"));
  client.until([&] { return stream->streaming; });
  Worker worker = join(client, "w1");
  const Held held = take(client, worker);
  client.post(fmt::format("/api/tasks/{}/logs?epoch={}&offset=0", held.task, held.epoch), "hi\n");
  complete(client, worker, held);
  client.until([&] { return stream->response.has_value(); });
  EXPECT_EQ(stream->stream.text, "hi\n");
}

TEST(Logs, FollowingEndsWhenTheOtherEndIsGone) {
  Scene scene;
  auto stream = scene.client.begin(make_request("GET", scene.path + "?follow=true"));
  scene.client.until([&] { return stream->streaming; });
  stream->hang_up();
  scene.client.until([&] { return stream->response.has_value(); });
}

TEST(Tasks, ShowTheirDefinitionAttemptsAndOutputs) {
  Client client;
  Worker worker = join(client, "w1");
  const std::string run = submit(client, map_dag("m", 2));
  const Held held = take(client, worker);
  const std::string path = "/api/tasks/" + held.task;
  const Answer open = client.get(path + "/attempts");
  EXPECT_TRUE(open.at("/attempts/0/verdict").is_null());
  EXPECT_EQ(open.text("/attempts/0/worker"), "w1");
  complete(client, worker, held);
  const Answer task = client.get(path);
  EXPECT_EQ(task.text("/command/argv/0"), "true") << task.body;
  EXPECT_EQ(task.number("/map/index"), 0);
  EXPECT_EQ(task.text("/map/item"), "1");
  EXPECT_EQ(task.number("/outputs/answer"), 42);
  EXPECT_EQ(task.text("/state"), "Completed");
  EXPECT_EQ(client.get(path + "/attempts").text("/attempts/0/verdict"), "completed");
  EXPECT_EQ(
      client.get("/api/tasks?node=item&state=Queued&run=" + run).at("/tasks").as_array().size(),
      1U);
}

}  // namespace
}  // namespace vortex::api

// The live feed: one sequence without gap or repetition, from store and memory alike.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/event_lines.h"
#include "api/secrets.h"
#include "base/clock.h"
#include "codec/event_json.h"
#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

// The ids of the events in a stream.
std::vector<std::uint64_t> ids(const std::string& text) {
  std::vector<std::uint64_t> out;
  for (auto at = text.find("id: "); at != std::string::npos; at = text.find("\nid: ", at + 1)) {
    out.push_back(std::stoull(text.substr(text.find(' ', at) + 1)));
  }
  return out;
}

std::vector<std::uint64_t> range(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = first; i <= last; ++i) out.push_back(i);
  return out;
}

std::shared_ptr<TestExchange> open_stream(Client& client, const std::string& target,
                                          net::Headers headers = {}) {
  headers.emplace_back("Accept", "text/event-stream");
  auto exchange = client.begin(make_request("GET", target, {}, std::move(headers)));
  client.until([&] { return exchange->stream.text.find(": connected") != std::string::npos; });
  EXPECT_EQ(exchange->stream_type, "text/event-stream");
  EXPECT_TRUE(exchange->stream.text.starts_with("retry: "));
  return exchange;
}

void close(Client& client, TestExchange& exchange) {
  exchange.hang_up();
  client.until([&] { return exchange.response.has_value(); });
}

void until_last(Client& client, TestExchange& exchange) {
  const std::uint64_t last = client.desk.feed.last_seq();
  client.until([&] {
    const auto seen = ids(exchange.stream.text);
    return !seen.empty() && seen.back() == last;
  });
}

TEST(Stream, ShowsWhatHappensFromNowOn) {
  Client client;
  submit(client, one_task_dag());
  const std::uint64_t before = client.desk.feed.last_seq();
  auto stream = open_stream(client, "/api/events");
  submit(client, one_task_dag());
  until_last(client, *stream);
  EXPECT_EQ(ids(stream->stream.text), range(before + 1, client.desk.feed.last_seq()));
  EXPECT_NE(stream->stream.text.find("event: run_submitted\ndata: {\"ts\":"), std::string::npos);
  close(client, *stream);
}

TEST(Stream, ResumesBehindTheLastEventWithoutGapOrRepetition) {
  Client client;
  for (int i = 0; i < 4; ++i) submit(client, one_task_dag());
  for (std::uint64_t after = 0; after <= client.desk.feed.last_seq(); ++after) {
    const bool by_header = after % 2 == 0;
    auto stream = by_header ? open_stream(client, "/api/events?after=0",
                                          {{"Last-Event-ID", fmt::to_string(after)}})
                            : open_stream(client, fmt::format("/api/events?after={}", after));
    if (after < client.desk.feed.last_seq()) until_last(client, *stream);
    EXPECT_EQ(ids(stream->stream.text), range(after + 1, client.desk.feed.last_seq()));
    close(client, *stream);
  }
}

TEST(Stream, IsOneSequenceAcrossStoreAndMemory) {
  Client client;
  client.desk.feed.blocks_max = 2;
  for (int i = 0; i < 20; ++i) submit(client, one_task_dag());
  auto stream = open_stream(client, "/api/events?after=3");
  for (int i = 0; i < 5; ++i) submit(client, one_task_dag());
  until_last(client, *stream);
  EXPECT_EQ(ids(stream->stream.text), range(4, client.desk.feed.last_seq()));
  close(client, *stream);
}

TEST(Stream, WaitsOutAStoreThatIsAway) {
  Client client;
  client.desk.feed.blocks_max = 1;
  for (int i = 0; i < 5; ++i) submit(client, one_task_dag());
  client.desk.store_up = false;
  auto stream = open_stream(client, "/api/events?after=0");
  client.until([&] {
    return stream->stream.text.find("cannot be read") != std::string::npos ||
           stream->stream.text.size() > 40;
  });
  client.desk.store_up = true;
  until_last(client, *stream);
  EXPECT_EQ(ids(stream->stream.text), range(1, client.desk.feed.last_seq()));
  close(client, *stream);
}

TEST(Stream, ShowsOneRunOnlyWhenAsked) {
  Client client;
  const std::string one = submit(client, one_task_dag());
  const std::string other = submit(client, one_task_dag());
  auto stream = open_stream(client, "/api/runs/" + one + "/events?after=0");
  client.post("/api/runs/" + other + "/cancel");
  client.post("/api/runs/" + one + "/cancel");
  client.until([&] { return stream->stream.text.find("run_complete") != std::string::npos; });
  EXPECT_NE(stream->stream.text.find("\"run_id\":\"" + one + "\"}"), std::string::npos);
  EXPECT_EQ(stream->stream.text.find("\"run_id\":\"" + other + "\"}"), std::string::npos);
  close(client, *stream);
}

TEST(Stream, OfAQuietRunShowsThatItIsAliveWhateverElseHappens) {
  Client client;
  client.desk.feed.silence_max = millis(20);
  const std::string quiet = submit(client, one_task_dag());
  auto stream = open_stream(client, "/api/runs/" + quiet + "/events");
  // Events of others come all the time; this stream keeps them back and must still say something.
  client.until([&] {
    submit(client, one_task_dag());
    return stream->stream.text.ends_with("\n: \n\n");
  });
  EXPECT_TRUE(ids(stream->stream.text).empty());
  close(client, *stream);
}

TEST(Stream, EndsWhenTheOtherEndIsGone) {
  Client client;
  auto stream = open_stream(client, "/api/events");
  close(client, *stream);
  EXPECT_TRUE(stream->response.has_value());
}

TEST(Pages, AreFilteredByKindRunAndWorker) {
  Client client;
  const std::string run = submit(client, one_task_dag());
  submit(client, one_task_dag());
  join(client, "w1");
  join(client, "w2");
  const auto count = [&](const std::string& filter) {
    return client.get("/api/events?" + filter).at("/events").as_array().size();
  };
  EXPECT_EQ(count("kind=run_submitted"), 2U);
  EXPECT_EQ(count("kind=run_submitted,worker_registered"), 4U);
  EXPECT_EQ(count("kind=run_submitted&run=" + run), 1U);
  EXPECT_EQ(count("kind=worker_registered&worker=w1"), 1U);
  EXPECT_EQ(count("worker=w"), 0U);
}

// A worker may call itself anything.
TEST(Lines, CanNotBeForgedFromInsideAValue) {
  const std::string nasty = R"(x","event":"fake","seq":9,"run_id":"r7"})";
  Event event;
  event.seq = 41;
  event.kind = EventKind::kTaskStarted;
  event.worker = WorkerId(nasty);
  event.task = TaskId{{3}, 2, 1};
  event.data = {{"reason", nasty}, {"seq", std::int64_t{99}}};
  std::string text;
  codec::write_event(text, event);
  event.seq = 42;
  codec::write_event(text, event);
  std::string_view rest = text;
  EventLine line;
  ASSERT_TRUE(take_event(rest, line));
  EXPECT_EQ(line.seq, 41U);
  EXPECT_EQ(line.kind, "task_started");
  EXPECT_TRUE(EventFilter("task_started", nasty, "r3").wants(line));
  EXPECT_FALSE(EventFilter("fake", "", "").wants(line));
  EXPECT_FALSE(EventFilter("", "x", "").wants(line));
  EXPECT_FALSE(EventFilter("", "", "r7").wants(line));
  ASSERT_TRUE(take_event(rest, line));
  EXPECT_EQ(line.seq, 42U);
  EXPECT_FALSE(take_event(rest, line));
}

AccessPolicy with_admin() {
  AccessPolicy policy;
  policy.mode = AccessPolicy::Mode::kTokens;
  policy.fixed.push_back({"admin", Role::kAdmin, hash_token("secret-admin"), {}, false});
  return policy;
}

TEST(Stream, EndsWithItsToken) {
  Client client(with_admin());
  client.token = "secret-admin";
  const std::string secret =
      client.post("/api/tokens", R"({"name":"v","role":"viewer"})").text("/secret");
  auto mine = open_stream(client, "/api/events", {{"Authorization", "Bearer " + secret}});
  auto other = open_stream(client, "/api/events", {{"Authorization", "Bearer secret-admin"}});
  ASSERT_EQ(client.erase("/api/tokens/v").status, 204);
  const Instant revoked = boot_clock_now();
  client.until([&] { return mine->response.has_value(); });
  EXPECT_LT(boot_clock_now() - revoked, seconds(3));
  EXPECT_FALSE(other->response.has_value());
  // Another token of the same name is another token.
  client.post("/api/tokens", R"({"name":"v","role":"viewer"})");
  close(client, *other);
}

TEST(Stream, OutlivesAStoreThatIsAway) {
  Client client(with_admin());
  client.token = "secret-admin";
  const std::string secret =
      client.post("/api/tokens", R"({"name":"v","role":"viewer"})").text("/secret");
  auto stream = open_stream(client, "/api/events", {{"Authorization", "Bearer " + secret}});
  client.desk.feed.silence_max = millis(1500);
  client.desk.store_up = false;
  const std::size_t size = stream->stream.text.size();
  client.until([&] { return stream->stream.text.size() > size || stream->response; });
  EXPECT_FALSE(stream->response.has_value());
  close(client, *stream);
}

}  // namespace
}  // namespace vortex::api

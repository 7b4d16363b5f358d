#include "codec/event_json.h"

#include <string>

#include <gtest/gtest.h>

#include "codec/document.h"

namespace vortex::codec {
namespace {

Event timeout_event() {
  Event event;
  event.seq = 12;
  event.at = Instant{1'771'801'195'123'456};
  event.kind = EventKind::kTaskTimeout;
  event.severity = Severity::kWarning;
  event.worker = WorkerId("w1");
  event.task = TaskId{.run = {1}, .index = 0, .level = 0};
  event.run = RunId{1};
  event.data = {{"attempt", std::int64_t{2}}, {"clock", std::string("worker \"w1\"")}};
  return event;
}

TEST(EventJson, M06_OneObjectALineInTheKnownOrder) {
  std::string out = "before\n";
  write_event(out, timeout_event());
  EXPECT_EQ(out,
            "before\n"
            R"({"ts":"2026-02-22T22:59:55.123456Z","level":"WARN","worker_id":"w1",)"
            R"("event":"task_timeout","task_id":"r1-L0-0",)"
            R"("data":{"attempt":2,"clock":"worker \"w1\""},"seq":12,"run_id":"r1"})"
            "\n");
}

TEST(EventJson, M06_ALineCarriesTheNameOfItsTask) {
  Event event = timeout_event();
  event.task_name = "RES-L2-001";
  std::string out;
  write_event(out, event);
  EXPECT_TRUE(out.contains(R"("task_id":"r1-L0-0","task":"RES-L2-001","data":)")) << out;
}

TEST(EventJson, M06_WhatIsNotConcernedIsNull) {
  Event event;
  event.kind = EventKind::kHealthPass;
  std::string out;
  write_event(out, event);
  EXPECT_EQ(out, R"({"ts":"1970-01-01T00:00:00.000000Z","level":"INFO","worker_id":null,)"
                 R"("event":"health_pass","task_id":null,"data":{},"seq":0,"run_id":null})"
                 "\n");
}

TEST(EventJson, ATaskNamesItsRun) {
  Event event = timeout_event();
  event.run.reset();
  std::string out;
  write_event(out, event);
  EXPECT_TRUE(out.ends_with("\"run_id\":\"r1\"}\n"));
}

TEST(EventJson, ALineStaysOneLineWhateverIsInIt) {
  Event event = timeout_event();
  event.severity = Severity::kError;
  event.worker = WorkerId("a\nb");
  event.data = {{"message", std::string("\r\n\xFF\0", 4)}};
  std::string out;
  write_event(out, event);
  EXPECT_EQ(out.find('\n'), out.size() - 1);
  EXPECT_EQ(out.find('\r'), std::string::npos);
  EXPECT_NE(out.find("\"level\":\"ERROR\""), std::string::npos);
  Document document;
  EXPECT_FALSE(document.parse(out).has_value());
}

}  // namespace
}  // namespace vortex::codec

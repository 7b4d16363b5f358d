#include "engine/batch.h"

#include <utility>

#include <gtest/gtest.h>

namespace vortex::engine {
namespace {

core::Effects task_effects(std::uint32_t index, TaskState state, std::uint64_t seq) {
  core::Effects effects;
  TaskRow& row = effects.rows.tasks.emplace_back();
  row.id = {RunId{1}, index, 0};
  row.state = state;
  Event& event = effects.events.emplace_back();
  event.seq = seq;
  return effects;
}

TEST(Batch, TheLastStateOfATaskWins) {
  Batch batch;
  batch.add(task_effects(0, TaskState::kQueued, 1), {});
  batch.add(task_effects(1, TaskState::kQueued, 2), {});
  batch.add(task_effects(0, TaskState::kCompleted, 3), {});
  const RowBatch& rows = batch.commit().rows;
  ASSERT_EQ(rows.tasks.size(), 2U);
  EXPECT_EQ(rows.tasks[0].state, TaskState::kCompleted);
  EXPECT_EQ(rows.tasks[1].state, TaskState::kQueued);
}

TEST(Batch, TasksOfDifferentRunsAreNotConfused) {
  Batch batch;
  core::Effects other = task_effects(0, TaskState::kFailed, 2);
  other.rows.tasks[0].id.run = RunId{2};
  batch.add(task_effects(0, TaskState::kQueued, 1), {});
  batch.add(std::move(other), {});
  EXPECT_EQ(batch.commit().rows.tasks.size(), 2U);
}

TEST(Batch, EventsAreOneBlockInOrder) {
  Batch batch([](std::string& lines, const Event& event) {
    lines += "\"seq\":" + std::to_string(event.seq) + "\n";
  });
  batch.add(task_effects(0, TaskState::kQueued, 7), {});
  batch.add(task_effects(1, TaskState::kQueued, 8), {});
  const EventBlock& block = batch.commit().events;
  EXPECT_EQ(block.first_seq, 7U);
  EXPECT_EQ(block.last_seq, 8U);
  EXPECT_LT(block.lines.find("\"seq\":7"), block.lines.find("\"seq\":8"));
}

TEST(Batch, AnswersAloneWriteNothing) {
  Batch batch;
  EXPECT_TRUE(batch.is_empty());
  batch.answer({RequestId{1}, core::Done{}});
  EXPECT_TRUE(batch.writes_nothing());
  EXPECT_FALSE(batch.is_empty());
}

TEST(Batch, WhatTheShellAddsIsWrittenToo) {
  for (int kind = 0; kind < 10; ++kind) {
    Batch batch;
    if (kind == 0) batch.add(LogChunk{});
    if (kind == 1) batch.add(TokenRow{});
    if (kind == 2) {
      core::Effects effects;
      effects.dags.emplace_back();
      batch.add(std::move(effects), Instant{});
    }
    if (kind == 3) batch.expire(RunId{1});
    if (kind == 4) batch.add(WebhookRow{});
    if (kind == 5) batch.add(WebhookStep{});
    if (kind == 9) batch.add(std::vector<AuditRow>(1));
    if (kind == 6) batch.add(WebhookSeal{});
    if (kind == 7) batch.add(SecretChange{});
    if (kind == 8) batch.add(SecretRewrap{});
    EXPECT_FALSE(batch.writes_nothing()) << kind;
  }
}

}  // namespace
}  // namespace vortex::engine

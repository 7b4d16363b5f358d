// What every store must do, whatever it is made of: leadership, commits, what is read back.

#include <gtest/gtest.h>

#include "store/packed.h"
#include "tests/store/bed.h"
#include "tests/store/dump.h"
#include "tests/store/rows.h"
#include "tests/store/walk.h"

namespace vortex::store::testing {
namespace {

class StoreTest : public ::testing::TestWithParam<Backend> {
 protected:
  StoreTest() : bed(GetParam()) {}

  Commit commit(Instant now = kT0) {
    Commit made;
    made.term = bed.term();
    made.now = now;
    return made;
  }
  void put(const Commit& made) {
    const auto done = bed.writer().commit(made);
    ASSERT_TRUE(done) << done.error().detail;
  }
  void put_run(RunRow run, TaskState state = TaskState::kQueued) {
    Commit made = commit();
    add_run(made.rows, std::move(run), state);
    put(made);
  }
  std::string image() { return show(bed.writer().image()); }

  Bed bed;
};

INSTANTIATE_TEST_SUITE_P(, StoreTest, ::testing::ValuesIn(kAllBackends),
                         [](const auto& chosen) { return name_of(chosen.param); });

TEST_P(StoreTest, EveryAcquisitionGivesAHigherTermAndALaterClock) {
  const Won first = bed.acquire();
  Commit made = commit(first.database_now + hours(5));
  made.term = first.term;
  put(made);
  bed.wall = bed.wall - hours(1);
  const Won second = bed.acquire();
  EXPECT_EQ(second.term, first.term.next());
  EXPECT_GT(second.database_now, made.now);
  bed.wall = bed.wall + hours(24);
  EXPECT_EQ(bed.acquire().database_now, bed.wall);
}

TEST_P(StoreTest, ClockAndTermSurviveAReopening) {
  const Term before = bed.term();
  put(commit(bed.wall + hours(2)));
  bed.reopen();
  EXPECT_EQ(bed.term(), before.next());
  EXPECT_GT(bed.acquire().database_now, bed.wall + hours(2));
}

TEST_P(StoreTest, OldTermIsFencedAndChangesNothing) {
  Commit made = commit();
  add_run(made.rows, run_row(1, sample_plan("thumbs")));
  const Term old = bed.term();
  bed.acquire();
  const std::string before = image();
  const auto done = bed.writer().commit(made);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().fault, Fault::kFenced);
  const auto renewed = bed.writer().renew(old, seconds(10));
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().fault, Fault::kFenced);
  EXPECT_TRUE(bed.writer().renew(old.next(), seconds(10)));
  EXPECT_EQ(image(), before);
}

TEST_P(StoreTest, ImageHoldsLiveRunsWholeAndOnePlanPerDefinition) {
  const PlanPtr plan = sample_plan("thumbs");
  put_run(run_row(1, plan, "key-1"));
  put_run(run_row(2, sample_plan("thumbs")));
  Commit made = commit();
  made.rows.workers.push_back(worker_row("worker-1", WorkerState::kIdle));
  made.rows.task_data.push_back(
      {.id = task_id(1, 2), .epoch = {1}, .checkpoint = "half way", .outputs = "{}"});
  made.rows.dead_letters.push_back(letter_row(task_id(2, 1), kT0));
  put(made);
  bed.reopen();
  const auto read = bed.writer().image();
  ASSERT_TRUE(read) << read.error().detail;
  ASSERT_EQ(read->runs.size(), 2U);
  EXPECT_EQ(read->runs[0].run.plan, read->runs[1].run.plan);
  EXPECT_EQ(read->runs[0].run.plan->digest, plan->digest);
  EXPECT_EQ(read->runs[0].tasks.size(), 5U);
  EXPECT_EQ(to_text(read->runs[0].tasks[2].id), "r1-L1-2");
  ASSERT_EQ(read->runs[0].data.size(), 1U);
  EXPECT_EQ(read->runs[0].data[0].checkpoint, "half way");
  EXPECT_EQ(read->keys.size(), 1U);
  EXPECT_EQ(read->workers.size(), 1U);
  EXPECT_EQ(read->dead_letters.size(), 1U);
}

TEST_P(StoreTest, ImageHoldsTheOutputsThatConditionsReadAndNoOthers) {
  DagSpec spec;
  spec.name = "decides";
  for (const char* name : {"a", "b", "c", "d"}) spec.nodes.emplace_back().name = name;
  spec.nodes[3].needs = {"a", "b", "c"};
  spec.nodes[3].condition = "tasks.a.outputs.n > tasks.c.outputs.n";
  const RunRow run = run_row(1, compile(spec, {}).value());
  put_run(run);
  Commit made = commit();
  for (std::uint32_t i = 0; i < 4; ++i) {
    made.rows.task_data.push_back(
        {.id = task_id(1, i), .epoch = {1}, .checkpoint = "half way", .outputs = R"({"n":1})"});
    if (i < 2) made.rows.tasks.push_back(task_row(run, i, TaskState::kCompleted));
  }
  put(made);
  bed.reopen();
  const auto read = bed.writer().image();
  ASSERT_TRUE(read) << read.error().detail;
  std::vector<std::string> outputs;
  for (const TaskDataRow& row : read->runs[0].data) {
    if (row.outputs) outputs.push_back(to_text(row.id) + " " + *row.outputs);
    EXPECT_NE(row.outputs.has_value(), row.checkpoint.has_value());
  }
  EXPECT_EQ(outputs, std::vector<std::string>{"r1-L0-0 {\"n\":1}"});
}

TEST_P(StoreTest, FinishedRunLeavesTheImageAndCanComeBack) {
  const RunRow run = run_row(1, sample_plan("thumbs"), "key-1");
  put_run(run);
  Commit made = commit();
  made.rows.runs.push_back(finished(run, kT0 + seconds(1)));
  made.rows.counters.emplace().tasks[number_of(TaskState::kQueued)] = 5;
  put(made);
  ASSERT_EQ(bed.writer().image()->runs.size(), 1U) << "its tasks are open: M04, it is not ended";
  made = commit();
  for (std::uint32_t i = 0; i < 5; ++i) {
    made.rows.tasks.push_back(task_row(run, i, TaskState::kCompleted));
  }
  made.rows.counters.emplace().tasks[number_of(TaskState::kCompleted)] = 5;
  put(made);
  const auto empty = bed.writer().image();
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->runs.empty());
  EXPECT_EQ(empty->keys.size(), 1U);
  const auto kept = bed.writer().run_image({1});
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ((*kept)->tasks.size(), 5U);
  made = commit();
  made.rows.runs.push_back(run);  // revived
  put(made);
  bed.reopen();
  EXPECT_EQ(bed.writer().image()->runs.size(), 1U);
  EXPECT_FALSE(bed.writer().run_image({2})->has_value());
}

TEST_P(StoreTest, ForgottenWorkersMachinesAndLeasesAreGoneAndMayComeBack) {
  Commit made = commit();
  made.rows.workers = {worker_row("worker-1", WorkerState::kOffline)};
  made.rows.machines = {{MachineId("host-1"), false, kT0}};
  made.rows.leases = {{{"orders", 1}, AgentId(), Epoch{5}, kT0}};
  put(made);
  made = commit();
  made.rows.workers_gone = {WorkerId("worker-1")};
  made.rows.machines_gone = {MachineId("host-1")};
  made.rows.leases_gone = {{"orders", 1}};
  made.rows.counters = CounterRow{};
  made.rows.counters->lease_floor = Epoch{5};
  put(made);
  bed.reopen();
  auto image = bed.writer().image();
  ASSERT_TRUE(image);
  EXPECT_TRUE(image->workers.empty() && image->machines.empty() && image->leases.empty());
  EXPECT_EQ(image->counters.lease_floor, Epoch{5});
  made = commit();
  made.rows.workers_gone = {WorkerId("worker-1")};  // forgotten and back in one commit
  made.rows.workers = {worker_row("worker-1", WorkerState::kIdle)};
  put(made);
  image = bed.writer().image();
  ASSERT_EQ(image->workers.size(), 1U);
  EXPECT_EQ(image->workers.front().state, WorkerState::kIdle);
}

TEST_P(StoreTest, LaterRowOfOneCommitReplacesTheEarlier) {
  const RunRow run = run_row(1, sample_plan("thumbs"));
  Commit made = commit();
  add_run(made.rows, run);
  TaskRow task = task_row(run, 1, TaskState::kScheduled);
  made.rows.tasks.push_back(task);
  task.state = TaskState::kCompleted;
  task.exit_code = 0;
  made.rows.tasks.push_back(task);
  made.rows.queues = {{"default", true}, {"default", false}};
  put(made);
  const auto reader = bed.reader();
  EXPECT_EQ((*reader->task(task_id(1, 1)))->row.state, TaskState::kCompleted);
  EXPECT_EQ(show(reader->queues()), "name='default' paused=0\n");
}

TEST_P(StoreTest, UnsetTaskDataLeavesWhatIsStored) {
  put_run(run_row(1, sample_plan("thumbs")));
  Commit made = commit();
  made.rows.task_data.push_back(
      {.id = task_id(1, 0), .epoch = {1}, .checkpoint = "c1", .outputs = std::nullopt});
  made.rows.task_data.push_back(
      {.id = task_id(1, 0), .epoch = {2}, .checkpoint = std::nullopt, .outputs = "{}"});
  put(made);
  EXPECT_EQ(show(bed.reader()->task_data(task_id(1, 0))),
            "task_key=r1-L0-0 epoch=2 checkpoint='c1' outputs='{}' upload, upload_bytes=0/0");
}

TEST_P(StoreTest, PiecesOfACheckpointAreReadBackUntilANewerOneTakesItsPlace) {
  put_run(run_row(1, sample_plan("thumbs")));
  const TaskId task = task_id(1, 0);
  const std::string large(5'000, 'x');
  Packer packer;
  Commit made = commit();
  made.pieces.push_back({task, 7, 0, large.size(), std::string(packer.pack(large))});
  made.pieces.push_back({task, 7, 5'000, 3, "end"});
  put(made);
  made.pieces = {{task, 7, 5'000, 3, "END"}};  // said twice
  put(made);
  EXPECT_EQ(bed.reader()->checkpoint({task, 7, 0})->data, large);
  EXPECT_EQ(bed.reader()->checkpoint({task, 7, 5'000})->data, "end");
  EXPECT_EQ(bed.reader()->checkpoint({task, 7, 0})->stored, 5'003U);
  EXPECT_EQ(bed.reader()->checkpoint({task, 8, 0})->stored, 0U);

  Commit kept = commit();
  kept.rows.task_data.push_back(
      {.id = task, .epoch = {1}, .checkpoint = "", .uploaded = CheckpointRef{7, 5'003}});
  put(kept);
  EXPECT_EQ((*bed.reader()->task_data(task))->uploaded, (CheckpointRef{7, 5'003}));
  ASSERT_EQ((*bed.writer().run_image({1}))->data.size(), 1U);
  EXPECT_EQ((*bed.writer().run_image({1}))->data[0].uploaded, (CheckpointRef{7, 5'003}));

  // An upload that is not finished leaves the one that counts alone, but not another unfinished
  // one.
  made.pieces = {{task, 8, 0, 3, "new"}};
  put(made);
  made.pieces = {{task, 9, 0, 3, "NEW"}};
  put(made);
  EXPECT_EQ(bed.reader()->checkpoint({task, 7, 0})->stored, 5'003U);
  EXPECT_EQ(bed.reader()->checkpoint({task, 8, 0})->stored, 0U);
  EXPECT_EQ(bed.reader()->checkpoint({task, 9, 0})->stored, 3U);

  kept.rows.task_data = {{.id = task, .epoch = {1}, .uploaded = CheckpointRef{9, 3}}};
  put(kept);
  EXPECT_EQ(bed.reader()->checkpoint({task, 7, 0})->stored, 0U);
  kept.rows.task_data = {{.id = task, .epoch = {1}, .uploaded = CheckpointRef{}}};
  put(kept);
  EXPECT_EQ(bed.reader()->checkpoint({task, 9, 0})->stored, 0U);
  EXPECT_FALSE((*bed.reader()->task_data(task))->uploaded);
}

TEST_P(StoreTest, JournalsOfSupervisorsAndLossesOfWorkersAreInTheImage) {
  Commit made = commit();
  made.rows.journals = {{"host/a", "j1", 5, made.now, false}, {"host/b", "j2", 9, made.now, false}};
  WorkerRow worker = worker_row("worker-1", WorkerState::kIdle);
  worker.lost_lately = {Instant{11}, Instant{22}};
  worker.end_told = {33};
  worker.drain_within = seconds(10);
  made.rows.workers.push_back(worker);
  put(made);
  made = commit();
  made.rows.journals = {{"host/a", "j1", 6, made.now, false}, {"host/b", "j2", 9, made.now, true}};
  put(made);
  const auto image = bed.writer().image();
  ASSERT_TRUE(image);
  ASSERT_EQ(image->journals.size(), 1U);
  EXPECT_EQ(image->journals[0].supervisor, "host/a");
  EXPECT_EQ(image->journals[0].last, 6U);
  ASSERT_EQ(image->workers.size(), 1U);
  EXPECT_EQ(image->workers[0].lost_lately, worker.lost_lately);
  EXPECT_EQ(image->workers[0].end_told, (Incarnation{33}));
  EXPECT_EQ(image->workers[0].drain_within, seconds(10));
  made = commit();
  worker.drain_within.reset();
  made.rows.workers.push_back(worker);
  put(made);
  EXPECT_EQ(bed.writer().image()->workers[0].drain_within, std::nullopt);
}

TEST_P(StoreTest, AttemptsAreCountedPerWorkerOnce) {
  put_run(run_row(1, sample_plan("thumbs")));
  Commit made = commit();
  made.rows.workers.push_back(worker_row("worker-1", WorkerState::kIdle));
  AttemptRow attempt = attempt_row(task_id(1, 0), 1, "worker-1");
  made.rows.attempts = {attempt, attempt};
  put(made);
  attempt.verdict = Verdict::kSignal;
  made = commit();
  made.rows.attempts = {attempt, attempt_row(task_id(1, 1), 1, "worker-1")};
  put(made);
  const auto worker = bed.reader()->worker(WorkerId{"worker-1"});
  ASSERT_TRUE(worker && *worker);
  EXPECT_EQ((*worker)->ended, 2U);
  EXPECT_EQ((*worker)->completed, 1U);
}

TEST_P(StoreTest, HeldTasksAreThoseHandedOutAndNotFinished) {
  const RunRow run = run_row(1, sample_plan("thumbs"));
  put_run(run, TaskState::kScheduled);
  Commit made = commit();
  made.rows.workers.push_back(worker_row("worker-1", WorkerState::kRunning));
  TaskRow done = task_row(run, 0, TaskState::kCompleted);
  done.worker = WorkerId{"worker-1"};
  made.rows.tasks = {done, task_row(run, 1, TaskState::kRunning)};
  put(made);
  const auto reader = bed.reader();
  EXPECT_EQ((*reader->worker(WorkerId{"worker-1"}))->held, 4U);
  TaskFilter filter;
  filter.worker = WorkerId{"worker-1"};
  EXPECT_EQ(reader->tasks(filter, {})->items.size(), 4U);
  filter.state = TaskState::kRunning;
  EXPECT_EQ(reader->tasks(filter, {})->items.size(), 1U);
}

TEST_P(StoreTest, M04_MarksSayWhatTheRowsSay) {
  Commit made = commit();
  RunRow run = run_row(1, sample_plan("thumbs"));
  run.levels_passed = 1;
  run.paused = true;
  add_run(made.rows, run);
  TaskRow& held = made.rows.tasks[3];
  held.state = TaskState::kScheduled;
  held.epoch = {7};
  held.worker = WorkerId("w1");
  held.incarnation = {1};
  add_run(made.rows, run_row(2, sample_plan("other")));
  put(made);
  put_run(finished(run_row(4, sample_plan("ended")), kT0), TaskState::kCompleted);
  for (const ReadDepth depth : {ReadDepth::kMarks, ReadDepth::kWholeRows}) {
    const auto marks = bed.reader()->marks({{{1}, 1, 4}, {{3}, 0, 5}, {{2}, 0, 5}}, depth);
    ASSERT_TRUE(marks) << marks.error().detail;
    ASSERT_EQ(marks->size(), 3U);
    const RunMarks& first = marks->front();
    EXPECT_TRUE(first.is_there && first.paused);
    EXPECT_EQ(first.levels_passed, 1U);
    EXPECT_EQ(first.state, RunState::kRunning);
    EXPECT_EQ(first.made, made.rows.runs.front().made);
    ASSERT_EQ(first.tasks.size(), 3U) << "tasks 1 to 3";
    EXPECT_EQ(first.tasks[0].index, 1U);
    EXPECT_EQ(first.tasks[0].state, TaskState::kQueued);
    EXPECT_EQ(first.tasks[2].state, TaskState::kScheduled);
    EXPECT_EQ(first.tasks[2].epoch, Epoch{7});
    EXPECT_EQ(first.tasks[2].worker, "w1");
    EXPECT_FALSE((*marks)[1].is_there);
    EXPECT_EQ((*marks)[2].tasks.size(), 5U) << "none of the run after it";
  }
  EXPECT_EQ(bed.reader()->running(100).value(), (std::vector<RunId>{{1}, {2}}));
  EXPECT_EQ(bed.reader()->running(1).value(), (std::vector<RunId>{{1}}));
}

TEST_P(StoreTest, TwoRunsCanNotHaveOneKey) {
  put_run(run_row(1, sample_plan("thumbs"), "once"));
  Commit made = commit();
  add_run(made.rows, run_row(2, sample_plan("thumbs"), "once"));
  const std::string before = image();
  const auto done = bed.writer().commit(made);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().fault, Fault::kBadRequest);
  EXPECT_EQ(image(), before);
}

TEST_P(StoreTest, NothingOfARefusedCommitIsInTheNextOne) {
  const PlanPtr plan = sample_plan("thumbs");
  put_run(run_row(1, plan));
  const std::string before = image();
  Commit refused = commit();
  add_run(refused.rows, run_row(2, plan));
  refused.rows.tasks.push_back(task_row(run_row(1, plan), 0, TaskState::kRunning));
  refused.rows.tasks.back().updated_at = kT0 + seconds(9);
  refused.rows.attempts.push_back(attempt_row(task_id(1, 0), 1, "worker-1"));
  refused.rows.task_data.push_back({.id = task_id(1, 0), .epoch = {1}, .outputs = "{}"});
  refused.rows.tasks.push_back(task_row(run_row(1, plan), 1, TaskState::kRunning));
  refused.rows.tasks.back().id.run = RunId{77};
  ASSERT_FALSE(bed.writer().commit(refused));
  put(commit());
  EXPECT_EQ(image(), before);
  EXPECT_TRUE(bed.reader()->attempts(task_id(1, 0)).value().empty());
  EXPECT_FALSE(bed.reader()->task_data(task_id(1, 0)).value());
}

TEST_P(StoreTest, CursorsWalkEverythingExactlyOnceUnderAnyLimit) {
  const PlanPtr plan = sample_plan("thumbs", 5);
  for (std::uint64_t id = 1; id <= 6; ++id) put_run(run_row(id, plan));
  const auto reader = bed.reader();
  for (std::uint32_t limit = 1; limit <= 45; ++limit) {
    const auto tasks =
        walk([&](const PageRequest& page) { return reader->tasks({}, page); }, limit);
    ASSERT_EQ(tasks.size(), 42U) << limit;
    for (std::size_t i = 1; i < tasks.size(); ++i) {
      ASSERT_LT(tasks[i - 1].row.id, tasks[i].row.id) << limit;
    }
    const auto runs = walk([&](const PageRequest& page) { return reader->runs({}, page); }, limit);
    ASSERT_EQ(runs.size(), 6U);
    EXPECT_EQ(runs.front().id, RunId{6});
  }
}

// A thousand runs with a megabyte of params each must not end up in one answer.
TEST_P(StoreTest, PagesOfRunsEndEarlyWhenTheirParamsAreLong) {
  const PlanPtr plan = sample_plan("thumbs", 1);
  for (std::uint64_t id = 1; id <= 12; ++id) {
    RunRow row = run_row(id, plan);
    RunRequest request = *row.request;
    request.params = R"({"half":")" + std::string(1 << 20U, 'x') + R"(","odd":")" +
                     std::to_string(id % 2) + R"("})";
    row.request = std::make_shared<const RunRequest>(std::move(request));
    put_run(row);
  }
  const auto reader = bed.reader();
  for (const auto& [params, wanted] :
       {std::pair{Labels{}, 12U}, std::pair{Labels{{"odd", "1"}}, 6U}}) {
    RunFilter filter;
    filter.params = params;
    const auto runs =
        walk([&](const PageRequest& page) { return reader->runs(filter, page); }, 100);
    ASSERT_EQ(runs.size(), wanted);
    for (std::size_t i = 1; i < runs.size(); ++i) EXPECT_GT(runs[i - 1].id, runs[i].id);
  }
  const auto first = reader->runs({}, {.limit = 100, .cursor = {}}).value();
  if (GetParam() != Backend::kMemory) {
    EXPECT_LT(first.items.size(), 12U);
  }
}

TEST_P(StoreTest, BrokenCursorIsABadRequest) {
  const PlanPtr plan = sample_plan("thumbs", 5);
  for (std::uint64_t id = 1; id <= 3; ++id) put_run(run_row(id, plan));
  const auto reader = bed.reader();
  const std::string good = reader->tasks({}, {.limit = 2, .cursor = {}})->next_cursor;
  ASSERT_FALSE(good.empty());
  std::string upper = good;
  upper.back() = 'G';
  for (const std::string& cursor :
       {std::string("x"), good.substr(1), good + "0", good.substr(0, good.size() - 1), "2" + good,
        upper, std::string(400, '0'), reader->runs({}, {.limit = 1, .cursor = {}})->next_cursor}) {
    const auto page = reader->tasks({}, {.limit = 2, .cursor = cursor});
    ASSERT_FALSE(page) << cursor;
    EXPECT_EQ(page.error().fault, Fault::kBadRequest);
  }
}

TEST_P(StoreTest, NodeIsOnlyAskedForWithItsRun) {
  put_run(run_row(1, sample_plan("thumbs", 4)));
  const auto reader = bed.reader();
  TaskFilter filter;
  filter.node = "resize";
  const auto refused = reader->tasks(filter, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kBadRequest);
  filter.run = RunId{1};
  EXPECT_EQ(reader->tasks(filter, {})->items.size(), 4U);
}

TEST_P(StoreTest, ImpossibleIdsAreNotFoundAndNotWritten) {
  const auto reader = bed.reader();
  const TaskId huge{.run = {~std::uint64_t{0}}, .index = ~std::uint32_t{0}, .level = 0};
  EXPECT_EQ(show(reader->task(huge)), "none");
  EXPECT_EQ(show(reader->task_data(huge)), "none");
  EXPECT_EQ(show(reader->attempts(huge)), "");
  EXPECT_EQ(reader->log({.attempt = {huge, {1}}})->size, 0U);
  TaskFilter filter;
  filter.run = huge.run;
  EXPECT_TRUE(reader->tasks(filter, {})->items.empty());
  const RunRow run = run_row(1, sample_plan("thumbs"));
  put_run(run);
  Commit made = commit();
  made.rows.tasks.push_back(task_row(run, 0, TaskState::kQueued));
  made.rows.tasks.back().id.index = ~std::uint32_t{0};
  const auto done = bed.writer().commit(made);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().fault, Fault::kBadRequest);
}

TEST_P(StoreTest, NamedDefinitionsAreKeptAndCanBeDeleted) {
  const PlanPtr plan = sample_plan("thumbs");
  Commit made = commit();
  made.dags.push_back({.name = "nightly", .plan = plan, .updated_at = kT0});
  put(made);
  bed.reopen();
  const auto reader = bed.reader();
  ASSERT_TRUE(*reader->dag("nightly"));
  EXPECT_EQ((*reader->dag("nightly"))->tasks, 5U);
  made = commit();
  made.dags.push_back({.name = "nightly", .plan = nullptr, .updated_at = kT0, .deleted = true});
  put(made);
  EXPECT_FALSE(*reader->dag("nightly"));
  EXPECT_TRUE(*reader->plan(plan->digest)) << "a version that was applied is kept";
}

TEST_P(StoreTest, ProgressOfAWebhookIsForTheOneItWasMadeFor) {
  const auto after = [this] { return bed.reader()->webhooks()->at(0).progress.after; };
  const auto step_to = [](std::uint64_t seq, Instant created_at) {
    WebhookStep step{.name = "ci", .created_at = created_at, .progress = {}};
    step.progress.after = seq;
    return step;
  };
  Commit made = commit();
  WebhookRow row{.name = "ci",
                 .url = "https://ci/",
                 .kinds = "run_complete",
                 .dag = {},
                 .secret = "whsec_x",
                 .created_at = kT0,
                 .progress = {}};
  row.progress.after = 5;
  made.webhooks.push_back(row);
  made.webhook_steps.push_back(step_to(9, kT0));
  made.webhook_steps.push_back(step_to(99, kT0 + seconds(1)));
  put(made);
  bed.reopen();
  EXPECT_EQ(after(), 9U);
  EXPECT_EQ(bed.reader()->webhooks()->at(0).secret, "whsec_x");
  EXPECT_EQ(bed.reader()->webhooks()->at(0).progress.delivered_at, kNever);

  made = commit();
  row.created_at = kT0 + minutes(1);
  made.webhooks.push_back(row);
  put(made);
  made = commit();
  made.webhook_steps.push_back(step_to(50, kT0));
  put(made);
  EXPECT_EQ(after(), 5U) << "a step of the old one";

  made = commit();
  row.deleted = true;
  made.webhooks.push_back(row);
  made.webhook_steps.push_back(step_to(60, row.created_at));
  put(made);
  EXPECT_TRUE(bed.reader()->webhooks()->empty());
}

TEST_P(StoreTest, TotalsCountTheLastHourOnly) {
  Commit made = commit();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    made.rows.recoveries.push_back({.id = {id},
                                    .worker = WorkerId{"worker-1"},
                                    .incarnation = {1},
                                    .evidence = Evidence::kExit,
                                    .num_tasks = 7,
                                    .at = kT0 + minutes(static_cast<std::int64_t>(id) * 30)});
  }
  made.rows.counters = CounterRow{};
  made.rows.counters->tasks[number_of(TaskState::kCompleted)] = 12;
  put(made);
  const auto totals = bed.reader()->totals(kT0 + minutes(100));
  ASSERT_TRUE(totals);
  EXPECT_EQ(totals->requeued_last_hour, 14U);
  EXPECT_EQ(totals->counters.tasks[number_of(TaskState::kCompleted)], 12U);
}

TEST_P(StoreTest, StoreSaysThatItCanBeWritten) {
  EXPECT_TRUE(bed.writer().check_writable());
  bed.writer().release(bed.term());
  EXPECT_TRUE(bed.writer().check_writable());
}

}  // namespace
}  // namespace vortex::store::testing

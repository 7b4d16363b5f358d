#include "tests/store/compare.h"

#include <fmt/format.h>

#include "tests/store/dump.h"
#include "tests/store/rows.h"
#include "tests/store/walk.h"

namespace vortex::store::testing {
namespace {

class Asker {
 public:
  Asker(Reader& reader, std::uint32_t limit, Answers& answers)
      : reader_(reader), limit_(limit), answers_(answers) {}

  void runs(const std::string& name, const RunFilter& filter) {
    answers_["runs " + name] =
        show(walk([&](const PageRequest& page) { return reader_.runs(filter, page); }, limit_));
  }
  void tasks(const std::string& name, const TaskFilter& filter) {
    answers_["tasks " + name] =
        show(walk([&](const PageRequest& page) { return reader_.tasks(filter, page); }, limit_));
  }
  void workers(const std::string& name, const WorkerFilter& filter) {
    answers_["workers " + name] =
        show(walk([&](const PageRequest& page) { return reader_.workers(filter, page); }, limit_));
  }
  void recoveries(const std::string& name, const RecoveryFilter& filter) {
    answers_["recoveries " + name] = show(
        walk([&](const PageRequest& page) { return reader_.recoveries(filter, page); }, limit_));
  }
  void letters(const std::string& name, const DeadLetterFilter& filter) {
    answers_["letters " + name] = show(
        walk([&](const PageRequest& page) { return reader_.dead_letters(filter, page); }, limit_));
  }
  void leases(const std::string& topic) {
    answers_["leases " + topic] =
        show(walk([&](const PageRequest& page) { return reader_.leases(topic, page); }, limit_));
  }
  void audit(const std::string& name, const AuditFilter& filter) {
    answers_["audit " + name] =
        show(walk([&](const PageRequest& page) { return reader_.audit(filter, page); }, limit_));
  }
  void dags() {
    answers_["dags"] =
        show(walk([&](const PageRequest& page) { return reader_.dags(page); }, limit_));
  }
  void schedules() {
    answers_["schedules"] =
        show(walk([&](const PageRequest& page) { return reader_.schedules(page); }, limit_));
  }
  void items(RecoveryId id) {
    answers_[fmt::format("items {}", id.value)] = show(
        walk([&](const PageRequest& page) { return reader_.recovery_items(id, page); }, limit_));
  }

 private:
  Reader& reader_;
  std::uint32_t limit_;
  Answers& answers_;
};

void ask_runs(Asker& ask) {
  ask.runs("all", {});
  for (int i = 0; i < 4; ++i) {
    const auto state = static_cast<RunState>(i);
    ask.runs(fmt::format("state {}", i), {.state = state, .dag = {}, .labels = {}});
    ask.runs(fmt::format("state {} of thumbs", i), {.state = state, .dag = "thumbs", .labels = {}});
    ask.runs(fmt::format("state {} of s1", i),
             {.state = state, .dag = {}, .labels = {{"site", "s1"}}});
  }
  ask.runs("thumbs", {.state = {}, .dag = "thumbs", .labels = {}});
  ask.runs("two labels", {.state = {}, .dag = {}, .labels = {{"site", "s0"}, {"team", "images"}}});
  ask.runs("a label of report", {.state = {}, .dag = "report", .labels = {{"team", "images"}}});
  ask.runs("a param", {.state = {}, .dag = {}, .labels = {}, .params = {{"dir", "/srv"}}});
  ask.runs("a param of thumbs",
           {.state = {}, .dag = "thumbs", .labels = {}, .params = {{"dir", "/srv"}}});
  ask.runs("a param of those that completed",
           {.state = RunState::kCompleted, .dag = {}, .labels = {}, .params = {{"n", "1"}}});
  ask.runs("children of one run",
           {.state = {}, .dag = {}, .labels = {}, .params = {}, .parent = {2}});
  ask.runs("children of one run by state",
           {.state = RunState::kRunning, .dag = {}, .labels = {}, .params = {}, .parent = {1}});
  ask.runs("a wrong label", {.state = {}, .dag = {}, .labels = {{"team", "nobody"}}});
}

void ask_tasks(Asker& ask, const World& world) {
  ask.tasks("all", {});
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    TaskFilter filter;
    filter.state = static_cast<TaskState>(i);
    ask.tasks(fmt::format("state {}", i), filter);
    filter.run = RunId{world.runs_made()};
    ask.tasks(fmt::format("state {} of the last run", i), filter);
    filter.node = "resize";
    ask.tasks(fmt::format("state {} of a node", i), filter);
    filter = {};
    filter.state = static_cast<TaskState>(i);
    filter.worker = WorkerId{"worker-1"};
    ask.tasks(fmt::format("state {} on a worker", i), filter);
  }
  TaskFilter filter;
  filter.worker = WorkerId{"worker-2"};
  ask.tasks("held", filter);
  filter = {};
  filter.run = RunId{1};
  ask.tasks("of run 1", filter);
  filter.node = "nobody";
  ask.tasks("of no node", filter);
}

void ask_fleet(Asker& ask, const World& world) {
  ask.workers("all", {});
  ask.workers("live", {.state = {}, .zone = {}, .group = {}, .machine = {}, .live_only = true});
  WorkerFilter active;
  active.active_only = true;
  ask.workers("active", active);
  ask.workers("of a zone",
              {.state = {}, .zone = "zone-1", .group = "group-a", .machine = "machine-1"});
  ask.workers("idle", {.state = WorkerState::kIdle, .zone = {}, .group = {}, .machine = {}});
  ask.recoveries("all", {});
  ask.recoveries("of a worker", {.worker = WorkerId{"worker-1"}, .task = {}});
  ask.recoveries("of a task", {.worker = {}, .task = task_id(world.runs_made(), 0)});
  ask.recoveries("of both",
                 {.worker = WorkerId{"worker-1"}, .task = task_id(world.runs_made(), 0)});
  for (std::uint64_t id = 0; id <= world.recoveries_made(); ++id) ask.items({id});
  ask.letters("all", {});
  ask.letters("open", {.state = DeadLetterState::kOpen, .run = {}});
  ask.letters("of a run", {.state = {}, .run = RunId{world.runs_made()}});
  ask.letters("open of a run", {.state = DeadLetterState::kOpen, .run = RunId{world.runs_made()}});
  ask.leases("");
  ask.leases("orders");
  AuditFilter audit;
  ask.audit("all", audit);
  audit.after = 0;
  ask.audit("from the oldest on", audit);
  audit.who = "ann";
  audit.what = "submit_run";
  audit.outcome = AuditOutcome::kRefused;
  audit.since = world.now() - minutes(10);
  ask.audit("of ann", audit);
  audit.after.reset();
  ask.audit("of ann, newest first", audit);
  ask.dags();
  ask.schedules();
}

void ask_one_by_one(Reader& reader, const World& world, Answers& answers) {
  for (std::uint64_t id = 0; id <= world.runs_made(); ++id) {
    const std::string run = fmt::format("run {}", id);
    answers[run] = show(reader.run({id}));
    for (std::uint32_t index = 0; index < 7; ++index) {
      const TaskId task = task_id(id, index);
      const std::string name = fmt::format("{} task {}", run, index);
      answers[name] = show(reader.task(task));
      answers[name + " data"] = show(reader.task_data(task));
      answers[name + " attempts"] = show(reader.attempts(task));
    }
  }
  for (const Attempt& attempt : world.attempts_with_output()) {
    const std::string name = fmt::format("log {} {}", to_text(attempt.task), attempt.epoch.value);
    for (std::uint64_t offset = 0; offset < 2'000; offset += 90) {
      answers[fmt::format("{} at {}", name, offset)] =
          show(reader.log({.attempt = attempt, .offset = offset, .bytes_max = 120}));
    }
    for (const std::uint32_t bytes : {1U, 50U, 350U, 5'000U}) {
      answers[fmt::format("{} last {}", name, bytes)] =
          show(reader.log({.attempt = attempt, .offset = 0, .bytes_max = bytes, .from_end = true}));
    }
  }
}

void ask_small(Reader& reader, const World& world, Answers& answers) {
  answers["machines"] = show(reader.machines());
  answers["queues"] = show(reader.queues());
  answers["tokens"] = show(reader.tokens());
  answers["webhooks"] = show(reader.webhooks());
  answers["secrets"] = show(reader.secrets());
  answers["secret"] = show(reader.secret("secret/1"));
  answers["secret_versions"] = show(reader.secret_versions("secret/1"));
  answers["secret_version"] = show(reader.secret_version("secret/1", 2));
  answers["totals"] = show(reader.totals(world.now()));
  answers["worker"] = show(reader.worker(WorkerId{"worker-1"}));
  answers["recovery"] = show(reader.recovery({1}));
  answers["lease"] = show(reader.lease({"orders", 1}));
  answers["dag"] = show(reader.dag("dag-1"));
  for (std::uint64_t after = 0; after <= world.events_made(); after += 3) {
    answers[fmt::format("events after {}", after)] = show(reader.events_after(after, 40));
  }
  for (const PlanPtr& plan : world.plans()) {
    const auto read = reader.plan(plan->digest);
    answers[fmt::format("plan {:x}", plan->digest)] = !read   ? "error"
                                                      : *read ? fmt::format("{:x}", (*read)->digest)
                                                              : "none";
  }
}

}  // namespace

Answers ask_everything(Writer& writer, Reader& reader, const World& world, std::uint32_t limit) {
  Answers answers;
  answers["image"] = show(writer.image());
  for (std::uint64_t id = 1; id <= world.runs_made(); ++id) {
    answers[fmt::format("run image {}", id)] = show(writer.run_image({id}));
  }
  const Retention keep{.runs_for = hours(2), .runs_max = 3, .events_for = {}};
  const auto expirable = writer.expirable(keep, world.now(), 5);
  for (const ExpiredRun& run : expirable.value_or(std::vector<ExpiredRun>{})) {
    answers["expirable"] += fmt::format("{} '{}'\n", to_text(run.run), run.idempotency_key);
  }
  Asker ask(reader, limit, answers);
  ask_runs(ask);
  ask_tasks(ask, world);
  ask_fleet(ask, world);
  ask_one_by_one(reader, world, answers);
  ask_small(reader, world, answers);
  return answers;
}

}  // namespace vortex::store::testing

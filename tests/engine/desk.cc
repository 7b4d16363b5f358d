#include "tests/engine/desk.h"

namespace vortex::engine {

namespace lead = core::lead;

EngineConfig Desk::test_config() {
  EngineConfig config;
  config.me = ControllerId("c1");
  config.leader_lease = seconds(100);
  config.leader_pace = seconds(10);
  return config;
}

Desk::Desk(const EngineConfig& config) : engine_(config, now) {}

void Desk::take(Orders more) {
  for (Order& order : more) {
    if (const auto* write = std::get_if<WriteBatch>(&order)) writing = *write;
    orders.push_back(std::move(order));
  }
}

void Desk::win() {
  for (int tries = 0; tries < 10 && !has<lead::TryAcquire>(); ++tries) {
    turn();
    pass(seconds(1));
  }
  const auto order = take_order<lead::TryAcquire>();
  ASSERT_TRUE(order) << "it does not try to lead";
  term = term.next();
  tell(lead::Input{lead::AcquireAnswer{order->call, lead::Won{term, now}}});
}

void Desk::load() {
  const auto order = take_order<LoadImage>();
  ASSERT_TRUE(order) << "it does not load";
  tell(ImageRead{order->term, store.image()});
}

void Desk::lead() {
  win();
  load();
  if (has<WriteBatch>()) commit();
  ASSERT_TRUE(engine_.serves());
  turn();
  if (has<WriteBatch>()) commit();
  orders.clear();
}

void Desk::renew() {
  turn();
  if (const auto order = take_order<lead::Renew>()) {
    tell(lead::Input{lead::RenewAnswer{order->call, lead::Renewed{}}});
  }
}

void Desk::commit() {
  ASSERT_TRUE(writing) << "nothing is being written";
  store.apply(writing->batch->commit().rows);
  end_commit(CommitEnded::How::kDone);
}

void Desk::end_commit(CommitEnded::How how) {
  ASSERT_TRUE(writing) << "nothing is being written";
  take_order<WriteBatch>();
  const WriteBatch ended = *std::exchange(writing, std::nullopt);
  tell(CommitEnded{ended.number, how, "as the test says", millis(1)});
}

std::vector<std::uint64_t> Desk::answered() {
  std::vector<std::uint64_t> requests;
  while (const auto released = take_order<ReleaseBatch>()) {
    for (const core::Reply& reply : released->batch->replies) {
      requests.push_back(reply.request.value);
    }
  }
  return requests;
}

std::optional<core::ReplyBody> Desk::answer_to(RequestId request) {
  for (const Order& order : orders) {
    const auto* released = std::get_if<ReleaseBatch>(&order);
    if (released == nullptr) continue;
    for (const core::Reply& reply : released->batch->replies) {
      if (reply.request == request) return reply.body;
    }
  }
  return std::nullopt;
}

// Cancelled before anybody took it: that needs no worker.
TaskId Desk::finished_run() {
  ask(submit(900));
  turn();
  commit();
  const RunId run = std::get<core::RunAccepted>(answer_to(RequestId{900}).value()).run;
  ask(core::CancelTask{RequestId{901}, {run, 0, 0}});
  turn();
  while (has<WriteBatch>()) {
    commit();
    turn();
  }
  orders.clear();
  EXPECT_FALSE(engine_.state()->runs.find(run).valid()) << "a finished run leaves memory";
  return {run, 0, 0};
}

core::SubmitRun submit(std::uint64_t request, std::string key) {
  core::SubmitRun command;
  command.request = RequestId{request};
  command.dag = testing::dag({testing::node("a")});
  command.idempotency_key = std::move(key);
  return command;
}

}  // namespace vortex::engine

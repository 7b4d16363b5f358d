// What the routes ask of the controller: commands to the engine, reads from the store.

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/clock.h"
#include "base/version.h"
#include "controller/reads.h"
#include "controller/wiring.h"
#include "core/explain.h"

namespace vortex::controller {

namespace asio = boost::asio;

namespace {

// Longer than any commit that still has hope. Whether it will happen is not known then.
constexpr Duration kAnswerLimit = seconds(30);
constexpr Duration kReconcileLimit = minutes(10);
const api::UnservedError kNoAnswer{
    api::Unserved::kUnknown,
    "the database did not complete the write in time; it may still take effect", seconds(5)};

void set_request(core::Command& command, RequestId request) {
  std::visit(
      [request](auto& c) {
        if constexpr (requires { c.request; }) c.request = request;
      },
      command);
}

engine::Asked side_write(RequestId request, api::SideWrite side) {
  return std::visit(
      [request](auto& write) -> engine::Asked {
        auto& [row] = write;
        return engine::SideWrite{request, std::move(row)};
      },
      side);
}

// Everything there is, a page at a time; what cannot be read is left out.
template <class Row, class ReadPage>
std::vector<Row> all_pages(ReadPage read_page) {
  std::vector<Row> rows;
  store::PageRequest next{.limit = 10'000, .cursor = {}};
  do {
    auto page = read_page(next);
    if (!page) break;
    std::move(page->items.begin(), page->items.end(), std::back_inserter(rows));
    next.cursor = std::move(page->next_cursor);
  } while (!next.cursor.empty());
  return rows;
}

// The answers to several requests, each given once by any thread. Rings when all are there.
class Gathering {
 public:
  using Answer = Waiters::Answer;
  struct Complete {};

  Gathering(const asio::any_io_executor& executor, std::size_t count)
      : bell_(std::make_shared<Handoff<Complete>>(executor)), answers_(count), missing_(count) {}

  void put(std::size_t at, Answer answer) {
    const std::scoped_lock lock(guard_);
    if (answers_[at]) return;
    answers_[at] = std::move(answer);
    if (--missing_ == 0) bell_->give({});
  }
  asio::awaitable<void> wait(Duration limit) { co_await bell_->take(limit); }
  // What is not there has no answer.
  void take(std::vector<Answer>& out) {
    const std::scoped_lock lock(guard_);
    for (std::optional<Answer>& answer : answers_) {
      out.push_back(answer ? std::move(*answer) : std::unexpected(kNoAnswer));
      answer = std::unexpected(kNoAnswer);
    }
  }

 private:
  std::shared_ptr<Handoff<Complete>> bell_;
  std::mutex guard_;
  std::vector<std::optional<Answer>> answers_;
  std::size_t missing_;
};

}  // namespace

api::UnservedError Wiring::unserved(EngineShell::Refused why) const {
  if (why == EngineShell::Refused::kBusy) {
    return {api::Unserved::kBusy, "too many requests are waiting for the engine", seconds(1)};
  }
  if (!engine_.store_well() && engine_.term().value > 0) {
    const std::string trouble = engine_.trouble();
    return {api::Unserved::kNoStore,
            trouble.empty() ? "the database is not writable at the moment" : trouble, seconds(2)};
  }
  return {api::Unserved::kNotLeader, "this controller is not the leader", millis(500)};
}

std::optional<api::UnservedError> Wiring::submit(Asked asked) {
  const EngineShell::Refused refused = engine_.ask(std::move(asked));
  if (refused == EngineShell::Refused::kNo) return std::nullopt;
  return unserved(refused);
}

asio::awaitable<api::Asked<core::ReplyBody>> Wiring::ask(core::Command command) {
  using Answer = Waiters::Answer;
  auto handoff = std::make_shared<Handoff<Answer>>(co_await asio::this_coro::executor);
  const RequestId request =
      waiters_.add([handoff](Answer answer) { handoff->give(std::move(answer)); });
  set_request(command, request);
  if (const auto error = submit(std::move(command))) {
    waiters_.forget(request);
    co_return std::unexpected(*error);
  }
  auto answer = co_await handoff->take(kAnswerLimit);
  if (answer) co_return std::move(*answer);
  waiters_.forget(request);
  co_return std::unexpected(kNoAnswer);
}

asio::awaitable<std::vector<api::Asked<core::ReplyBody>>> Wiring::ask_all(
    std::vector<core::Command> commands) {
  std::vector<api::Asked<core::ReplyBody>> answers;
  answers.reserve(commands.size());
  // A part at a time, so that others find room in the inbox and their turn between the parts.
  for (std::size_t begin = 0, end = 0; begin < commands.size(); begin = end) {
    end = part_end(commands, begin);
    const std::size_t count = end - begin;
    const auto gathering = std::make_shared<Gathering>(co_await asio::this_coro::executor, count);
    std::vector<RequestId> requests;
    requests.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const RequestId request = waiters_.add(
          [gathering, i](Waiters::Answer answer) { gathering->put(i, std::move(answer)); });
      requests.push_back(request);
      set_request(commands[begin + i], request);
      if (const auto error = submit(std::move(commands[begin + i]))) {
        waiters_.forget(request);
        gathering->put(i, std::unexpected(*error));
      }
    }
    co_await gathering->wait(kAnswerLimit);
    for (const RequestId request : requests) waiters_.forget(request);
    gathering->take(answers);
  }
  co_return answers;
}

asio::awaitable<api::Asked<core::ReplyBody>> Wiring::ask_sync(
    core::Sync sync, std::function<asio::awaitable<void>()> closed) {
  using namespace asio::experimental::awaitable_operators;
  using Answer = Waiters::Answer;
  auto handoff = std::make_shared<Handoff<Answer>>(co_await asio::this_coro::executor);
  const RequestId request =
      waiters_.add([handoff](Answer answer) { handoff->give(std::move(answer)); });
  sync.request = request;
  const core::ConnectionLost lost{sync.body.worker, sync.body.incarnation, request};
  const Duration limit = std::min(sync.body.wait, hours(1)) + kAnswerLimit;
  if (const auto error = submit(core::Command{std::move(sync)})) {
    waiters_.forget(request);
    co_return std::unexpected(*error);
  }
  auto first = co_await (handoff->take(limit) || closed());
  if (first.index() == 0) {
    auto answer = std::get<0>(std::move(first));
    if (answer) co_return std::move(*answer);
    waiters_.forget(request);
    co_return std::unexpected(kNoAnswer);
  }
  waiters_.forget(request);
  // When we close the door ourselves, that says nothing about the worker.
  if (!stopped_) submit(core::Command{lost});
  co_return std::unexpected(
      api::UnservedError{api::Unserved::kGone, "the worker disconnected", {}});
}

asio::awaitable<api::Asked<void>> Wiring::write(api::SideWrite side) {
  using Answer = Waiters::Answer;
  const bool of_webhooks = std::holds_alternative<api::WriteWebhook>(side);
  auto handoff = std::make_shared<Handoff<Answer>>(co_await asio::this_coro::executor);
  const RequestId request =
      waiters_.add([handoff](Answer answer) { handoff->give(std::move(answer)); });
  if (const auto error = submit(side_write(request, std::move(side)))) {
    waiters_.forget(request);
    co_return std::unexpected(*error);
  }
  const std::optional<Answer> answer = co_await handoff->take(kAnswerLimit);
  if (!answer) {
    waiters_.forget(request);
    co_return std::unexpected(kNoAnswer);
  }
  if (!*answer) co_return std::unexpected(answer->error());
  if (of_webhooks) webhooks_.look_again();
  co_return api::Asked<void>{};
}

asio::awaitable<api::Delivery> Wiring::try_webhook(WebhookRow webhook) {
  return webhooks_.try_out(std::move(webhook), now());
}

template <class T, class Make>
asio::awaitable<api::Asked<T>> Wiring::look(Make make) {
  using Answer = api::Asked<T>;
  auto handoff = std::make_shared<Handoff<Answer>>(co_await asio::this_coro::executor);
  const auto give = [handoff, make](core::State* state, Instant at) {
    if (state == nullptr) {
      handoff->give(std::unexpected(api::UnservedError{
          api::Unserved::kNotLeader, "this controller is not the leader", millis(500)}));
    } else {
      handoff->give(make(*state, at));
    }
  };
  if (const auto error = submit(Peek{give})) co_return std::unexpected(*error);
  auto answer = co_await handoff->take(kAnswerLimit);
  if (answer) co_return std::move(*answer);
  co_return std::unexpected(kNoAnswer);
}

asio::awaitable<api::Asked<core::Explanation>> Wiring::explain(TaskId task) {
  return look<core::Explanation>(
      [task](core::State& state, Instant at) { return core::explain(state, task, at); });
}

asio::awaitable<api::Asked<api::Backend::Standstills>> Wiring::standstills(
    std::optional<RunId> run) {
  return look<Standstills>(
      [run](core::State& state, Instant at) { return core::standstills(state, run, at); });
}

asio::awaitable<api::Asked<api::Backend::Approvals>> Wiring::approvals(std::size_t most) {
  return look<Approvals>(
      [most](core::State& state, Instant) { return core::open_approvals(state, most); });
}

asio::awaitable<api::Asked<std::vector<api::QueueDepth>>> Wiring::queues() {
  return look<std::vector<api::QueueDepth>>(
      [](core::State& state, Instant) { return core::queue_depths(state); });
}

asio::awaitable<api::Asked<std::vector<core::LimitInfo>>> Wiring::limits() {
  return look<std::vector<core::LimitInfo>>(
      [](core::State& state, Instant at) { return core::limit_infos(state, at); });
}

asio::awaitable<api::Asked<api::ReconcileReport>> Wiring::reconcile() {
  using Answer = api::Asked<api::ReconcileReport>;
  auto handoff = std::make_shared<Handoff<Answer>>(co_await asio::this_coro::executor);
  const auto done = [handoff](Answer answer) { handoff->give(std::move(answer)); };
  if (const auto error = submit(ReconcileAsked{done})) co_return std::unexpected(*error);
  auto answer = co_await handoff->take(kReconcileLimit);
  if (answer) co_return std::move(*answer);
  co_return std::unexpected(api::UnservedError{
      api::Unserved::kBusy, "the check is not finished yet; its result will be in the event log",
      seconds(30)});
}

asio::awaitable<store::Result<void>> Wiring::read(Read read) { return reads_.run(std::move(read)); }

asio::awaitable<bool> Wiring::digest(Turn turn, std::function<void()> work) {
  return documents_.run(std::move(turn), std::move(work));
}

asio::awaitable<std::string> Wiring::metrics() {
  Gauges gauges;
  gauges.health = health();
  gauges.now = now();
  if (auto depths = co_await queues()) gauges.queues = std::move(*depths);
  std::string text;
  co_await reads_.run([this, &gauges, &text](store::Reader& reader) {
    if (auto totals = reader.totals(gauges.now)) gauges.totals = *totals;
    gauges.workers = all_pages<store::WorkerView>(
        [&](const store::PageRequest& page) { return reader.workers({}, page); });
    gauges.leases = all_pages<PartitionLeaseRow>(
        [&](const store::PageRequest& page) { return reader.leases({}, page); });
    text = metrics_.text(gauges);
  });
  // Without the store there is less to say.
  co_return text.empty() ? metrics_.text(gauges) : std::move(text);
}

api::Health Wiring::health() const {
  api::Health health;
  health.leads = engine_.serves();
  health.store_connected = engine_.store_well();
  health.term = engine_.term();
  health.id = id_;
  health.uptime = boot_clock_now() - started_;
  const Instant committed{engine_.last_commit_us()};
  health.last_commit = committed.us == 0 ? kNever : now() - (boot_clock_now() - committed);
  const EngineShell::Live live = engine_.live();
  health.active_leases = live.leases;
  health.live_workers = live.workers;
  health.brake_engaged = live.brake;
  health.inbox = engine_.inbox_size();
  health.version = version();
  health.url = advertised_;
  health.leader = peers_.leader();
  const bool standby = !health.leads && !peers_.is_alone();
  // A standby writes nothing: what it can read is what it knows of the store.
  if (standby) {
    health.not_ready = peers_.trouble();
    health.store_connected = peers_.reads_store();
  } else if (!health.store_connected) {
    health.not_ready = "the store does not answer";
  }
  health.ready = health.not_ready.empty();
  if (tls_) health.certificate_until = tls_->certificate().until;
  health.damaged = engine_.damaged();
  if (!health.damaged.empty()) {
    const std::size_t rows = health.damaged.size();
    health.detail = std::to_string(rows) + (rows == 1 ? " damaged row" : " damaged rows") +
                    " in the database; what depends on it is set aside (see vortex db check)";
  }
  if (engine_.low_space()) health.detail = "the disk under the database is almost full";
  if (!health.store_connected) {
    const std::string trouble = standby ? health.not_ready : engine_.trouble();
    health.detail = trouble.empty() ? "the database is not writable" : trouble;
  }
  return health;
}

}  // namespace vortex::controller

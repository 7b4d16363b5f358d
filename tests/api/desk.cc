#include "tests/api/desk.h"

#include <chrono>
#include <stdexcept>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "codec/event_json.h"
#include "core/explain.h"
#include "core/load.h"
#include "core/reconcile.h"
#include "core/step.h"
#include "tests/support/memory_store/open.h"

namespace vortex::api {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

namespace {

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);

void must(bool fine, const char* what) {
  if (!fine) throw std::runtime_error(what);
}

std::shared_ptr<asio::steady_timer> silent_bell(asio::io_context& io) {
  return std::make_shared<asio::steady_timer>(io, asio::steady_timer::time_point::max());
}

template <class T>
void give_image(T& command, store::Writer& writer) {
  auto image = writer.run_image(command.task.run);
  if (image && *image) command.image = std::make_shared<const RunImage>(**std::move(image));
}

}  // namespace

asio::awaitable<EventFeed::Next> DeskFeed::next(std::uint64_t after, Duration wait) {
  if (after >= last_) {
    auto bell = std::make_shared<asio::steady_timer>(io_, std::chrono::microseconds(wait.us));
    waiting_.push_back(bell);
    co_await bell->async_wait(kQuietly);
    std::erase(waiting_, bell);
  }
  Next out;
  const std::uint64_t first = blocks_.empty() ? last_ + 1 : blocks_.front().first_seq;
  if (after < last_ && after + 1 < first) {
    out.behind = true;
    out.read_to = first - 1;
    co_return out;
  }
  for (const Lines& lines : blocks_) {
    if (lines.last_seq > after) out.lines.push_back(lines);
  }
  co_return out;
}

void DeskFeed::add(const EventBlock& block) {
  if (block.first_seq == 0) return;
  blocks_.push_back(
      {block.first_seq, block.last_seq, std::make_shared<const std::string>(block.lines)});
  while (blocks_.size() > blocks_max) blocks_.pop_front();
  last_ = block.last_seq;
  for (const auto& bell : waiting_) bell->cancel();
}

Desk::Desk(asio::io_context& io)
    : feed(io),
      io_(io),
      settings_(load_settings({{}, {{"VORTEX_TUNING", "testing"}}, {}}).value()),
      store_(store::open_memory()) {
  auto won = store_->writer().acquire({ControllerId("desk"), {}}, hours(1));
  must(won.has_value(), "the store has another leader");
  const auto& term = std::get<store::Won>(*won);
  clock = term.database_now;
  auto image = store_->writer().image();
  must(image.has_value(), "no image");
  core::Effects repairs;
  state.emplace(
      core::load(core::make_policy(settings_.settings), term.term, clock, 1, *image, repairs));
  commit(commit_of(repairs));
  reader_ = store_->reader().value();
}

asio::awaitable<Asked<core::ReplyBody>> Desk::ask(core::Command command) {
  if (unserved) co_return std::unexpected(*unserved);
  const RequestId request = next_request_;
  next_request_ = request.next();
  std::visit(
      [&](auto& c) {
        if constexpr (requires { c.request; }) c.request = request;
      },
      command);
  auto reply = run(std::move(command), request);
  must(reply.has_value(), "the core did not answer");
  co_return *std::move(reply);
}

asio::awaitable<std::vector<Asked<core::ReplyBody>>> Desk::ask_all(
    std::vector<core::Command> commands) {
  std::vector<Asked<core::ReplyBody>> answers;
  for (core::Command& command : commands) answers.push_back(co_await ask(std::move(command)));
  co_return answers;
}

asio::awaitable<Asked<core::ReplyBody>> Desk::ask_sync(
    core::Sync sync, std::function<asio::awaitable<void>()> closed) {
  if (unserved) co_return std::unexpected(*unserved);
  const RequestId request = next_request_;
  next_request_ = request.next();
  sync.request = request;
  const WorkerId worker = sync.body.worker;
  const Incarnation incarnation = sync.body.incarnation;
  core::Command command = std::move(sync);
  auto reply = run(std::move(command), request);
  if (reply) co_return *std::move(reply);
  Waiting& waiting = waiting_[request];
  waiting.bell = silent_bell(io_);
  auto bell = waiting.bell;
  const auto first = co_await (bell->async_wait(kQuietly) || closed());
  std::optional<core::ReplyBody> late = std::move(waiting_[request].reply);
  waiting_.erase(request);
  if (late) co_return *std::move(late);
  must(first.index() == 1, "woken without a reply");
  core::Command lost = core::ConnectionLost{worker, incarnation, request};
  step(lost);
  co_return std::unexpected(UnservedError{Unserved::kGone, {}, {}});
}

asio::awaitable<Asked<void>> Desk::write(SideWrite side) {
  if (unserved) co_return std::unexpected(*unserved);
  if (writes_left && (*writes_left)-- <= 0) {
    co_return std::unexpected(UnservedError{Unserved::kNoStore, "no more writes", seconds(1)});
  }
  Commit out;
  out.term = state->term;
  out.now = clock;
  if (auto* log = std::get_if<WriteLog>(&side)) out.logs.push_back(std::move(log->chunk));
  if (auto* piece = std::get_if<WriteCheckpointPiece>(&side)) {
    out.pieces.push_back(std::move(piece->piece));
  }
  if (auto* token = std::get_if<WriteToken>(&side)) out.tokens.push_back(std::move(token->row));
  if (auto* hook = std::get_if<WriteWebhook>(&side)) out.webhooks.push_back(std::move(hook->row));
  if (auto* step = std::get_if<WriteWebhookStep>(&side)) {
    out.webhook_steps.push_back(std::move(step->step));
  }
  if (auto* seal = std::get_if<WriteWebhookSeal>(&side)) {
    out.webhook_seals.push_back(std::move(seal->seal));
  }
  if (auto* secret = std::get_if<WriteSecret>(&side)) {
    out.secrets.push_back(std::move(secret->change));
  }
  if (auto* again = std::get_if<WriteRewrap>(&side)) {
    out.rewraps.push_back(std::move(again->rewrap));
  }
  if (auto* audit = std::get_if<WriteAudit>(&side)) out.audit = std::move(audit->rows);
  commit(std::move(out));
  co_return Asked<void>{};
}

asio::awaitable<Delivery> Desk::try_webhook(WebhookRow) { co_return delivery; }

asio::awaitable<Asked<core::Explanation>> Desk::explain(TaskId task) {
  if (unserved) co_return std::unexpected(*unserved);
  co_return core::explain(*state, task, clock);
}

asio::awaitable<Asked<Backend::Standstills>> Desk::standstills(std::optional<RunId> run) {
  if (unserved) co_return std::unexpected(*unserved);
  co_return core::standstills(*state, run, clock);
}

asio::awaitable<Asked<Backend::Approvals>> Desk::approvals(std::size_t most) {
  if (unserved) co_return std::unexpected(*unserved);
  co_return core::open_approvals(*state, most);
}

asio::awaitable<Asked<std::vector<QueueDepth>>> Desk::queues() {
  if (unserved) co_return std::unexpected(*unserved);
  co_return core::queue_depths(*state);
}

asio::awaitable<Asked<std::vector<core::LimitInfo>>> Desk::limits() {
  if (unserved) co_return std::unexpected(*unserved);
  co_return core::limit_infos(*state, clock);
}

asio::awaitable<Asked<ReconcileReport>> Desk::reconcile() {
  if (unserved) co_return std::unexpected(*unserved);
  ReconcileReport report;
  for (core::Finding& finding : core::check_state(*state, core::Depth::kThorough)) {
    report.findings.push_back(std::move(finding.what));
  }
  report.runs = state->runs.size();
  co_return report;
}

asio::awaitable<store::Result<void>> Desk::read(Read read) {
  if (!store_up) {
    co_return std::unexpected(store::Error{store::Fault::kUnavailable, "it is away"});
  }
  read(*reader_);
  co_return store::Result<void>{};
}

asio::awaitable<bool> Desk::digest(Turn turn, std::function<void()> work) {
  turns.push_back(std::move(turn));
  if (documents_full) co_return false;
  work();
  co_return true;
}

Health Desk::health() const {
  Health out;
  out.leads = true;
  out.store_connected = store_up;
  out.ready = store_up;
  if (!store_up) out.not_ready = "the store does not answer";
  out.url = "http://127.0.0.1:8080";
  out.leader = store::Leader{ControllerId("desk"), out.url, state->term, clock};
  out.term = state->term;
  out.id = ControllerId("desk");
  out.uptime = seconds(3600);
  out.last_commit = clock;
  out.version = "0.0.0";
  if (!store_up) out.detail = "the store is away";
  return out;
}

asio::awaitable<std::string> Desk::metrics() { co_return metrics_text; }

void Desk::advance(Duration duration) {
  const Instant end = clock + duration;
  while (clock < end) {
    clock = std::min(end, clock + state->policy.sweep);
    step(core::Tick{});
  }
}

void Desk::forget_events() {
  store::Retention keep;
  keep.events_for = seconds(1);
  must(store_->writer().sweep(keep, clock + hours(1), 10'000).has_value(), "not swept");
}

void Desk::step(const core::Command& command) { run(command, RequestId{}); }

std::optional<core::ReplyBody> Desk::run(core::Command command, RequestId request) {
  core::Effects effects = core::step(*state, command, clock);
  const bool needs_image =
      effects.replies.size() == 1 &&
      std::holds_alternative<core::Refusal>(effects.replies[0].body) &&
      std::get<core::Refusal>(effects.replies[0].body).kind == core::RefusalKind::kRunNotLive;
  auto* retry = std::get_if<core::RetryTask>(&command);
  auto* redrive = std::get_if<core::RedriveDeadLetter>(&command);
  if (needs_image && (retry != nullptr || redrive != nullptr)) {
    if (retry != nullptr) give_image(*retry, store_->writer());
    if (redrive != nullptr) give_image(*redrive, store_->writer());
    effects = core::step(*state, command, clock);
  }
  commit(commit_of(effects));
  std::optional<core::ReplyBody> mine;
  for (core::Reply& reply : effects.replies) {
    if (reply.request == request) mine = std::move(reply.body);
    const auto other = waiting_.find(reply.request);
    if (other == waiting_.end()) continue;
    other->second.reply = std::move(reply.body);
    other->second.bell->cancel();
  }
  return mine;
}

Commit Desk::commit_of(core::Effects& effects) {
  Commit out;
  out.term = state->term;
  out.now = clock;
  out.rows = std::move(effects.rows);
  out.dags = std::move(effects.dags);
  for (const Event& event : effects.events) {
    if (out.events.first_seq == 0) out.events.first_seq = event.seq;
    out.events.last_seq = event.seq;
    codec::write_event(out.events.lines, event);
  }
  return out;
}

void Desk::commit(Commit commit) {
  const auto done = store_->writer().commit(commit);
  if (!done) throw std::runtime_error(done.error().detail);
  feed.add(commit.events);
}

}  // namespace vortex::api

#include "cli/check/stage.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <random>
#include <utility>
#include <variant>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "codec/sync_json.h"

namespace vortex::cli::check {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(10);
constexpr std::size_t kFaultsMax = 20;

net::Response json_response(int status, std::string body) {
  net::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

net::Response problem(int status, std::string_view code, std::string_view members = {}) {
  net::Response response = json_response(
      status, fmt::format(R"({{"type":"about:blank","title":"worker-check","status":{},)"
                          R"("code":"{}","detail":"answered by worker-check"{}}})",
                          status, code, members));
  response.content_type = "application/problem+json";
  return response;
}

net::Response refusal(SyncRefusal::Why why, Incarnation current) {
  return problem(409, "VX-WORKER-409",
                 fmt::format(R"(,"why":"{}","current":{})", to_text(why), current.value));
}

bool is_end(const ReportBody& body) {
  return !std::holds_alternative<Started>(body) && !std::holds_alternative<Checkpoint>(body);
}

std::uint64_t number_in(const net::Query& query, std::string_view name) {
  const auto text = query.find(name).value_or("");
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string new_secret() {
  std::random_device chance;
  return fmt::format("vxs_{:08x}{:08x}{:08x}{:08x}", chance(), chance(), chance(), chance());
}

}  // namespace

Stage::Stage(const Timing& timing) : timing_(timing), work_(boost::asio::make_work_guard(io_)) {}

std::expected<std::unique_ptr<Stage>, std::string> Stage::open(const Timing& timing,
                                                               std::uint16_t port) {
  std::unique_ptr<Stage> stage(new Stage(timing));
  if (auto listening = stage->listen(port); !listening) {
    return std::unexpected(listening.error());
  }
  stage->thread_ = std::thread([io = &stage->io_] { io->run(); });
  return stage;
}

Stage::~Stage() {
  if (thread_.joinable()) {
    close_port();
    work_.reset();
    io_.stop();
    thread_.join();
  }
}

std::expected<void, std::string> Stage::listen(std::uint16_t port) {
  net::ServerConfig config;
  config.port = port;
  config.drain_limit = millis(50);
  auto server = net::Server::listen(
      io_, config, [this](net::Exchange& exchange) { return serve(exchange); },
      [](int status, std::string_view) { return problem(status, "VX-REQ-000"); });
  if (!server) return std::unexpected(server.error());
  server_ = *std::move(server);
  port_ = server_->port();
  return {};
}

std::string Stage::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

void Stage::close_port() {
  if (!server_) return;
  boost::asio::co_spawn(io_, server_->stop(), boost::asio::use_future).wait();
  closed_.push_back(std::move(server_));
}

void Stage::open_port() {
  const auto give_up = boot_clock_now() + seconds(5);
  while (!listen(port_) && boot_clock_now() < give_up) std::this_thread::sleep_for(kLookEvery);
}

// ---- The script ----

Attempt Stage::assign(WorkOrder order, Duration timeout, std::string checkpoint) {
  const std::lock_guard lock(mutex_);
  Given given;
  given.assignment.attempt = {.task = {.run = {1}, .index = tasks_++, .level = 0}, .epoch = {1}};
  order.task_text = to_text(given.assignment.attempt.task);
  order.dag = "worker-check";
  if (order.task.empty()) order.task = "task";
  given.assignment.work = std::make_shared<const WorkOrder>(std::move(order));
  given.assignment.execution_timeout = timeout;
  given.assignment.checkpoint = std::move(checkpoint);
  given.assignment.kill_grace = timing_.kill_grace;
  const Attempt attempt = given.assignment.attempt;
  given_.emplace(attempt, std::move(given));
  return attempt;
}

void Stage::repeat(Attempt attempt, std::uint32_t answers) {
  const std::lock_guard lock(mutex_);
  given_.at(attempt).repeats = answers;
}

void Stage::stop(Attempt attempt) {
  const std::lock_guard lock(mutex_);
  given_.at(attempt).stopping = true;
}

void Stage::make_stale(Attempt attempt) {
  const std::lock_guard lock(mutex_);
  given_.at(attempt).over = true;
  stale_.push_back(attempt);
}

void Stage::set_weather(Weather weather) {
  const std::lock_guard lock(mutex_);
  weather_ = weather;
}

void Stage::lose_reports(std::uint32_t calls) {
  const std::lock_guard lock(mutex_);
  lose_ = calls;
}

void Stage::end_session() {
  const std::lock_guard lock(mutex_);
  session_ = false;
  for (auto& [attempt, given] : given_) given.over = true;
}

void Stage::speak_of_the_future(bool on) {
  const std::lock_guard lock(mutex_);
  future_ = on;
}

bool Stage::until(const std::function<bool(const Record&)>& holds, Duration limit) const {
  const Instant give_up = boot_clock_now() + limit;
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (holds(record_)) return true;
    }
    if (boot_clock_now() >= give_up) return false;
    std::this_thread::sleep_for(kLookEvery);
  }
}

Record Stage::record() const {
  const std::lock_guard lock(mutex_);
  return record_;
}

// ---- The calls ----

boost::asio::awaitable<net::Response> Stage::serve(net::Exchange& exchange) {
  const net::Request& request = exchange.request();
  const auto& path = request.segments;
  Weather weather = Weather::kFair;
  {
    const std::lock_guard lock(mutex_);
    weather = weather_;
    if (weather != Weather::kFair) ++record_.turned_away;
  }
  if (weather == Weather::kDeaf) co_await exchange.closed();
  if (weather != Weather::kFair) {
    net::Response response = problem(503, "VX-STATE-503", R"(,"retry_after_ms":200)");
    response.headers.emplace_back("Retry-After", "1");
    co_return response;
  }
  const bool posted = request.method == net::Method::kPost && path.size() >= 2 && path[0] == "api";
  if (posted && path[1] == "workers" && path.size() == 2) co_return serve_register(request);
  if (posted && path[1] == "workers" && path.size() == 4 && path[3] == "sync") {
    co_return co_await serve_sync(exchange);
  }
  // What a supervisor proves is welcome and changes nothing here.
  if (posted && path[1] == "workers" && path.size() == 4) co_return json_response(204, "");
  if (posted && path[1] == "tasks" && path.size() == 4 && path[3] == "logs") {
    co_return serve_logs(request);
  }
  co_return problem(404, "VX-REQ-404");
}

net::Response Stage::serve_register(const net::Request& request) {
  const auto body = codec::read_register(request.body);
  const std::lock_guard lock(mutex_);
  if (!body) {
    record_.faults.push_back("invalid registration: " + body.error().front().message);
    return problem(422, "VX-REQ-002");
  }
  Incarnation incarnation = body->incarnation;
  if (incarnation.value == 0) incarnation = incarnation_.next();
  const bool same_life = session_ && incarnation == incarnation_;
  if (incarnation <= incarnation_ && !same_life) {
    return refusal(SyncRefusal::Why::kStaleIncarnation, incarnation_);
  }
  record_.registrations.push_back({boot_clock_now(), body->info, incarnation});
  if (!same_life) {
    last_seq_ = seq_seen_ = parked_seq_ = replies_ = 0;
    for (auto& [attempt, given] : given_) given.over = true;
  }
  session_ = true;
  if (!same_life) secret_ = new_secret();
  worker_ = body->info.id;
  incarnation_ = incarnation;
  return json_response(
      200,
      with_future(codec::write_register_reply({.term = {1},
                                               .incarnation = incarnation,
                                               .lease = timing_.lease,
                                               .heartbeat_interval = timing_.heartbeat_interval,
                                               .self_fence = timing_.self_fence,
                                               .session = secret_})));
}

net::Response Stage::serve_logs(const net::Request& request) {
  const auto task = parse_task_id(request.segments[2]);
  const std::lock_guard lock(mutex_);
  if (!task) return problem(404, "VX-TASK-404");
  look_for_session(request);
  std::string& log = record_.logs[{*task, {number_in(request.query, "epoch")}}];
  const std::uint64_t offset = number_in(request.query, "offset");
  if (offset > log.size()) {
    record_.faults.push_back(
        fmt::format("log of {}: a chunk starts at {}, but only {} bytes arrived",
                    request.segments[2], offset, log.size()));
    return problem(409, "VX-LOG-409");
  }
  log.replace(offset, std::string::npos, request.body);
  return json_response(204, "");
}

// Precondition: locked. A controller refuses such a call; here it goes on, so that the other rules
// can be tried as well.
void Stage::look_for_session(const net::Request& request) {
  const auto sent = net::find_header(request.headers, "Vortex-Session");
  if (sent == secret_ || record_.strangers.size() >= kFaultsMax) return;
  record_.strangers.push_back(fmt::format("{} came {}", request.target.substr(0, 100),
                                          sent ? "with another session" : "without a session"));
}

// False: a repeated or overtaken call.
std::expected<bool, net::Response> Stage::hear(const net::Request& request, SyncRequest& body) {
  const std::lock_guard lock(mutex_);
  const auto fault = [this](std::string text) {
    if (record_.faults.size() < kFaultsMax) record_.faults.push_back(std::move(text));
  };
  auto read = codec::read_sync(request.body, WorkerId(request.segments[2]));
  if (!read) {
    fault("invalid sync: " + read.error().front().message);
    return std::unexpected(problem(422, "VX-REQ-002"));
  }
  body = *std::move(read);
  if (body.worker != worker_ || body.incarnation > incarnation_) {
    return std::unexpected(refusal(SyncRefusal::Why::kUnknownWorker, incarnation_));
  }
  if (body.incarnation < incarnation_) {
    return std::unexpected(refusal(SyncRefusal::Why::kStaleIncarnation, incarnation_));
  }
  look_for_session(request);
  if (!session_) return std::unexpected(refusal(SyncRefusal::Why::kSessionEnded, incarnation_));
  if (body.seq <= last_seq_) {
    return std::unexpected(refusal(SyncRefusal::Why::kOldMessage, incarnation_));
  }
  if (body.ack.reply > replies_) {
    fault(fmt::format("it acknowledges response {}, but only {} were sent", body.ack.reply,
                      replies_));
  }
  last_seq_ = body.seq;
  if (body.wait > Duration{}) parked_seq_ = body.seq;
  if (lose_ > 0 && !body.reports.empty()) {
    --lose_;
    return false;
  }
  hear_reports(body);
  return true;
}

void Stage::hear_reports(const SyncRequest& body) {
  const Instant now = boot_clock_now();
  record_.answered_at = now;
  record_.calls.push_back({now, body});
  seq_seen_ = body.seq;
  const auto name = [this](Attempt attempt) {
    const auto at = given_.find(attempt);
    if (at != given_.end()) at->second.known = true;
    return at;
  };
  for (const HeldTask& held : body.held.value_or(std::vector<HeldTask>{})) name(held.attempt);
  for (const Report& report : body.reports) {
    record_.reports.push_back({now, report});
    const auto at = name(report.attempt);
    if (at == given_.end()) {
      record_.faults.push_back(
          fmt::format("it reports on {} epoch {}, which was never assigned to it",
                      to_text(report.attempt.task), report.attempt.epoch.value));
    } else if (is_end(report.body)) {
      at->second.over = true;
    }
  }
}

bool Stage::has_news() const {
  if (!stale_.empty()) return true;
  return std::ranges::any_of(given_, [](const auto& pair) {
    const Given& given = pair.second;
    return (!given.over && (given.stopping || !given.known)) || given.repeats > 0;
  });
}

std::string Stage::answer() {
  SyncReply reply;
  reply.mark = {.term = {1}, .reply = ++replies_};
  reply.seq_seen = seq_seen_;
  reply.lease = timing_.lease;
  for (auto& [attempt, given] : given_) {
    if (!given.over && given.stopping) {
      reply.stops.push_back({attempt, StopOrder::Why::kCancelled});
    } else if (given.repeats > 0 || (!given.over && !given.known)) {
      reply.assignments.push_back(given.assignment);
      if (given.repeats > 0) {
        --given.repeats;
        reply.assignments.push_back(given.assignment);  // and twice in one answer
      }
    }
  }
  reply.stale = std::exchange(stale_, {});
  return with_future(codec::write_sync_reply(reply));
}

std::string Stage::with_future(std::string json) const {
  if (!future_) return json;
  json.insert(1, R"("not_yet":{"known":[1,{"x":null}]},)");
  constexpr std::string_view kTask = R"({"task":)";
  for (std::size_t at = json.find(kTask); at != json.npos; at = json.find(kTask, at + 20)) {
    json.insert(at + 1, R"("also_new":[true],)");
  }
  return json;
}

boost::asio::awaitable<net::Response> Stage::serve_sync(net::Exchange& exchange) {
  SyncRequest body;
  const auto heard = hear(exchange.request(), body);
  if (!heard) co_return heard.error();
  const Duration wait = std::min(body.wait, timing_.heartbeat_interval);
  const Instant answer_at = boot_clock_now() + (body.reports.empty() ? wait : Duration{});
  boost::asio::steady_timer timer(exchange.executor());
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (!session_ || body.incarnation != incarnation_) {
        co_return refusal(SyncRefusal::Why::kSessionEnded, incarnation_);
      }
      if (weather_ != Weather::kFair) co_return problem(503, "VX-STATE-503");
      if (body.wait > Duration{} && body.seq < parked_seq_) {
        co_return refusal(SyncRefusal::Why::kOldMessage, incarnation_);
      }
      if (has_news() || boot_clock_now() >= answer_at) co_return json_response(200, answer());
    }
    timer.expires_after(kLookEvery);
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
}

}  // namespace vortex::cli::check

#include "bench/vortex/fleet.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/version.h"
#include "codec/sync_json.h"

namespace vortex::cli::bench {

namespace asio = boost::asio;

namespace {

constexpr Duration kAfterFailure = millis(20);
constexpr Duration kCallLimit = seconds(20);

}  // namespace

BenchWorker::BenchWorker(asio::any_io_executor executor, BenchWorkerConfig config,
                         BenchWorkerWatch watch)
    : executor_(std::move(executor)),
      config_(std::move(config)),
      watch_(std::move(watch)),
      client_(executor_, config_.server),
      target_("/api/workers/" + config_.name + "/sync"),
      incarnation_{static_cast<std::uint64_t>(wall_clock_now().us)} {}

asio::awaitable<void> BenchWorker::run() {
  while (!stopping_) {
    if (enrolled_) {
      co_await exchange();
    } else {
      co_await enroll();
    }
  }
}

asio::awaitable<void> BenchWorker::pause(Duration time) {
  asio::steady_timer timer(executor_, std::chrono::microseconds(time.us));
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> BenchWorker::enroll() {
  incarnation_ = incarnation_.next();
  codec::RegisterBody body;
  body.info.id = WorkerId(config_.name);
  body.info.machine = MachineId("bench");
  body.info.name = config_.name;
  body.info.version = version();
  body.info.slots = config_.slots;
  body.incarnation = incarnation_;
  net::Call call;
  call.method = net::Method::kPost;
  call.target = "/api/workers";
  call.body = codec::write_register(body);
  call.limit = kCallLimit;
  const auto answer = co_await client_.send(std::move(call));
  if (answer && answer->status < 300) {
    const auto reply = codec::read_register_reply(answer->body);
    session_ = reply ? reply->session : std::string();
    enrolled_ = true;
    co_return;
  }
  ++failures_;
  co_await pause(kAfterFailure);
}

SyncRequest BenchWorker::next_request() {
  SyncRequest request;
  request.worker = WorkerId(config_.name);
  request.incarnation = incarnation_;
  request.seq = ++seq_;
  request.ack = ack_;
  request.slots = config_.works ? config_.slots : 0;
  request.held.emplace();
  for (Sent& sent : unacknowledged_) {
    sent.seq = seq_;
    request.reports.push_back({sent.report.attempt, Started{}});
    request.reports.push_back(sent.report);
  }
  request.wait = config_.wait;
  return request;
}

asio::awaitable<void> BenchWorker::exchange() {
  net::Call call;
  call.method = net::Method::kPost;
  call.target = target_;
  call.body = codec::write_sync(next_request());
  call.headers.emplace_back("Vortex-Session", session_);
  call.limit = kCallLimit + config_.wait;
  ++calls_;
  const Instant begin = boot_clock_now();
  const auto answer = co_await client_.send(std::move(call));
  if (answer && answer->status == 200) {
    const auto reply = codec::read_sync_reply(answer->body);
    if (reply) {
      watch_.on_answer(boot_clock_now() - begin);
      take(*reply);
      co_return;
    }
  }
  ++failures_;
  // 404, 409: the controller knows this session no more.
  if (answer && (answer->status == 409 || answer->status == 404)) forget_session();
  co_await pause(kAfterFailure);
}

void BenchWorker::take(const SyncReply& reply) {
  ack_ = reply.mark;
  std::erase_if(unacknowledged_, [&](const Sent& sent) {
    if (sent.seq > reply.seq_seen) return false;
    watch_.on_acknowledged(sent.report.attempt);
    ++completed_;
    return true;
  });
  // Repeated assignments are among what was here before this reply.
  const auto before = static_cast<std::ptrdiff_t>(unacknowledged_.size());
  for (const Assignment& assignment : reply.assignments) {
    const bool known =
        std::any_of(unacknowledged_.begin(), unacknowledged_.begin() + before,
                    [&](const Sent& sent) { return sent.report.attempt == assignment.attempt; });
    if (known) continue;
    watch_.on_assigned(assignment);
    unacknowledged_.push_back({{assignment.attempt, Completed{}}, 0});
  }
}

void BenchWorker::forget_session() {
  enrolled_ = false;
  unacknowledged_.clear();
  ack_ = {};
}

namespace {

template <class Get>
std::uint64_t sum(const std::vector<std::unique_ptr<BenchWorker>>& workers, Get get) {
  std::uint64_t all = 0;
  for (const auto& worker : workers) all += get(*worker);
  return all;
}

std::string failure(const std::expected<net::Response, net::CallError>& answer) {
  if (!answer) return answer.error().detail;
  return fmt::format("{}: {}", answer->status, answer->body);
}

}  // namespace

Fleet::Fleet(const FleetConfig& config, const BenchWorkerWatch& watch)
    : work_(asio::make_work_guard(io_)) {
  for (std::uint32_t i = 0; i < config.workers; ++i) {
    BenchWorkerConfig worker;
    worker.name = fmt::format("{}-{}", config.prefix, i);
    worker.server = config.server;
    worker.slots = config.slots;
    worker.wait = config.wait;
    worker.works = config.works;
    workers_.push_back(std::make_unique<BenchWorker>(io_.get_executor(), worker, watch));
    asio::co_spawn(io_, workers_.back()->run(), asio::detached);
  }
  thread_ = std::thread([this] { io_.run(); });
}

Fleet::~Fleet() {
  for (const auto& worker : workers_) worker->stop();
  io_.stop();
  thread_.join();
}

std::uint64_t Fleet::completed() const {
  return sum(workers_, [](const BenchWorker& worker) { return worker.completed(); });
}
std::uint64_t Fleet::calls() const {
  return sum(workers_, [](const BenchWorker& worker) { return worker.calls(); });
}
std::uint64_t Fleet::failures() const {
  return sum(workers_, [](const BenchWorker& worker) { return worker.failures(); });
}

std::expected<std::string, std::string> submit(const Door& server, const std::string& body,
                                               const std::string& idempotency_key) {
  net::Call call;
  call.method = net::Method::kPost;
  call.target = "/api/runs";
  call.body = body;
  if (!idempotency_key.empty()) call.headers.emplace_back("Idempotency-Key", idempotency_key);
  const auto answer = net::send_and_wait(server, std::move(call));
  if (!answer || answer->status >= 300) return std::unexpected(failure(answer));
  boost::system::error_code error;
  const auto json = boost::json::parse(answer->body, error);
  const auto* id = error || !json.is_object() ? nullptr : json.as_object().if_contains("id");
  if (id == nullptr || !id->is_string()) return std::unexpected("no run id in: " + answer->body);
  return std::string(id->as_string());
}

std::string map_run(const std::string& name, std::uint64_t tasks) {
  return fmt::format(R"({{"dag":{{"name":"{}","tasks":{{"noop":{{"run":["true"],)"
                     R"("map":{{"over":{{"range":{{"from":1,"to":{}}}}}}}}}}}}}}})",
                     name, tasks);
}

std::expected<std::string, std::string> get(const Door& server, const std::string& target) {
  net::Call call;
  call.target = target;
  const auto answer = net::send_and_wait(server, std::move(call));
  if (!answer || answer->status >= 300) return std::unexpected(failure(answer));
  return answer->body;
}

}  // namespace vortex::cli::bench

#include "tests/controller/server.h"

#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"

namespace vortex::controller {

namespace json = boost::json;

TestServer::TestServer(Options options) : options_(std::move(options)) { start(); }

TestServer::~TestServer() { stop(); }

void TestServer::start() {
  start_without_waiting();
  ASSERT_TRUE(eventually("/readyz", "status", "ok"));
}

void TestServer::start_without_waiting() {
  LoadRequest request;
  request.flags = {"--controller.require_tokens=false"};
  request.flags.insert(request.flags.end(), options_.flags.begin(), options_.flags.end());
  request.flags.push_back("--controller.listen=127.0.0.1:0");
  request.flags.push_back("--database.path=" + database());
  auto loaded = load_settings(request);
  ASSERT_TRUE(loaded) << to_text(loaded.error().front());
  store::SqliteOptions open;
  open.path = database();
  auto store = store::open_sqlite(open);
  ASSERT_TRUE(store) << store.error().detail;
  ControllerParts parts;
  parts.settings = std::move(*loaded);
  parts.id = "test";
  parts.store = std::move(*store);
  parts.log = [log = log_](LogLevel level, const std::string& line) {
    const std::scoped_lock lock(log->guard);
    log->lines.emplace_back(level, line);
  };
  auto started = Controller::start(std::move(parts));
  ASSERT_TRUE(started) << started.error();
  controller_ = std::move(*started);
}

void TestServer::stop() { controller_.reset(); }

net::Endpoint TestServer::endpoint() const { return {"127.0.0.1", controller_->port()}; }

TestServer::Answer TestServer::call(net::Call call) {
  net::ClientConfig config;
  config.endpoint = endpoint();
  auto response = net::send_and_wait(config, std::move(call));
  Answer answer;
  if (!response) {
    answer.text = response.error().detail;
    return answer;
  }
  answer.status = response->status;
  answer.text = std::move(response->body);
  answer.headers = std::move(response->headers);
  boost::system::error_code error;
  answer.body = json::parse(answer.text, error);
  return answer;
}

TestServer::Answer TestServer::get(const std::string& target) {
  net::Call request;
  request.target = target;
  return call(std::move(request));
}

TestServer::Answer TestServer::remove(const std::string& target) {
  net::Call request;
  request.method = net::Method::kDelete;
  request.target = target;
  return call(std::move(request));
}

bool TestServer::logged(LogLevel level, const std::string& part) {
  const Instant until = boot_clock_now() + seconds(60);
  while (boot_clock_now() < until) {
    {
      const std::scoped_lock lock(log_->guard);
      for (const auto& [at, line] : log_->lines) {
        if (at == level && line.find(part) != std::string::npos) return true;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

TestServer::Answer TestServer::post(const std::string& target, const std::string& body,
                                    net::Headers headers) {
  net::Call request;
  request.method = net::Method::kPost;
  request.target = target;
  request.body = body;
  request.headers = std::move(headers);
  return call(std::move(request));
}

std::string TestServer::submit(const std::string& tasks, const std::string& key) {
  net::Headers headers;
  if (!key.empty()) headers.emplace_back("Idempotency-Key", key);
  const Answer answer =
      post("/api/runs", fmt::format(R"({{"dag":{{"name":"test","tasks":{}}}}})", tasks), headers);
  EXPECT_TRUE(answer.status == 201 || answer.status == 200) << answer.text;
  const auto* id = answer.body.is_object() ? answer.body.as_object().if_contains("id") : nullptr;
  return id != nullptr ? std::string(id->as_string()) : "";
}

bool TestServer::eventually(const std::string& target, const std::string& key,
                            const std::string& wanted) {
  const Instant until = boot_clock_now() + seconds(60);
  while (boot_clock_now() < until) {
    const Answer answer = get(target);
    const auto* value =
        answer.body.is_object() ? answer.body.as_object().if_contains(key) : nullptr;
    if (value != nullptr && value->is_string() && value->as_string() == wanted) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

TestWorker::TestWorker(TestServer& server, std::string id, int slots)
    : server_(server), id_(std::move(id)), slots_(slots) {
  const auto answer =
      server_.post("/api/workers", fmt::format(R"({{"id":"{}","slots":{}}})", id_, slots_));
  EXPECT_LT(answer.status, 300) << answer.text;
  incarnation_ = answer.body.at("incarnation").to_number<std::int64_t>();
  session_ = answer.body.at("session").as_string();
}

json::object TestWorker::sync(const std::string& held, const std::string& reports, int wait_ms) {
  const std::string body = fmt::format(
      R"({{"incarnation":{},"seq":{},"ack":{},"slots":{},"held":{},"reports":{},"wait_ms":{}}})",
      incarnation_, ++seq_, ack_, slots_, held, reports, wait_ms);
  const auto answer = server_.post("/api/workers/" + id_ + "/sync", body, headers());
  last_status_ = answer.status;
  if (answer.status != 200) return {};
  const json::object& reply = answer.body.as_object();
  ack_ = json::serialize(reply.at("mark"));
  return reply;
}

TestWorker::Given TestWorker::take() {
  const Instant until = boot_clock_now() + seconds(60);
  while (boot_clock_now() < until) {
    const json::object reply = sync("[]", "[]", 200);
    const auto* list = reply.if_contains("assignments");
    if (list == nullptr || list->as_array().empty()) continue;
    const json::value& first = list->as_array().front();
    return {std::string(first.at("task").as_string()), first.at("epoch").to_number<std::int64_t>()};
  }
  ADD_FAILURE() << "nothing was assigned";
  return {};
}

json::object TestWorker::report(const Given& given, const std::string& kind,
                                const std::string& more) {
  const std::string one = fmt::format(R"({{"task":"{}","epoch":{},"kind":"{}"{}}})", given.task,
                                      given.epoch, kind, more);
  const std::string held =
      kind == "started" ? fmt::format(R"([{{"task":"{}","epoch":{}}}])", given.task, given.epoch)
                        : "[]";
  return sync(held, "[" + one + "]");
}

}  // namespace vortex::controller

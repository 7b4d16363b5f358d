#include "tests/controller/cluster.h"

#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/support/memory_store/open.h"

namespace vortex::controller {

namespace json = boost::json;

bool soon(const std::function<bool()>& holds) {
  const Instant until = boot_clock_now() + seconds(60);
  while (boot_clock_now() < until) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

std::string ClusterAnswer::text_at(const std::string& key) const {
  const auto* value = body.is_object() ? body.as_object().if_contains(key) : nullptr;
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

std::string ClusterAnswer::code() const { return text_at("code"); }

Cluster::Cluster(std::size_t controllers, std::vector<std::string> flags,
                 const std::vector<TokenRow>& tokens) {
  store::MemoryOptions options;
  options.shared = true;
  options.wall_clock = [this] { return wall_clock_now() + micros(skew_us_); };
  store_ = store::open_memory(options);
  for (std::size_t i = 0; i < controllers; ++i) {
    LoadRequest request;
    // With a lease of the leader that a busy machine does not lose.
    request.flags = {"--tuning=testing",
                     "--controller.heartbeat_timeout_secs=60",
                     "--controller.leader_lease_secs=10",
                     fmt::format("--controller.require_tokens={}", !tokens.empty()),
                     "--controller.listen=127.0.0.1:0",
                     "--monitoring.monitor_log=off",
                     "--database.path=" + folder_.path() + "/" + std::to_string(i) + ".db"};
    request.flags.insert(request.flags.end(), flags.begin(), flags.end());
    auto loaded = load_settings(request);
    if (!loaded) throw std::runtime_error(to_text(loaded.error().front()));
    ControllerParts parts;
    parts.settings = std::move(*loaded);
    parts.id = fmt::format("c{}", i);
    parts.store = store::open_again(*store_);
    parts.tokens = tokens;
    auto started = Controller::start(std::move(parts));
    if (!started) throw std::runtime_error(started.error());
    controllers_.push_back(std::move(*started));
  }
  leader();
  EXPECT_TRUE(soon([this] {
    for (const auto& one : controllers_) {
      if (one && !one->is_ready()) return false;
    }
    return true;
  }));
}

Cluster::~Cluster() { controllers_.clear(); }

std::size_t Cluster::leader() const {
  std::size_t found = controllers_.size();
  const bool one = soon([this, &found] {
    for (std::size_t i = 0; i < controllers_.size(); ++i) {
      if (controllers_[i] && controllers_[i]->serves()) found = i;
    }
    return found < controllers_.size();
  });
  if (!one) throw std::runtime_error("nobody leads");
  return found;
}

std::size_t Cluster::standby() const {
  std::size_t found = controllers_.size();
  const bool one = soon([this, &found] {
    for (std::size_t i = 0; i < controllers_.size(); ++i) {
      const auto& other = controllers_[i];
      if (other && !other->serves() && other->is_ready()) found = i;
    }
    return found < controllers_.size();
  });
  if (!one) throw std::runtime_error("there is no standby");
  return found;
}

net::ClientConfig Cluster::client(std::size_t i) const {
  net::ClientConfig config;
  config.endpoint = {"127.0.0.1", controllers_[i]->port()};
  return config;
}

ClusterAnswer Cluster::call(std::size_t i, net::Call call) const {
  auto response = net::send_and_wait(client(i), std::move(call));
  ClusterAnswer answer;
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

ClusterAnswer Cluster::get(std::size_t i, const std::string& target) const {
  net::Call request;
  request.target = target;
  return call(i, std::move(request));
}

ClusterAnswer Cluster::post(std::size_t i, const std::string& target, const std::string& body,
                            net::Headers headers) const {
  net::Call request;
  request.method = net::Method::kPost;
  request.target = target;
  request.body = body;
  request.headers = std::move(headers);
  return call(i, std::move(request));
}

Cluster::Session Cluster::enlist(std::size_t i, const std::string& worker,
                                 const std::string& address) const {
  const std::string more = address.empty() ? "" : fmt::format(R"(,"address":"{}")", address);
  const ClusterAnswer answer =
      post(i, "/api/workers", fmt::format(R"({{"id":"{}","slots":1{}}})", worker, more));
  EXPECT_LT(answer.status, 300) << answer.text;
  Session session;
  session.headers = {{"Vortex-Session", answer.text_at("session")}};
  if (answer.status < 300) {
    session.incarnation = answer.body.at("incarnation").to_number<std::int64_t>();
  }
  return session;
}

std::string Cluster::sync_body(const Session& session, int seq, int wait_ms,
                               const std::string& held, const std::string& reports) {
  return fmt::format(
      R"({{"incarnation":{},"seq":{},"ack":{{"term":0,"reply":0}},"slots":1,"held":{},)"
      R"("reports":{},"wait_ms":{}}})",
      session.incarnation, seq, held, reports, wait_ms);
}

}  // namespace vortex::controller

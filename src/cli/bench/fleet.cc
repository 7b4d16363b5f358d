#include "cli/bench/fleet.h"

#include <numeric>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

namespace vortex::cli::bench {

namespace asio = boost::asio;

namespace {

template <class Get>
std::uint64_t sum(const std::vector<std::unique_ptr<Agent>>& agents, Get get) {
  std::uint64_t all = 0;
  for (const auto& agent : agents) all += get(*agent);
  return all;
}

std::string failure(const std::expected<net::Response, net::CallError>& answer) {
  if (!answer) return answer.error().detail;
  return fmt::format("{}: {}", answer->status, answer->body);
}

}  // namespace

Fleet::Fleet(const FleetConfig& config, const AgentWatch& watch)
    : work_(asio::make_work_guard(io_)) {
  for (std::uint32_t i = 0; i < config.agents; ++i) {
    AgentConfig agent;
    agent.name = fmt::format("{}-{}", config.prefix, i);
    agent.server = config.server;
    agent.slots = config.slots;
    agent.wait = config.wait;
    agent.works = config.works;
    agents_.push_back(std::make_unique<Agent>(io_.get_executor(), agent, watch));
    asio::co_spawn(io_, agents_.back()->run(), asio::detached);
  }
  thread_ = std::thread([this] { io_.run(); });
}

Fleet::~Fleet() {
  for (const auto& agent : agents_) agent->stop();
  io_.stop();
  thread_.join();
}

std::uint64_t Fleet::completed() const {
  return sum(agents_, [](const Agent& agent) { return agent.completed(); });
}
std::uint64_t Fleet::calls() const {
  return sum(agents_, [](const Agent& agent) { return agent.calls(); });
}
std::uint64_t Fleet::failures() const {
  return sum(agents_, [](const Agent& agent) { return agent.failures(); });
}

std::expected<std::string, std::string> submit(const net::Endpoint& server, const std::string& body,
                                               const std::string& idempotency_key) {
  net::ClientConfig config;
  config.endpoint = server;
  net::Call call;
  call.method = net::Method::kPost;
  call.target = "/api/runs";
  call.body = body;
  if (!idempotency_key.empty()) call.headers.emplace_back("Idempotency-Key", idempotency_key);
  const auto answer = net::send_and_wait(config, std::move(call));
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

std::expected<std::string, std::string> get(const net::Endpoint& server,
                                            const std::string& target) {
  net::ClientConfig config;
  config.endpoint = server;
  net::Call call;
  call.target = target;
  const auto answer = net::send_and_wait(config, std::move(call));
  if (!answer || answer->status >= 300) return std::unexpected(failure(answer));
  return answer->body;
}

}  // namespace vortex::cli::bench

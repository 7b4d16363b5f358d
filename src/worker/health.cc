#include "worker/health.h"

#include <utility>

#include <boost/asio/ip/udp.hpp>
#include <boost/system/error_code.hpp>

#include "base/clock.h"
#include "base/version.h"
#include "codec/json_writer.h"

namespace vortex::worker {

namespace asio = boost::asio;

namespace {

constexpr std::uint32_t kConnectionsMax = 64;
constexpr int kNotFound = 404;
constexpr int kUnwell = 503;

// It is well while its heartbeats are answered: a worker that beats into the void is of no use.
bool is_well(const ShellState& state, Duration beat) {
  return state.registered && !state.fenced && boot_clock_now() - state.heard_at < beat * 3;
}

net::Response answer(const HealthConfig& config, const net::Request& request) {
  net::Response response;
  const std::string path = request.segments.size() == 1 ? request.segments[0] : "";
  if (path != "health" && path != "livez" && path != "readyz") {
    response.status = kNotFound;
    response.body = "{\"error\":\"a worker serves /health, /livez and /readyz\"}\n";
    return response;
  }
  const ShellState state = config.state();
  const bool well = path == "livez" || is_well(state, config.beat);
  const bool heard = state.heard_at > Instant{};
  codec::JsonWriter json(response.body);
  json.begin_object();
  json.field("status", well ? "healthy" : "unhealthy");
  json.field("id", config.worker).field("agent_id", config.worker);
  json.field("version", std::string_view(version()));
  json.field("uptime_seconds", (boot_clock_now() - config.started_at).us / 1'000'000);
  json.field("active_leases", state.held);
  if (heard) {
    json.field("last_heartbeat_age_ms", (boot_clock_now() - state.heard_at).us / 1'000);
  } else {
    json.key("last_heartbeat_age_ms").null();
  }
  const bool connected = is_well(state, config.beat);
  json.field("last_heartbeat_success", connected);
  json.field("store_connected", connected).field("metadata_store_connected", connected);
  json.field("fenced", state.fenced);
  json.field("incarnation", state.incarnation.value);
  json.end_object();
  response.body += '\n';
  if (!well) response.status = kUnwell;
  return response;
}

}  // namespace

std::expected<std::unique_ptr<net::Server>, std::string> serve_health(asio::io_context& io,
                                                                      HealthConfig config) {
  net::ServerConfig server;
  server.address = config.listen;
  server.port = config.port;
  server.connections_max = kConnectionsMax;
  server.body_bytes_max = 0;
  auto shared = std::make_shared<const HealthConfig>(std::move(config));
  net::Handler handler = [shared](net::Exchange& exchange) -> asio::awaitable<net::Response> {
    co_return answer(*shared, exchange.request());
  };
  net::Complain complain = [](int status, std::string_view detail) {
    net::Response response;
    response.status = status;
    codec::JsonWriter json(response.body);
    json.begin_object().field("error", detail).end_object();
    return response;
  };
  return net::Server::listen(io, server, std::move(handler), std::move(complain));
}

std::string own_address_towards(const net::Endpoint& towards) {
  // Connecting a datagram socket sends nothing; it asks the routing table.
  asio::io_context io;
  boost::system::error_code error;
  asio::ip::udp::resolver resolver(io);
  const auto found = resolver.resolve(towards.host, std::to_string(towards.port), error);
  for (const auto& entry : found) {
    asio::ip::udp::socket socket(io);
    socket.connect(entry.endpoint(), error);
    if (error) continue;
    const auto own = socket.local_endpoint(error);
    if (!error) return own.address().to_string();
  }
  return "127.0.0.1";
}

}  // namespace vortex::worker

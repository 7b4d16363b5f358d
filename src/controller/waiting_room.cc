#include "controller/waiting_room.h"

#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>

#include "api/api.h"
#include "api/trouble.h"
#include "controller/controller.h"
#include "net/client.h"

namespace vortex::controller {

namespace asio = boost::asio;

namespace {

constexpr std::uint32_t kSeats = 256;
constexpr Duration kComeBack = seconds(2);

net::Response problem() {
  api::Trouble away =
      api::trouble(api::Code::kStoreUnreadable, "this controller is waiting for its database");
  away.retry_after = kComeBack;
  return api::write_problem(away, {});
}

net::Response answer(const net::Request& request) {
  const std::string path = request.segments.size() == 1 ? request.segments[0] : "";
  net::Response response;
  if (path == "livez") {
    response.body = "{\"status\":\"ok\"}\n";
    return response;
  }
  if (path != "readyz" && path != "health") return problem();
  response.status = 503;
  response.body = path == "health" ? "{\"status\":\"unhealthy\"}\n"
                                   : "{\"status\":\"waiting for the database\"}\n";
  return response;
}

}  // namespace

WaitingRoom::WaitingRoom() : work_(asio::make_work_guard(io_)) {}

std::expected<std::unique_ptr<WaitingRoom>, std::string> WaitingRoom::open(
    const Settings& settings) {
  const auto at = net::parse_listener(settings.controller.listen, 8080);
  if (!at) {
    return std::unexpected(fmt::format("controller.listen = {} is not a valid address and port",
                                       settings.controller.listen));
  }
  auto tls = open_tls(settings.controller);
  if (!tls) return std::unexpected(std::move(tls.error()));
  net::ServerConfig config;
  config.address = at->host;
  config.port = at->port;
  config.connections_max = kSeats;
  config.vital_targets = {"/livez"};
  config.bodies = net::Bodies::kOnDemand;  // nobody reads one
  config.tls = *std::move(tls);
  config.default_headers = api::default_headers();
  std::unique_ptr<WaitingRoom> room(new WaitingRoom());
  net::Handler handler = [](net::Exchange& exchange) -> asio::awaitable<net::Response> {
    co_return answer(exchange.request());
  };
  net::Complain complain = [](int status, std::string_view detail) {
    api::Trouble wrong = api::trouble(api::Code::kStoreUnreadable, std::string(detail));
    wrong.status = status;
    return api::write_problem(wrong, {});
  };
  auto server =
      net::Server::listen(room->io_, std::move(config), std::move(handler), std::move(complain));
  if (!server) return std::unexpected(std::move(server.error()));
  room->server_ = *std::move(server);
  room->thread_ = std::thread([io = &room->io_] { io->run(); });
  return room;
}

WaitingRoom::~WaitingRoom() {
  if (thread_.joinable()) {
    asio::co_spawn(asio::make_strand(io_), server_->stop(), asio::use_future).wait();
  }
  work_.reset();
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace vortex::controller

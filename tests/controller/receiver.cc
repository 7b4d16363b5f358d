#include "tests/controller/receiver.h"

#include <stdexcept>

#include <boost/asio/awaitable.hpp>
#include <fmt/format.h>

namespace vortex::controller {

namespace {

std::string header(const net::Request& request, std::string_view name) {
  return std::string(net::find_header(request.headers, name).value_or(""));
}

}  // namespace

TestReceiver::TestReceiver(boost::asio::io_context& io, std::uint16_t port) {
  net::ServerConfig config;
  config.port = port;
  auto listening = net::Server::listen(
      io, config, [this](net::Exchange& exchange) { return take(exchange); },
      [](int status, std::string_view) {
        net::Response response;
        response.status = status;
        return response;
      });
  if (!listening) throw std::runtime_error(listening.error());
  server_ = std::move(*listening);
}

std::string TestReceiver::url() const {
  return fmt::format("http://127.0.0.1:{}/in", server_->port());
}

void TestReceiver::answer_with(std::vector<int> statuses) {
  const std::scoped_lock lock(guard_);
  answers_.assign(statuses.begin(), statuses.end());
}

std::vector<Told> TestReceiver::told() const {
  const std::scoped_lock lock(guard_);
  return told_;
}

boost::asio::awaitable<net::Response> TestReceiver::take(net::Exchange& exchange) {
  const net::Request& request = exchange.request();
  const std::scoped_lock lock(guard_);
  told_.push_back({header(request, "webhook-id"), header(request, "webhook-timestamp"),
                   header(request, "webhook-signature"), request.body});
  net::Response response;
  response.status = 204;
  response.content_type.clear();
  if (!answers_.empty()) {
    response.status = answers_.front();
    answers_.pop_front();
  }
  co_return response;
}

}  // namespace vortex::controller

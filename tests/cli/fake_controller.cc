#include "tests/cli/fake_controller.h"

#include <future>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace vortex::cli::test {

FakeController::FakeController(Answers answers)
    : FakeController(net::Handler([this](net::Exchange& exchange) { return serve(exchange); })) {
  answers_ = std::move(answers);
}

FakeController::FakeController(net::Handler handler) : work_(boost::asio::make_work_guard(io_)) {
  auto server = net::Server::listen(io_, {}, std::move(handler), [](int status, std::string_view) {
    return problem(status, "VX-REQ-008");
  });
  if (!server) throw std::runtime_error(server.error());
  server_ = std::move(*server);
  thread_ = std::thread([this] { io_.run(); });
}

FakeController::~FakeController() {
  auto done = boost::asio::co_spawn(io_, server_->stop(), boost::asio::use_future);
  done.wait();
  work_.reset();
  io_.stop();
  thread_.join();
}

boost::asio::awaitable<net::Response> FakeController::serve(net::Exchange& exchange) {
  std::size_t nth = 0;
  {
    const std::lock_guard lock(mutex_);
    nth = asked_.size();
    asked_.push_back(
        fmt::format("{} {}", net::to_text(exchange.request().method), exchange.request().target));
  }
  net::Response response = answers_(exchange.request(), nth);
  if (response.status == 0) {
    co_await exchange.closed();
    response.status = 500;
  }
  co_return response;
}

std::vector<std::string> FakeController::asked() {
  const std::lock_guard lock(mutex_);
  return asked_;
}

net::Response json_response(int status, std::string body, net::Headers headers) {
  net::Response response;
  response.status = status;
  response.headers = std::move(headers);
  response.body = std::move(body);
  return response;
}

net::Response problem(int status, const std::string& code, net::Headers headers) {
  net::Response response = json_response(
      status,
      fmt::format(R"({{"code":"{}","title":"It went wrong","detail":"because","hint":"do this",)"
                  R"("status":{},"request_id":"q1"}})",
                  code, status),
      std::move(headers));
  response.content_type = "application/problem+json";
  return response;
}

net::Endpoint nobody() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<const sockaddr*>(&address), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return {"127.0.0.1", ntohs(address.sin_port)};
}

ApiConfig quick(std::vector<net::Endpoint> servers) {
  ApiConfig config;
  config.servers = std::move(servers);
  config.limit = seconds(10);
  config.first_wait = millis(5);
  config.retry_after_max = millis(20);
  return config;
}

}  // namespace vortex::cli::test

#pragma once
// A server on a free port of 127.0.0.1 that answers what the test tells it to, and remembers what
// it was asked. The real net::Server: only the answers are made up.
//
// The answer function is called on the server's thread; asked() may be called from the test's.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "cli/client/api_client.h"
#include "net/server.h"

namespace vortex::cli::test {

// Status 0: no answer at all, until the asker hangs up.
using Answers = std::function<net::Response(const net::Request& request, std::size_t nth)>;

class FakeController {
 public:
  explicit FakeController(Answers answers);
  explicit FakeController(net::Handler handler);  // for answers that are streamed
  ~FakeController();
  FakeController(const FakeController&) = delete;
  FakeController& operator=(const FakeController&) = delete;

  net::Endpoint endpoint() const { return {"127.0.0.1", server_->port()}; }
  std::vector<std::string> asked();  // "GET /api/runs", in order

 private:
  boost::asio::awaitable<net::Response> serve(net::Exchange& exchange);

  Answers answers_;
  std::mutex mutex_;
  std::vector<std::string> asked_;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<net::Server> server_;
  std::thread thread_;
};

net::Response json_response(int status, std::string body, net::Headers headers = {});
net::Response problem(int status, const std::string& code, net::Headers headers = {});
// Nobody listens there.
net::Endpoint nobody();
// Waits are short, so that tests are.
ApiConfig quick(std::vector<net::Endpoint> servers);

}  // namespace vortex::cli::test

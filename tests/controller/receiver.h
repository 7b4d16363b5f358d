#pragma once
// A receiver of webhooks for tests: a real server on a free port that keeps what it was told and
// answers as it is told to.

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "net/server.h"

namespace vortex::controller {

struct Told {
  std::string id;
  std::string timestamp;
  std::string signature;
  std::string body;
};

class TestReceiver {
 public:
  // `port` 0: any free one.
  explicit TestReceiver(boost::asio::io_context& io, std::uint16_t port = 0);

  std::string url() const;
  // The next answers, in turn; afterwards 204.
  void answer_with(std::vector<int> statuses);
  std::vector<Told> told() const;
  net::Server& server() { return *server_; }

 private:
  boost::asio::awaitable<net::Response> take(net::Exchange& exchange);

  mutable std::mutex guard_;
  std::deque<int> answers_;
  std::vector<Told> told_;
  std::unique_ptr<net::Server> server_;
};

}  // namespace vortex::controller

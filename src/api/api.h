#pragma once
// The HTTP interface of the controller: from a request to its answer, over one Backend.
//
// Every request passes the same gates in this order: Host and Origin, path and method, token and
// role, type of the body, names of query parameters; then its handler. Any I/O thread. Must outlive
// every exchange that it handles.

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/access.h"
#include "api/backend.h"
#include "api/router.h"
#include "net/exchange.h"
#include "net/server.h"

namespace vortex::api {

class Api {
 public:
  // `pages` answers GET outside of the routes, for example the dashboard's files; it may be empty.
  Api(Backend& backend, AccessPolicy policy, net::Handler pages = {});

  net::Handler handler();
  net::Complain complain();

 private:
  boost::asio::awaitable<net::Response> serve(net::Exchange& exchange);
  boost::asio::awaitable<Outcome> answer(net::Exchange& exchange, const std::string& request_id);
  boost::asio::awaitable<Outcome> answer_unrouted(net::Exchange& exchange, Match match);
  std::string request_id_for(const net::Request& request);

  Backend& backend_;
  Access access_;
  Router router_;
  net::Handler pages_;
  std::atomic<std::uint64_t> requests_{0};
};

}  // namespace vortex::api

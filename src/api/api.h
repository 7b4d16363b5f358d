#pragma once
// The HTTP interface of the controller: from a request to its answer, over one Backend.
//
// Every request passes the same gates in this order: Host and Origin, path and method, token and
// role, type of the body, names of query parameters. Only then is its body read, within the limits
// of its route and the budgets of its client, and its handler called. Any I/O thread. Must outlive
// every exchange that it handles.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/access.h"
#include "api/audit/audit_log.h"
#include "api/backend.h"
#include "api/pages/pages.h"
#include "api/router.h"
#include "net/byte_budget.h"
#include "net/exchange.h"
#include "net/server.h"

namespace vortex::api {

// What every answer says to browsers: nothing of it is a page, to be framed, guessed at or kept.
net::Headers default_headers();

class Api {
 public:
  // `pages` answers GET outside of the API: the dashboard's files. It may be empty.
  Api(Backend& backend, AccessPolicy policy, Pages pages = {});

  net::Handler handler();
  net::Complain complain();
  // To be flushed about every kAuditPace, and with everything at the end.
  AuditLog& audit() { return audit_; }
  static constexpr Duration kAuditPace = millis(100);

 private:
  // What is known of a request so far, for the audit log.
  struct Trail {
    const Route* route = nullptr;
    std::string who;
    std::string target;
    bool passed_on = false;  // to the leader
  };

  boost::asio::awaitable<net::Response> serve(net::Exchange& exchange);
  boost::asio::awaitable<Outcome> answer(net::Exchange& exchange, const std::string& request_id,
                                         Trail& trail);
  boost::asio::awaitable<void> record(const net::Request& request, Trail trail,
                                      const Outcome& outcome);
  boost::asio::awaitable<std::optional<Trouble>> receive(net::Exchange& exchange,
                                                         const Route& route, const Caller& caller);
  boost::asio::awaitable<std::optional<Trouble>> accept_mark(net::Exchange& exchange);
  bool is_for_leader(const Route& route, const net::Request& request);
  // Unset: this controller leads by now.
  boost::asio::awaitable<std::optional<Outcome>> pass_on_to_leader(net::Exchange& exchange,
                                                                   const Route& route,
                                                                   const std::string& request_id);
  Outcome answer_unrouted(const net::Request& request, Match match);
  std::uint64_t body_max(const Route& route) const;
  std::shared_ptr<net::ByteBudget> budget_of(const std::string& client);
  std::string request_id_for(const net::Request& request);

  Backend& backend_;
  Access access_;
  AuditLog audit_;
  Router router_;
  Pages pages_;
  std::atomic<std::uint64_t> requests_{0};
  const std::uint64_t bodies_max_;
  const std::shared_ptr<net::ByteBudget> bodies_;
  std::mutex mutex_;                                                         // around the map
  std::unordered_map<std::string, std::weak_ptr<net::ByteBudget>> budgets_;  // of clients
};

}  // namespace vortex::api

#pragma once
// A standby passes on to the leader what only the leader can answer, and the leader learns who
// really asked.
//
// The request goes on as it came: method, target, token, session, body. Beside it goes a mark: the
// address of the client and whether its connection was private, under a MAC whose key only the
// controllers of one database have. A marked request is never passed on again. Repeated is only
// what definitely did not happen, and only once; when the outcome is unknown, that is the answer.

#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "api/call.h"
#include "api/peers/peers.h"
#include "net/exchange.h"
#include "net/http.h"

namespace vortex::api {

inline constexpr std::string_view kMarkHeader = "Vortex-Passed-On";
// The session of a browser, whose cookie has a name of its own at every controller. Counts only
// under a mark.
inline constexpr std::string_view kSessionHeader = "Vortex-Passed-Session";

// How a request reached the controller that passed it on.
struct Origin {
  std::string peer;              // address and port of the client
  bool is_private = false;       // over TLS, or from the same machine
  std::string certificate = {};  // name in the client's certificate; empty: none
};
Origin origin_of(const net::Request& request);

// The mark fits no other request: method, target, token and session are part of what is signed.
std::string write_mark(std::string_view key, const net::Request& request, const Origin& origin);
// Unset: it was not made with this key for this request.
std::optional<Origin> read_mark(std::string_view key, const net::Request& request,
                                std::string_view mark);
// The request as if it had come from there. A client on the machine of the controller that passed
// it on has the address of that machine.
void apply_origin(const Origin& origin, net::Request& request);

struct PassedOn {
  std::string key;  // of the cluster
  std::string request_id;
  bool streams = false;  // the answer is a stream without end
};
// Unset: this controller leads now and answers itself.
boost::asio::awaitable<std::optional<Outcome>> pass_on(net::Exchange& exchange, Peers& peers,
                                                       PassedOn what);

}  // namespace vortex::api

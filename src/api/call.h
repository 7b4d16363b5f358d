#pragma once
// One request on its way through its route, and how a handler answers.
//
// A handler gets a Call whose caller is admitted, whose path parameters have the right form and
// whose query names are known. It runs on the connection's executor and returns an answer or a
// Trouble. `fetch` is how it reads the store, `ask` and `ask_done` how it reaches the core.

#include <expected>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "api/access.h"
#include "api/backend.h"
#include "api/trouble.h"
#include "base/time.h"
#include "model/ids.h"
#include "net/exchange.h"
#include "net/http.h"

namespace vortex::api {

struct Route;

template <class T>
using Expected = std::expected<T, Trouble>;

using Outcome = Expected<net::Response>;
using Handled = boost::asio::awaitable<Outcome>;

struct Call {
  Backend& backend;
  Access& access;
  net::Exchange& exchange;
  Caller caller;
  std::string request_id;
  std::vector<std::string_view> path;  // values of the parameters in the path, in order
  bool head_only = false;              // HEAD: an answer without end is not begun

  const net::Request& request() const { return std::as_const(exchange).request(); }

  // The parameter at this place; the router has checked its form.
  RunId run(std::size_t at = 0) const { return parse_run_id(path[at]).value_or(RunId{}); }
  TaskId task(std::size_t at = 0) const { return parse_task_id(path[at]).value_or(TaskId{}); }
  std::string text(std::size_t at = 0) const { return std::string(path[at]); }
};

inline net::Response json_answer(std::string body, int status = 200) {
  body += '\n';
  net::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

inline net::Response empty_answer() {
  net::Response response;
  response.status = 204;
  response.content_type.clear();
  return response;
}

// Reads with a connection of the pool. `read` takes a store::Reader& and gives a store::Result.
template <class Read>
boost::asio::awaitable<Expected<typename std::invoke_result_t<Read, store::Reader&>::value_type>>
fetch(Backend& backend, Read read) {
  std::optional<std::invoke_result_t<Read, store::Reader&>> got;
  Backend::Read work = [&got, &read](store::Reader& reader) { got.emplace(read(reader)); };
  store::Result<void> done = co_await backend.read(std::move(work));
  if (!done) co_return std::unexpected(from_store(done.error()));
  if (!got) co_return std::unexpected(trouble(Code::kStoreUnreadable, "nothing was read"));
  if (!*got) co_return std::unexpected(from_store(got->error()));
  co_return std::move(**got);
}

// The command's answer, when it is of the kind that was wanted.
template <class Wanted>
boost::asio::awaitable<Expected<Wanted>> ask(Backend& backend, core::Command command) {
  Asked<core::ReplyBody> reply = co_await backend.ask(std::move(command));
  if (!reply) co_return std::unexpected(from_unserved(reply.error()));
  if (auto* wanted = std::get_if<Wanted>(&*reply)) co_return std::move(*wanted);
  if (const auto* refusal = std::get_if<core::Refusal>(&*reply)) {
    co_return std::unexpected(from_refusal(*refusal));
  }
  co_return std::unexpected(trouble(Code::kInternal, "an answer of another kind"));
}

// Waiting inside a streamed answer without missing that the other end is gone.
// On the connection's own executor; holds nothing and blocks nobody.

// False: the connection closed, or the server shuts down.
boost::asio::awaitable<bool> pause(net::Exchange& exchange, Duration wait);

}  // namespace vortex::api

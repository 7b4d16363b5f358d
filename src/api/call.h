#pragma once
// One request on its way through its route, and how a handler answers.
//
// A handler gets a Call whose caller is admitted, whose path parameters have the right form and
// whose query names are known. It runs on the connection's executor and returns an answer or a
// Trouble. `fetch` is how it reads the store, `ask` and `ask_done` how it reaches the core.

#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
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
class AuditLog;

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
  bool of_worker = false;              // the route is one of workers
  AuditLog& audit;
  std::string subject = {};  // what was made, where the path does not name it; for the audit log

  const net::Request& request() const { return std::as_const(exchange).request(); }

  // The parameter at this place; the router has checked its form.
  RunId run(std::size_t at = 0) const { return parse_run_id(path[at]).value_or(RunId{}); }
  TaskId task(std::size_t at = 0) const { return parse_task_id(path[at]).value_or(TaskId{}); }
  std::string text(std::size_t at = 0) const { return std::string(path[at]); }

  // Hash of the secret of a worker's life that came with the request; empty: none.
  std::string session_hash() const;
};

// Whether that is the session of this worker's present life; the Trouble if not. For what is
// written beside the core.
store::Result<std::optional<Trouble>> check_session(store::Reader& reader, const WorkerId& worker,
                                                    const std::string& presented);

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

// Builds the whole answer where it is read, so that a large one does not hold up an I/O thread.
// `build` takes a store::Reader& and gives a store::Result of the JSON.
template <class Build>
boost::asio::awaitable<Outcome> fetch_answer(Backend& backend, Build build) {
  auto json = co_await fetch(backend, std::move(build));
  if (!json) co_return std::unexpected(std::move(json.error()));
  co_return json_answer(*std::move(json));
}

// Who the caller is when clients share something: its token, or else its address.
std::string client_of(const Call& call);

// Bodies up to this size are read where they arrive: it takes less than the way to another thread,
// or, from a worker, about as long as a large batch of reports may take.
inline constexpr std::size_t kQuickBytes = 16 * 1024;
inline constexpr std::size_t kQuickWorkerBytes = 256 * 1024;

// Runs `work`, which reads a body of the request, off the I/O threads if the body is large.
template <class Work>
boost::asio::awaitable<Expected<std::invoke_result_t<Work>>> digest(Call& call, Work work) {
  const std::size_t quick = call.of_worker ? kQuickWorkerBytes : kQuickBytes;
  if (call.request().body.size() <= quick) co_return work();
  std::optional<std::invoke_result_t<Work>> done;
  std::function<void()> job = [&done, &work] { done.emplace(work()); };
  Backend::Turn turn{client_of(call), call.of_worker};
  const bool taken = co_await call.backend.digest(std::move(turn), std::move(job));
  if (!taken) {
    Trouble full = trouble(Code::kBusy, "too many documents are waiting to be read");
    full.retry_after = seconds(1);
    co_return std::unexpected(std::move(full));
  }
  if (!done) co_return std::unexpected(trouble(Code::kInternal, "the document was not read"));
  co_return *std::move(done);
}

// The body of the request as `read` understands it; what is wrong with it becomes a Trouble.
template <class Read>
boost::asio::awaitable<Expected<typename std::invoke_result_t<Read, std::string_view>::value_type>>
read_body(Call& call, Read read) {
  using Value = typename std::invoke_result_t<Read, std::string_view>::value_type;
  const auto work = [&call, &read]() -> Expected<Value> {
    auto body = read(std::string_view(call.request().body));
    if (body) return *std::move(body);
    return std::unexpected(
        from_problems(std::move(body.error()), call.request().body, Code::kBadBody));
  };
  Expected<Expected<Value>> done = co_await digest(call, work);
  if (!done) co_return std::unexpected(std::move(done.error()));
  co_return *std::move(done);
}

// The core's answer, when it is of the kind that was wanted.
template <class Wanted>
Expected<Wanted> answer_as(Asked<core::ReplyBody> reply) {
  if (!reply) return std::unexpected(from_unserved(reply.error()));
  if (auto* wanted = std::get_if<Wanted>(&*reply)) return std::move(*wanted);
  if (const auto* refusal = std::get_if<core::Refusal>(&*reply)) {
    return std::unexpected(from_refusal(*refusal));
  }
  return std::unexpected(trouble(Code::kInternal, "an answer of another kind"));
}
template <class Wanted>
boost::asio::awaitable<Expected<Wanted>> ask(Backend& backend, core::Command command) {
  co_return answer_as<Wanted>(co_await backend.ask(std::move(command)));
}

// Waiting inside a streamed answer without missing that the other end is gone.
// On the connection's own executor; holds nothing and blocks nobody.

// False: the connection closed, or the server shuts down.
boost::asio::awaitable<bool> pause(net::Exchange& exchange, Duration wait);

// Asks now and then whether the token that began a stream is still good.
class TokenWatch {
 public:
  static constexpr Duration kEvery = seconds(1);

  explicit TokenWatch(Call& call);
  // False: it was revoked. To be asked at least every kEvery.
  boost::asio::awaitable<bool> is_good();

 private:
  Call& call_;
  Instant asked_at_;
};

}  // namespace vortex::api

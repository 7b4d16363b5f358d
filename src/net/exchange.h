#pragma once
// One request on its way to its answer, and the two long answers: held back, and streamed.
//
// A handler is a coroutine on the connection's own executor (one I/O thread at a time). It may wait
// for the engine while the connection is watched: when the other end goes, `closed()` returns.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/time.h"
#include "net/byte_budget.h"
#include "net/http.h"

namespace vortex::net {

// The body of an answer that is written piece by piece (chunked). Each write has a deadline.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;
  // False: the other end is gone; the handler returns then.
  virtual boost::asio::awaitable<bool> write(std::string_view piece) = 0;
};

// On which terms a handler wants the body of its request.
struct BodyTerms {
  std::uint64_t bytes_max = 0;
  ByteCharge::Shares shares = {};  // what a large one counts against
};

class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  virtual Request& request() = 0;
  virtual boost::asio::any_io_executor executor() = 0;
  // Whether request() has all of its body. If not (Bodies::kOnDemand), nothing more of it is read
  // before read_body(), and a handler that never asks closes the connection with its answer.
  virtual bool has_body() const = 0;
  // Set: why there is no body; the handler answers with it. To be called once, before closed().
  virtual boost::asio::awaitable<std::optional<Refusal>> read_body(BodyTerms terms) = 0;
  // The handler has read the body and waits: its memory is given back.
  virtual void drop_body() = 0;
  // Returns when the other end has closed or reset the connection, or the server shuts down.
  // To be used beside another wait (operator ||); at most one at a time.
  virtual boost::asio::awaitable<void> closed() = 0;
  // Sends the head now, and then what the handler writes. The Response the handler returns
  // afterwards is ignored. (Name the headers in a variable first: GCC 12 cannot compile a braced
  // list inside a co_await expression.)
  virtual boost::asio::awaitable<Stream*> begin_stream(int status, std::string content_type,
                                                       Headers headers) = 0;

  // Whatever the handler wants to keep for the next request on this connection; goes with it.
  std::shared_ptr<void> attached;
};

using Handler = std::function<boost::asio::awaitable<Response>(Exchange&)>;

}  // namespace vortex::net

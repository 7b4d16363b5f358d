#pragma once
// Calls to the controllers that --server names, as CONTRACT S05 wants them.
//
// A time limit over the whole call; up to three retries with growing waits, but only where a
// repetition can do no harm (nothing was sent or done, GET, PUT, or an Idempotency-Key is there);
// when a controller is gone the next one is asked at once. Prints nothing: what went wrong comes
// back as a Failure. One thread: call() runs the loop itself; send() is for coroutines on io().

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>

#include "cli/client/failure.h"
#include "cli/context.h"
#include "cli/local/own_tokens.h"
#include "net/client.h"

namespace vortex::cli {

// Building what is asked for: paths and queries, escaped so that any name fits into them.
// Pure functions.

using QueryItems = std::vector<std::pair<std::string, std::string>>;

// One segment of a path or one value of a query.
std::string escaped(std::string_view text);
// Items whose value is empty are left out.
std::string with_query(std::string_view path, const QueryItems& items);

// The controllers that --server names, or else the one of `vortex login`; the token to show them
// and the CA to trust. What is wrong with an address or a file is told to the user.

// At least one. Without a token file, the token of a controller of this user on this machine is
// found by its port.
std::expected<std::vector<net::ClientConfig>, ExitCode> controllers_of(
    const Context& context, local::TokenFor whom = local::TokenFor::kCommands);

// Null: nothing was given, what the system trusts holds. Without what `vortex login` keeps.
std::expected<std::shared_ptr<net::ClientTrust>, ExitCode> trust_of(const Context& context);

enum class Repeat : bool { kWhereSafe, kNever };

struct ApiRequest {
  net::Method method = net::Method::kGet;
  std::string target;
  std::string body;
  net::Headers headers;
  Repeat repeat = Repeat::kWhereSafe;
};

struct ApiAnswer {
  int status = 200;
  net::Headers headers;
  std::string text;                           // the body as it came
  boost::json::value json;                    // null: the body is not JSON
  const boost::json::object& object() const;  // an empty one when the body is none
};

using ApiResult = std::expected<ApiAnswer, Failure>;

struct ApiConfig {
  std::vector<net::Endpoint> servers;       // at least one
  std::string token;                        // empty: one that is found, see own_tokens.h
  std::shared_ptr<net::ClientTrust> trust;  // null: what the system trusts
  Duration limit = seconds(30);
  Duration first_wait = millis(200);  // doubles with every retry
  Duration retry_after_max = seconds(5);
  std::uint32_t retries_max = 3;
  std::function<void(const std::string& line)> trace;  // empty: nobody listens
};

class ApiClient {
 public:
  // From --server, --token-file and --timeout. What is wrong with them is told to the user.
  static std::expected<std::unique_ptr<ApiClient>, ExitCode> open(const Context& context);
  explicit ApiClient(ApiConfig config);
  ~ApiClient() = default;
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  ApiResult call(ApiRequest request);
  ApiResult get(std::string target) {
    return call({net::Method::kGet, std::move(target), {}, {}, {}});
  }
  ApiResult post(std::string target, std::string body = {}) {
    return call({net::Method::kPost, std::move(target), std::move(body), {}, {}});
  }
  boost::asio::awaitable<ApiResult> send(ApiRequest request);

  boost::asio::io_context& io() { return io_; }
  // For answers that do not end: a connection of its own to the controller that is asked now.
  std::unique_ptr<net::Client> connect();
  void try_next_server();
  void set_limit(Duration limit) { config_.limit = limit; }  // of the calls that follow
  // Ends the calls under way and answers no more: the program is about to end.
  void give_up();
  void break_off();            // ends the calls under way only
  std::string server() const;  // the one that is asked now
  std::size_t servers() const { return config_.servers.size(); }

 private:
  struct Judged;

  boost::asio::awaitable<std::expected<net::Response, net::CallError>> try_once(ApiRequest request,
                                                                                Duration limit);
  Judged judge(const ApiRequest& request,
               const std::expected<net::Response, net::CallError>& answer) const;
  net::ClientConfig client_config() const;
  boost::asio::awaitable<void> sleep_for(Duration wait);

  ApiConfig config_;
  boost::asio::io_context io_{1};
  std::size_t current_ = 0;
  std::vector<std::unique_ptr<net::Client>> idle_;  // connected to the current server
  std::vector<net::Client*> busy_;
  std::vector<boost::asio::steady_timer*> waiting_;
  bool given_up_ = false;
};

// True: sending it twice has the effect of sending it once.
bool is_repeatable(const ApiRequest& request);
// For requests that make something: one key for all tries of one act.
std::string fresh_idempotency_key();

}  // namespace vortex::cli

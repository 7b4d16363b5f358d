#pragma once
// Sends requests to the interface without sockets, and holds every answer against its schema.
//
// An answer that has a field nobody declared, or lacks one, fails the test that asked for it. What
// was answered with success is remembered, so that a test can demand that nothing was left out.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>

#include "api/api.h"
#include "net/exchange.h"
#include "tests/api/desk.h"

namespace vortex::api {

net::Request make_request(std::string_view method, std::string_view target, std::string body = {},
                          net::Headers headers = {});

class TestStream : public net::Stream {
 public:
  boost::asio::awaitable<bool> write(std::string_view piece) override;
  std::string text;
};

class TestExchange : public net::Exchange {
 public:
  TestExchange(boost::asio::io_context& io, net::Request request);
  const net::Request& request() const override { return request_; }
  net::Request& request() override { return request_; }
  boost::asio::any_io_executor executor() override { return io_.get_executor(); }
  bool has_body() const override { return true; }
  boost::asio::awaitable<std::optional<net::Refusal>> read_body(net::BodyTerms terms) override;
  void drop_body() override { std::string().swap(request_.body); }
  boost::asio::awaitable<void> closed() override;
  boost::asio::awaitable<net::Stream*> begin_stream(int status, std::string content_type,
                                                    net::Headers headers) override;
  void hang_up();

  TestStream stream;
  bool streaming = false;
  std::string stream_type;
  std::optional<net::Response> response;

 private:
  boost::asio::io_context& io_;
  net::Request request_;
  boost::asio::steady_timer line_;
  bool gone_ = false;
};

struct Answer {
  int status = 0;
  std::string type;
  net::Headers headers;
  std::string body;
  boost::json::value json;  // when the body is JSON

  std::string header(std::string_view name) const;
  std::string code() const;  // of a problem
  const boost::json::value& at(std::string_view pointer) const { return json.at_pointer(pointer); }
  std::string text(std::string_view pointer) const;
  std::int64_t number(std::string_view pointer) const;
};

class Client {
 public:
  explicit Client(AccessPolicy policy = open_policy());

  Answer send(net::Request request);
  Answer get(std::string_view target, net::Headers headers = {});
  Answer post(std::string_view target, std::string body = {}, net::Headers headers = {});
  Answer put(std::string_view target, std::string body);
  Answer erase(std::string_view target);

  // Begins a request whose answer takes its time.
  std::shared_ptr<TestExchange> begin(net::Request request);
  // Runs until it holds; fails the test when that takes too long.
  template <class Holds>
  void until(Holds holds);

  static AccessPolicy open_policy();

  boost::asio::io_context io;
  Desk desk;
  Api api;
  std::set<std::string> answered;  // ids of routes that were answered with success
  std::string token;               // sent with every request unless empty
  // Requests that need the session of a worker carry it, as those of a worker would: what they
  // name, or else the one that synced last. A test of sessions itself says what is sent.
  bool carries_sessions = true;

 private:
  void add_session(net::Request& request);
  std::map<std::string, std::string> sessions_;  // by worker
  std::string last_worker_;

  bool run_some();
  void check(const net::Request& request, const Answer& answer);
};

template <class Holds>
void Client::until(Holds holds) {
  for (int turns = 0; turns < 2'000 && !holds(); ++turns) {
    if (!run_some()) break;
  }
  if (!holds()) throw std::runtime_error("it did not happen in time");
}

// What is wrong with a value of this schema; empty: nothing.
std::string schema_fault(const boost::json::value& value, std::string_view schema);

}  // namespace vortex::api

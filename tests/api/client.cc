#include "tests/api/client.h"

#include <chrono>
#include <stdexcept>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include "api/router.h"
#include "net/http.h"

namespace vortex::api {

namespace asio = boost::asio;

namespace {

net::Method method_of(std::string_view text) {
  using net::Method;
  for (const Method method : {Method::kGet, Method::kHead, Method::kPost, Method::kPut,
                              Method::kPatch, Method::kDelete, Method::kOptions}) {
    if (net::to_text(method) == text) return method;
  }
  return Method::kOther;
}

asio::awaitable<void> serve(net::Handler handler, std::shared_ptr<TestExchange> exchange) {
  net::Response response = co_await handler(*exchange);
  exchange->response = std::move(response);
}

bool has_type(const boost::json::value& value, const Field& field) {
  switch (field.type) {
    case Type::kText:
    case Type::kTime:
      return value.is_string();
    case Type::kInteger:
      return value.is_int64() || value.is_uint64();
    case Type::kBoolean:
      return value.is_bool();
    case Type::kTextMap:
    case Type::kCountMap:
    case Type::kObject:
      return value.is_object();
    case Type::kTextList:
    case Type::kObjectList:
      return value.is_array();
    case Type::kAny:
      return true;
  }
  return false;
}

std::string value_fault(const boost::json::value& value, const Field& field) {
  const std::string name(field.name);
  if (value.is_null() && field.type != Type::kAny) {
    return may_be_null(field) ? "" : name + " is null";
  }
  if (!has_type(value, field)) return name + " has another type";
  if (!field.values.empty() &&
      std::ranges::find(field.values, std::string_view(value.get_string())) == field.values.end()) {
    return name + " is none of its values";
  }
  if (field.type == Type::kTime && !value.get_string().ends_with("Z")) return name + " is no time";
  if (field.type == Type::kObject) return schema_fault(value, field.of);
  if (field.type == Type::kTextMap || field.type == Type::kCountMap) {
    for (const auto& item : value.get_object()) {
      if (item.value().is_string() != (field.type == Type::kTextMap)) return name + ": wrong item";
    }
  }
  if (field.type == Type::kObjectList || field.type == Type::kTextList) {
    for (const auto& item : value.get_array()) {
      if (field.type == Type::kTextList && !item.is_string()) return name + ": wrong item";
      if (field.type == Type::kTextList) continue;
      if (std::string fault = schema_fault(item, field.of); !fault.empty()) return fault;
    }
  }
  return {};
}

std::vector<Field> fields_of(const Schema& schema) {
  std::vector<Field> fields;
  if (!schema.base.empty()) fields = fields_of(*find_schema(schema.base));
  fields.insert(fields.end(), schema.fields.begin(), schema.fields.end());
  return fields;
}

}  // namespace

std::string schema_fault(const boost::json::value& value, std::string_view name) {
  const Schema* schema = find_schema(name);
  if (schema == nullptr) return "there is no schema " + std::string(name);
  if (!value.is_object()) return std::string(name) + " is no object";
  const auto fields = fields_of(*schema);
  const auto& object = value.get_object();
  for (const Field& field : fields) {
    const auto* found = object.if_contains(field.name);
    if (found == nullptr) {
      if (may_be_absent(field)) continue;
      return std::string(name) + " lacks " + std::string(field.name);
    }
    if (std::string fault = value_fault(*found, field); !fault.empty()) {
      return std::string(name) + ": " + fault;
    }
  }
  for (const auto& item : object) {
    const bool known =
        std::ranges::find(fields, std::string_view(item.key()), &Field::name) != fields.end();
    if (!known && !schema->open) {
      return std::string(name) + " has the undeclared field " + std::string(item.key());
    }
  }
  return {};
}

net::Request make_request(std::string_view method, std::string_view target, std::string body,
                          net::Headers headers) {
  net::Request request;
  request.method = method_of(method);
  request.headers = std::move(headers);
  if (!net::find_header(request.headers, "Host")) {
    request.headers.emplace_back("Host", "localhost:8080");
  }
  request.body = std::move(body);
  request.peer = "127.0.0.1:40000";
  if (const auto refusal = net::read_target(target, request)) {
    throw std::runtime_error(refusal->detail);
  }
  return request;
}

asio::awaitable<bool> TestStream::write(std::string_view piece) {
  text += piece;
  co_return true;
}

TestExchange::TestExchange(asio::io_context& io, net::Request request)
    : io_(io), request_(std::move(request)), line_(io, asio::steady_timer::time_point::max()) {}

asio::awaitable<std::optional<net::Refusal>> TestExchange::read_body(net::BodyTerms /*terms*/) {
  co_return std::nullopt;
}

asio::awaitable<void> TestExchange::closed() {
  // Ends when hung up, and when whoever waits beside it has had enough.
  if (!gone_) co_await line_.async_wait(asio::as_tuple(asio::use_awaitable));
}

asio::awaitable<net::Stream*> TestExchange::begin_stream(int status, std::string content_type,
                                                         net::Headers /*headers*/) {
  EXPECT_EQ(status, 200);
  streaming = true;
  stream_type = std::move(content_type);
  co_return &stream;
}

void TestExchange::hang_up() {
  gone_ = true;
  line_.expires_at(asio::steady_timer::time_point::min());
}

std::string Answer::header(std::string_view name) const {
  return std::string(net::find_header(headers, name).value_or(std::string_view{}));
}

std::string Answer::code() const { return text("/code"); }

std::string Answer::text(std::string_view pointer) const {
  return std::string(json.at_pointer(pointer).as_string());
}

std::int64_t Answer::number(std::string_view pointer) const {
  return json.at_pointer(pointer).to_number<std::int64_t>();
}

AccessPolicy Client::open_policy() {
  AccessPolicy policy;
  policy.mode = AccessPolicy::Mode::kOpen;
  return policy;
}

Client::Client(AccessPolicy policy) : desk(io), api(desk, std::move(policy)) {}

Answer Client::send(net::Request request) {
  if (!token.empty() && !net::find_header(request.headers, "Authorization")) {
    request.headers.emplace_back("Authorization", "Bearer " + token);
  }
  const net::Request sent = request;
  auto exchange = begin(std::move(request));
  until([&] { return exchange->response.has_value(); });
  Answer answer;
  answer.status = exchange->response->status;
  answer.type = exchange->response->content_type;
  answer.headers = exchange->response->headers;
  answer.body = exchange->response->body;
  if (answer.type.find("json") != std::string::npos) answer.json = boost::json::parse(answer.body);
  check(sent, answer);
  if (answer.status == 200 && sent.method == net::Method::kPost && sent.target == "/api/workers") {
    const auto body = boost::json::parse(sent.body);
    sessions_[std::string(body.at("id").as_string())] = answer.text("/session");
  }
  return answer;
}

void Client::add_session(net::Request& request) {
  const auto& path = request.segments;
  if (!carries_sessions || path.size() < 4) return;
  const bool of_worker = path[1] == "workers" && (path[3] == "sync" || path[3] == "exited");
  const bool of_task = path[1] == "tasks" && (path[3] == "logs" || path[3] == "checkpoint");
  if (!of_worker && !of_task) return;
  std::string worker = of_worker ? path[2] : last_worker_;
  if (const auto named = request.query.find("worker")) worker = *named;
  if (of_worker) last_worker_ = worker;
  if (net::find_header(request.headers, "Vortex-Session")) return;
  const auto known = sessions_.find(worker);
  if (known != sessions_.end()) request.headers.emplace_back("Vortex-Session", known->second);
}

Answer Client::get(std::string_view target, net::Headers headers) {
  return send(make_request("GET", target, {}, std::move(headers)));
}

Answer Client::post(std::string_view target, std::string body, net::Headers headers) {
  return send(make_request("POST", target, std::move(body), std::move(headers)));
}

Answer Client::put(std::string_view target, std::string body) {
  return send(make_request("PUT", target, std::move(body)));
}

Answer Client::erase(std::string_view target) { return send(make_request("DELETE", target)); }

std::shared_ptr<TestExchange> Client::begin(net::Request request) {
  add_session(request);
  auto exchange = std::make_shared<TestExchange>(io, std::move(request));
  asio::co_spawn(io, serve(api.handler(), exchange), asio::detached);
  return exchange;
}

bool Client::run_some() {
  if (io.stopped()) io.restart();
  return io.run_one_for(std::chrono::seconds(5)) > 0;
}

void Client::check(const net::Request& request, const Answer& answer) {
  EXPECT_FALSE(answer.header("X-Request-Id").empty());
  if (answer.type == "application/problem+json") {
    EXPECT_GE(answer.status, 400);
    EXPECT_EQ(schema_fault(answer.json, "Problem"), "") << answer.body;
    EXPECT_EQ(answer.number("/status"), answer.status);
    EXPECT_EQ(answer.text("/request_id"), answer.header("X-Request-Id"));
    return;
  }
  const Match match = Router(all_routes()).find(request.method, request.segments);
  if (match.route == nullptr || answer.status >= 300) return;
  const bool made_or_there = match.route->success == 201 || match.route->id == "put_dag";
  if (!made_or_there) {
    EXPECT_EQ(answer.status, match.route->success) << request.target;
  }
  if (match.route->answer_schema.empty() || answer.type != "application/json") {
    EXPECT_TRUE(answer.status != 204 || answer.body.empty()) << request.target;
  } else {
    EXPECT_EQ(schema_fault(answer.json, match.route->answer_schema), "")
        << request.target << ": " << answer.body;
  }
  answered.emplace(match.route->id);
}

}  // namespace vortex::api

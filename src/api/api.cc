#include "api/api.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "api/call.h"
#include "base/text.h"

namespace vortex::api {
namespace {

bool is_id_char(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

bool is_json_type(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  const std::string lower = lower_case(type);
  const bool suffix = lower.starts_with("application/") && lower.ends_with("+json");
  // What curl -d says of whatever it sends. A page of another origin is refused by its Origin.
  const bool curl = lower == "application/x-www-form-urlencoded";
  return lower == "application/json" || suffix || curl;
}

std::optional<Trouble> check_type(const Route& route, const net::Request& request) {
  if (route.body != Body::kJson) return std::nullopt;
  const auto type = net::find_header(request.headers, "Content-Type");
  if (!type || is_json_type(*type)) return std::nullopt;
  return trouble(Code::kNotJsonType, fmt::format("the content type is '{}'", *type));
}

// A mistyped filter would otherwise silently select everything.
std::optional<Trouble> check_query(const Route& route, const net::Request& request) {
  for (const auto& [name, value] : request.query.items) {
    if (std::ranges::find(route.query, name, &QueryParam::name) != route.query.end()) continue;
    std::vector<std::string_view> known;
    for (const QueryParam& param : route.query) known.push_back(param.name);
    Trouble out = trouble(Code::kBadQuery, fmt::format("unknown parameter '{}'", name));
    const std::string_view near = nearest_name(name, known);
    if (!near.empty()) out.hint = fmt::format("did you mean '{}'?", near);
    return out;
  }
  return std::nullopt;
}

net::Response options_answer(const std::string& allow) {
  net::Response response;
  response.status = 204;
  response.content_type.clear();
  response.headers.emplace_back("Allow", allow);
  return response;
}

}  // namespace

Api::Api(Backend& backend, AccessPolicy policy, net::Handler pages)
    : backend_(backend),
      access_(backend, std::move(policy)),
      router_(all_routes()),
      pages_(std::move(pages)) {}

net::Handler Api::handler() {
  return [this](net::Exchange& exchange) { return serve(exchange); };
}

net::Complain Api::complain() {
  return [this](int status, std::string_view detail) {
    Trouble out = trouble(code_of_status(status), std::string(detail));
    out.status = status;
    if (status == 503) out.retry_after = seconds(1);
    const std::string id = fmt::format("c-{:x}", ++requests_);
    net::Response response = write_problem(out, id);
    response.headers.emplace_back("X-Request-Id", id);
    return response;
  };
}

boost::asio::awaitable<net::Response> Api::serve(net::Exchange& exchange) {
  const std::string request_id = request_id_for(exchange.request());
  Outcome outcome = std::unexpected(Trouble{});
  try {
    outcome = co_await answer(exchange, request_id);
  } catch (const std::exception& error) {
    // Of the libraries below; nothing of ours throws.
    outcome = std::unexpected(trouble(Code::kInternal, error.what()));
  }
  net::Response response =
      outcome ? *std::move(outcome) : write_problem(outcome.error(), request_id);
  response.headers.emplace_back("X-Request-Id", request_id);
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  co_return response;
}

boost::asio::awaitable<Outcome> Api::answer(net::Exchange& exchange,
                                            const std::string& request_id) {
  const net::Request& request = std::as_const(exchange).request();
  if (auto wrong = access_.check_place(request)) co_return std::unexpected(*std::move(wrong));
  Match match = router_.find(request.method, request.segments);
  if (match.route == nullptr) co_return co_await answer_unrouted(exchange, std::move(match));
  const Route& route = *match.route;
  std::expected<Caller, Trouble> caller = co_await access_.admit(request, route.need);
  if (!caller) co_return std::unexpected(std::move(caller.error()));
  if (auto wrong = check_type(route, request)) co_return std::unexpected(*std::move(wrong));
  if (auto wrong = check_query(route, request)) co_return std::unexpected(*std::move(wrong));
  Call call{backend_,
            access_,
            exchange,
            *std::move(caller),
            request_id,
            std::move(match.parameters),
            request.method == net::Method::kHead};
  Outcome outcome = co_await route.handle(call);
  co_return outcome;
}

boost::asio::awaitable<Outcome> Api::answer_unrouted(net::Exchange& exchange, Match match) {
  const net::Request& request = std::as_const(exchange).request();
  if (!match.allow.empty()) {
    if (request.method == net::Method::kOptions) co_return options_answer(match.allow);
    Trouble out = trouble(Code::kWrongMethod,
                          fmt::format("{} allows {}", request.target.substr(0, 200), match.allow));
    out.allow = std::move(match.allow);
    co_return std::unexpected(std::move(out));
  }
  const bool api = !request.segments.empty() && request.segments.front() == "api";
  const bool reads = request.method == net::Method::kGet || request.method == net::Method::kHead;
  if (pages_ && !api && reads) {
    net::Response page = co_await pages_(exchange);
    co_return page;
  }
  co_return std::unexpected(trouble(match.code, std::string(request.target.substr(0, 200))));
}

std::string Api::request_id_for(const net::Request& request) {
  constexpr std::size_t kIdMax = 64;
  const auto given = net::find_header(request.headers, "X-Request-Id");
  const bool usable = given && !given->empty() && given->size() <= kIdMax &&
                      std::ranges::all_of(*given, is_id_char);
  if (usable) return std::string(*given);
  return fmt::format("{}-{:x}", request.client_id.empty() ? "vx" : request.client_id, ++requests_);
}

boost::asio::awaitable<bool> pause(net::Exchange& exchange, Duration wait) {
  using namespace boost::asio::experimental::awaitable_operators;
  boost::asio::steady_timer timer(exchange.executor(), std::chrono::microseconds(wait.us));
  const auto first = co_await (timer.async_wait(boost::asio::use_awaitable) || exchange.closed());
  co_return first.index() == 0;
}

}  // namespace vortex::api

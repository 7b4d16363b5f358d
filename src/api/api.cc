#include "api/api.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/call.h"
#include "api/handlers.h"
#include "api/peers/pass_on.h"
#include "api/secrets.h"
#include "base/clock.h"
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

// The token of an attempt opens the routes that are marked for it, and of those its own task.
std::optional<Trouble> check_attempt(const Match& match, const Caller& caller) {
  if (!caller.attempt || match.route->need == Need::kAnyone) return std::nullopt;
  const bool own = match.route->for_attempts && !match.parameters.empty() &&
                   parse_task_id(match.parameters.front()) == caller.attempt->task;
  if (own) return std::nullopt;
  return trouble(Code::kNotOfAttempt);
}

constexpr std::uint64_t kSmallBody = 64 * 1024;
constexpr std::uint64_t kMediumBody = 4 * 1024 * 1024;

// Whatever is set, one request of the largest size fits.
std::uint64_t at_least_one_body(const Backend& backend, std::uint32_t ControllerSettings::* mib) {
  const ControllerSettings& settings = backend.settings().settings.controller;
  return std::uint64_t{std::max(settings.*mib, settings.max_body_mib)} << 20U;
}

// Without the port.
std::string_view host_of(std::string_view peer) { return peer.substr(0, peer.rfind(':')); }

std::string client_name(const Caller& caller, const net::Request& request) {
  return caller.name.empty() ? fmt::format("@{}", host_of(request.peer)) : caller.name;
}

Trouble from_server(const net::Refusal& refusal) {
  const Code code = refusal.status == 429   ? Code::kTokenFull
                    : refusal.status == 503 ? Code::kBodiesFull
                                            : code_of_status(refusal.status);
  Trouble out = trouble(code, refusal.detail);
  out.status = refusal.status;
  if (refusal.status == 429 || refusal.status == 503) out.retry_after = seconds(1);
  return out;
}

Trouble not_leader() {
  Trouble out = trouble(Code::kNotLeader, "another controller passed it on to this one");
  out.retry_after = seconds(1);
  return out;
}

// The leader names the cookie as its own.
void own_cookie(const net::Request& request, Outcome& outcome) {
  if (!outcome) return;
  for (auto& [name, value] : outcome->headers) {
    if (!same_ignoring_case(name, "Set-Cookie")) continue;
    const std::size_t begin = value.find('=') + 1;
    value = set_cookie(request, value.substr(begin, value.find(';') - begin));
  }
}

net::Response options_answer(const std::string& allow) {
  net::Response response;
  response.status = 204;
  response.content_type.clear();
  response.headers.emplace_back("Allow", allow);
  return response;
}

}  // namespace

Api::Api(Backend& backend, AccessPolicy policy, Pages pages)
    : backend_(backend),
      access_(backend, std::move(policy)),
      audit_(backend),
      router_(all_routes()),
      pages_(std::move(pages)),
      bodies_max_(at_least_one_body(backend, &ControllerSettings::body_budget_mib)),
      bodies_(std::make_shared<net::ByteBudget>(bodies_max_)) {}

net::Headers default_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

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
  Trail trail;
  try {
    outcome = co_await answer(exchange, request_id, trail);
  } catch (const std::exception& error) {
    // Of the libraries below; nothing of ours throws.
    outcome = std::unexpected(trouble(Code::kInternal, error.what()));
  }
  co_await record(std::as_const(exchange).request(), std::move(trail), outcome);
  net::Response response =
      outcome ? *std::move(outcome) : write_problem(outcome.error(), request_id);
  response.headers.emplace_back("X-Request-Id", request_id);
  co_return response;
}

// Everything that was to change something, and everything that was refused. Reads are not recorded,
// nor what workers say all day.
boost::asio::awaitable<void> Api::record(const net::Request& request, Trail trail,
                                         const Outcome& outcome) {
  AuditRow entry;
  if (outcome) {
    entry.status = static_cast<std::uint32_t>(outcome->status);
  } else {
    const CodeInfo& code = about(outcome.error().code);
    const int status = outcome.error().status;
    entry.status = static_cast<std::uint32_t>(status == 0 ? code.status : status);
    entry.code = code.text;
  }
  if (trail.passed_on) co_return;  // the leader records it
  const Route* route = trail.route;
  const bool refused = entry.status == 401 || entry.status == 403;
  const bool changes = route != nullptr && route->method != net::Method::kGet &&
                       route->need != Need::kViewer && !route->quiet;
  if (!refused && !changes) co_return;
  entry.who = std::move(trail.who);
  entry.address = host_of(request.peer);
  if (route != nullptr) entry.operation = route->id;
  entry.target = std::move(trail.target);
  const bool of_operator =
      changes && (route->need == Need::kOperator || route->need == Need::kAdmin);
  if (outcome && of_operator) {
    co_await audit_.write_now(std::move(entry));
  } else {
    audit_.note(std::move(entry));
  }
}

boost::asio::awaitable<Outcome> Api::answer(net::Exchange& exchange, const std::string& request_id,
                                            Trail& trail) {
  const net::Request& request = std::as_const(exchange).request();
  const auto marked = net::find_header(request.headers, kMarkHeader).has_value();
  if (marked) {
    if (auto wrong = co_await accept_mark(exchange)) co_return std::unexpected(*std::move(wrong));
  }
  if (auto wrong = access_.check_place(request)) co_return std::unexpected(*std::move(wrong));
  Match match = router_.find(request.method, request.segments);
  if (match.route == nullptr) co_return answer_unrouted(request, std::move(match));
  const Route& route = *match.route;
  trail.route = &route;
  trail.target = fmt::format("{}", fmt::join(match.parameters, "/"));
  std::expected<Caller, Trouble> caller = co_await access_.admit(request, route.need, &trail.who);
  if (!caller) co_return std::unexpected(std::move(caller.error()));
  if (auto wrong = check_attempt(match, *caller)) co_return std::unexpected(*std::move(wrong));
  if (auto wrong = check_type(route, request)) co_return std::unexpected(*std::move(wrong));
  if (auto wrong = check_query(route, request)) co_return std::unexpected(*std::move(wrong));
  if (!exchange.has_body() || request.body.size() > kSmallBody) {
    if (auto wrong = co_await receive(exchange, route, *caller)) {
      co_return std::unexpected(*std::move(wrong));
    }
  }
  if (is_for_leader(route, request)) {
    if (marked) co_return std::unexpected(not_leader());
    trail.passed_on = true;
    std::optional<Outcome> passed = co_await pass_on_to_leader(exchange, route, request_id);
    if (passed) {
      if (route.served == Served::kByLeaderIfPass) own_cookie(request, *passed);
      co_return *std::move(passed);
    }
    trail.passed_on = false;
  }
  Call call{backend_,
            access_,
            exchange,
            *std::move(caller),
            request_id,
            std::move(match.parameters),
            request.method == net::Method::kHead,
            route.need == Need::kWorker,
            audit_};
  Outcome outcome = co_await route.handle(call);
  if (!call.subject.empty()) trail.target = std::move(call.subject);
  co_return outcome;
}

// Who passed it on is a controller of this database, and what it says of the client holds.
boost::asio::awaitable<std::optional<Trouble>> Api::accept_mark(net::Exchange& exchange) {
  const std::expected<std::string, Trouble> key = co_await access_.attempt_key();
  if (!key) co_return key.error();
  const net::Request& request = std::as_const(exchange).request();
  const auto mark = net::find_header(request.headers, kMarkHeader);
  const std::optional<Origin> origin = read_mark(*key, request, *mark);
  if (!origin) co_return trouble(Code::kForeignMark);
  apply_origin(*origin, exchange.request());
  co_return std::nullopt;
}

bool Api::is_for_leader(const Route& route, const net::Request& request) {
  const Peers* peers = backend_.peers();
  if (peers == nullptr || peers->is_alone() || peers->leads()) return false;
  if (route.served == Served::kByLeaderIfStreamed) return wants_event_stream(request);
  if (route.served == Served::kByLeaderIfPass) return request.body.contains(kLoginPrefix);
  return route.served == Served::kByLeader;
}

boost::asio::awaitable<std::optional<Outcome>> Api::pass_on_to_leader(
    net::Exchange& exchange, const Route& route, const std::string& request_id) {
  std::expected<std::string, Trouble> key = co_await access_.attempt_key();
  if (!key) co_return Outcome(std::unexpected(std::move(key.error())));
  const bool head = std::as_const(exchange).request().method == net::Method::kHead;
  PassedOn what{.key = *std::move(key),
                .request_id = request_id,
                .streams = route.served == Served::kByLeaderIfStreamed && !head};
  co_return co_await pass_on(exchange, *backend_.peers(), std::move(what));
}

std::uint64_t Api::body_max(const Route& route) const {
  switch (route.body_size) {
    case BodySize::kSmall:
      return kSmallBody;
    case BodySize::kMedium:
      return kMediumBody;
    case BodySize::kLarge:
      break;
  }
  return std::uint64_t{backend_.settings().settings.controller.max_body_mib} << 20U;
}

// The part of a client that nobody else can use up, for as long as one of its requests counts.
std::shared_ptr<net::ByteBudget> Api::budget_of(const std::string& client) {
  constexpr std::size_t kSweepFrom = 256;
  const std::scoped_lock lock(mutex_);
  if (budgets_.size() >= kSweepFrom) {
    std::erase_if(budgets_, [](const auto& entry) { return entry.second.expired(); });
  }
  std::weak_ptr<net::ByteBudget>& kept = budgets_[client];
  auto budget = kept.lock();
  if (!budget) {
    budget = std::make_shared<net::ByteBudget>(
        at_least_one_body(backend_, &ControllerSettings::body_budget_per_token_mib));
    kept = budget;
  }
  return budget;
}

// The rest of the body, now that it is known who sends it and where to.
boost::asio::awaitable<std::optional<Trouble>> Api::receive(net::Exchange& exchange,
                                                            const Route& route,
                                                            const Caller& caller) {
  const net::Request& request = std::as_const(exchange).request();
  const std::uint64_t most = body_max(route);
  net::BodyTerms terms;
  terms.bytes_max = most;
  if (!exchange.has_body()) {
    // Workers can use all of it, everybody else leaves them a part.
    const std::uint64_t ceiling =
        route.need == Need::kWorker
            ? bodies_max_
            : std::max(bodies_max_ / 4 * 3,
                       at_least_one_body(backend_, &ControllerSettings::max_body_mib));
    terms.shares[0] = {budget_of(client_name(caller, request)),
                       UINT64_MAX,
                       {429, "too many bytes of this client's requests are on their way"}};
    terms.shares[1] = {bodies_, ceiling, {503, "too many bytes of requests are on their way"}};
    const std::optional<net::Refusal> refusal = co_await exchange.read_body(std::move(terms));
    if (refusal) co_return from_server(*refusal);
  }
  if (request.body.size() <= most) co_return std::nullopt;
  co_return trouble(Code::kTooLarge, fmt::format("the body is larger than {} bytes", most));
}

std::string Call::session_hash() const {
  const auto secret = net::find_header(request().headers, "Vortex-Session");
  return secret && !secret->empty() ? hash_token(*secret) : std::string();
}

store::Result<std::optional<Trouble>> check_session(store::Reader& reader, const WorkerId& worker,
                                                    const std::string& presented) {
  const auto found = reader.worker(worker);
  if (!found) return std::unexpected(found.error());
  if (!*found) return trouble(Code::kRegisterFirst, worker.text);
  if (same_hash((*found)->row.session_hash, presented)) return std::nullopt;
  return trouble(presented.empty() ? Code::kNoSession : Code::kWrongSession);
}

std::string client_of(const Call& call) { return client_name(call.caller, call.request()); }

Outcome Api::answer_unrouted(const net::Request& request, Match match) {
  if (!match.allow.empty()) {
    if (request.method == net::Method::kOptions) return options_answer(match.allow);
    Trouble out = trouble(Code::kWrongMethod,
                          fmt::format("{} allows {}", request.target.substr(0, 200), match.allow));
    out.allow = std::move(match.allow);
    return std::unexpected(std::move(out));
  }
  const bool api = !request.segments.empty() && request.segments.front() == "api";
  const bool reads = request.method == net::Method::kGet || request.method == net::Method::kHead;
  if (pages_ && !api && reads) {
    if (auto page = pages_(request)) return *std::move(page);
  }
  return std::unexpected(trouble(match.code, std::string(request.target.substr(0, 200))));
}

std::string Api::request_id_for(const net::Request& request) {
  constexpr std::size_t kIdMax = 64;
  const auto given = net::find_header(request.headers, "X-Request-Id");
  const bool usable = given && !given->empty() && given->size() <= kIdMax &&
                      std::ranges::all_of(*given, is_id_char);
  if (usable) return std::string(*given);
  return fmt::format("{}-{:x}", request.client_id.empty() ? "vx" : request.client_id, ++requests_);
}

TokenWatch::TokenWatch(Call& call) : call_(call), asked_at_(boot_clock_now()) {}

boost::asio::awaitable<bool> TokenWatch::is_good() {
  const Instant now = boot_clock_now();
  if (now - asked_at_ < kEvery) co_return true;
  asked_at_ = now;
  co_return co_await call_.access.still_admits(call_.caller);
}

boost::asio::awaitable<bool> pause(net::Exchange& exchange, Duration wait) {
  using namespace boost::asio::experimental::awaitable_operators;
  boost::asio::steady_timer timer(exchange.executor(), std::chrono::microseconds(wait.us));
  const auto first = co_await (timer.async_wait(boost::asio::use_awaitable) || exchange.closed());
  co_return first.index() == 0;
}

}  // namespace vortex::api

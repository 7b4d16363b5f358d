#include "api/peers/pass_on.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <fmt/format.h>

#include "api/access.h"
#include "api/secrets.h"
#include "base/text.h"
#include "codec/text.h"
#include "net/client.h"
#include "net/socket.h"

namespace vortex::api {
namespace {

namespace asio = boost::asio;
using Tried = std::expected<net::Response, net::CallError>;

constexpr std::string_view kVersion = "1";
constexpr Duration kConnectLimit = seconds(2);
// Longer than any call that the leader parks; a leader that is lost meanwhile ends it sooner.
constexpr Duration kAnswerLimit = hours(1) + minutes(2);
constexpr Duration kSilenceLimit =
    minutes(1);  // of a stream, which shows a sign of life more often
constexpr Duration kLookAgain = millis(100);
constexpr std::uint16_t kNoPort = 0;

// Of one connection, or made by whoever passes it on.
constexpr std::array<std::string_view, 17> kNotPassedOn{
    "Host",    "Origin",  "Connection",     "Keep-Alive",        "Proxy-Connection", "TE",
    "Trailer", "Upgrade", "Content-Length", "Transfer-Encoding", "Expect",           "X-Request-Id",
    "Date",    "Server",  "Cookie",         kSessionHeader,      kMarkHeader};

bool is_passed_on(std::string_view name) {
  return std::ranges::none_of(
      kNotPassedOn, [name](std::string_view other) { return same_ignoring_case(name, other); });
}

std::string_view host_of(std::string_view peer) {
  std::string_view host = peer.substr(0, peer.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

std::string header_of(const net::Request& request, std::string_view name) {
  return std::string(net::find_header(request.headers, name).value_or(std::string_view{}));
}

std::string signed_text(const net::Request& request, std::string_view session,
                        std::string_view fields) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", net::to_text(request.method), request.target,
                     hash_token(header_of(request, "Authorization")),
                     hash_token(header_of(request, "Vortex-Session")), hash_token(session), fields);
}

// The text up to the next semicolon, which is taken off with it.
std::string_view take_field(std::string_view& text) {
  const std::size_t end = std::min(text.find(';'), text.size());
  const std::string_view field = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return field;
}

}  // namespace

Origin origin_of(const net::Request& request) {
  return {.peer = request.peer,
          .is_private = request.encrypted || net::is_loopback(host_of(request.peer)),
          .certificate = request.peer_name};
}

std::string write_mark(std::string_view key, const net::Request& request, const Origin& origin) {
  std::string name;
  codec::append_base64(name, origin.certificate);
  const std::string fields =
      fmt::format("{};{};{};{}", kVersion, origin.peer, origin.is_private ? 1 : 0, name);
  const std::string text = signed_text(request, cookie_of(request), fields);
  return fmt::format("{};{}", fields, sign_for_controllers(key, text));
}

std::optional<Origin> read_mark(std::string_view key, const net::Request& request,
                                std::string_view mark) {
  const std::size_t mac_at = mark.rfind(';');
  if (mac_at == mark.npos) return std::nullopt;
  std::string_view fields = mark.substr(0, mac_at);
  const std::string session = header_of(request, kSessionHeader);
  const std::string expected = sign_for_controllers(key, signed_text(request, session, fields));
  if (!same_hash(expected, mark.substr(mac_at + 1))) return std::nullopt;
  // A controller wrote what follows, maybe a newer one.
  if (take_field(fields) != kVersion) return std::nullopt;
  Origin origin;
  origin.peer = take_field(fields);
  origin.is_private = take_field(fields) == "1";
  auto name = codec::decode_base64(take_field(fields));
  if (!name || origin.peer.empty()) return std::nullopt;
  origin.certificate = *std::move(name);
  return origin;
}

void apply_origin(const Origin& origin, net::Request& request) {
  const bool here = net::is_loopback(host_of(request.peer));
  request.encrypted = origin.is_private && (request.encrypted || here);
  if (here || !net::is_loopback(host_of(origin.peer))) request.peer = origin.peer;
  request.peer_name = origin.certificate;
  const std::string session = header_of(request, kSessionHeader);
  if (session.empty()) return;
  // The one that passed it on has checked that its own page asks; here it has another address.
  request.headers.emplace_back("Cookie", cookie_name(request) + "=" + session);
  request.headers.emplace_back(
      "Origin",
      fmt::format("{}://{}", request.encrypted ? "https" : "http", header_of(request, "Host")));
}

namespace {

// The connection to the leader that belongs to one connection of a client, and goes with it.
struct LeaderLine {
  std::string url;
  std::unique_ptr<net::Client> client;
};

net::Client* line_to(net::Exchange& exchange, const std::string& url, const Peers& peers) {
  auto line = std::static_pointer_cast<LeaderLine>(exchange.attached);
  if (line && line->url == url) return line->client.get();
  const auto endpoint = net::parse_endpoint(url, kNoPort);
  if (!endpoint) return nullptr;
  net::ClientConfig config;
  config.endpoint = *endpoint;
  config.trust = peers.trust();
  config.connect_limit = kConnectLimit;
  line = std::make_shared<LeaderLine>();
  line->url = url;
  line->client = std::make_unique<net::Client>(exchange.executor(), std::move(config));
  exchange.attached = line;
  return line->client.get();
}

net::Call call_for(const net::Request& request, const PassedOn& what) {
  net::Call call;
  call.method = request.method;
  call.target = request.target;
  for (const auto& [name, value] : request.headers) {
    if (is_passed_on(name)) call.headers.emplace_back(name, value);
  }
  call.headers.emplace_back("X-Request-Id", what.request_id);
  if (const std::string_view session = cookie_of(request); !session.empty()) {
    call.headers.emplace_back(kSessionHeader, session);
  }
  call.headers.emplace_back(kMarkHeader, write_mark(what.key, request, origin_of(request)));
  call.body_view = request.body;
  call.limit = what.streams ? kSilenceLimit : kAnswerLimit;
  return call;
}

net::Headers headers_of(const net::Response& response) {
  net::Headers headers;
  for (const auto& [name, value] : response.headers) {
    if (is_passed_on(name) && !same_ignoring_case(name, "Content-Type")) {
      headers.emplace_back(name, value);
    }
  }
  return headers;
}

// Hands a stream of the leader to the client as it comes.
class Relay {
 public:
  Relay(net::Exchange& exchange, std::string request_id)
      : exchange_(exchange), request_id_(std::move(request_id)) {}

  asio::awaitable<bool> take(const net::Response& head, std::string_view piece) {
    if (!begun_) {
      begun_ = true;
      net::Headers headers = headers_of(head);
      headers.emplace_back("X-Request-Id", request_id_);
      stream_ = co_await exchange_.begin_stream(head.status, head.content_type, std::move(headers));
    }
    if (stream_ == nullptr) co_return false;
    if (piece.empty()) co_return true;
    co_return co_await stream_->write(piece);
  }
  bool begun() const { return begun_; }

 private:
  net::Exchange& exchange_;
  std::string request_id_;
  net::Stream* stream_ = nullptr;
  bool begun_ = false;
};

Trouble nobody_leads(std::string detail) {
  Trouble out = trouble(Code::kNotLeader, std::move(detail));
  out.retry_after = seconds(1);
  return out;
}

Trouble unknown_outcome(std::string detail) {
  Trouble out = trouble(Code::kOutcomeUnknown, std::move(detail));
  out.retry_after = seconds(1);
  return out;
}

bool was_not_sent(net::CallFault fault) {
  return fault == net::CallFault::kRefused || fault == net::CallFault::kNotSent ||
         fault == net::CallFault::kForbidden || fault == net::CallFault::kUntrusted;
}

// What one try came to.
struct Step {
  Outcome outcome;
  bool may_repeat = false;  // definitely nothing happened
};

Step judge(const net::Request& request, const store::Leader& leader, Tried tried) {
  if (!tried) {
    const net::CallError& error = tried.error();
    const bool reads = request.method == net::Method::kGet || request.method == net::Method::kHead;
    Trouble out =
        nobody_leads(fmt::format("the leader {} did not answer: {}", leader.id.text, error.detail));
    if (error.fault == net::CallFault::kUntrusted) {
      out.hint =
          "start this controller with --ca-file or VORTEX_CA_FILE: the CA of the "
          "controllers' certificates";
    }
    if (was_not_sent(error.fault)) return {std::unexpected(std::move(out)), true};
    if (reads) return {std::unexpected(std::move(out)), false};
    return {std::unexpected(unknown_outcome(error.detail)), false};
  }
  const bool refused = tried->status == 503 && tried->body.contains(about(Code::kNotLeader).text);
  net::Response answer = *std::move(tried);
  answer.headers = headers_of(answer);
  answer.wiped = true;  // it may hold secrets
  return {std::move(answer), refused};
}

asio::awaitable<Step> try_leader(net::Exchange& exchange, Peers& peers, store::Leader leader,
                                 const PassedOn& what) {
  using namespace asio::experimental::awaitable_operators;
  const net::Request& request = std::as_const(exchange).request();
  net::Client* client = line_to(exchange, leader.url, peers);
  if (client == nullptr) {
    Trouble out = nobody_leads(fmt::format("the leader {} has no valid URL", leader.id.text));
    co_return Step{std::unexpected(std::move(out)), true};
  }
  Relay relay(exchange, what.request_id);
  net::Client::Sink sink = [&relay](const net::Response& head, std::string_view piece) {
    return relay.take(head, piece);
  };
  auto asked = what.streams ? client->relay(call_for(request, what), std::move(sink))
                            : client->send(call_for(request, what));
  auto first = co_await (std::move(asked) || exchange.closed() || peers.ended(leader.term));
  if (first.index() == 0) {
    Tried tried = std::get<0>(std::move(first));
    // What was begun cannot be answered otherwise any more; who reads it sees that it ends.
    if (relay.begun()) co_return Step{net::Response{}, false};
    co_return judge(request, leader, std::move(tried));
  }
  if (first.index() == 1) {
    Trouble gone = trouble(Code::kGone, "the client disconnected, or this controller stops");
    co_return Step{std::unexpected(std::move(gone)), false};
  }
  if (relay.begun()) co_return Step{net::Response{}, false};
  net::CallError lost{net::CallFault::kBroken,
                      fmt::format("{} lost its leadership before it answered", leader.id.text)};
  co_return judge(request, leader, std::unexpected(std::move(lost)));
}

}  // namespace

asio::awaitable<std::optional<Outcome>> pass_on(net::Exchange& exchange, Peers& peers,
                                                PassedOn what) {
  exchange.request().wiped = true;  // only its route knows whether it holds secrets
  Peers::Look look = Peers::Look::kRecent;
  for (;;) {
    auto found = co_await peers.find_leader(look);
    if (peers.leads()) co_return std::nullopt;
    if (!found) co_return Outcome(std::unexpected(from_store(found.error())));
    const std::optional<store::Leader> leader = *std::move(found);
    if (!leader || leader->id == peers.own_id()) {
      co_return Outcome(std::unexpected(
          nobody_leads(leader ? "this controller is becoming the leader"
                              : "no controller leads at the moment; one takes over shortly")));
    }
    Step step = co_await try_leader(exchange, peers, *leader, what);
    if (!step.may_repeat || look == Peers::Look::kAgain) co_return std::move(step.outcome);
    look = Peers::Look::kAgain;
    const bool alive = co_await pause(exchange, kLookAgain);
    if (!alive) co_return std::move(step.outcome);
  }
}

}  // namespace vortex::api

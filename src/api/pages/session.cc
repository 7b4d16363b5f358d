// Sessions of browsers: a cookie that stands for a token, for as long as the token is good.
//
// A page cannot keep a token where no script can read it; a cookie can be kept there. It is sent
// along by the browser whoever caused the request, so what changes something needs more: the Origin
// of this very controller and a header that no form and no foreign page can send.

#include <fmt/format.h>

#include "api/access.h"
#include "api/bodies.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/secrets.h"
#include "api/views.h"
#include "net/client.h"

namespace vortex::api {
namespace {

constexpr std::string_view kPageHeader = "Vortex-Page";

std::uint64_t seconds_of(Instant at) { return static_cast<std::uint64_t>(at.us) / 1'000'000; }

Instant instant_of(std::uint64_t in_seconds) {
  return Instant{static_cast<std::int64_t>(in_seconds) * 1'000'000};
}

bool changes_something(net::Method method) {
  return method != net::Method::kGet && method != net::Method::kHead;
}

}  // namespace

std::string cookie_name(const net::Request& request) {
  const auto host = net::parse_listener(net::find_header(request.headers, "Host").value_or(""), 0);
  return fmt::format("{}vortex-{}", request.encrypted ? "__Host-" : "", host ? host->port : 0);
}

std::string_view cookie_of(const net::Request& request) {
  const std::string name = cookie_name(request) + "=";
  std::string_view rest = net::find_header(request.headers, "Cookie").value_or("");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    std::string_view one = rest.substr(0, end);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(name)) return one.substr(name.size());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

std::string set_cookie(const net::Request& request, std::string_view value) {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{}", cookie_name(request),
                     value, value.empty() ? 0 : Access::kSessionLasts.us / 1'000'000,
                     request.encrypted ? "; Secure" : "");
}

boost::asio::awaitable<std::expected<Caller, Trouble>> Access::admit_session(
    const net::Request& request, std::string_view cookie) {
  // An Origin that is there was compared with the Host before.
  const bool ours =
      net::find_header(request.headers, "Origin") && net::find_header(request.headers, kPageHeader);
  if (changes_something(request.method) && !ours) {
    co_return std::unexpected(
        trouble(Code::kForeignOrigin,
                "with a session, only the dashboard's own page can change something"));
  }
  const std::expected<std::string, Trouble> key = co_await attempt_key();
  if (!key) co_return std::unexpected(key.error());
  const auto session = open_session(*key, SessionUse::kCookie, cookie);
  const bool over = session && session->until_seconds <= seconds_of(backend_.now());
  if (!session || over) {
    co_return std::unexpected(trouble(Code::kNoToken, "the session has ended; log in again"));
  }
  std::expected<Caller, Trouble> caller = co_await identify_hash(session->token_hash);
  if (caller) caller->session_until = instant_of(session->until_seconds);
  co_return caller;
}

// In the memory of one leader: a pass counts only in the term that it was made in.
std::string Access::new_pass_id() const {
  return fmt::format("{}-{}", backend_.health().term.value, mint_session_id());
}

bool Access::use_pass(const std::string& id, Instant until) {
  const Instant now = backend_.now();
  if (!id.starts_with(fmt::format("{}-", backend_.health().term.value))) return false;
  const std::scoped_lock lock(mutex_);
  std::erase_if(used_passes_, [&](const auto& pass) { return pass.second <= now; });
  return used_passes_.emplace(id, until).second;
}

boost::asio::awaitable<std::expected<Access::NewSession, Trouble>> Access::log_in(
    std::string secret) {
  NewSession made;
  if (!asks_for_tokens()) {
    made.caller.role = Role::kAdmin;
    co_return made;
  }
  const std::expected<std::string, Trouble> key = co_await attempt_key();
  if (!key) co_return std::unexpected(key.error());
  Session session{hash_token(secret), 0, mint_session_id()};
  if (secret.starts_with(kLoginPrefix)) {
    const auto pass = open_session(*key, SessionUse::kLogin, secret);
    const bool good = pass && pass->until_seconds > seconds_of(backend_.now()) &&
                      use_pass(pass->id, instant_of(pass->until_seconds));
    if (!good) {
      co_return std::unexpected(
          trouble(Code::kNoToken,
                  "the link was used or has expired; `vortex dashboard` prints "
                  "another one"));
    }
    session.token_hash = pass->token_hash;
  }
  std::expected<Caller, Trouble> caller = co_await identify_hash(session.token_hash);
  if (!caller) co_return std::unexpected(std::move(caller.error()));
  session.until_seconds = seconds_of(backend_.now() + kSessionLasts);
  made.caller = *std::move(caller);
  made.caller.session_until = instant_of(session.until_seconds);
  made.cookie = seal_session(*key, SessionUse::kCookie, session);
  co_return made;
}

boost::asio::awaitable<std::expected<std::string, Trouble>> Access::make_pass(
    const net::Request& request) {
  const std::string_view secret = secret_of(request.headers);
  if (!asks_for_tokens()) co_return std::string();
  if (secret.empty() || secret.starts_with(kAttemptTokenPrefix)) {
    co_return std::unexpected(trouble(Code::kNoToken, "a link is made with a token"));
  }
  const std::expected<std::string, Trouble> key = co_await attempt_key();
  if (!key) co_return std::unexpected(key.error());
  co_return seal_session(
      *key, SessionUse::kLogin,
      {hash_token(secret), seconds_of(backend_.now() + kPassLasts), new_pass_id()});
}

namespace {

net::Response session_answer(const Call& call, const Caller& caller) {
  return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().field("required", call.access.asks_for_tokens());
    json.field("admitted", caller.role.has_value());
    write_name(json, "name", caller.name);
    write_name(json, "role", caller.role ? to_text(*caller.role) : std::string_view{});
    write_time(json, "expires_at", caller.session_until.value_or(Instant{}));
    json.end_object();
  }));
}

}  // namespace

Handled get_session(Call& call) { co_return session_answer(call, call.caller); }

Handled create_session(Call& call) {
  call.exchange.request().wiped = true;
  auto body = co_await read_body(call, read_session_request);
  if (!body) co_return std::unexpected(std::move(body.error()));
  auto made = co_await call.access.log_in(std::move(body->token));
  if (!made) co_return std::unexpected(std::move(made.error()));
  call.subject = made->caller.name;
  net::Response response = session_answer(call, made->caller);
  if (!made->cookie.empty()) {
    response.headers.emplace_back("Set-Cookie", set_cookie(call.request(), made->cookie));
  }
  co_return response;
}

Handled delete_session(Call& call) {
  net::Response response = empty_answer();
  response.headers.emplace_back("Set-Cookie", set_cookie(call.request(), {}));
  co_return response;
}

Handled create_login_pass(Call& call) {
  auto pass = co_await call.access.make_pass(call.request());
  if (!pass) co_return std::unexpected(std::move(pass.error()));
  net::Response response = json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().field("pass", *pass);
    json.field("expires_at", call.backend.now() + Access::kPassLasts).end_object();
  }));
  response.wiped = true;
  co_return response;
}

}  // namespace vortex::api

#include "api/access.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/secrets.h"
#include "base/text.h"
#include "net/client.h"

namespace vortex::api {
namespace {

constexpr std::chrono::seconds kTrusted{3};  // how long what was read is used as it is
constexpr std::chrono::seconds kUnknown{1};  // for a token that is not in it

bool same_scheme(std::string_view text) {
  constexpr std::string_view kBearer = "bearer ";
  return same_ignoring_case(text.substr(0, kBearer.size()), kBearer);
}

// Looks at every row, so that the time says nothing about which one it was.
const TokenRow* find_token(const std::vector<TokenRow>& rows, std::string_view hash) {
  const TokenRow* found = nullptr;
  for (const TokenRow& row : rows) {
    if (same_hash(row.hash, hash) && !row.revoked) found = &row;
  }
  return found;
}

Trouble too_low(const Caller& caller, Need need) {
  Trouble out =
      trouble(Code::kRoleTooLow, fmt::format("this requires the role {}, but the token has {}",
                                             to_text(need), to_text(*caller.role)));
  out.needed_role = to_text(need);
  return out;
}

}  // namespace

std::string_view secret_of(const net::Headers& headers) {
  const auto header = net::find_header(headers, "Authorization");
  if (!header || !same_scheme(*header)) return {};
  std::string_view secret = header->substr(7);
  while (secret.starts_with(' ')) secret.remove_prefix(1);
  while (secret.ends_with(' ')) secret.remove_suffix(1);
  return secret;
}

std::string_view to_text(Need need) {
  if (need == Need::kAnyone) return "anyone";
  return to_text(static_cast<Role>(static_cast<std::uint8_t>(need) - 1));
}

bool may(std::optional<Role> role, Need need) {
  if (need == Need::kAnyone) return true;
  if (!role) return false;
  const bool admin = *role == Role::kAdmin;
  switch (need) {
    case Need::kAnyone:
    case Need::kViewer:
      return true;
    case Need::kSubmitter:
      return admin || *role == Role::kSubmitter || *role == Role::kOperator;
    case Need::kOperator:
      return admin || *role == Role::kOperator;
    case Need::kWorker:
      return admin || *role == Role::kWorker;
    case Need::kAdmin:
      return admin;
  }
  return false;
}

std::optional<Trouble> Access::check_place(const net::Request& request) const {
  if (auto wrong = check_host(request.headers, policy_.loopback)) return wrong;
  return check_origin(request.headers);
}

boost::asio::awaitable<std::expected<Caller, Trouble>> Access::admit(const net::Request& request,
                                                                     Need need, std::string* who) {
  if (policy_.worker_certificates && need == Need::kWorker && request.peer_name.empty()) {
    co_return std::unexpected(trouble(Code::kNoCertificate));
  }
  if (policy_.mode == AccessPolicy::Mode::kOpen) co_return Caller{{}, Role::kAdmin, {}};
  const std::string_view secret = secret_of(request.headers);
  const std::string_view cookie = secret.empty() ? cookie_of(request) : std::string_view{};
  if (secret.empty() && cookie.empty()) {
    if (need == Need::kAnyone) co_return Caller{};
    co_return std::unexpected(trouble(Code::kNoToken));
  }
  // Not as one conditional expression: GCC 12 destroys what co_await gives in there twice.
  std::expected<Caller, Trouble> caller = std::unexpected(Trouble{});
  if (cookie.empty()) {
    caller = co_await identify(secret);
  } else {
    caller = co_await admit_session(request, cookie);
  }
  if (caller) *who = caller->name;
  if (need == Need::kAnyone) co_return caller ? std::move(*caller) : Caller{};
  if (caller && caller->attempt) co_return caller;  // the route is judged by its own mark
  if (caller && !may(caller->role, need)) co_return std::unexpected(too_low(*caller, need));
  co_return caller;
}

boost::asio::awaitable<bool> Access::still_admits(Caller caller) {
  if (policy_.mode == AccessPolicy::Mode::kOpen) co_return true;
  if (caller.attempt) {
    const auto held = co_await is_attempt_held(*caller.attempt);
    co_return !held || *held;
  }
  const auto is_callers = [&caller](const TokenRow& row) {
    return row.name == caller.name && row.role == caller.role && row.created_at == caller.since &&
           !row.revoked;
  };
  if (std::ranges::any_of(policy_.fixed, is_callers)) co_return true;
  std::expected<KnownPtr, Trouble> table = co_await known(kUnknown);
  // A store that cannot be read says nothing about the token.
  co_return !table || std::ranges::any_of((*table)->rows, is_callers);
}

std::unique_ptr<Access::Change> Access::begin_change() {
  if (changing_.exchange(true)) return nullptr;
  return std::make_unique<Change>(*this);
}

void Access::forget() {
  const std::scoped_lock lock(mutex_);
  known_.reset();
}

boost::asio::awaitable<std::expected<Caller, Trouble>> Access::identify(std::string_view secret) {
  if (secret.starts_with(kAttemptTokenPrefix)) co_return co_await identify_attempt(secret);
  co_return co_await identify_hash(hash_token(secret));
}

boost::asio::awaitable<std::expected<Caller, Trouble>> Access::identify_hash(std::string hash) {
  if (const auto* row = find_token(policy_.fixed, hash)) {
    co_return Caller{row->name, row->role, row->created_at, row->workers};
  }
  for (const Clock::duration age_max : {Clock::duration(kTrusted), Clock::duration(kUnknown)}) {
    std::expected<KnownPtr, Trouble> table = co_await known(age_max);
    if (!table) co_return std::unexpected(std::move(table.error()));
    if (const auto* row = find_token((*table)->rows, hash)) {
      co_return Caller{row->name, row->role, row->created_at, row->workers};
    }
  }
  co_return std::unexpected(trouble(Code::kNoToken, "unknown token"));
}

boost::asio::awaitable<std::expected<bool, Trouble>> Access::is_attempt_held(Attempt attempt) {
  bool held = false;
  store::Result<void> found;
  Backend::Read read = [&](store::Reader& reader) {
    const auto task = reader.task(attempt.task);
    if (!task) found = std::unexpected(task.error());
    if (!task || !*task) return;
    held = is_held((*task)->row.state) && (*task)->row.epoch == attempt.epoch;
  };
  const store::Result<void> done = co_await backend_.read(std::move(read));
  if (!done) co_return std::unexpected(from_store(done.error()));
  if (!found) co_return std::unexpected(from_store(found.error()));
  co_return held;
}

boost::asio::awaitable<std::expected<Caller, Trouble>> Access::identify_attempt(
    std::string_view secret) {
  const std::expected<std::string, Trouble> key = co_await attempt_key();
  if (!key) co_return std::unexpected(key.error());
  const auto attempt = read_attempt_token(*key, secret);
  if (!attempt) co_return std::unexpected(trouble(Code::kNoToken, "unknown token"));
  const std::expected<bool, Trouble> held = co_await is_attempt_held(*attempt);
  if (!held) co_return std::unexpected(held.error());
  if (!*held) {
    co_return std::unexpected(
        trouble(Code::kAttemptOver, fmt::format("epoch {} of {} is not held any more",
                                                attempt->epoch.value, to_text(attempt->task))));
  }
  Caller caller;
  caller.name = "@" + to_text(attempt->task);
  caller.attempt = attempt;
  co_return caller;
}

boost::asio::awaitable<std::expected<std::string, Trouble>> Access::attempt_key() {
  {
    const std::scoped_lock lock(mutex_);
    if (!attempt_key_.empty()) co_return attempt_key_;
  }
  store::Result<std::string> key;
  Backend::Read read = [&key](store::Reader& reader) { key = reader.attempt_key(); };
  const store::Result<void> done = co_await backend_.read(std::move(read));
  if (!done) co_return std::unexpected(from_store(done.error()));
  if (!key) co_return std::unexpected(from_store(key.error()));
  const std::scoped_lock lock(mutex_);
  attempt_key_ = *key;
  co_return *std::move(key);
}

bool matches_workers(std::string_view patterns, std::string_view worker) {
  while (!patterns.empty()) {
    const std::size_t end = std::min(patterns.find(','), patterns.size());
    const std::string_view one = patterns.substr(0, end);
    const bool open_end = one.ends_with('*');
    if (open_end ? worker.starts_with(one.substr(0, one.size() - 1)) : worker == one) return true;
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
  }
  return false;
}

std::optional<Trouble> check_bound(const Caller& caller, std::string_view worker) {
  if (caller.workers.empty() || matches_workers(caller.workers, worker)) return std::nullopt;
  return trouble(Code::kTokenBound, fmt::format("the token '{}' is bound to {}, not '{}'",
                                                caller.name, caller.workers, worker));
}

boost::asio::awaitable<std::expected<Access::KnownPtr, Trouble>> Access::known(
    Clock::duration age_max) {
  KnownPtr have = current();
  const Clock::time_point now = Clock::now();
  if (have && now - have->read_at <= age_max) co_return have;
  store::Result<std::vector<TokenRow>> rows;
  Backend::Read read = [&rows](store::Reader& reader) { rows = reader.tokens(); };
  const store::Result<void> done = co_await backend_.read(std::move(read));
  if (!done || !rows) {
    // While the store is away, who was known stays known.
    if (have) co_return have;
    co_return std::unexpected(from_store(done ? rows.error() : done.error()));
  }
  auto fresh = std::make_shared<const Known>(Known{std::move(*rows), now});
  const std::scoped_lock lock(mutex_);
  if (!known_ || known_->read_at < now) known_ = fresh;
  co_return KnownPtr(std::move(fresh));
}

Access::KnownPtr Access::current() const {
  const std::scoped_lock lock(mutex_);
  return known_;
}

namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

// Where a page comes from; unset: not an address of the web.
std::optional<net::Endpoint> origin_endpoint(std::string_view origin) {
  if (!origin.contains("://")) return std::nullopt;
  return net::parse_endpoint(origin, kHttpPort);
}

// What a Host header names; port 0: it names none.
std::optional<net::Endpoint> named_host(std::string_view host) {
  return net::parse_listener(host, 0);
}

}  // namespace

bool is_loopback_host(std::string_view host) {
  const auto named = named_host(host);
  if (!named) return false;
  return same_ignoring_case(named->host, "localhost") || named->host == "127.0.0.1" ||
         named->host == "::1";
}

std::optional<Trouble> check_host(const net::Headers& headers, bool loopback_only) {
  if (!loopback_only) return std::nullopt;
  const std::string_view host = net::find_header(headers, "Host").value_or(std::string_view{});
  if (is_loopback_host(host)) return std::nullopt;
  return trouble(Code::kForeignHost, fmt::format("the request is for the host '{}'", host));
}

std::optional<Trouble> check_origin(const net::Headers& headers) {
  const auto origin = net::find_header(headers, "Origin");
  if (!origin) return std::nullopt;
  const auto host = named_host(net::find_header(headers, "Host").value_or(std::string_view{}));
  const auto from = origin_endpoint(*origin);
  if (host && from && same_ignoring_case(host->host, from->host)) {
    // A Host without a port leaves the scheme open; both standard ports can be meant.
    const bool standard = from->port == kHttpPort || from->port == kHttpsPort;
    if (host->port == from->port || (host->port == 0 && standard)) return std::nullopt;
  }
  return trouble(Code::kForeignOrigin, fmt::format("the request comes from '{}'", *origin));
}

}  // namespace vortex::api

#pragma once
// Who may do what. Every route names the least it needs; everything else is denied.
//
// viewer < submitter < operator < admin. A worker is a kind of its own: it may do what workers do
// and read what a viewer may; an admin may do everything. The token of an attempt has no role: the
// routes that it opens, for its own task alone, are marked in their table. Any thread. Tokens are
// known from the store and read again every few seconds, at once after a change made here, and, at
// most once a second, when somebody comes with one that is not known.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "api/backend.h"
#include "api/trouble.h"
#include "base/time.h"
#include "model/commit.h"
#include "net/http.h"

namespace vortex::api {

// The least that is needed; kAnyone asks for no token at all, the rest are the roles in their
// order.
enum class Need : std::uint8_t { kAnyone, kViewer, kSubmitter, kOperator, kWorker, kAdmin };

std::string_view to_text(Need need);

bool may(std::optional<Role> role, Need need);

// The token in the header Authorization; empty: none was sent.
std::string_view secret_of(const net::Headers& headers);

struct AccessPolicy {
  // kOpen: everybody is admin; only ever on loopback.
  enum class Mode : std::uint8_t { kOpen, kTokens };
  Mode mode = Mode::kTokens;
  bool loopback = true;              // bound to loopback: only its own names are served
  bool worker_certificates = false;  // what only workers may do needs a client certificate, too
  // Tokens known from the configuration, besides those in the store: the way in for the first one.
  std::vector<TokenRow> fixed;
};

struct Caller {
  std::string name;          // of its token; empty in open mode and for nobody
  std::optional<Role> role;  // unset: nobody known
  Instant since = {};        // when its token was created
  std::string workers = {};  // that its token is bound to, as in TokenRow; empty: all
  // The token is that of an attempt, which is held; it has no role.
  std::optional<Attempt> attempt = {};
  // It came with the cookie of a session, which ends then.
  std::optional<Instant> session_until = {};
};

// A token that is bound to workers speaks for no others.
std::optional<Trouble> check_bound(const Caller& caller, std::string_view worker);
bool matches_workers(std::string_view patterns, std::string_view worker);

class Access {
 public:
  Access(Backend& backend, AccessPolicy policy) : backend_(backend), policy_(std::move(policy)) {}

  // Host and Origin.
  std::optional<Trouble> check_place(const net::Request& request) const;
  // `who` becomes the name of the caller's token, also when it is not let in.
  boost::asio::awaitable<std::expected<Caller, Trouble>> admit(const net::Request& request,
                                                               Need need, std::string* who);
  // Whether the caller's token is still good; what is known of it is at most a second old. For
  // streams, which outlive the check at their start.
  boost::asio::awaitable<bool> still_admits(Caller caller);
  // Signs the tokens of attempts, and sessions.
  boost::asio::awaitable<std::expected<std::string, Trouble>> attempt_key();
  bool asks_for_tokens() const { return policy_.mode == AccessPolicy::Mode::kTokens; }

  // A session of a browser: what it is to be given for a token or a pass, and whose it is.
  struct NewSession {
    Caller caller;
    std::string cookie;  // empty: no tokens are needed
  };
  boost::asio::awaitable<std::expected<NewSession, Trouble>> log_in(std::string secret);
  // A pass that logs in once as the owner of this token, soon.
  boost::asio::awaitable<std::expected<std::string, Trouble>> make_pass(
      const net::Request& request);
  static constexpr Duration kSessionLasts = hours(12);
  static constexpr Duration kPassLasts = minutes(15);
  // A token was written: what is known is read again before it is used.
  void forget();

  // Tokens are changed by one request at a time, so that what was checked still holds when it is
  // written. Null: another one is at it.
  class Change {
   public:
    explicit Change(Access& access) : access_(access) {}
    ~Change() { access_.changing_ = false; }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    Access& access_;
  };
  std::unique_ptr<Change> begin_change();

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    std::vector<TokenRow> rows;
    Clock::time_point read_at;
  };
  using KnownPtr = std::shared_ptr<const Known>;

  boost::asio::awaitable<std::expected<Caller, Trouble>> admit_session(const net::Request& request,
                                                                       std::string_view cookie);
  boost::asio::awaitable<std::expected<Caller, Trouble>> identify(std::string_view secret);
  boost::asio::awaitable<std::expected<Caller, Trouble>> identify_hash(std::string hash);
  std::string new_pass_id() const;
  bool use_pass(const std::string& id, Instant until);  // false: it was, or is of another term
  boost::asio::awaitable<std::expected<Caller, Trouble>> identify_attempt(std::string_view secret);
  boost::asio::awaitable<std::expected<bool, Trouble>> is_attempt_held(Attempt attempt);
  boost::asio::awaitable<std::expected<KnownPtr, Trouble>> known(Clock::duration age_max);
  KnownPtr current() const;

  Backend& backend_;
  AccessPolicy policy_;
  mutable std::mutex mutex_;  // only around what is known
  KnownPtr known_;
  std::string attempt_key_;                     // empty: not read yet
  std::map<std::string, Instant> used_passes_;  // until they end anyway
  std::atomic<bool> changing_{false};
};

// The cookie of a session. Its name holds the port: browsers share cookies between the ports of a
// host, and two controllers on one machine must not end each other's sessions.
std::string cookie_name(const net::Request& request);
// What the browser sent of it; empty: none.
std::string_view cookie_of(const net::Request& request);
// What a browser is told to keep; with no value, to forget it.
std::string set_cookie(const net::Request& request, std::string_view value);

// Where a request claims to come from and go to: the guards against other sites in the browser.
//
// Pure functions over headers. On loopback only the names of loopback are served, so that a foreign
// name that resolves to 127.0.0.1 (DNS rebinding) reaches nothing; a page of another origin is
// refused with every method.

// `host`, `host:port`, `[::1]`, `[::1]:port`.
bool is_loopback_host(std::string_view host);

std::optional<Trouble> check_host(const net::Headers& headers, bool loopback_only);
std::optional<Trouble> check_origin(const net::Headers& headers);

}  // namespace vortex::api

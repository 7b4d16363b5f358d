#pragma once
// What the routes need from the controller behind them. The only door between HTTP and the engine.
//
// `ask` returns only after what the command changed is durable. Any method may be called from any
// I/O thread; coroutines continue on the executor they were called from.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/settings.h"
#include "base/time.h"
#include "core/command.h"
#include "core/effects.h"
#include "core/explain.h"
#include "model/commit.h"
#include "store/reader.h"
#include "vault/key_source.h"
#include "vault/vault.h"

namespace vortex::api {

class Peers;

// Why a command got no answer of the core.
enum class Unserved : std::uint8_t {
  kBusy,       // the inbox is full: nothing happened
  kNotLeader,  // nothing happened
  kNoSpace,    // the store is full: nothing happened
  kNoStore,    // the store refuses writes: nothing happened
  kUnknown,    // the outcome of the commit is not known: it may have happened
  kGone,       // the caller hung up
};
struct UnservedError {
  Unserved why = Unserved::kBusy;
  std::string detail;
  Duration retry_after;
};

template <class T>
using Asked = std::expected<T, UnservedError>;

// What the shell writes besides the core's rows; each is one commit of its own or part of one.
struct WriteLog {
  LogChunk chunk;
};
struct WriteCheckpointPiece {
  CheckpointPiece piece;
};
struct WriteToken {
  TokenRow row;
};
struct WriteWebhook {
  WebhookRow row;
};
struct WriteWebhookStep {
  WebhookStep step;
};
struct WriteWebhookSeal {
  WebhookSeal seal;
};
struct WriteSecret {
  SecretChange change;
};
struct WriteRewrap {
  SecretRewrap rewrap;
};
struct WriteAudit {
  std::vector<AuditRow> rows;
};
using SideWrite =
    std::variant<WriteLog, WriteCheckpointPiece, WriteToken, WriteWebhook, WriteWebhookStep,
                 WriteWebhookSeal, WriteSecret, WriteRewrap, WriteAudit>;

// What came of telling a receiver something.
struct Delivery {
  bool taken = false;    // it answered 2xx
  int status = 0;        // 0: it did not answer
  std::string trouble;   // empty: none
  Duration retry_after;  // as it asked for; zero: it did not
  Duration took;
};

using core::QueueDepth;

// What a thorough check of the live state found.
struct ReconcileReport {
  std::uint64_t runs = 0;   // looked at
  std::uint64_t tasks = 0;  // likewise
  Duration took;            // spent on it, in all slices together
  Duration longest;         // the longest slice
  std::vector<std::string> findings;
  bool reloaded = false;  // memory was thrown away and is loaded again from the database
};

struct Health {
  bool leads = false;
  bool ready = false;                        // it leads, or it reaches the database and the leader
  std::string not_ready = {};                // why not
  std::string url = {};                      // where others reach it
  std::optional<store::Leader> leader = {};  // unset: nobody leads, as far as is known
  bool store_connected = false;
  Term term;
  ControllerId id;
  Duration uptime;
  Instant last_commit;
  std::uint64_t active_leases = 0;
  std::uint64_t live_workers = 0;
  std::uint64_t inbox = 0;
  bool brake_engaged = false;
  std::optional<Instant> certificate_until;  // unset: it speaks plain HTTP
  std::string version;
  std::string detail;               // what is wrong, when something is
  std::vector<DamagedRow> damaged;  // rows that cannot be read; what depends on them is set aside
};

// Committed events as they come, for streams.
class EventFeed {
 public:
  EventFeed() = default;
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;
  virtual ~EventFeed() = default;
  struct Lines {
    std::uint64_t first_seq = 0;
    std::uint64_t last_seq = 0;
    std::shared_ptr<const std::string> text;  // one event a line, as in the monitor log
  };
  struct Next {
    // Memory does not reach back to `after`: read the store up to `read_to` first.
    bool behind = false;
    std::uint64_t read_to = 0;
    std::vector<Lines> lines;  // empty: none came while it waited
  };
  virtual boost::asio::awaitable<Next> next(std::uint64_t after, Duration wait) = 0;
  virtual std::uint64_t last_seq() const = 0;
  // The longest a stream stays silent: its reader takes a longer silence for a dead controller.
  virtual Duration beat() const { return seconds(15); }
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // The request number in the command is chosen here.
  virtual boost::asio::awaitable<Asked<core::ReplyBody>> ask(core::Command command) = 0;
  // The same for many commands at once, answered in their order: they share few commits. What
  // cannot be taken now is refused by itself.
  virtual boost::asio::awaitable<std::vector<Asked<core::ReplyBody>>> ask_all(
      std::vector<core::Command> commands) = 0;
  // A parked sync: the same as `ask`, and `closed` tells when the worker's connection is gone.
  virtual boost::asio::awaitable<Asked<core::ReplyBody>> ask_sync(
      core::Sync sync, std::function<boost::asio::awaitable<void>()> closed) = 0;
  virtual boost::asio::awaitable<Asked<void>> write(SideWrite side) = 0;
  // Tells the receiver an event that is only for trying it out, once and now.
  virtual boost::asio::awaitable<Delivery> try_webhook(WebhookRow webhook) = 0;

  virtual boost::asio::awaitable<Asked<core::Explanation>> explain(TaskId task) = 0;
  // What does not move until somebody acts, in one run or in all queues.
  using Standstills = std::vector<core::Standstill>;
  virtual boost::asio::awaitable<Asked<Standstills>> standstills(std::optional<RunId> run) = 0;
  virtual boost::asio::awaitable<Asked<std::vector<QueueDepth>>> queues() = 0;
  virtual boost::asio::awaitable<Asked<std::vector<core::LimitInfo>>> limits() = 0;
  using Approvals = std::vector<core::OpenApproval>;
  virtual boost::asio::awaitable<Asked<Approvals>> approvals(std::size_t most) = 0;

  // Checks the whole state now, in slices; answers when that is done.
  virtual boost::asio::awaitable<Asked<ReconcileReport>> reconcile() = 0;

  // Runs `read` on a thread of the read pool with a connection of its own.
  using Read = std::function<void(store::Reader&)>;
  virtual boost::asio::awaitable<store::Result<void>> read(Read read) = 0;

  // Runs `work` on a thread that is there for large documents, when it is the client's turn. False:
  // too much waits already, and it was not run.
  struct Turn {
    std::string client;  // whose turn it is; clients take turns
    bool of_worker = false;
  };
  virtual boost::asio::awaitable<bool> digest(Turn turn, std::function<void()> work) = 0;

  // Seals and opens; with no master key it does neither.
  virtual vault::Vault& vault() = 0;
  // The master keys as they are configured now. Blocks: to be run by digest().
  virtual std::expected<vault::Keys, std::string> read_keys() = 0;

  virtual EventFeed& events() = 0;
  virtual Peers* peers() { return nullptr; }  // null: there can be no other controllers
  virtual Health health() const = 0;
  virtual Instant now() const = 0;  // the term clock
  virtual const LoadedSettings& settings() const = 0;
  // In the text format of Prometheus; empty: metrics are disabled.
  virtual boost::asio::awaitable<std::string> metrics() = 0;
};

}  // namespace vortex::api

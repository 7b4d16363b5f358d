// vortex leases: partitions that programs share among themselves.

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/time.h"
#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/client/api_client.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/local/held_process.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"

namespace vortex::cli {
namespace {

// vortex leases hold: a distributed lock with a fence, for any script.
//
// Acquires a partition lease, runs a command while it is held, renews it by itself, and releases it
// at the end. The command's whole process group is gone before the lease can end: times are counted
// from when the last acknowledged request was sent, by this machine's clock alone.

struct HoldOptions {
  std::string topic;
  std::uint32_t partition = 0;
  std::string agent;  // empty: made from the host name
  Duration wait{};    // for the lease to become free; 0: not at all
  Duration grace{};   // between TERM and KILL; 0: a tenth of the lease
  std::vector<std::string> command;
};

namespace asio = boost::asio;
using boost::json::object;

constexpr Duration kAskAgain = millis(500);    // while somebody else holds it
constexpr Duration kRenewAgain = millis(100);  // after a renewal that failed
constexpr Duration kCallMin = millis(50);
constexpr Duration kReleaseMax = seconds(5);

std::string holder_name(const std::string& wanted) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  // Two holders never share a name: to the controller they would be one that asks again.
  const std::string unique = fresh_idempotency_key().substr(4, 8);
  return fmt::format("{}-{}", wanted.empty() ? host.data() : wanted, unique);
}

// Asking again would bring the same answer.
bool is_final(ExitCode exit) {
  return exit == ExitCode::kConflict || exit == ExitCode::kNotFound || exit == ExitCode::kAuth ||
         exit == ExitCode::kUsage;
}

// One grant, with its times by this machine's clock, counted from when it was asked for.
struct Grant {
  std::uint64_t epoch = 0;
  Instant renew_at;
  Instant term_at;
  Instant kill_at;
};

class Holder {
 public:
  Holder(const Context& context, const HoldOptions& options, std::unique_ptr<ApiClient> api)
      : context_(context),
        options_(options),
        api_(std::move(api)),
        agent_(holder_name(options.agent)),
        pause_(api_->io()),
        signals_(api_->io()) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) {
      signals_.add(number);
    }
  }

  ExitCode run() {
    asio::co_spawn(api_->io(), hold(), asio::detached);
    asio::co_spawn(api_->io(), heed_signals(), asio::detached);
    api_->io().run();
    return code_;
  }

 private:
  std::string path(std::string_view verb) const {
    return fmt::format("/api/leases/{}/{}/{}", escaped(options_.topic), options_.partition, verb);
  }
  std::string name() const { return fmt::format("{}/{}", options_.topic, options_.partition); }
  void say(const std::string& text) const {
    if (!context_.quiet) talk(text);
  }

  // Who holds it, and with which epoch once there is one.
  std::string request_body() const {
    object body{{"agent", agent_}};
    if (grant_.epoch > 0) body["epoch"] = grant_.epoch;
    return compact_json(body);
  }

  asio::awaitable<void> pause(Duration wait) {
    pause_.expires_after(std::chrono::microseconds(std::max(wait, micros(0)).us));
    const auto [ec] = co_await pause_.async_wait(asio::as_tuple(asio::deferred));
    static_cast<void>(ec);
  }

  asio::awaitable<ApiResult> post(std::string_view verb, std::string body) {
    ApiRequest request;
    request.method = net::Method::kPost;
    request.target = path(verb);
    request.body = std::move(body);
    co_return co_await api_->send(std::move(request));
  }

  Grant grant_of(const object& lease, Instant sent) const {
    const Duration length = millis(number_at(lease, "expires_in_ms"));
    const Duration kill_after = length * 95 / 100;
    const Duration grace =
        std::min(options_.grace.us > 0 ? options_.grace : length / 10, kill_after / 2);
    const Duration term_after = kill_after - grace;
    // However long the grace, there is time for a second try.
    const Duration renew_after =
        std::min(millis(number_at(lease, "renew_after_ms")), term_after * 2 / 3);
    return {static_cast<std::uint64_t>(number_at(lease, "epoch")), sent + renew_after,
            sent + term_after, sent + kill_after};
  }

  // Until it is ours, the time to wait is over, or nobody is to be asked.
  asio::awaitable<bool> acquire() {
    const Instant give_up_at = boot_clock_now() + options_.wait;
    bool waiting = false;
    while (!interrupted_) {
      const Instant sent = boot_clock_now();
      ApiResult answer = co_await post("acquire", request_body());
      if (answer && number_at(answer->object(), "expires_in_ms") <= 0) {
        complain(fmt::format("{} did not return a lease duration", api_->server()),
                 "the controller is too old for `leases hold`");
        co_return false;
      }
      if (answer) {
        grant_ = grant_of(answer->object(), sent);
        co_return true;
      }
      const ExitCode exit = answer.error().exit;
      const bool may_change = exit == ExitCode::kConflict || exit == ExitCode::kUnreachable;
      const bool late = boot_clock_now() + kAskAgain > give_up_at;
      if (interrupted_) break;
      if (!may_change || late) {
        report(answer.error());
        code_ = late && may_change && options_.wait.us > 0 ? ExitCode::kWaitTimedOut : exit;
        co_return false;
      }
      if (!std::exchange(waiting, true))
        say(fmt::format("waiting for {}: {}", name(), answer.error().what));
      api_->try_next_server();
      co_await pause(kAskAgain);
    }
    code_ = ExitCode::kInterrupted;
    co_return false;
  }

  bool start() {
    HeldProcess::Setup setup;
    setup.command = options_.command;
    setup.environment = {fmt::format("VORTEX_LEASE_EPOCH={}", grant_.epoch),
                         "VORTEX_LEASE_TOPIC=" + options_.topic,
                         fmt::format("VORTEX_LEASE_PARTITION={}", options_.partition),
                         "VORTEX_LEASE_AGENT=" + agent_};
    setup.deadline = grant_.kill_at;
    auto started = HeldProcess::start(setup);
    if (started) {
      process_.emplace(*std::move(started));
      return true;
    }
    complain(started.error().what);
    code_ = static_cast<ExitCode>(started.error().exit_code);
    return false;
  }

  // False: it is lost, or may end before it can be renewed.
  asio::awaitable<bool> renew() {
    for (;;) {
      const Instant sent = boot_clock_now();
      if (sent >= grant_.term_at) co_return false;
      api_->set_limit(std::max((grant_.term_at - sent) / 2, kCallMin));
      renewing_ = true;
      ApiResult answer = co_await post("renew", request_body());
      renewing_ = false;
      if (process_->ended()) co_return true;
      if (answer) {
        grant_ = grant_of(answer->object(), sent);
        process_->extend(grant_.kill_at);
        lost_.reset();
        co_return true;
      }
      lost_ = std::move(answer.error());
      if (is_final(lost_->exit)) co_return false;
      api_->try_next_server();
      co_await pause(std::min(kRenewAgain, grant_.term_at - boot_clock_now()));
      if (process_->ended()) co_return true;
    }
  }

  // The lease is gone or about to be: the command must be gone before it.
  asio::awaitable<void> end_command() {
    complain(fmt::format("{} is lost: {}", name(), lost_ ? lost_->what : "not renewed in time"),
             "stopping the command before another holder can start");
    gone_ = true;
    process_->signal(SIGTERM);
    const Instant kill_at =
        std::min(grant_.kill_at, boot_clock_now() + (grant_.kill_at - grant_.term_at));
    while (!process_->ended() && boot_clock_now() < kill_at) {
      co_await pause(kill_at - boot_clock_now());
    }
    process_->signal(SIGKILL);
    while (!process_->ended()) co_await pause(millis(10));
    code_ = lost_ ? lost_->exit : ExitCode::kUnreachable;
  }

  asio::awaitable<void> keep() {
    while (!process_->ended()) {
      if (boot_clock_now() < grant_.renew_at) {
        co_await pause(grant_.renew_at - boot_clock_now());
        continue;
      }
      const bool kept = co_await renew();
      if (kept) continue;
      co_await end_command();
      co_return;
    }
    code_ = static_cast<ExitCode>(*process_->ended());
    if (boot_clock_now() < grant_.kill_at) co_return;
    // This program stood still for too long, and the guard has done its duty.
    complain(fmt::format("{} is lost: not renewed in time; the command was killed", name()));
    gone_ = true;
    code_ = ExitCode::kUnreachable;
  }

  asio::awaitable<void> hold() {
    const bool held = co_await acquire();
    if (held) {
      say(fmt::format("holding {} with epoch {}", name(), grant_.epoch));
      const bool started = !interrupted_ && start();
      if (started) co_await keep();
      if (interrupted_ && !started) code_ = ExitCode::kInterrupted;
      api_->set_limit(kReleaseMax);
      if (!gone_) {
        // Best effort: what cannot be released ends by itself.
        co_await post("release", request_body());
      }
    }
    signals_.cancel();
    over_ = true;
  }

  asio::awaitable<void> heed_signals() {
    while (!over_) {
      const auto [ec, number] = co_await signals_.async_wait(asio::as_tuple(asio::deferred));
      if (ec || over_) co_return;
      if (number != SIGCHLD && process_) process_->signal(number);
      // A renewal is of no use any more; the release that follows must not be broken off, and the
      // guard's end comes as a signal as well.
      if (number == SIGCHLD && renewing_ && process_->ended()) api_->break_off();
      if (number != SIGCHLD && !process_) {
        interrupted_ = true;
        api_->give_up();
      }
      pause_.cancel();
    }
  }

  const Context& context_;
  const HoldOptions& options_;
  std::unique_ptr<ApiClient> api_;
  std::string agent_;
  asio::steady_timer pause_;
  asio::signal_set signals_;
  Grant grant_;
  std::optional<HeldProcess> process_;
  std::optional<Failure> lost_;  // why the last renewal failed
  ExitCode code_ = ExitCode::kFailed;
  bool renewing_ = false;
  bool interrupted_ = false;
  bool gone_ = false;  // the lease ended before the command
  bool over_ = false;
};

// The command's own exit code; 127 when there is no such command; 5 or 6 when the lease could not
// be had or kept; 9 when it did not become free in time.
ExitCode hold_lease(const Context& context, const HoldOptions& options) {
  auto api = ApiClient::open(context);
  if (!api) return api.error();
  return Holder(context, options, *std::move(api)).run();
}

const char* state_of(const object& lease) {
  if (flag_at(lease, "live")) return "held";
  return text_at(lease, "agent").empty() ? "free" : "expired";
}

Cell state_of_lease(const object& lease, const Look& look) {
  return {state_text(state_of(lease), look), tone_of_state(state_of(lease))};
}

std::string name_of(const object& lease) {
  return fmt::format("{}/{}", text_at(lease, "topic"), number_at(lease, "partition"));
}

constexpr ListColumn kLeaseColumns[] = {
    {"TOPIC", [](const object& o, const Look&) { return plain_cell(o, "topic"); }},
    {"PARTITION", [](const object& o, const Look&) { return plain_cell(o, "partition"); },
     Align::kRight},
    {"STATE", state_of_lease},
    {"AGENT", [](const object& o, const Look&) { return plain_cell(o, "agent"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
    {"EPOCH", [](const object& o, const Look&) { return plain_cell(o, "epoch"); }, Align::kRight},
    {"EXPIRES", [](const object& o, const Look& l) { return time_cell(o, "expires_at", l); }},
};
constexpr Listing kLeases{"leases", "leases", name_of, kLeaseColumns};

struct Lease {
  std::string topic;
  std::uint32_t partition = 0;
  std::string agent;
  std::uint64_t epoch = 0;
};

std::string path_of(const Lease& lease) {
  return fmt::format("/api/leases/{}/{}", escaped(lease.topic), lease.partition);
}

std::string lease_record(const object& o, const Look& look) {
  Record record;
  const Cell state = state_of_lease(o, look);
  record.add("lease", name_of(o)).add("state", state.text, state.tone);
  record.add("agent", text_at(o, "agent")).add("epoch", text_at(o, "epoch"));
  record.add("expires", time_cell(o, "expires_at", look).text);
  if (o.contains("renew_at")) record.add("renew", time_cell(o, "renew_at", look).text);
  return record.text(look);
}

ExitCode show_answer(const Context& context, const ApiResult& answer) {
  if (!answer) return report(answer.error());
  const object& o = answer->object();
  const Look look = look_at(context, STDOUT_FILENO);
  return show_one(context, answer->json, {name_of(o), lease_record(o, look)});
}

ExitCode show_lease(const Context& context, const Lease& lease) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  return show_answer(context, (*api)->get(path_of(lease)));
}

ExitCode acquire(const Context& context, const Lease& lease) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const object body{{"agent", lease.agent}};
  return show_answer(context, (*api)->post(path_of(lease) + "/acquire", compact_json(body)));
}

ExitCode renew(const Context& context, const Lease& lease) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const object body{{"agent", lease.agent}, {"epoch", lease.epoch}};
  return show_answer(context, (*api)->post(path_of(lease) + "/renew", compact_json(body)));
}

// May the holder still act? The fence, for scripts that are not run by `hold`.
ExitCode check(const Context& context, const Lease& lease) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const object body{{"agent", lease.agent}, {"epoch", lease.epoch}};
  return show_answer(context, (*api)->post(path_of(lease) + "/check", compact_json(body)));
}

ExitCode release(const Context& context, const Lease& lease) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const object body{{"agent", lease.agent}, {"epoch", lease.epoch}};
  const std::string name = fmt::format("{}/{}", lease.topic, lease.partition);
  return act(context, **api,
             {post_request(path_of(lease) + "/release", compact_json(body)), name,
              fmt::format("Lease {} released", name)});
}

enum class Needs { kNothing, kAgent, kEpoch };
using LeaseCommand = ExitCode (*)(const Context&, const Lease&);

struct LeaseVerb {
  const char* name;
  const char* help;
  Needs needs;
  LeaseCommand run;
};

constexpr LeaseVerb kLeaseVerbs[] = {
    {"show", "Show the lease of a partition", Needs::kNothing, show_lease},
    {"acquire", "Acquire a free or expired lease with a new epoch; exit 6 if it is taken",
     Needs::kAgent, acquire},
    {"renew", "Renew a lease; exit 6 if it was lost", Needs::kEpoch, renew},
    {"check", "Check whether a lease is still held with this epoch; exit 6 if not", Needs::kEpoch,
     check},
    {"release", "Release a lease immediately", Needs::kEpoch, release},
};

void add_verb(CommandSpec leases, Command& chosen, const LeaseVerb& verb) {
  auto lease = std::make_shared<Lease>();
  CommandSpec command = leases.command(verb.name, verb.help);
  command.option("topic", lease->topic, "Topic of the lease").required();
  command.option("partition", lease->partition, "Partition of the topic").required();
  std::string shown = fmt::format("vortex leases {} orders 0", verb.name);
  if (verb.needs >= Needs::kAgent) {
    command.option("--agent", lease->agent, "Holder of the lease").required().value_name("ID");
    shown += " --agent a1";
  }
  if (verb.needs == Needs::kEpoch) {
    command.option("--epoch", lease->epoch, "Epoch of the lease").required().value_name("NUMBER");
    shown += " --epoch 7";
  }
  command.example(shown);
  command.on_chosen(chosen, [lease, &verb](Context& c) { return verb.run(c, *lease); });
}

void add_hold(CommandSpec leases, Command& chosen) {
  auto options = std::make_shared<HoldOptions>();
  CommandSpec command =
      leases.command("hold", "Run a command while holding a lease: a distributed lock for scripts");
  command.option("topic", options->topic, "Topic of the lease").required();
  command.option("partition", options->partition, "Partition of the topic").required();
  command.option("command", options->command, "The command and its arguments, after --").required();
  command.option("--agent", options->agent, "Prefix of the holder's name (default: host name)")
      .value_name("NAME");
  command.duration("--wait", options->wait,
                   "Wait this long for the lease, then exit 9 (default: exit 6 if it is taken)");
  command.duration("--grace", options->grace,
                   "Time between TERM and KILL if the lease is lost (default: a tenth of it)");
  command.example(
      "vortex leases hold nightly-backup 0 --wait 10m -- ./backup.sh\n"
      "vortex leases hold orders 3 -- sh -c './consume --fence \"$VORTEX_LEASE_EPOCH\"'");
  command.on_chosen(chosen, [options](Context& c) { return hold_lease(c, *options); });
}

}  // namespace

void add_leases(CommandSpec app, Command& chosen) {
  CommandSpec leases = app.command("leases", "Manage partition leases").group(kAct);
  leases.needs_command();
  leases.example("vortex leases acquire orders 0 --agent a1");
  auto topic = std::make_shared<std::string>();
  auto page = std::make_shared<ListOptions>();
  CommandSpec all = leases.command("list", "List all partition leases");
  all.option("--topic", *topic, "Only partitions of this topic").value_name("NAME");
  add_list_options(all, *page);
  all.example("vortex leases list --topic orders");
  all.on_chosen(chosen, [topic, page](Context& c) {
    return list(c, kLeases, with_query("/api/leases", {{"topic", *topic}}), *page);
  });
  for (const LeaseVerb& verb : kLeaseVerbs) add_verb(leases, chosen, verb);
  add_hold(leases, chosen);
}

}  // namespace vortex::cli

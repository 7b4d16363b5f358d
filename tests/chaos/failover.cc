// Several controllers over one PostgreSQL, under load, while the leader is lost again and again:
// what they made durable is judged by the simulator's history checkers.
//
//   chaos_failover [--rounds N] [--seed S] [--how kill|sessions|stall|restart|untold]
//
// kill: the leader is cut from its database at once and its sessions are ended on the server, in
// the middle of whatever they do, as kill -9 does; a new one starts. sessions: only its sessions
// are ended, many times, so that answers to commits are lost. stall: the leader's writes hang for
// longer than its lease and go on then. restart: PostgreSQL ends at once and starts again. untold:
// the checkers are not shown an event, and must notice. The controllers are in this process, so
// that their commits can be recorded as they make them; processes that are really killed and frozen
// are e2e_controllers and `vortex drill --controllers`. Closes with a line of figures; exit 1 when
// something is broken.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/rng.h"
#include "cli/local/cluster.h"
#include "controller/controller.h"
#include "store/postgres/open.h"
#include "tests/chaos/ledger.h"
#include "tests/chaos/load.h"
#include "tests/chaos/shared_history.h"
#include "tests/support/postgres/postgres_cluster.h"

namespace vortex::chaos {
namespace {

constexpr std::size_t kControllers = 3;
constexpr Duration kFindLimit = seconds(60);
constexpr Duration kLease = seconds(1);
constexpr int kSessionEnds = 15;  // in each round

struct Options {
  std::uint32_t rounds = 4;
  std::uint64_t seed = 0;
  std::string how = "kill";
};

void rest(Duration time) { std::this_thread::sleep_for(std::chrono::microseconds(time.us)); }

class Fleet {
 public:
  explicit Fleet(std::vector<std::string>& broken);
  std::size_t leader();
  void end_sessions(std::size_t index) const;
  void kill(std::size_t index);
  void start(std::size_t index);
  void wait_until_ready();
  std::uint16_t port(std::size_t index) const { return members_[index].port; }
  Plug& plug(std::size_t index) { return *members_[index].plug; }
  testing::PostgresCluster& database() { return database_; }
  SharedHistory& history() { return history_; }
  std::string ask(const char* sql) const {
    return database_.ask("SET search_path = t1;" + std::string(sql));
  }
  void stop() { members_.clear(); }
  std::unique_ptr<store::Store> open(const std::string& name) const;
  core::Policy policy() const { return core::make_policy(settings_); }

 private:
  struct Member {
    std::uint16_t port = 0;
    std::shared_ptr<Plug> plug;
    std::unique_ptr<controller::Controller> controller;
  };

  // Synced: a server that ends at once must not lose what it has confirmed.
  testing::PostgresCluster database_{{.durable = true, .settings = {}}};
  cli::local::TempFolder folder_;
  std::string url_;
  Settings settings_;
  SharedHistory history_;  // outlives the members
  std::vector<std::string>& broken_;
  std::vector<Member> members_;
};

Fleet::Fleet(std::vector<std::string>& broken)
    : url_(database_.new_schema()), broken_(broken), members_(kControllers) {
  open("setup");  // migrates
  ask(kNoteCommits);
  for (std::size_t i = 0; i < kControllers; ++i) {
    members_[i].port = cli::local::free_port();
    start(i);
  }
  wait_until_ready();
}

std::unique_ptr<store::Store> Fleet::open(const std::string& name) const {
  store::PostgresOptions options;
  options.url = fmt::format("{} application_name={}", url_, name);
  options.io_timeout = seconds(5);
  auto store = store::open_postgres(options);
  if (store) return *std::move(store);
  fmt::print(stderr, "the database cannot be opened: {}\n", store.error().detail);
  std::exit(2);
}

void Fleet::start(std::size_t index) {
  Member& member = members_[index];
  LoadRequest request;
  request.flags = {"--tuning=standard",
                   fmt::format("--controller.leader_lease_secs={}", kLease.us / 1'000'000),
                   "--controller.require_tokens=false",
                   fmt::format("--controller.listen=127.0.0.1:{}", member.port),
                   fmt::format("--database.path={}/{}.db", folder_.path(), index),
                   "--monitoring.monitor_log=off"};
  auto loaded = load_settings(request);
  if (!loaded) {
    fmt::print(stderr, "{}\n", to_text(loaded.error().front()));
    std::exit(2);
  }
  settings_ = loaded->settings;
  member.plug = std::make_shared<Plug>();
  controller::ControllerParts parts;
  parts.settings = *std::move(loaded);
  parts.id = fmt::format("c{}", index);
  parts.store = record(open(parts.id), history_, member.plug);
  auto started = controller::Controller::start(std::move(parts));
  if (!started) {
    broken_.push_back(started.error());
    return;
  }
  member.controller = *std::move(started);
}

void Fleet::end_sessions(std::size_t index) const {
  database_.ask(
      fmt::format("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                  "application_name = 'c{}'",
                  index));
}

void Fleet::kill(std::size_t index) {
  end_sessions(index);
  members_[index].plug->cut();
  end_sessions(index);
  members_[index].controller.reset();
}

std::size_t Fleet::leader() {
  const Instant until = boot_clock_now() + kFindLimit;
  while (boot_clock_now() < until) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].controller && members_[i].controller->serves()) return i;
    }
    rest(millis(2));
  }
  broken_.emplace_back("nobody leads");
  return 0;
}

void Fleet::wait_until_ready() {
  const Instant until = boot_clock_now() + kFindLimit;
  const auto all_ready = [this] {
    return std::ranges::all_of(members_, [](const Member& member) {
      return member.controller && member.controller->is_ready();
    });
  };
  while (!all_ready()) {
    if (boot_clock_now() > until) return broken_.emplace_back("a controller is not ready"), void();
    rest(millis(5));
  }
}

// The leader is lost in the way that was asked for, and is back or a standby when this returns.
void strike(const Options& options, Fleet& fleet, Rng& rng) {
  const std::size_t leader = fleet.leader();
  rest(millis(rng.between(50, 400)));
  if (options.how == "sessions") {
    for (int i = 0; i < kSessionEnds; ++i) {
      fleet.end_sessions(fleet.leader());
      rest(millis(rng.between(5, 60)));
    }
  } else if (options.how == "restart") {
    fleet.database().stop(testing::PostgresCluster::Stop::kImmediate);
    fleet.database().start();
  } else if (options.how == "stall") {
    fleet.plug(leader).stall();
    const Instant until = boot_clock_now() + kFindLimit;
    while (fleet.leader() == leader && boot_clock_now() < until) rest(millis(5));
    rest(millis(rng.between(0, 300)));
    fleet.plug(leader).go_on();
  } else {
    fleet.kill(leader);
    fleet.leader();
    fleet.start(leader);
  }
  fleet.wait_until_ready();
}

int run(const Options& options) {
  fmt::print("seed {}\n", options.seed);
  Rng rng(options.seed);
  std::vector<std::string> broken;
  Fleet fleet(broken);
  if (options.how == "untold") fleet.history().leave_out(EventKind::kTaskStarted);
  Ledger ledger;
  {
    std::vector<std::unique_ptr<Load>> loads;
    for (std::size_t i = 0; i < kControllers; ++i) {
      loads.push_back(std::make_unique<Load>(net::Endpoint{"127.0.0.1", fleet.port(i)},
                                             options.seed + i, ledger));
    }
    for (std::uint32_t round = 0; round < options.rounds && broken.empty(); ++round) {
      strike(options, fleet, rng);
    }
    for (const auto& load : loads) load->stop_submitting();
    if (!loads.front()->wait_until_done(seconds(120))) {
      broken.emplace_back("a promised run has not ended");
    }
  }
  fleet.stop();
  auto store = fleet.open("ledger");
  auto reader = store->reader();
  if (!reader) {
    broken.push_back(reader.error().detail);
  } else {
    for (std::string& what : ledger.broken(**reader)) broken.push_back(std::move(what));
  }
  auto verdict = fleet.history().judge(fleet.policy(), fleet.ask(kReadNotes));
  if (options.how == "untold") {
    const bool noticed = std::ranges::any_of(verdict.violations, [](const std::string& what) {
      return what.starts_with("36-events-tell-all");
    });
    if (!noticed) broken.emplace_back("nobody noticed that the starts of tasks are not in the log");
  } else {
    for (std::string& what : verdict.violations) broken.push_back(std::move(what));
  }
  if (verdict.terms <= options.rounds) {
    broken.push_back(fmt::format("{} terms in {} rounds", verdict.terms, options.rounds));
  }
  for (const std::string& what : broken) fmt::print("BROKEN: {}\n", what);
  fmt::print(
      "how={} rounds={} terms={} commits={} lost_answers={} of_them_durable={} runs={} "
      "results={} broken={}\n",
      options.how, options.rounds, verdict.terms, verdict.commits, verdict.lost_answers,
      verdict.lost_but_durable, ledger.runs().size(), ledger.results(), broken.size());
  return broken.empty() ? 0 : 1;
}

}  // namespace
}  // namespace vortex::chaos

int main(int argc, char** argv) {
  vortex::chaos::Options options;
  options.seed = static_cast<std::uint64_t>(vortex::wall_clock_now().us);
  CLI::App app("Loses the leader again and again and judges what was made durable");
  app.add_option("--rounds", options.rounds);
  app.add_option("--seed", options.seed);
  app.add_option("--how", options.how)
      ->check(CLI::IsMember({"kill", "sessions", "stall", "restart", "untold"}));
  CLI11_PARSE(app, argc, argv);
  return vortex::chaos::run(options);
}

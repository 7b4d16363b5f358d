// Kills a controller again and again under load and checks that it kept every promise.
//
//   chaos_controller --program PATH [--kills N] [--seed S] [--how random|between|store]
//
// random: kill -9 at random moments. between: it dies by itself exactly between a commit and the
// replies of that commit. store: the first, second, third ... write to the disk fails, by turns
// with an I/O error and for want of space; it must live through that, and is killed afterwards.
// Closes with `kills=N runs=R results=K broken=B`; exit 1 when B is not 0.

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
#include "store/sqlite/open.h"
#include "tests/chaos/ledger.h"
#include "tests/chaos/load.h"

namespace vortex::chaos {
namespace {

using cli::local::ControllerConfig;
using cli::local::ControllerProcess;
using cli::local::TempFolder;

struct Options {
  std::string program;
  std::uint32_t kills = 200;
  std::uint64_t seed = 0;
  std::string how = "random";
};

void rest(Duration time) { std::this_thread::sleep_for(std::chrono::microseconds(time.us)); }

ControllerConfig child_config(const Options& options, const std::string& folder,
                              std::uint16_t port) {
  ControllerConfig config;
  config.program = options.program;
  config.folder = folder;
  config.port = port;
  config.flags = {"--tuning=testing"};
  return config;
}

// True: it is dead and was not stopped in vain.
bool let_die(ControllerProcess& child, const Options& options, Rng& rng) {
  if (options.how == "random") {
    rest(millis(rng.between(5, 400)));
    if (!child.is_alive()) return false;  // it died by itself
    child.kill_now();
    return true;
  }
  if (options.how == "store") {
    rest(millis(rng.between(100, 300)));
    if (!child.is_alive()) return false;
    child.kill_now();
    return true;
  }
  const Instant until = boot_clock_now() + seconds(30);
  while (child.is_alive() && boot_clock_now() < until) rest(millis(2));
  return !child.is_alive();
}

void arm(ControllerConfig& config, const Options& options, std::uint32_t kill, Rng& rng) {
  if (options.how == "store") {
    const char* kind = kill % 2 == 0 ? "io" : "full";
    config.environment = {fmt::format("VORTEX_FAULT_STORE={}@{}", kind, kill / 2 + 1)};
  }
  if (options.how != "between") return;
  const char* point = rng.chance(500) ? "after_commit" : "before_reply";
  config.environment = {fmt::format("VORTEX_FAULT_POINT={}@{}", point, rng.between(1, 60))};
}

int report(const Options& options, const Ledger& ledger, const std::vector<std::string>& broken) {
  for (const std::string& what : broken) fmt::print("BROKEN: {}\n", what);
  fmt::print("kills={} runs={} results={} broken={}\n", options.kills, ledger.runs().size(),
             ledger.results(), broken.size());
  return broken.empty() ? 0 : 1;
}

int run(const Options& options) {
  fmt::print("seed {}\n", options.seed);
  Rng rng(options.seed);
  const TempFolder folder;
  ControllerConfig config = child_config(options, folder.path(), cli::local::free_port());
  Ledger ledger;
  std::vector<std::string> broken;
  {
    Load load({"127.0.0.1", config.port}, options.seed, ledger);
    for (std::uint32_t kill = 0; kill < options.kills && broken.empty(); ++kill) {
      arm(config, options, kill, rng);
      auto child = ControllerProcess::start(config);
      // Armed, it may die before it was ever ready: that is a kill as well.
      if (!child && options.how == "random") broken.push_back(child.error());
      if (child && !let_die(**child, options, rng))
        broken.emplace_back("it did not die as it should");
    }
    config.environment.clear();
    auto last = ControllerProcess::start(config);
    if (!last) {
      broken.push_back(last.error());
      return report(options, ledger, broken);
    }
    load.stop_submitting();
    if (!load.wait_until_done(seconds(90))) broken.emplace_back("a promised run has not ended");
    if ((*last)->stop() != 0) broken.emplace_back("it did not stop with 0 on SIGTERM");
  }
  store::SqliteOptions open;
  open.path = folder.path() + "/vortex.db";
  auto store = store::open_sqlite(open);
  auto reader = store ? (*store)->reader() : store::Result<std::unique_ptr<store::Reader>>{};
  if (!store || !reader) {
    broken.emplace_back("the database cannot be opened");
  } else {
    for (std::string& what : ledger.broken(**reader)) broken.push_back(std::move(what));
  }
  return report(options, ledger, broken);
}

}  // namespace
}  // namespace vortex::chaos

int main(int argc, char** argv) {
  vortex::chaos::Options options;
  options.seed = static_cast<std::uint64_t>(vortex::wall_clock_now().us);
  CLI::App app("Kills a controller under load and checks its promises");
  app.add_option("--program", options.program, "The vortex to test")->required();
  app.add_option("--kills", options.kills);
  app.add_option("--seed", options.seed);
  app.add_option("--how", options.how)->check(CLI::IsMember({"random", "between", "store"}));
  CLI11_PARSE(app, argc, argv);
  return vortex::chaos::run(options);
}

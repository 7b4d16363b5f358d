#include "tests/chaos/load.h"

#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/rng.h"

namespace vortex::chaos {
namespace {

constexpr std::int64_t kTasksMax = 200;

void rest(Duration time) { std::this_thread::sleep_for(std::chrono::microseconds(time.us)); }

cli::bench::BenchWorkerWatch watch(Ledger& ledger) {
  cli::bench::BenchWorkerWatch watch;
  watch.on_assigned = [&ledger](const Assignment& assignment) { ledger.given(assignment.attempt); };
  watch.on_acknowledged = [&ledger](const Attempt& attempt) { ledger.acknowledged(attempt); };
  return watch;
}

bool has_ended(const net::Endpoint& server, const std::string& run) {
  const auto body = cli::bench::get(server, "/api/runs/" + run);
  return body && !body->contains("\"state\":\"Running\"");
}

}  // namespace

Load::Load(net::Endpoint server, std::uint64_t seed, Ledger& ledger)
    : server_(std::move(server)), ledger_(ledger) {
  cli::bench::FleetConfig config;
  config.server = server_;
  config.slots = 40;
  config.prefix = fmt::format("load-{}", server_.port);  // there may be one of these per controller
  config.wait = millis(500);
  fleet_ = std::make_unique<cli::bench::Fleet>(config, watch(ledger_));
  submitter_ = std::thread([this, seed] { submit_until_stopped(seed); });
}

Load::~Load() { stop_submitting(); }

void Load::stop_submitting() {
  stopping_ = true;
  if (submitter_.joinable()) submitter_.join();
}

void Load::submit_until_stopped(std::uint64_t seed) {
  Rng rng(seed);
  for (std::uint64_t n = 1; !stopping_; ++n) {
    const auto tasks = static_cast<std::uint64_t>(rng.between(1, kTasksMax));
    const std::string key = fmt::format("chaos-{}-{}", seed, n);
    const std::string body = cli::bench::map_run("chaos", tasks);
    // Not even a stop ends this: a submit whose answer was lost has to be asked for again.
    while (true) {
      const auto run = cli::bench::submit(server_, body, key);
      if (run) {
        ledger_.promised({*run, tasks, key});
        break;
      }
      rest(millis(5));
    }
    rest(millis(rng.between(1, 20)));
  }
}

bool Load::wait_until_done(Duration limit) const {
  const Instant until = boot_clock_now() + limit;
  for (const PromisedRun& run : ledger_.runs()) {
    while (!has_ended(server_, run.id)) {
      if (boot_clock_now() > until) return false;
      rest(millis(10));
    }
  }
  return true;
}

}  // namespace vortex::chaos

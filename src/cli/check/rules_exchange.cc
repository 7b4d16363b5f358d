// The exchange between worker and controller, and everything that can go wrong in it.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <variant>

#include <fmt/format.h>

#include "base/clock.h"
#include "cli/check/rules.h"

namespace vortex::cli::check {
namespace {

constexpr std::uint32_t kCallsPerSecondMax = 20;  // of a worker that is turned away

std::string long_task(const std::string& pids) {
  return "sleep 300 & echo $$ $! > " + quoted(pids) + "; wait";
}

std::int64_t ms_of(Duration duration) { return duration.us / 1'000; }

bool holds(const SeenCall& call, Attempt attempt) {
  if (!call.request.held) return false;
  return std::ranges::any_of(*call.request.held,
                             [&](const HeldTask& held) { return held.attempt == attempt; });
}

Verdict registers(const Scene& scene) {
  const auto is_gone = [&] { return scene.worker != nullptr && !scene.worker->is_alive(); };
  scene.stage.until(
      [&](const Record& record) {
        return !record.calls.empty() || !record.faults.empty() || is_gone();
      },
      seconds(30));
  const Record record = scene.stage.record();
  const bool came = !record.calls.empty();
  if (!came && is_gone()) {
    return wrong(fmt::format("the worker exited with code {} before it made a sync call",
                             scene.worker->exit_code()));
  }
  if (!record.faults.empty()) return wrong(record.faults.front());
  if (record.registrations.empty()) return wrong("no worker registered within 30 s");
  if (!came) return wrong("it registered, but made no sync call within 30 s");
  if (record.registrations.front().info.slots == 0) return wrong("it registered with 0 slots");
  return passed();
}

Verdict carries_its_session(const Scene& scene) {
  const Attempt attempt = scene.stage.assign(script("echo output"));
  if (Verdict end = want_completed(scene, attempt); end.kind != Verdict::Kind::kPass) return end;
  const Record record = scene.stage.record();
  if (record.strangers.empty()) return passed();
  return wrong(record.strangers.front() +
               "; send the `session` of the registration as the header Vortex-Session");
}

// The longest time between two calls, and whether each named the task in hand.
Verdict heartbeats(const Scene& scene) {
  const std::string go = path_in(scene, "heartbeat");
  const Attempt attempt = scene.stage.assign(script("echo started > " + quoted(go) + "; sleep 4"));
  if (wait_for_line(go).empty()) return wrong("the task was not started within 10 s");
  const Instant began = boot_clock_now();
  if (Verdict end = want_completed(scene, attempt); end.kind != Verdict::Kind::kPass) return end;
  const Record record = scene.stage.record();
  Duration gap;
  Instant last = began;
  bool named = false;
  for (const SeenCall& call : record.calls) {
    if (call.at < began) continue;
    gap = std::max(gap, call.at - last);
    last = call.at;
    named = named || holds(call, attempt);
  }
  const Duration limit = scene.stage.timing().self_fence / 2;
  if (gap > limit) {
    return wrong(fmt::format("{} ms passed between two calls; heartbeat_interval_ms is {}",
                             ms_of(gap), ms_of(scene.stage.timing().heartbeat_interval)));
  }
  if (!named) return wrong("the running task was not listed in 'held'");
  const bool started = std::ranges::any_of(record.reports, [&](const SeenReport& seen) {
    return seen.report.attempt == attempt && std::holds_alternative<Started>(seen.report.body);
  });
  return started ? passed() : wrong("the start was not reported");
}

Verdict starts_once(const Scene& scene) {
  const std::string lines = path_in(scene, "once");
  const Attempt attempt = scene.stage.assign(script("echo x >> " + quoted(lines) + "; sleep 1"));
  scene.stage.repeat(attempt, 4);
  if (Verdict end = want_completed(scene, attempt); end.kind != Verdict::Kind::kPass) return end;
  // Late repeats come after the end, too: calls go on until all were carried.
  const auto calls = scene.stage.record().calls.size();
  scene.stage.until([&](const Record& record) { return record.calls.size() >= calls + 5; }, kSoon);
  const std::string text = content_of(lines);
  if (text == "x\n") return passed();
  return wrong(
      fmt::format("a repeated assignment was started {} times", std::ranges::count(text, '\n')));
}

Verdict stops(const Scene& scene) {
  const std::string pids = path_in(scene, "stop pids");
  const Attempt attempt = scene.stage.assign(script(long_task(pids)));
  if (wait_for_line(pids).empty()) return wrong("the task was not started within 10 s");
  scene.stage.stop(attempt);
  const auto end = end_of(scene, attempt, seconds(15));
  if (!gone_within(pids, seconds(1)))
    return wrong("a process of the stopped task is still running");
  if (!end) return wrong("the stopped task was killed, but not reported");
  const auto* released = std::get_if<Released>(&*end);
  if (released != nullptr && released->cause == Released::Cause::kStopped) return passed();
  return wrong(fmt::format("reported {}; expected released (cause stopped)", describe(*end)));
}

Verdict drops_stale(const Scene& scene) {
  const std::string pids = path_in(scene, "stale pids");
  const Attempt attempt = scene.stage.assign(script(long_task(pids)));
  if (wait_for_line(pids).empty()) return wrong("the task was not started within 10 s");
  scene.stage.make_stale(attempt);
  if (!gone_within(pids, kSoon)) return wrong("a process of the stale attempt is still running");
  const bool dropped = scene.stage.until(
      [&](const Record& record) {
        const auto& held = record.calls.back().request.held;
        return held.has_value() && !holds(record.calls.back(), attempt);
      },
      kSoon);
  if (!dropped) return wrong("the stale attempt is still listed in 'held'");
  const auto end = end_of(scene, attempt, millis(200));
  return end ? wrong("the stale attempt was reported as " + describe(*end)) : passed();
}

Verdict repeats_reports(const Scene& scene) {
  scene.stage.lose_reports(2);
  const Attempt attempt = scene.stage.assign(order_of({"true"}));
  const Verdict end = want_completed(scene, attempt);
  scene.stage.lose_reports(0);
  if (end.kind == Verdict::Kind::kPass) return end;
  return wrong("a report was dropped before seq_seen had reached its call: " + end.text);
}

Verdict rides_out(const Scene& scene, const std::function<void()>& begin,
                  const std::function<void()>& finish) {
  const std::string go = path_in(scene, fmt::format("trouble {}", boot_clock_now().us));
  const Attempt attempt = scene.stage.assign(script("echo x > " + quoted(go) + "; sleep 1"));
  if (wait_for_line(go).empty()) return wrong("the task was not started within 10 s");
  const std::uint32_t before = scene.stage.record().turned_away;
  begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(2'500));
  finish();
  const std::uint32_t calls = scene.stage.record().turned_away - before;
  if (Verdict end = want_completed(scene, attempt); end.kind != Verdict::Kind::kPass) {
    return wrong("the end of a task was lost while the controller was away: " + end.text);
  }
  if (calls * 10 > kCallsPerSecondMax * 25) {
    return wrong(fmt::format("it called {} times in 2.5 s without backing off", calls));
  }
  return passed();
}

Verdict rides_out_503(const Scene& scene) {
  return rides_out(
      scene, [&] { scene.stage.set_weather(Weather::kUnavailable); },
      [&] { scene.stage.set_weather(Weather::kFair); });
}

Verdict rides_out_reset(const Scene& scene) {
  return rides_out(scene, [&] { scene.stage.close_port(); }, [&] { scene.stage.open_port(); });
}

Verdict ignores_unknown(const Scene& scene) {
  scene.stage.speak_of_the_future(true);
  const Verdict end = want_completed(scene, scene.stage.assign(order_of({"true"})));
  scene.stage.speak_of_the_future(false);
  return end.kind == Verdict::Kind::kPass ? end : wrong("with unknown fields: " + end.text);
}

Verdict fences_itself(const Scene& scene) {
  const Timing& timing = scene.stage.timing();
  const std::string pids = path_in(scene, "fence pids");
  const Attempt attempt = scene.stage.assign(script(long_task(pids)));
  if (wait_for_line(pids).empty()) return wrong("the task was not started within 10 s");
  scene.stage.set_weather(Weather::kDeaf);
  const Instant heard = scene.stage.record().answered_at;
  const bool killed = gone_within(pids, heard + timing.lease - boot_clock_now());
  const Duration after = boot_clock_now() - heard;
  scene.stage.set_weather(Weather::kFair);
  if (!killed) {
    return wrong(
        fmt::format("the task was still running {} ms after the last answered call; the lease of "
                    "{} ms has expired, and it may run elsewhere",
                    ms_of(after), ms_of(timing.lease)));
  }
  if (after < timing.heartbeat_interval * 2) {
    return wrong(fmt::format("the task was not killed until {} ms after the last answered call",
                             ms_of(after)));
  }
  const auto end = end_of(scene, attempt);
  const bool result =
      end && (std::holds_alternative<Completed>(*end) || std::holds_alternative<Failed>(*end));
  if (result) return wrong("the attempt it killed itself was reported as " + describe(*end));
  return passed();
}

Verdict begins_anew(const Scene& scene) {
  const std::string pids = path_in(scene, "session pids");
  scene.stage.assign(script(long_task(pids)));
  if (wait_for_line(pids).empty()) return wrong("the task was not started within 10 s");
  const auto lives = scene.stage.record().registrations.size();
  const Incarnation before = scene.stage.record().registrations.back().incarnation;
  scene.stage.end_session();
  const bool anew = scene.stage.until(
      [&](const Record& record) { return record.registrations.size() > lives; }, seconds(20));
  if (!gone_within(pids, seconds(2))) {
    return wrong("the session was ended (409, why session_ended), but its task is still running");
  }
  if (!anew) return wrong("it did not register again within 20 s of 409, why session_ended");
  if (scene.stage.record().registrations.back().incarnation <= before) {
    return wrong("it came back with an incarnation that is not higher than the previous one");
  }
  const Verdict end = want_completed(scene, scene.stage.assign(order_of({"true"})));
  return end.kind == Verdict::Kind::kPass ? end : wrong("in its new session: " + end.text);
}

Verdict drains(const Scene& scene) {
  if (scene.worker == nullptr) return skipped("the worker was not started by worker-check");
  const std::string go = path_in(scene, "drain");
  const Attempt attempt = scene.stage.assign(script("echo x > " + quoted(go) + "; sleep 2"));
  if (wait_for_line(go).empty()) return wrong("the task was not started within 10 s");
  scene.worker->signal(SIGTERM);
  if (Verdict end = want_completed(scene, attempt); end.kind != Verdict::Kind::kPass) {
    return wrong("the running task did not finish after SIGTERM: " + end.text);
  }
  const Instant give_up = boot_clock_now() + kSoon;
  while (scene.worker->is_alive() && boot_clock_now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (scene.worker->is_alive()) return wrong("it was still running 10 s after its last task ended");
  if (scene.worker->exit_code() != 0) {
    return wrong(fmt::format("it exited with code {}", scene.worker->exit_code()));
  }
  const Record record = scene.stage.record();
  const bool goodbye = std::ranges::any_of(
      record.calls, [](const SeenCall& call) { return call.request.leaving == Leaving::kGone; });
  return goodbye ? passed() : wrong("it exited without a last call with leaving: gone");
}

Verdict keeps_to_the_exchange(const Scene& scene) {
  const Record record = scene.stage.record();
  return record.faults.empty() ? passed() : wrong(record.faults.front());
}

constexpr Rule kExchangeRules[] = {
    {"register", "registers and starts to sync", "Registration", registers},
    {"session", "sends the session of its registration with every call", "Registration",
     carries_its_session},
    {"heartbeat", "calls in time and lists what it holds", "Timing", heartbeats},
    {"start-once", "starts an epoch once, however often it is assigned", "Assignments",
     starts_once},
    {"stop", "ends a stopped task, and reports it released", "Stops and stale attempts", stops},
    {"stale", "kills a stale attempt without a report", "Stops and stale attempts", drops_stale},
    {"repeat-reports", "repeats reports until seq_seen confirms that they are durable", "Reports",
     repeats_reports},
    {"unavailable", "survives 503 with a backoff and loses no report", "Refusals", rides_out_503},
    {"reset", "survives cut connections and loses no report", "Refusals", rides_out_reset},
    {"unknown-fields", "ignores fields it does not know", "A worker in any language",
     ignores_unknown},
    {"self-fence", "kills its tasks before the lease can expire when nothing is acknowledged",
     "Timing", fences_itself},
    {"new-session", "kills everything and registers again when its session was ended", "Refusals",
     begins_anew},
    {"well-formed", "sends only valid messages about its own tasks", "A worker in any language",
     keeps_to_the_exchange},
    {"drain", "finishes its task on SIGTERM, signs off and exits 0", "Leaving", drains},
};

}  // namespace

std::span<const Rule> exchange_rules() { return kExchangeRules; }

}  // namespace vortex::cli::check

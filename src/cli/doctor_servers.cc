// The part of `vortex doctor` that asks controllers.
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/version.h"
#include "cli/api_client.h"
#include "cli/doctor_checks.h"
#include "cli/human.h"
#include "cli/json_view.h"

namespace vortex::cli {
namespace {

using Mark = Check::Mark;

constexpr Duration kSkewWarn = seconds(1);
constexpr Duration kLimit = seconds(5);

Check check_health(const ApiResult& answer, const std::string& server) {
  const std::string name = "controller " + server;
  if (!answer && answer.error().status == 0) {
    return {name, Mark::kFail, answer.error().what, answer.error().help};
  }
  if (!answer) {
    return {name, Mark::kFail, fmt::format("unhealthy (status {})", answer.error().status),
            "check its log, its database and its disk space"};
  }
  const auto& o = answer->object();
  const bool leads = flag_at(o, "leader");
  const bool brake = flag_at(o, "brake_engaged");
  Check check{
      name, Mark::kOk,
      fmt::format("healthy, {}, {}, up {}", leads ? "leader" : "standby",
                  counted(static_cast<std::uint64_t>(number_at(o, "live_workers")), "worker"),
                  human_duration(seconds(number_at(o, "uptime_seconds")))),
      ""};
  if (brake) {
    check.mark = Mark::kWarn;
    check.found += ", brake engaged";
    check.fix = "many workers went silent at once; see `vortex workers list`";
  }
  if (const auto& damaged = list_at(o, "damaged"); !damaged.empty()) {
    const auto& first = damaged.front().as_object();
    check.mark = Mark::kFail;
    check.found +=
        fmt::format(", {} (table {}, row {}, column {})", counted(damaged.size(), "damaged row"),
                    text_at(first, "table"), text_at(first, "row"), text_at(first, "column"));
    check.fix = "stop the controller and run `vortex db check --repair`";
  }
  return check;
}

Check check_version(const boost::json::object& health) {
  const std::string theirs = text_at(health, "version");
  if (theirs == version()) return {"version", Mark::kOk, theirs, ""};
  return {"version", Mark::kWarn,
          fmt::format("the controller is version {}, this is {}", theirs, version()),
          "use the same version for both"};
}

// The answer was made somewhere between asking and hearing: half of that is the doubt.
Check check_clock(ApiClient& api) {
  const Instant before = wall_clock_now();
  const auto answer = api.get("/api/status");
  const Instant after = wall_clock_now();
  if (!answer) {
    const bool auth = answer.error().exit == ExitCode::kAuth;
    return {"access", auth ? Mark::kFail : Mark::kWarn, answer.error().what, answer.error().help};
  }
  const auto theirs = time_at(answer->object(), "now");
  if (!theirs) return {"clock", Mark::kWarn, "the controller does not report its time", ""};
  const Duration skew = *theirs - (before + (after - before) / 2);
  Check check{"clock", Mark::kOk,
              fmt::format("differs by {} (affects display only)", human_duration(skew)), ""};
  if (std::abs(skew.us) > kSkewWarn.us) {
    check.mark = Mark::kWarn;
    check.fix = "ages are off by that much; run an NTP client on both machines";
  }
  return check;
}

}  // namespace

Checks check_servers(const Context& context) {
  Checks checks;
  Context asked = context;
  asked.timeout = std::min(asked.timeout, kLimit);
  const auto api = ApiClient::open(asked);
  if (!api) return {{"controller", Mark::kFail, "--server or --token-file is wrong", "see above"}};
  for (std::size_t i = 0; i < (*api)->servers(); ++i) {
    const std::string server = (*api)->server();
    ApiRequest request;
    request.target = "/health";
    request.repeat = Repeat::kNever;  // this one, not another in its place
    const auto health = (*api)->call(std::move(request));
    checks.push_back(check_health(health, server));
    if (health) {
      checks.push_back(check_version(health->object()));
      checks.push_back(check_clock(**api));
    }
    (*api)->try_next_server();
  }
  return checks;
}

}  // namespace vortex::cli

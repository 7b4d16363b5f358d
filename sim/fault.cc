#include "sim/fault.h"

#include <array>

namespace vortex::sim {

namespace {

constexpr std::array<std::string_view, kFaultKinds> kFaultNames{
    "slow-links",       "lossy-links",      "repeated-requests", "slow-store",
    "store-aborts",     "lost-answers",     "crash-at-boundary", "clock-rates",
    "clock-off-margin", "task-failures",    "task-hangs",        "task-poison",
    "operator",         "cut-one-way",      "cut-both-ways",     "clog",
    "isolate-host",     "store-stall",      "store-outage",      "store-failover",
    "store-full",       "controller-crash", "controller-pause",  "worker-crash",
    "worker-pause",     "worker-drain",     "supervisor-crash",  "host-crash",
    "mass-loss",        "forged-hint",      "wall-jump",         "twin",
    "controller-stop",  "store-clock-jump",
};

constexpr std::array<std::string_view, kScenarios> kScenarioNames{
    "by-seed",
    "swarm",
    "calm",
    "pause-at-lease-end",
    "crash-at-commit-points",
    "stop-one-by-one",
    "mass-loss",
    "leader-paused",
    "store-outage",
    "worker-deaths",
    "drains",
    "partitions",
    "clocks",
};

}  // namespace

std::string_view to_text(FaultKind kind) { return kFaultNames[static_cast<std::size_t>(kind)]; }

std::string_view to_text(Scenario scenario) {
  return kScenarioNames[static_cast<std::size_t>(scenario)];
}

}  // namespace vortex::sim

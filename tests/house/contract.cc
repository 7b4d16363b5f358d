#include "tests/house/contract.h"

#include <algorithm>
#include <array>
#include <regex>
#include <set>

#include <fmt/format.h>

namespace vortex::house {
namespace {

constexpr std::array kRows{
    ContractRow{"V01", "A worker without a heartbeat for the timeout becomes OFFLINE."},
    ContractRow{"V02", "Worker states are visible, from REGISTERING to OFFLINE."},
    ContractRow{"V03", "Recovery is one transaction: worker, tasks and ledger together."},
    ContractRow{"V04", "No task is lost or duplicated; a finished task is never run again."},
    ContractRow{"V05", "Any healthy worker takes a re-queued task, from its last checkpoint."},
    ContractRow{"V06", "Tables, indexes and the operators' queries work in the sqlite3 shell."},
    ContractRow{"V07", "Live counts of workers and tasks, re-queues of the last hour, uptime."},
    ContractRow{"V08", "Settings from a TOML file, the environment and flags; named tunings."},
    ContractRow{"V09", "The HTTP API: health, workers, tasks, logs, submission, queries."},
    ContractRow{"V10", "Graceful worker shutdown with exit code 0."},
    ContractRow{"V11", "Controllers are replicable: any replica can take over."},
    ContractRow{"V12", "100 workers, health checks under 35 ms, 100,000 tasks a minute."},
    ContractRow{"V13", "Every loss and re-queue is logged with attempts and both workers."},
    ContractRow{"V14", "Retry, timeout, database, log level and metrics settings hold."},
    ContractRow{"V15", "Killed workers, partitions and late heartbeats: all tasks complete."},
    ContractRow{"V16", "A secrets vault."},
    ContractRow{"A01",
                "A task that is not started in time moves on, and fails after the last try."},
    ContractRow{"A02", "SIGTERM and drains: visible at once, bounded, exit code 0."},
    ContractRow{"A03", "What waits for one worker expires into the dead-letter queue."},
    ContractRow{"A04", "Staleness is three heartbeat intervals when no timeout is set."},
    ContractRow{"A05", "Workers are probed; an unresponsive one takes no new work."},
    ContractRow{"A06", "A retry goes to a different worker, with backoff and a limit."},
    ContractRow{"A07", "Workers are chosen by runtime, labels, freshness and load."},
    ContractRow{"A08", "Metrics of timeouts, queues, heartbeat gaps and disruption."},
    ContractRow{"A09", "The submitter learns of every end, by stream and by webhook."},
    ContractRow{"M01", "Workers are spawned with retries and backoff, each logged."},
    ContractRow{"M02", "A running task without progress is stopped and re-queued."},
    ContractRow{"M03", "Heartbeats carry task, step and percent."},
    ContractRow{"M04", "A reconciler finds and repairs state that contradicts itself."},
    ContractRow{"M05", "A level is complete only when each of its tasks really is final."},
    ContractRow{"M06", "One monitor log for the whole cluster, one JSON object per line."},
    ContractRow{"M07", "A worker crash uses up no retry; workers are respawned up to a limit."},
    ContractRow{"M08", "Workers run as subprocesses or in containers."},
    ContractRow{"M09", "Values outside their range are refused with key, value and range."},
    ContractRow{"M10", "Heartbeats cost under 1% of a core per worker.",
                "measured by `scripts/bench workers`, no test holds it"},
    ContractRow{"C01", "A worker that never sent a heartbeat counts as stale."},
    ContractRow{"C02", "A machine is online while any of its workers is."},
    ContractRow{"C03", "A graceful stop is visible without waiting for a check."},
    ContractRow{"C04", "A health check reports whom it marked and which machines."},
    ContractRow{"C05", "Staleness is counted; frequent staleness is an event."},
    ContractRow{"S01", "Agents register and can be discovered by zone and group."},
    ContractRow{"S02", "Partition leases: acquire, renew, release, expire; epochs only grow."},
    ContractRow{"S03", "A holder that lost its lease is told so and can change nothing."},
    ContractRow{"S04", "GET /health as JSON, for liveness and readiness probes."},
    ContractRow{"S05", "Clients have time limits and retries, and move to another controller."},
    ContractRow{"S06", "A controller that cannot write its database says so and steps back."},
    ContractRow{"S07", "Graceful shutdown releases all leases: failover without waiting."},
    ContractRow{"S08", "Metrics for Prometheus, a Grafana dashboard, alert rules.",
                "the Grafana dashboard and the alert rules; the metrics are there"},
    ContractRow{"S09", "Kill an agent, and another holds its partitions within 30 s."},
};

constexpr std::string_view kIntro =
    "# The contract and its proofs\n\n"
    "Made from the tests by `VX_UPDATE_DOCS=1 build/dev/bin/test_house`; do not edit.\n"
    "A unit test proves a row when its name begins with the row's id. Scripts and benchmarks name "
    "the "
    "rows they\nprove in their first lines. `./test` fails when a claimed row has no proof.\n\n"
    "| row | what must hold | proved by |\n|---|---|---|\n";

bool is_script(const SourceFile& file) {
  return file.path.ends_with(".sh") || file.path.ends_with(".cc");
}

void find_tests(const SourceFile& file, std::vector<Proof>& out) {
  static const std::regex name(R"((?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\()"
                               R"(\s*(\w+),\s*((?:[VAMCS]\d\d_)+)(\w+))");
  for (std::sregex_iterator it(file.text.begin(), file.text.end(), name), end; it != end; ++it) {
    const std::string ids = (*it)[2];
    for (std::size_t at = 0; at < ids.size(); at += 4) {
      out.push_back({ids.substr(at, 3), file.path, ids + (*it)[3].str()});
    }
  }
}

void find_claims(const SourceFile& file, std::vector<Proof>& out) {
  constexpr std::size_t kFirstLines = 12;
  static const std::regex line(R"(^(?:#|//) Proves:((?: [VAMCS]\d\d)+)$)");
  const auto lines = lines_of(file.text);
  for (std::size_t i = 0; i < std::min(lines.size(), kFirstLines); ++i) {
    std::cmatch found;
    if (!std::regex_match(lines[i].begin(), lines[i].end(), found, line)) continue;
    const std::string ids = found[1];
    for (std::size_t at = 1; at < ids.size(); at += 4) {
      out.push_back({ids.substr(at, 3), file.path, {}});
    }
  }
}

std::string proofs_text(std::string_view row, const std::vector<Proof>& proofs) {
  std::string text;
  for (const Proof& proof : proofs) {
    if (proof.row != row) continue;
    if (!text.empty()) text += "<br>";
    text += proof.test.empty() ? fmt::format("`{}`", proof.path)
                               : fmt::format("`{}` ({})", proof.test, proof.path);
  }
  return text;
}

}  // namespace

std::vector<ContractRow> contract_rows() { return {kRows.begin(), kRows.end()}; }

std::vector<Proof> proofs_in(const std::vector<SourceFile>& files) {
  std::vector<Proof> proofs;
  for (const SourceFile& file : files) {
    if (!is_script(file)) continue;
    find_tests(file, proofs);
    find_claims(file, proofs);
  }
  return proofs;
}

Findings unproved(const std::vector<ContractRow>& rows, const std::vector<Proof>& proofs) {
  Findings findings;
  std::set<std::string> proved;
  for (const Proof& proof : proofs) {
    proved.insert(proof.row);
    const bool known =
        std::ranges::any_of(rows, [&](const auto& row) { return row.id == proof.row; });
    if (!known) {
      findings.push_back(
          {proof.path, 1, fmt::format("there is no row {} in the contract", proof.row)});
    }
  }
  for (const ContractRow& row : rows) {
    if (!row.open.empty() || proved.contains(std::string(row.id))) continue;
    findings.push_back(
        {"tests/house/contract.cc", 1,
         fmt::format("row {} is claimed, and no test proves it: name one {}_..., or say "
                     "what is open",
                     row.id, row.id)});
  }
  return findings;
}

std::string contract_page(const std::vector<ContractRow>& rows, const std::vector<Proof>& proofs) {
  std::string page(kIntro);
  for (const ContractRow& row : rows) {
    std::string text = proofs_text(row.id, proofs);
    if (!row.open.empty()) {
      text = fmt::format("**not complete**: {}{}{}", row.open, text.empty() ? "" : "<br>", text);
    }
    page += fmt::format("| {} | {} | {} |\n", row.id, row.text, text);
  }
  return page;
}

}  // namespace vortex::house

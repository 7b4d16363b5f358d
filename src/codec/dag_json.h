#pragma once
// The canonical form of a DAG: one JSON object, read strictly and written always the same way.
//
// Unknown and duplicate keys, wrong types and values out of range are problems with a pointer to
// the place. What is read here is only well-formed: `compile` (model/plan.h) decides whether it can
// run, and `explain_dag_error` turns its answer into a problem with a pointer. On disk:
// append-only.
//
//   {"vortex": 1, "name": "thumbs", "timeout": "1h", "barrier": "levels",
//    "params": {"dir": {"type": "string", "default": "/srv", "help": "where the photos are"}},
//    "schedule": {"cron": "30 2 * * MON",   or "every": "15m"
//     "timezone": "Europe/Berlin", "overlap": "skip", "catchup": {"window": "1d", "limit": 3},
//     "jitter": "5m", "from": "2026-03-01", "until": "2026-12-31", "pause_on_failure": false},
//    "tasks": {"resize": {
//     "needs": ["list"], "trigger_rule": "all_success",
//     "run": ["convert", "a.jpg"],       one text instead of the list where there is a shell
//     "shell": ["bash", "-euc"], "env": {"A": "1"}, "workdir": "/srv",
//     "retry": {"max": 3,                retries after the first try, so up to 4 tries in all
//               "backoff": "exponential", "delay": "2s", "max_delay": "1m", "jitter": 0.2,
//               "unless_exit": [2]},
//     "queue": "default", "priority": 0, "labels": {"gpu": "a100"}, "runtime": "", "worker": "",
//     "resources": {"cpu": 1.5, "memory": "512MiB", "named": {"licence": 1}},
//     "retries": 3,                      short for "retry": {"max": 3}; never written
//     "exclusive": false, "timeout": "5m", "scheduled_timeout": "1m", "stale_after": "30s",
//     "stale_counts": ["progress", "output"],
//     "map": {"over": ["a", "b"],        or {"range": {"from": 1, "to": 10, "step": 1}}
//             "as": "item", "max_parallel": 16, "max_failures": 5},
//     "outputs": ["files"]}}}
//
// Texts in run, env and workdir may hold expressions (model/expression.h). Types of params: string,
// number, boolean, list, object. Only name and tasks are required; the order of the tasks is kept.
// What has its default value is not written. Fields of `retry` that are not given have the defaults
// of model/dag.h; max_delay is then at least the delay. Units: codec/units.h.

#include <string>
#include <string_view>

#include "codec/document.h"
#include "model/dag.h"
#include "model/plan.h"

namespace vortex::codec {

Decoded<DagSpec> read_dag(std::string_view json);
// What a controller stored or sent. It may be of an earlier version, whose `retry` has `attempts`
// in the place of `max`; users are refused that key.
Decoded<DagSpec> read_stored_dag(std::string_view json);
// For a spec that compiles and whose texts are UTF-8, read_dag gives the same spec back.
std::string write_dag(const DagSpec& spec);

// The pointer leads to the member concerned where the error says which one it is, else to the task.
Problem explain_dag_error(const DagError& error);

}  // namespace vortex::codec

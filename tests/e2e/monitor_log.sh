#!/usr/bin/env bash
# tests/e2e/monitor_log.sh VORTEX: M06. Real things happen to real workers and tasks, each leaves its line
# in the one monitor log under the name the seed gives it, and the seed's greps find it as printed.
# Proves: M06 V13 V14
set -euo pipefail
source "$(dirname "$0")/lib.sh"
here="$(cd "$(dirname "$0")" && pwd)"
begin "$(realpath "$1")" --controller.reconnect_grace_secs=1
log="$data/monitor.log"
has() { grep -q "\"event\":\"$1\"" "$log"; }

"$vortex" worker --server "$url" --name real --count 2 --slots 1 --tuning=testing \
  --monitoring.log_level=warn --state-dir "$folder/state" --work-dir "$folder/work" >"$folder/worker.log" 2>&1 &
worker=$!
trap 'kill "$worker" 2>/dev/null || true; wait "$worker" 2>/dev/null || true; finish' EXIT

# One task kills its worker once, one fails, one takes too long; a run of two levels completes.
cat >"$folder/seed.yaml" <<'YAML'
vortex: 1
name: seed
params: {folder: {type: string}}
defaults: {retry: {max: 0}}
tasks:
  RES-L1-001: {run: ["true"]}
  RES-L2-001:
    needs: RES-L1-001
    shell: [bash, -euc]
    env: {FOLDER: "${{ params.folder }}"}
    run: |
      [ -e "$FOLDER/killed" ] && exit 0
      touch "$FOLDER/killed"
      kill -9 "$VORTEX_WORKER_PID"
      sleep 10
  bad: {run: ["false"]}
  slow: {run: [sleep, "60"], timeout: 300ms}
YAML
"$vortex" run "$folder/seed.yaml" --server "$url" -p folder="$folder" --detach -q >/dev/null
ended() { [[ "$(api /api/runs/r1 | jq -r .state)" == Failed ]]; }
eventually ended

# A worker whose call is cut is stale, and recovered when it is heard again.
registered="$(api /api/workers -d '{"id":"W0"}')"
incarnation="$(jq .incarnation <<<"$registered")"
session="Vortex-Session: $(jq -r .session <<<"$registered")"
sync() { timeout "$1" curl -fsS "$url/api/workers/W0/sync" -H "$session" -d "{\"incarnation\":$incarnation,\"seq\":$2,\"slots\":0,\"wait_ms\":$3}"; }
sync 10 1 0 >/dev/null
sync 0.2 2 5000 >/dev/null || true
eventually has heartbeat_stale
sync 10 3 0 >/dev/null
eventually has heartbeat_recovered

kill "$worker"
wait "$worker" || true
eventually has worker_exit

# V14: the log level holds for supervisors and workers as well, and their lines look like the controller's.
grep -Eq '^[0-9T:.-]+Z warning supervisor: real-[12]: was killed by signal 9' "$folder/worker.log" ||
  fail "the loss of a worker is not a warning in the log of its supervisor"
! grep -E 'Z (info|debug|trace) ' "$folder/worker.log" || fail "lines below the log level"

# Somebody bends a row while nobody leads; the next leader repairs it.
api /api/runs -d '{"dag":{"name":"waits","tasks":{"a":{"run":["true"],"queue":"nowhere"}}}}' >/dev/null
kill "$controller"
wait "$controller" || true
sqlite3 "$data/vortex.db" "UPDATE task_instances SET level = NULL WHERE id = 'r2-L0-0'"
start
eventually has state_reconcile_fix

# worker_spawn, _retry, _failed and worker_respawn come from a supervisor: supervisor_voice.sh.
for event in worker_ready worker_exit worker_crash task_claimed task_started task_complete task_failed \
  task_timeout task_reassigned heartbeat_stale heartbeat_recovered state_reconcile_start \
  state_reconcile_fix state_reconcile_complete level_check level_complete; do
  has "$event" || fail "nothing in the log under the name $event"
done

# Every level of the run was checked before it was passed.
for level in 0 1; do
  grep '"event":"level_check"' "$log" | grep -q "\"dag_level\":$level,\"complete\":1.*\"run_id\":\"r1\"" ||
    fail "level $level was passed without a check"
done

# The greps of the seed, as printed. Names of tasks are under "task"; task_id is the id of a task in its run.
cd "$folder"
ln -s "$data" .mahabharatha
while read -r command; do
  [[ -n "$(bash -o pipefail -c "$command")" ]] || fail "finds nothing: $command"
done <"$here/seed/monitor_greps.sh"
story="$(grep '"task":"RES-L2-001"' .mahabharatha/monitor.log | jq -r .event | tr '\n' ' ')"
[[ "$story" == "task_claimed task_started"*"task_reassigned"*"task_complete " ]] ||
  fail "the timeline of the task: $story"

# One object a line, every sequence once and in order.
jq -es 'map(.seq) | . == [range(1; length + 1)]' "$log" >/dev/null || fail "lines are missing or out of order"

# A line torn by a crash is cut, and what is missing comes back from the database.
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
lines="$(wc -l <"$log")"
head -n $((lines - 5)) "$log" >"$folder/short"
printf '{"ts":"2026-01-01T00:0' >>"$folder/short"
cat "$folder/short" >"$log"
start
whole() { [[ "$(wc -l <"$log")" -ge "$lines" ]] && jq -es 'map(.seq) | . == [range(1; length + 1)]' "$log"; }
eventually whole
echo "monitor log: ok"

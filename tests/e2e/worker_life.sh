#!/usr/bin/env bash
# tests/e2e/worker_life.sh VORTEX: how a worker is probed and how it leaves. /health on the address and
# port of the settings, with the fields of the contract (S04); SIGTERM idle and with work, with a controller
# and without; a drain by an operator with a deadline (A02). Exit code 0 every time.
# Proves: S04 A02 V10
set -euo pipefail
source "$(dirname "$0")/lib.sh"
begin "$(realpath "$1")"
export VORTEX_SERVER="$url"
declare -A supervisors
# supervise NAME [flags]
supervise() {
  local name="$1"
  shift
  "$vortex" worker --server "$url" --name "$name" --slots 2 --tuning=testing --state-dir "$folder/state" \
    --work-dir "$folder/work" "$@" 2>>"$folder/$name.log" &
  supervisors[$name]=$!
  eventually state_is "$name-1" IDLE
}
end_all() {
  local pid
  for pid in "${supervisors[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  for pid in "${supervisors[@]}"; do wait "$pid" 2>/dev/null || true; done
  finish
}
trap end_all EXIT
state_of() { sqlite3 "$data/vortex.db" "SELECT state FROM workers WHERE id = '$1'"; }
state_is() { [[ "$(state_of "$1")" == "$2" ]]; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }
# leave NAME: SIGTERM, waits for exit code 0; sets $took in ms.
leave() {
  local code=0 from
  from="$(now_ms)"
  kill -TERM "${supervisors[$1]}"
  wait "${supervisors[$1]}" || code=$?
  took=$(($(now_ms) - from))
  unset "supervisors[$1]"
  [[ $code -eq 0 ]] || fail "$1 ended with $code"
}
cat >"$folder/work.yaml" <<'YAML'
vortex: 1
name: work
params: {folder: {type: string}, file: {type: string}}
tasks:
  work:
    retry: {max: 0}
    shell: [bash, -euc]
    env: {FOLDER: "${{ params.folder }}", GO: "${{ params.file }}"}
    run: |
      trap '' TERM
      echo "$VORTEX_WORKER" >>"$FOLDER/$GO.starts"
      while [ ! -e "$FOLDER/$GO" ]; do sleep 0.05; done
YAML
# work NAME: a run whose task ends when $folder/NAME is there; returns once it runs. Sets $run.
work() {
  run="$("$vortex" run "$folder/work.yaml" -p folder="$folder" -p file="$1" --detach -q)"
  eventually test -s "$folder/$1.starts"
}

# --- S04: Kubernetes probes of a worker, at an address and a port that are known beforehand.
health="$((port + 1))"
supervise p --health-address 127.0.0.1 --health-port "$health"
probe() { curl -s -o "$folder/health" -w '%{http_code}' "http://127.0.0.1:$1/health"; }
[[ "$(probe "$health")" == 200 ]] || fail "a worker that is well answers $(cat "$folder/health")"
jq -e '.status == "healthy" and .agent_id == "p-1" and .id == "p-1" and (.uptime_seconds | type) == "number" and
  .active_leases == 0 and .last_heartbeat_success == true and .metadata_store_connected == true' \
  "$folder/health" >/dev/null || fail "fields are missing: $(cat "$folder/health")"
curl -fsS "$url/health" | jq -e '.status == "healthy" and (.agent_id | type) == "string" and .agent_id == .id and
  (.uptime_seconds | type) == "number" and (.active_leases | type) == "number" and
  .last_heartbeat_success == true and .metadata_store_connected == true' >/dev/null ||
  fail "fields of the controller are missing: $(curl -s "$url/health")"
"$vortex" workers show p-1 -o json | jq -e ".address == \"127.0.0.1:$health\"" >/dev/null ||
  fail "the controller probes another address"

# --- A02: idle, with a controller.
kill -TERM "${supervisors[p]}"
asked="$(now_ms)"
until state_is p-1 INACTIVE; do
  (($(now_ms) - asked < 10000)) || fail "an idle worker is $(state_of p-1) 10 s after SIGTERM"
done
echo "idle: INACTIVE in the database $(($(now_ms) - asked)) ms after SIGTERM"
wait "${supervisors[p]}" || fail "an idle worker ended with $?"
unset 'supervisors[p]'

# --- A02: with work. DRAINING at once, what runs finishes.
supervise w
work one
kill -TERM "${supervisors[w]}"
asked="$(now_ms)"
until state_is w-1 DRAINING; do
  (($(now_ms) - asked < 10000)) || fail "a worker with work is $(state_of w-1) 10 s after SIGTERM"
done
echo "with work: DRAINING in the database $(($(now_ms) - asked)) ms after SIGTERM"
touch "$folder/one"
wait "${supervisors[w]}" || fail "a draining worker ended with $?"
unset 'supervisors[w]'
"$vortex" runs wait "$run" --timeout 20s || fail "the task of a draining worker did not complete"
[[ "$(wc -l <"$folder/one.starts")" == 1 ]] || fail "it was started again"

# --- A02: an operator's drain with a deadline. The task ignores TERM and is given back.
supervise a
work two
supervise b
said="$("$vortex" workers drain a-1 --deadline 1s 2>&1)"
grep -q '1 task may finish within 1.0s;' <<<"$said" || fail "drain says: $said"
eventually state_is a-1 INACTIVE
wait "${supervisors[a]}" || fail "a drained worker ended with $?"
unset 'supervisors[a]'
restarted() { [[ "$(tail -n 1 "$folder/two.starts")" == b-1 ]]; }
eventually restarted
touch "$folder/two"
"$vortex" runs wait "$run" --timeout 20s || fail "the task that was given back did not complete"
said="$("$vortex" workers drain b-1 2>&1)"
grep -q 'nothing to finish' <<<"$said" || fail "drain of an idle worker says: $said"
eventually state_is b-1 INACTIVE
wait "${supervisors[b]}" || fail "a drained worker ended with $?"
unset 'supervisors[b]'
bad="$(status /api/workers/b-1/drain -d '{"deadline":"soon"}')"
[[ "$bad" == 400 || "$bad" == 422 ]] || fail "a deadline that is none is answered with $bad"

# --- Without a controller: idle ends at once; with work, the task may finish, and then the worker tries
# until its limit to tell somebody.
supervise k --worker.shutdown-timeout-secs=2
work three
supervise i --health-address 127.0.0.1 --health-port "$((health + 10))"
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
touch "$folder/three"
leave k
((took < 10000)) || fail "with work it took $took ms to end without a controller"
echo "no controller, with work and a limit of 2 s: ended $took ms after SIGTERM"
unwell() { [[ "$(probe "$((health + 10))")" == 503 ]]; }
eventually unwell
jq -e '.status == "unhealthy" and .last_heartbeat_success == false and .metadata_store_connected == false' \
  "$folder/health" >/dev/null || fail "cut off, it says $(cat "$folder/health")"
leave i
((took < 5000)) || fail "idle it took $took ms to end without a controller"
echo "no controller, idle: ended $took ms after SIGTERM"
start
echo "worker_life: ok"

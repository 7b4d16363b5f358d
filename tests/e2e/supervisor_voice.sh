#!/usr/bin/env bash
# tests/e2e/supervisor_voice.sh VORTEX: what supervisors say. Proof counts at once also after their worker
# registered anew by itself; how worker processes begin and end stands in the controller's monitor log, each
# once, also when the controller was away and when a process could not be started at all.
# Proves: M01 M06 C05
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
# Names of their own: control groups are found by them.
a="a$port" b="b$port" c="c$port"
declare -A supervisors
# supervise NAME [flags]: $program is the vortex that it runs. Its work folder does not exist yet.
program="$vortex"
supervise() {
  "$program" worker --server "$url" --name "$1" --slots 1 --tuning=testing \
    --state-dir "$folder/state" --work-dir "$folder/not/there/$1" "${@:2}" 2>>"$folder/$1.log" &
  supervisors[$1]=$!
}
end_all() {
  touch "$folder/go"
  local pid
  for pid in "${supervisors[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${supervisors[@]}"; do wait "$pid" 2>/dev/null || true; done
  finish
}
trap end_all EXIT
worker_of() { tr -d ' ' <"/proc/${supervisors[$1]}/task/${supervisors[$1]}/children"; }
# logged WORKER EVENT [JQ]: how many lines of the monitor log say so.
logged() {
  jq -c "select(.worker_id == \"$1\" and .event == \"$2\" and (${3:-true}))" "$data/monitor.log" | wc -l
}
logged_are() { [[ "$(logged "$1" "$2" "${4:-true}")" == "$3" ]]; }
field() { api "/api/workers/$1" | jq -r ".$2"; }
is() { [[ "$(field "$1" "$2")" == "$3" ]]; }

# M01, M06: in the one monitor log, from the first start on.
supervise $a
eventually logged_are $a-1 worker_spawn 1
eventually logged_are $a-1 worker_ready 1
[[ -z "$(find "$folder" -path '*/not/*' -name 'monitor.log*')" ]] || fail "a second monitor log"

# After a reset the worker registers anew; its supervisor's proof still counts, and an exclusive task need
# not wait for the lease.
life="$(field $a-1 incarnation)"
api /api/workers/$a-1/reset-state -X POST >/dev/null
eventually is $a-1 state IDLE
[[ "$(field $a-1 incarnation)" -gt "$life" ]] || fail "it did not register anew"
submit_waiting_exclusive() {
  submit_waiting_yaml="$folder/exclusive.yaml"
  cat >"$submit_waiting_yaml" <<'YAML'
vortex: 1
name: exclusive
params: {folder: {type: string}}
tasks:
  work:
    exclusive: true
    shell: [bash, -euc]
    env: {FOLDER: "${{ params.folder }}"}
    run: |
      echo "$(date +%s%N) $VORTEX_WORKER" >> "$FOLDER/starts"
      while [ ! -e "$FOLDER/go" ]; do sleep 0.05; done
YAML
  run="$("$vortex" run "$submit_waiting_yaml" --server "$url" -p folder="$folder" --detach -q)"
  eventually test -s "$folder/starts"
}
submit_waiting_exclusive
supervise $b
eventually is $b-1 state IDLE
killed_at="$(date +%s%N)"
kill -9 "$(worker_of $a)"
twice() { [[ "$(starts)" == 2 ]]; }
eventually twice
echo "runs elsewhere after $((($(tail -n1 "$folder/starts" | cut -d' ' -f1) - killed_at) / 1000000)) ms"
evidence="$(api "/api/recoveries?worker=$a-1&limit=1" | jq -r '.recoveries[0].evidence')"
[[ "$evidence" == exit ]] || fail "the loss was found by $evidence"
[[ "$(tail -n1 "$folder/starts" | cut -d' ' -f2)" == $b-1 ]] || fail "it runs elsewhere"

# Proof and journal both tell of the crash; the log has it once, with what killed it.
eventually logged_are $a-1 worker_respawn 1
eventually is $a-1 state IDLE
logged_are $a-1 worker_crash 1 '.data.signal == 9' || fail "$(logged $a-1 worker_crash) crashes"

# The controller is away: what happens meanwhile is told later, in order and once.
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
kill -9 "$(worker_of $a)"
respawned() { grep -c "$a-1: started as process" "$folder/$a.log" | grep -qx 3; }
eventually respawned
start
eventually logged_are $a-1 worker_respawn 2
eventually logged_are $a-1 worker_crash 2
jq -r "select(.worker_id == \"$a-1\") | .event" "$data/monitor.log" |
  grep -E 'worker_(spawn|crash|respawn)$' | tr '\n' ' ' >"$folder/order"
[[ "$(cat "$folder/order")" == "worker_spawn worker_crash worker_respawn worker_crash worker_respawn " ]] ||
  fail "out of order: $(cat "$folder/order")"

# A program that is gone: every try is in the log with its reason, and so is the end of it.
mkdir "$folder/bin"
cp "$vortex" "$folder/bin/vortex"
program="$folder/bin/vortex"
supervise $c --worker.spawn-backoff-base-seconds=1
eventually is $c-1 state IDLE
rm "$folder/bin/vortex"
kill -9 "$(worker_of $c)"
eventually logged_are $c-1 worker_spawn_failed 1 '(.level == "ERROR") and (.data.reason | contains("cannot execute"))'
[[ "$(logged $c-1 worker_spawn_retry '.data.reason | contains("cannot execute")')" -ge 2 ]] ||
  fail "$(logged $c-1 worker_spawn_retry) retries"
wait "${supervisors[$c]}" && fail "a supervisor that could keep no worker says all is well"
unset "supervisors[$c]"

# C05: lost again and again.
flaps() {
  local before
  before="$(field $a-1 times_lost)"
  is_up() { is $a-1 state IDLE || is $a-1 state RUNNING; }
  eventually is_up
  kill -9 "$(worker_of $a)"
  lost_more() { [[ "$(field $a-1 times_lost)" -gt "$before" ]]; }
  eventually lost_more
}
flaps
eventually is $a-1 flapping true
[[ "$(logged $a-1 worker_flapping '.level == "WARN"')" -ge 1 ]] || fail "nobody was warned"
"$vortex" workers show $a-1 --server "$url" | grep -q 'flapping' || fail "workers show does not say so"
before="$(field $a-1 times_lost)"
api /api/workers/$a-1/reset-state -X POST >/dev/null
[[ "$(field $a-1 times_lost)" == "$before" ]] || fail "the count went back"

# Names that mean a folder.
for id in . ..; do
  [[ "$(status /api/workers -X POST -H 'Content-Type: application/json' -d "{\"id\": \"$id\"}")" == 422 ]] ||
    fail "worker id $id: $(cat "$folder/answer")"
  grep -q "not allowed" "$folder/answer" || fail "no reason: $(cat "$folder/answer")"
done
echo ok

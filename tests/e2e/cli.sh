#!/usr/bin/env bash
# tests/e2e/cli.sh VORTEX: every command that reads or acts, once as a table and once as JSON, with its
# exit codes, against a real controller and the worker of twenty lines.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
begin "$1"

root="$(cd "$(dirname "$0")/../.." && pwd)"
"$root/examples/worker.sh" "$url" w1 >"$folder/worker.out" 2>"$folder/worker.err" &
worker=$!
trap 'kill "$worker" 2>/dev/null || true; finish' EXIT
export VORTEX_SERVER="$url"
cd "$folder"

# code N words...: the command ends with exactly this code; what it wrote is in out and err.
code() {
  local wanted=$1 got=0
  shift
  "$vortex" "$@" >"$folder/out" 2>"$folder/err" </dev/null || got=$?
  [[ $got == "$wanted" ]] || fail "exit $got instead of $wanted: vortex $*
$(cat "$folder/out" "$folder/err")"
}
# both words...: as a table and as JSON, both with exit 0; the JSON is JSON.
both() {
  code 0 "$@"
  code 0 "$@" -o json
  jq -e . "$folder/out" >/dev/null || fail "not JSON: vortex $* -o json: $(cat "$folder/out")"
}
said() { grep -q -- "$1" "$folder/out" "$folder/err" || fail "'$1' is not in: $(cat "$folder/out" "$folder/err")"; }

cat >good.json <<'JSON'
{"name": "good", "tasks": {
  "list":   {"run": ["echo", "hello"]},
  "each":   {"needs": ["list"], "run": ["true"], "map": {"over": ["a", "b", "c"]}},
  "report": {"needs": ["each"], "run": ["true"]}}}
JSON
cat >bad.json <<'JSON'
{"name": "bad", "tasks": {"boom": {"run": ["sh", "-c", "exit 3"], "retry": {"max": 0}},
                          "after": {"needs": ["boom"], "run": ["true"]}}}
JSON
echo '{"name": "wrong", "tasks": {"a": {"run": ["true"], "needz": ["b"]}}}' >wrong.json

# DAGs.
both dag apply good.json
both dag apply bad.json
code 7 dag apply wrong.json
said 'error\[VX-DAG-014\]'
said 'wrong.json:1:'
code 3 dag apply nothere.json
mkdir dags
cp good.json dags/
both dag apply dags
code 0 validate dags
code 7 run dags
said 'is a directory'
code 2 events --kind foo
said 'the kinds are'
cat >nightly.yaml <<'YAML'
name: nightly
schedule: {cron: "30 2 * * MON", timezone: Europe/Berlin}
tasks: {a: {run: ["true"]}}
YAML
code 0 validate nightly.yaml
said 'at 02:30 every Monday, Europe/Berlin'
code 0 run --dry-run nightly.yaml
said 'schedule: at 02:30 every Monday, Europe/Berlin'
both schedules next nightly.yaml
code 0 schedules next nightly.yaml --after 2026-03-23 --count 2
said '2026-03-23 02:30:00 +01:00'
said '2026-03-30 02:30:00 +02:00'
code 2 schedules next nightly.yaml --after soon
said 'is not a date or time'
code 7 schedules next good.json
said 'has no schedule'
both dag list
code 0 dag list -o name
[[ "$(tr '\n' ' ' <out)" == "bad good " ]] || fail "names: $(cat out)"
code 0 dag list -o jsonl
[[ "$(wc -l <out)" == 2 ]] || fail "one object a line: $(cat out)"
both dag show good
code 3 dag show nothere
said 'error\[VX-DAG-015\]'
code 0 dag graph good
code 0 dag graph good --format mermaid
said 'n0 --> n1'
code 0 dag graph good.json --format dot
said 'digraph "good"'

# A good run, watched; off a terminal there is no animation.
api /api/dags/good/runs -d '{}' >/dev/null
code 0 runs watch @last
said 'each 3/3'
! grep -q $'\x1b' err || fail "escape sequences off a terminal"
code 0 runs wait r1
both runs list
both runs list --state Completed -o wide
both runs show r1
both runs show @last
code 3 runs show r99
said 'error\[VX-RUN-001\]'
both tasks list r1
both tasks list @last --state Completed
both tasks show r1/list
both tasks show 'r1/each[2]'
code 3 tasks show 'r1/each[7]'
code 3 tasks show r1/lisst
said "did you mean 'list'"
both tasks explain r1-L0-0
code 0 logs r1
code 0 logs r1/list
code 0 logs r1 -o json
code 0 logs r1 -f --tail 5 --grep x
code 2 logs r1 --grep '('

# A bad one: the exit code, the summary, the dead letter, again, anew.
api /api/dags/bad/runs -d '{}' >/dev/null
code 8 runs watch @last
said 'exit code 3'
said 'vortex logs r2/boom'
code 8 runs wait @last-failed
both dlq list
both dlq show r2/boom
code 2 dlq retry
code 0 dlq retry r2/boom
code 8 runs wait r2
code 8 runs retry r2 --watch
code 6 runs retry r1
code 0 tasks retry r2/boom
code 8 runs wait r2
code 6 tasks retry r1/list
code 2 dlq discard r2/boom
said '--yes'
code 0 dlq discard r2/boom --yes
code 3 dlq show r1/list
code 0 runs rerun r1
[[ "$(cat out)" == r3 ]] || fail "the new run: $(cat out)"
code 0 runs wait r3 -q

# Waiting in vain, pause and resume, cancel.
api /api/runs -d '{"dag":{"name":"slow","tasks":{"a":{"run":["sleep","60"]},"b":{"needs":["a"],"run":["true"]}}}}' >/dev/null
code 9 runs wait r4 --timeout 300ms
said 'vortex runs watch r4'
both tasks explain r4/b
both runs pause r4
both runs resume r4
code 2 runs cancel r4
code 0 runs cancel r4 --yes
code 10 runs watch r4
code 6 runs cancel r4 --yes

# Ctrl-C leaves the run going.
api /api/runs -d '{"dag":{"name":"slow","tasks":{"a":{"run":["sleep","60"]}}}}' >/dev/null
"$vortex" runs watch r5 >"$folder/out" 2>"$folder/err" &
watcher=$!
# In a script background children ignore SIGINT; SIGTERM takes the same way.
eventually grep -q 'a 0/1' "$folder/err"
kill -TERM "$watcher"
got=0
wait "$watcher" || got=$?
[[ $got == 130 ]] || fail "exit $got instead of 130"
said 'vortex runs watch r5'
[[ "$(api /api/runs/r5 | jq -r .state)" == Running ]] || fail "the run did not go on"
code 0 tasks cancel r5/a --yes
over() { [[ "$(api /api/runs/r5 | jq -r .state)" != Running ]]; }
eventually over

# Workers and machines.
both workers list
both workers list --live -o wide
both workers show w1
code 3 workers show nobody
said 'vortex workers list'
code 3 workers show w11
said "did you mean 'w1'"
both workers list --state ACTIVE
said 'ACTIVE means IDLE or RUNNING'
code 2 workers list --state BUSY
both machines list
both workers cordon w1
both workers uncordon w1
code 2 workers reset w1

# Queues, leases, recoveries.
both queues list
both queues pause default
both queues resume default
both leases acquire orders 0 --agent a1
epoch=$(jq .epoch "$folder/out")
code 6 leases acquire orders 0 --agent a2
both leases renew orders 0 --agent a1 --epoch "$epoch"
[[ "$(jq .renew_after_ms "$folder/out")" -gt 15000 ]] || fail "no time to renew: $(cat "$folder/out")"
both leases check orders 0 --agent a1 --epoch "$epoch"
code 6 leases check orders 0 --agent a1 --epoch 999
both leases list
both leases show orders 0
code 6 leases renew orders 0 --agent a1 --epoch 999
code 0 leases release orders 0 --agent a1 --epoch "$epoch"
code 3 leases show orders 7
registered="$(api /api/workers -d '{"id":"w2"}')"
incarnation="$(jq .incarnation <<<"$registered")"
session="Vortex-Session: $(jq -r .session <<<"$registered")"
api /api/workers/w2/sync -H "$session" -d "{\"incarnation\":$incarnation,\"seq\":1,\"slots\":1}" >/dev/null
code 0 workers reset w2 --yes
both recoveries list
code 3 recoveries show 4711

# The system.
both status
both timings
both events
both events --run r1 --kind task_complete
code 0 events --after 0 --limit 3 -o jsonl
[[ "$(wc -l <out)" == 3 ]] || fail "three events: $(cat out)"
code 2 top
said 'needs a terminal'
both health
both health --server "$url,$url"
code 5 health --server "$url,http://127.0.0.1:1"
said unreachable
both version
both explain VX-DAG-007
both explain
code 3 explain VX-DAG-999
both doctor
for shell in bash zsh fish; do code 0 completion "$shell"; done
code 2 completion powershell
both config show
both tokens list
code 0 tokens create ci --role viewer
code 2 tokens revoke ci
code 0 tokens revoke ci --yes

# Who did all that.
both audit
code 0 audit --what create_token -o jsonl
[[ "$(jq -r '"\(.target) \(.outcome)"' out)" == "ci ok" ]] || fail "audit: $(cat out)"
code 0 audit --what ci --since 1h
said revoke_token
code 0 audit --outcome refused
said 'no audit entries'
code 2 audit --outcome good
code 2 audit --since yesterday
said 'a time like'
"$vortex" audit -f -o jsonl >"$folder/audited" 2>"$folder/err" &
follower=$!
# It may still be starting, so what it shall see is done again.
resumed() { "$vortex" queues resume default -q && [[ "$(grep -c resume_queue "$folder/audited")" -ge 2 ]]; }
eventually resumed
kill "$follower"
wait "$follower" 2>/dev/null || true
[[ -z "$(jq .seq "$folder/audited" | sort | uniq -d)" ]] || fail "shown twice: $(cat "$folder/audited")"

# The fence, as a task would ask.
got=0
VORTEX_TASK_ID=r1-L0-0 VORTEX_EPOCH=1 VORTEX_URL="$url" "$vortex" fence check 2>/dev/null || got=$?
[[ $got == 1 ]] || fail "fence of an ended task: exit $got"
code 2 fence check

# Live events, over a restart of the controller, each once.
"$vortex" events -f --after 0 -o jsonl >"$folder/live" 2>"$folder/err" &
follower=$!
eventually grep -q run_submitted "$folder/live"
kill "$controller"
wait "$controller" 2>/dev/null || true
start
api /api/runs -d '{"dag":{"name":"again","tasks":{"a":{"run":["true"]}}}}' >/dev/null
seen() { jq -e 'select(.run_id=="r6" and .event=="run_complete")' "$folder/live"; }
eventually seen
kill -TERM "$follower"
wait "$follower" 2>/dev/null || true
[[ -z "$(jq .seq "$folder/live" | sort | uniq -d)" ]] || fail "an event came twice"
[[ "$(jq .seq "$folder/live" | sort -n | head -1)" == 1 ]] || fail "the first event is missing"

# Watching a run over a kill -9 of the controller.
api /api/runs -d '{"dag":{"name":"slow","tasks":{"a":{"run":["sleep","3"]}}}}' >/dev/null
"$vortex" runs watch r7 >"$folder/out" 2>"$folder/err" &
watcher=$!
eventually grep -q 'a 0/1' "$folder/err"
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
eventually grep -q 'the run continues' "$folder/err"
start
wait "$watcher" || fail "the watcher was lost: $(cat "$folder/err")"
said 'reconnected to'
said 'Completed: run r7'

# Mistakes of the user, and nobody there.
code 2 rns
said "did you mean 'runs'"
code 2 runs list --nonsense
code 5 runs list --server "http://127.0.0.1:1" --timeout 2s
said 'no answer from'
code 0 runs list --server "http://127.0.0.1:1,$url"
code 0 -q runs list --server "http://127.0.0.1:1" --server "$url" -o name
code 0 dag delete bad --yes
code 3 dag delete bad --yes
# Schedules of stored DAGs.
code 0 dag apply nightly.yaml
both schedules list
both schedules show nightly
both schedules next nightly
code 0 schedules list -o name
[[ "$(<out)" == nightly ]] || fail "names: $(cat out)"
code 0 schedules pause nightly
code 0 schedules show nightly
said 'paused'
code 0 schedules resume nightly
code 0 queues pause default
code 0 schedules trigger nightly
code 6 schedules trigger nightly --unless-running
said 'has not ended'
code 0 queues resume default
code 3 schedules show nightl
said 'nightly'
code 0 dag delete nightly --yes
code 3 schedules show nightly

echo "cli: ok"

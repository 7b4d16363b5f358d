#!/usr/bin/env bash
# tests/e2e/waits.sh VORTEX: approvals, signals and `finally` with a real worker, through a kill -9 of the
# controller: what was asked is still asked, what was said is still known, and what runs last runs.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
"$vortex" worker --server "$url" --name "waits-$port" --slots 4 --tuning=testing \
  --state-dir "$folder/state" --work-dir "$folder/work" 2>"$folder/worker.log" &
worker=$!
trap 'kill "$worker" 2>/dev/null || true; wait "$worker" 2>/dev/null || true; finish' EXIT
export VORTEX_SERVER="$url"

states() { api "/api/runs/$1/tasks" | jq -r '[.tasks[] | "\(.node)=\(.state)"] | join(" ")'; }
state() { api "/api/runs/$1" | jq -r .state; }
expect() { [[ "$2" == "$1" ]] || fail "expected '$1', got '$2'"; }
restart() {
  kill -9 "$controller"
  wait "$controller" 2>/dev/null || true
  start
}

# An approval outlives the controller that asked, and a signal the one that was told.
cat >"$folder/dag.yaml" <<'YAML'
name: asks
params: {folder: {type: string}}
defaults: {shell: [bash, -euc], retries: 0}
tasks:
  build:
    env: {FOLDER: "${{ params.folder }}"}
    run: while [ ! -e "$FOLDER/go" ]; do sleep 0.05; done
  cool: {needs: build, wait: {for: 100ms}}
  go: {needs: cool, wait: {signal: release, timeout: 1d}, outputs: [version]}
  ok: {needs: go, wait: {approval: "Deploy?", by: [operator], timeout: 2d}}
  deploy:
    needs: [go, ok]
    env: {VERSION: "${{ tasks.go.outputs.version }}", WHY: "${{ tasks.ok.outputs.comment }}", FOLDER: "${{ params.folder }}"}
    run: echo "$VERSION $WHY" > "$FOLDER/deployed"
finally:
  down:
    env: {RESULT: "${{ run.result }}", FOLDER: "${{ params.folder }}"}
    run: echo "$RESULT" >> "$FOLDER/down"
YAML
run="$("$vortex" run "$folder/dag.yaml" -p folder="$folder" --detach -q)"
"$vortex" runs signal "$run" relase 2>"$folder/said" && fail "an unknown signal was taken"
grep -q "did you mean 'release'" "$folder/said" || fail "$(cat "$folder/said")"
"$vortex" runs signal "$run" release --data '{"version": "1.2"}' --idempotency-key k -q
restart
"$vortex" runs signal "$run" release --data '{"version": "1.2"}' --idempotency-key k -q
expect 1 "$(api "/api/runs/$run/signals" | jq '.signals | length')"
touch "$folder/go"
asked() { [[ "$(api /api/approvals | jq -r '.approvals[].node')" == ok ]]; }
eventually asked
"$vortex" runs show "$run" >"$folder/shown"
grep -q 'waits for approval "Deploy?" (by operator' "$folder/shown" || fail "$(cat "$folder/shown")"
grep -q "vortex runs approve $run/ok" "$folder/shown" || fail "$(cat "$folder/shown")"
restart
eventually asked
"$vortex" runs approve "$run" --comment checked -q
"$vortex" runs approve "$run/ok" -q
"$vortex" runs reject "$run/ok" --reason late 2>"$folder/said" && fail "the opposite answer was taken"
eventually "$vortex" runs wait "$run" --timeout 20s
expect "1.2 checked" "$(cat "$folder/deployed")"
expect "completed" "$(cat "$folder/down")"
"$vortex" runs approve "$run/ok" -q
"$vortex" runs signal "$run" release 2>"$folder/said" && fail "a run that has ended took a signal"

# After a cancel, and through a kill of the controller, what runs last runs once.
rm "$folder/go" "$folder/down"
run="$("$vortex" run "$folder/dag.yaml" -p folder="$folder" --detach -q)"
running() { states "$run" | grep -q "build=Running"; }
eventually running
"$vortex" runs cancel "$run" --yes -q
restart
"$vortex" runs wait "$run" --timeout 20s && fail "a cancelled run has ended well"
expect Cancelled "$(state "$run")"
expect "cancelled" "$(cat "$folder/down")"
expect "build=Cancelled cool=Cancelled go=Cancelled ok=Cancelled deploy=Cancelled down=Completed" "$(states "$run")"

# A rejection fails the run, and what runs last says so.
rm "$folder/down"
touch "$folder/go"
run="$("$vortex" run "$folder/dag.yaml" -p folder="$folder" --detach -q)"
"$vortex" runs signal "$run" release --data '{"version": "1.3"}' -q
eventually asked
"$vortex" runs reject "$run" --reason "tests are red" -q
"$vortex" runs wait "$run" --timeout 20s && fail "a rejected run has ended well"
expect "failed" "$(cat "$folder/down")"
api "/api/runs/$run/tasks" | jq -r '.tasks[] | select(.node == "ok") | .error_message' | grep -q "tests are red" ||
  fail "the reason is not kept"
echo "waits: ok"

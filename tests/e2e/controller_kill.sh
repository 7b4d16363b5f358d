#!/usr/bin/env bash
# tests/e2e/controller_kill.sh VORTEX: the controller is killed with -9 while real workers run tasks, and
# comes back later. Running tasks are not disturbed, each runs once, what ended meanwhile is reported,
# and the output of that time is there.
# Proves: V15
set -euo pipefail
source "$(dirname "$0")/lib.sh"

# The usual leases: how long the controller is away has nothing to do with them here.
begin "$(realpath "$1")" --tuning=standard
"$vortex" worker --server "$url" --name "kill-$port" --slots 4 \
  --state-dir "$folder/state" --work-dir "$folder/work" 2>"$folder/worker.log" &
worker=$!
trap 'kill "$worker" 2>/dev/null || true; wait "$worker" 2>/dev/null || true; finish' EXIT

export VORTEX_SERVER="$url"
mkdir "$folder/starts"
cat >"$folder/dag.yaml" <<'YAML'
vortex: 1
name: undisturbed
params: {folder: {type: string}}
tasks:
  work:
    map: {over: {range: {from: 1, to: 4}}}
    shell: [bash, -euc]
    env: {FOLDER: "${{ params.folder }}"}
    run: |
      echo $$ >> "$FOLDER/starts/$VORTEX_TASK_ID"
      while [ ! -e "$FOLDER/go" ]; do sleep 0.05; done
      echo "the last words"
  after: {needs: [work], run: [echo, after]}
YAML
run="$("$vortex" run "$folder/dag.yaml" -p folder="$folder" --detach -q)"
all_started() { [[ "$(ls "$folder/starts" | wc -l)" == 4 ]]; }
eventually all_started

# Nobody listens while the tasks end, for longer than the end of a task waits for its output.
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
touch "$folder/go"
nothing_runs() {
  local file
  for file in "$folder"/starts/*; do
    kill -0 "$(head -1 "$file")" 2>/dev/null && return 1
  done
  return 0
}
eventually nothing_runs
sleep 6
start

eventually "$vortex" runs wait "$run" --timeout 20s
for file in "$folder"/starts/*; do
  [[ "$(wc -l <"$file")" == 1 ]] || fail "$file: started $(wc -l <"$file") times"
done
attempts="$(api "/api/runs/$run/tasks" | jq '[.tasks[].attempts] | max')"
[[ "$attempts" == 1 ]] || fail "a task has $attempts attempts"
delivered() { "$vortex" logs "$run/work[$1]" | grep -q "the last words"; }
for item in 0 1 2 3; do eventually delivered "$item"; done
echo "controller killed: ok"

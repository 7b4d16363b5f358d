#!/usr/bin/env bash
# tests/e2e/sub_dags.sh VORTEX: sub-DAGs from files and stored ones with a real worker, through a kill -9 of
# the controller; cancels go down, failures come up, and mistakes are told with their place.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
"$vortex" worker --server "$url" --name "sub-$port" --slots 4 --tuning=testing \
  --state-dir "$folder/state" --work-dir "$folder/work" 2>"$folder/worker.log" &
worker=$!
trap 'kill "$worker" 2>/dev/null || true; wait "$worker" 2>/dev/null || true; finish' EXIT
export VORTEX_SERVER="$url"
examples="$(dirname "$0")/../../examples"

state() { api "/api/runs/$1" | jq -r .state; }
children() { api "/api/runs?parent=$1" | jq -r '[.runs | sort_by(.id[1:] | tonumber) | .[] | .state] | join(" ")'; }
child_of() { api "/api/runs?parent=$1" | jq -r '.runs[0].id'; }
expect() { [[ "$2" == "$1" ]] || fail "expected '$1', got '$2'"; }
restart() {
  kill -9 "$controller"
  wait "$controller" 2>/dev/null || true
  start
}

# A map of runs from a file beside the DAG file; their outputs come back as a list.
"$vortex" run "$examples/regions.yaml" >/dev/null 2>&1 || fail "regions.yaml did not complete"
expect "Completed Completed Completed" "$(children r1)"
"$vortex" logs r1/report >"$folder/report"
grep -q '\[200,200,400\]' "$folder/report" || fail "$(cat "$folder/report")"
"$vortex" runs show r1 | grep -q 'children' || fail "runs show lists no children"
"$vortex" runs show r2 | grep -q 'r1/load\[0\]' || fail "runs show names no parent"

# A stored DAG, found when the run is submitted; a cancel goes down through a crash of the controller.
mkdir -p "$folder/dags"
cat >"$folder/dags/slow.yaml" <<'YAML'
name: slow
params: {folder: {}}
tasks:
  work:
    shell: [bash, -euc]
    env: {FOLDER: "${{ params.folder }}"}
    run: while [ ! -e "$FOLDER/go" ]; do sleep 0.05; done
    outputs: []
finally:
  down: {shell: [bash, -euc], env: {FOLDER: "${{ params.folder }}", R: "${{ run.result }}"}, run: echo "$R" >> "$FOLDER/down"}
YAML
cat >"$folder/parent.yaml" <<'YAML'
name: parent
params: {folder: {}}
tasks:
  a: {dag: slow, params: {folder: "${{ params.folder }}"}, retries: 0}
  b: {needs: a, run: ["true"]}
YAML
"$vortex" run "$folder/parent.yaml" -p folder="$folder" --detach 2>"$folder/said" && fail "an unknown DAG was taken"
grep -q "no DAG 'slow' is stored" "$folder/said" || fail "$(cat "$folder/said")"
"$vortex" dag apply "$folder/dags/slow.yaml" >/dev/null
run="$("$vortex" run "$folder/parent.yaml" -p folder="$folder" --detach -q)"
child="$(child_of "$run")"
until [[ "$(api "/api/runs/$child/tasks" | jq -r '.tasks[0].state')" == Running ]]; do sleep 0.1; done
"$vortex" tasks explain "$run/a" | grep -q "$child" || fail "explain does not name $child"
restart
expect "$child" "$(child_of "$run")"
"$vortex" runs cancel "$run" --yes -q
restart
"$vortex" runs wait "$run" --timeout 60s || true
expect Cancelled "$(state "$run")"
expect Cancelled "$(state "$child")"
expect cancelled "$(cat "$folder/down")"

# What goes on completes, after another crash; the retry of a failed task makes a new child.
run="$("$vortex" run "$folder/parent.yaml" -p folder="$folder" --detach -q)"
child="$(child_of "$run")"
restart
touch "$folder/go"
"$vortex" runs wait "$run" --timeout 60s
expect Completed "$(state "$child")"
rm "$folder/go"
run="$("$vortex" run "$folder/parent.yaml" -p folder="$folder" --detach -q)"
"$vortex" runs cancel "$(child_of "$run")" --yes -q
"$vortex" runs wait "$run" --timeout 60s && fail "the run did not fail"
touch "$folder/go"
"$vortex" tasks retry "$run/a" -q
"$vortex" runs wait "$run" --timeout 60s
expect "Cancelled Completed" "$(children "$run")"

# Mistakes have a place.
cat >"$folder/wrong.yaml" <<'YAML'
name: wrong
tasks:
  a: {dag: ./parent.yaml, params: {foldr: x}}
YAML
"$vortex" validate "$folder/wrong.yaml" 2>"$folder/said" && fail "a wrong param was taken"
grep -q "wrong.yaml:3:43" "$folder/said" || fail "$(cat "$folder/said")"
grep -q "did you mean 'folder'" "$folder/said" || fail "$(cat "$folder/said")"

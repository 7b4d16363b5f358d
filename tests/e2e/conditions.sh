#!/usr/bin/env bash
# tests/e2e/conditions.sh VORTEX: conditions, allowed failures and limited retries with real workers, through a
# kill -9 of the controller: what a condition reads was reported to the controller that died.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
"$vortex" worker --server "$url" --name "if-$port" --slots 4 --tuning=testing \
  --state-dir "$folder/state" --work-dir "$folder/work" 2>"$folder/worker.log" &
worker=$!
trap 'kill "$worker" 2>/dev/null || true; wait "$worker" 2>/dev/null || true; finish' EXIT
export VORTEX_SERVER="$url"

states() { api "/api/runs/$1/tasks" | jq -r '[.tasks[] | "\(.node)=\(.state)"] | join(" ")'; }
expect() { [[ "$2" == "$1" ]] || fail "expected '$1', got '$2'"; }

cat >"$folder/dag.yaml" <<'YAML'
name: decides
params: {folder: {type: string}}
defaults: {shell: [bash, -euc], retries: 0}
tasks:
  list:
    run: echo '{"files":["a","b"],"total":2.0}' > "$VORTEX_OUTPUTS"
  slow:
    env: {FOLDER: "${{ params.folder }}"}
    run: while [ ! -e "$FOLDER/go" ]; do sleep 0.05; done
  lint: {run: exit 3, continue_on_error: true}
  some: {needs: [list, slow, lint], if: '"a" in tasks.list.outputs.files and failed(lint)', run: "true"}
  many: {needs: [list, slow], if: tasks.list.outputs.total > 2, run: "true"}
  odd: {needs: [list, slow], if: tasks.list.outputs.nothing == 1, run: "true", continue_on_error: true}
  mapped:
    needs: [list, slow]
    if: tasks.list.outputs.total >= 3
    map: {over: [x, y]}
    run: "true"
YAML
run="$("$vortex" run "$folder/dag.yaml" -p folder="$folder" --detach -q)"
listed() { states "$run" | grep -q "list=Completed slow=Running lint=Failed"; }
eventually listed
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
touch "$folder/go"
start
eventually "$vortex" runs wait "$run" --timeout 20s
expect "list=Completed slow=Completed lint=Failed some=Completed many=Skipped odd=Failed" "$(states "$run")"
expect Completed "$(api "/api/runs/$run" | jq -r .state)"
task() { api "/api/runs/$run/tasks" | jq -r ".tasks[] | select(.node == \"$1\") | .error_message"; }
expect "its condition 'tasks.list.outputs.total > 2' is false: tasks.list.outputs.total is 2.0" "$(task many)"
many="$(api "/api/runs/$run/tasks" | jq -r '.tasks[] | select(.node == "many") | .id')"
expect "$(task many)" "$(api "/api/tasks/$many/explain" | jq -r '.details | join(" ")')"
[[ "$(task odd)" == "cannot evaluate the condition 'tasks.list.outputs.nothing == 1': "* ]] ||
  fail "odd says: $(task odd)"
"$vortex" events --kind task_skipped -o jsonl >"$folder/skips"
grep -q '"name":"mapped"' "$folder/skips" || fail "no event about the map: $(cat "$folder/skips")"

# The example, in its two ways.
examples="$(dirname "$0")/../../examples"
run="$("$vortex" run "$examples/conditions.yaml" --detach -q)"
eventually "$vortex" runs wait "$run" --timeout 20s
expect "count=Completed lint=Failed load=Completed load-small=Skipped europe=Completed repair=Skipped \
report=Completed" "$(states "$run")"
run="$("$vortex" run "$examples/conditions.yaml" -p rows=5000 -p broken=true --detach -q)"
"$vortex" runs wait "$run" --timeout 20s || true
expect "count=Completed lint=Failed load=Failed load-small=Skipped europe=Completed repair=Completed \
report=Completed" "$(states "$run")"

# Mistakes are found before anything runs.
printf 'name: wrong\nparams: {n: {type: number}}\ntasks:\n  a:\n    if: params.n == "3"\n    run: [x]\n' \
  >"$folder/wrong.yaml"
"$vortex" validate "$folder/wrong.yaml" >"$folder/said" 2>&1 && fail "a wrong condition was accepted"
grep -q "wrong.yaml:5:18" "$folder/said" || fail "no line and column: $(cat "$folder/said")"
grep -q "a number is compared with a string" "$folder/said" || fail "$(cat "$folder/said")"
echo "conditions: ok"

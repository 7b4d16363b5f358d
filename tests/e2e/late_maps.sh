#!/usr/bin/env bash
# tests/e2e/late_maps.sh VORTEX: maps made at run time with real workers, through a kill -9 of the controller while the
# items run: the same items go on, and what they have written is gathered.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
"$vortex" worker --server "$url" --name "late-$port" --slots 4 --tuning=testing \
  --state-dir "$folder/state" --work-dir "$folder/work" 2>"$folder/worker.log" &
worker=$!
trap 'kill "$worker" 2>/dev/null || true; wait "$worker" 2>/dev/null || true; finish' EXIT
export VORTEX_SERVER="$url"

expect() { [[ "$2" == "$1" ]] || fail "expected '$1', got '$2'"; }
state() { api "/api/runs/$1" | jq -r .state; }
count() { api "/api/runs/$1" | jq -r ".counts.$2"; }

cat >"$folder/dag.yaml" <<'YAML'
name: scatter
params: {folder: {type: string}}
defaults: {shell: [bash, -euc], retries: 0}
tasks:
  list:
    run: |
      jq -cn '{files: [range(12) | {n: ., name: "file \(.)"}], none: [], one: "x"}' > "$VORTEX_OUTPUTS"
    outputs: [files, none, one]
  size:
    needs: [list]
    map: {over: "${{ tasks.list.outputs.files }}", as: file, max_parallel: 4, max_failures: 1}
    env: {N: "${{ map.file.n }}", NAME: "${{ map.file.name }}", FOLDER: "${{ params.folder }}"}
    run: |
      if [ "$N" -gt 1 ]; then while [ ! -e "$FOLDER/go" ]; do sleep 0.05; done; fi
      echo "$NAME" >> "$FOLDER/names"
      [ "$N" != 7 ] || exit 3
      jq -cn "{size: ($N * 10), text: (\"x\" * 20000)}" > "$VORTEX_OUTPUTS"
  empty: {needs: [list], map: {over: "${{ tasks.list.outputs.none }}"}, run: exit 1}
  behind: {needs: [empty], run: "true"}
  wrong: {needs: [list], map: {over: "${{ tasks.list.outputs.one }}"}, run: exit 1, continue_on_error: true}
  sum:
    needs: [size, behind]
    env: {SIZES: "${{ tasks.size.outputs.size }}"}
    inputs: ["${{ tasks.size.outputs.text }}"]
    run: |
      jq -cn --argjson sizes "$SIZES" --slurpfile inputs "$VORTEX_INPUTS" \
        '{sizes: $sizes, texts: [$inputs[0].size.text[] | length]}' > "$VORTEX_OUTPUTS"
YAML
run="$("$vortex" run "$folder/dag.yaml" -p folder="$folder" --detach -q)"
two_done() { [[ "$(count "$run" Completed)" == 4 ]]; } # list, behind and two items
eventually two_done
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
touch "$folder/go"
start
eventually "$vortex" runs wait "$run" --timeout 30s
expect Completed "$(state "$run")"
expect '{"size":12,"empty":0,"wrong":1}' \
  "$(api "/api/runs/$run/dag" | jq -c '.late_maps | {size, empty, wrong}')"
expect "$(seq -f 'file %g' 0 11)" "$(sort -Vu "$folder/names")"
sum="$(api "/api/runs/$run/tasks?node=sum" | jq -r '.tasks[0].id')"
expect '{"sizes":[0,10,20,30,40,50,60,null,80,90,100,110],"texts":[20000,20000,20000,20000,20000,20000,20000,0,20000,20000,20000,20000]}' \
  "$(api "/api/tasks/$sum" | jq -c .outputs)"
expect "cannot make the items of the map over \${{ tasks.list.outputs.one }}: the value is a string; a map needs a list or an object" \
  "$(api "/api/runs/$run/tasks?node=wrong" | jq -r '.tasks[0].error_message')"
wrong="$(api "/api/runs/$run/tasks?node=wrong" | jq -r '.tasks[0].id')"
"$vortex" tasks retry "$wrong" 2>"$folder/refused" && fail "a map without items was retried"
grep -q "start a new run" "$folder/refused" || fail "refused with: $(cat "$folder/refused")"
expect file\ 3 "$(api "/api/runs/$run/tasks?node=size" | jq -r '.tasks[3].id' |
  xargs -I{} curl -sf "$url/api/tasks/{}" | jq -r '.map.item | fromjson | .name')"

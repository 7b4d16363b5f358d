#!/usr/bin/env bash
# tests/e2e/example_worker.sh VORTEX: the worker in bash does real work, its result survives a kill -9
# of the controller, and a failing command is tried again. Scripts, expressions, env, workdir, outputs,
# timeouts, cancels, logs and a drain are as good with it as with the built-in worker.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
begin "$1"

root="$(cd "$(dirname "$0")/../.." && pwd)"
"$root/examples/worker.sh" "$url" w1 >"$folder/worker.out" 2>"$folder/worker.err" &
worker=$!
trap 'kill "$worker" 2>/dev/null || true; finish' EXIT

api /api/runs -d "{\"dag\":{\"name\":\"two\",\"tasks\":{
  \"greet\":{\"run\":[\"echo\",\"hello\"]},
  \"once\":{\"needs\":[\"greet\"],\"run\":[\"sh\",\"-c\",\"test -e $folder/second || { touch $folder/second; exit 3; }\"],
          \"retry\":{\"max\":2,\"delay\":\"10ms\"}}}}}" >/dev/null
is() { [[ "$(api "/api/runs/$1" | jq -r .state)" == "$2" ]]; }
eventually is r1 Completed
logs() { [[ "$(api "/api/tasks/$1/logs")" == *"$2"* ]]; }
eventually logs r1-L0-0 hello
[[ "$(api /api/tasks/r1-L1-1 | jq .failures)" == 1 ]] || fail "one failure was expected: $(api /api/tasks/r1-L1-1)"

api /api/runs -d '{"dag":{"name":"slow","tasks":{"a":{"run":["sleep","1"]}}}}' >/dev/null
running() { [[ "$(api /api/tasks/r2-L0-0 | jq -r .state)" == Running ]]; }
eventually running
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
start
eventually is r2 Completed
[[ "$(api /api/tasks/r2-L0-0/attempts | jq '.attempts | length')" == 1 ]] || fail "it ran more than once"

# Values are the controller's business: the worker only starts what it is given.
mkdir "$folder/my dir"
cat >"$folder/values.yaml" <<YAML
name: values
params:
  who: {default: "a b"}
tasks:
  make:
    shell: [bash, -euc]
    run:
      - |
        echo "\$1 in \$PWD" > made
        printf '{"n": 42, "list": ["x"]}' > "\$VORTEX_OUTPUTS"
      - script
      - "\${{ params.who }}"
    workdir: $folder/my dir
    outputs: [n, list]
  use:
    needs: [make]
    run: [bash, -c, 'echo "\$N of \$VORTEX_TASK, \$1"', sh, "\${{ tasks.make.outputs.list[0] }}"]
    env: {N: "\${{ tasks.make.outputs.n }}"}
  broken:
    needs: [make]
    run: ["true", "\${{ tasks.make.outputs.list[7] }}"]
    retry: {max: 0}
YAML
"$vortex" validate "$folder/values.yaml" >&2 || fail "the file is wrong"
"$vortex" run "$folder/values.yaml" --server "$url" >"$folder/values.out" 2>&1 && fail "the broken task did not fail"
[[ "$(cat "$folder/my dir/made")" == "a b in $folder/my dir" ]] || fail "the script: $(cat "$folder/my dir/made")"
logs r3-L1-1 "42 of use, x" || fail "the values: $(api /api/tasks/r3-L1-1/logs)"
api /api/tasks/r3-L1-2 | grep -q "cannot resolve run\[1\]: tasks.make.outputs.list\[7\]: there is no item 7" ||
  fail "the reason is not told: $(api /api/tasks/r3-L1-2)"

api /api/runs -d '{"dag":{"name":"late","tasks":{"a":{"shell":["sh","-c"],"run":"sleep 300 & sleep 300","timeout":"1s",
  "retry":{"max":0}}}}}' >/dev/null
eventually is r4 Failed
[[ "$(api /api/tasks/r4-L0-0/attempts | jq -r '.attempts[0].verdict')" == execution_timeout ]] ||
  fail "the timeout: $(api /api/tasks/r4-L0-0/attempts)"

api /api/runs -d '{"dag":{"name":"cancelled","tasks":{"a":{"run":["sleep","300"]}}}}' >/dev/null
running5() { [[ "$(api /api/tasks/r5-L0-0 | jq -r .state)" == Running ]]; }
eventually running5
api /api/runs/r5/cancel -X POST >/dev/null
eventually is r5 Cancelled

kill "$worker"
wait "$worker" || fail "the worker did not leave in peace"
echo "example worker: ok"

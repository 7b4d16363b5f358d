#!/usr/bin/env bash
# tests/e2e/example_worker.sh VORTEX: the worker of twenty lines does real work, its result survives
# a kill -9 of the controller, and a failing command is tried again.
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
          \"retry\":{\"attempts\":2,\"delay\":\"10ms\"}}}}}" >/dev/null
is() { [[ "$(api "/api/runs/$1" | jq -r .state)" == "$2" ]]; }
eventually is r1 Completed
grep -q hello "$folder/worker.out" || fail "the command did not run"
[[ "$(api /api/tasks/r1-L1-1 | jq .failures)" == 1 ]] || fail "one failure was expected: $(api /api/tasks/r1-L1-1)"

api /api/runs -d '{"dag":{"name":"slow","tasks":{"a":{"run":["sleep","1"]}}}}' >/dev/null
running() { [[ "$(api /api/tasks/r2-L0-0 | jq -r .state)" == Running ]]; }
eventually running
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
start
eventually is r2 Completed
[[ "$(api /api/tasks/r2-L0-0/attempts | jq '.attempts | length')" == 1 ]] || fail "it ran more than once"
echo "example worker: ok"

#!/usr/bin/env bash
# tests/e2e/examples.sh VORTEX: every DAG file in examples/ runs to its end, while a worker and then the
# controller are killed with -9. What an example says to set up first is set up as it says.
# Proves: V04 V15
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
cd "$(dirname "$0")/../.."
"$vortex" worker --server "$url" --name "ex-$port" --count 3 --slots 4 --tuning=testing \
  --state-dir "$folder/state" --work-dir "$folder/work" 2>"$folder/worker.log" &
supervisor=$!
trap 'kill "$supervisor" 2>/dev/null || true; wait "$supervisor" 2>/dev/null || true; finish' EXIT
export VORTEX_SERVER="$url"
three_workers() { [[ "$(api '/api/workers?state=ACTIVE' | jq '.workers | length')" == 3 ]]; }
eventually three_workers

while read -r _ command; do
  eval "\"$vortex\" $command" >/dev/null || fail "vortex $command"
done < <(sed -nE 's/^# +(vortex (limits set|dag apply) [^#]*).*/\1/p' examples/*.yaml | sort -u)

# Poison kills workers by itself; it comes last and alone.
declare -A runs=()
for file in examples/*.yaml; do
  name="$(basename "$file" .yaml)"
  [[ "$name" == poison ]] && continue
  runs[$name]="$("$vortex" run "$file" --detach -q)" || fail "$file is refused"
done
[[ ${#runs[@]} -ge 10 ]] || fail "only ${#runs[@]} examples"

state() { api "/api/runs/$1" | jq -r .state; }
running_tasks() { api '/api/tasks?state=Running&limit=1000' | jq -r '.tasks[] | .worker'; }
busy() { [[ "$(running_tasks | sort -u | wc -l)" == 3 ]]; }
eventually busy

# One of the worker processes dies: all of them have work.
kill -9 "$(pgrep -P "$supervisor" | head -1)"
recovered() { [[ "$(api /api/recoveries | jq '.recoveries | length')" -ge 1 ]]; }
eventually recovered

kill -9 "$controller"
wait "$controller" 2>/dev/null || true
start

# Whoever asks is approved.
all_ended() {
  local task
  for task in $(api /api/approvals | jq -r '.approvals[].task'); do
    "$vortex" runs approve "$task" --comment "looks good" -q >/dev/null 2>&1 || true
  done
  [[ "$(api '/api/runs?state=Running' | jq '.runs | length')" == 0 ]]
}
for _ in 1 2 3 4; do (eventually all_ended) 2>/dev/null && break; done
for name in "${!runs[@]}"; do
  is="$(state "${runs[$name]}")"
  [[ "$is" == Completed ]] || fail "example $name is $is: $("$vortex" runs show "${runs[$name]}" 2>&1)"
done
grep -q "a loss of" < <("$vortex" logs "${runs[sweep]}/best") || fail "the sweep found nothing"

# A broken test run fails, and its machine is removed.
run="$("$vortex" run examples/teardown.yaml -p broken=true --detach -q)"
"$vortex" runs wait "$run" --timeout 60s -q >/dev/null 2>&1 && fail "broken tests passed"
grep -q "is removed; the tests are failed" < <("$vortex" logs "$run/remove") || fail "the machine is left behind"

# The poison task is given up after its third worker; its neighbours complete.
run="$("$vortex" run examples/poison.yaml --detach -q)"
(eventually all_ended) 2>/dev/null || eventually all_ended
[[ "$(state "$run")" == Failed ]] || fail "poison is $(state "$run")"
counts="$(api "/api/runs/$run" | jq -c '[.counts.Completed, .counts.Failed]')"
[[ "$counts" == "[20,1]" ]] || fail "poison: $counts"
[[ "$(api "/api/dead-letters?run=$run" | jq '.dead_letters | length')" == 1 ]] || fail "no dead letter"
echo "examples: ok"

#!/usr/bin/env bash
# tests/e2e/dev.sh VORTEX: from a DAG file to finished work with one command, as a new user would: the
# examples, a mistake in a file, a task that fails, outputs and params, a worker that is killed.
set -euo pipefail

vortex="$(realpath "$1")"
examples="$(cd "$(dirname "$0")/../../examples" && pwd)"
folder="$(mktemp -d)"
cd "$folder"
dev=
finish() {
  [[ -n "$dev" ]] && kill "$dev" 2>/dev/null && wait "$dev" 2>/dev/null
  rm -rf "$folder"
}
trap finish EXIT
fail() {
  echo "FAILED: $*" >&2
  tail -n 30 "$folder"/out "$folder"/err "$folder"/dev.log "$folder"/.vortex/*.log >&2 2>/dev/null
  exit 1
}
# want CODE COMMAND...: the command's exit code; what it says is in out and err.
want() {
  local code=0
  "${@:2}" >out 2>err || code=$?
  [[ "$code" == "$1" ]] || fail "exit code $code instead of $1: ${*:2}"
}
says() { grep -qF -- "$1" out err || fail "it does not say '$1'"; }
eventually() {
  for _ in $(seq 600); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.05
  done
  fail "never came true: $*"
}

# One command, one run, everything gone afterwards.
want 0 "$vortex" dev --run "$examples/hello.yaml" --once
says "vortex is up"

"$vortex" dev --workers 3 2>dev.log &
dev=$!
eventually grep -q "vortex is up" dev.log
export VORTEX_SERVER
VORTEX_SERVER="$(grep -o 'http://[0-9.:]*' dev.log | head -1)"

# The examples.
for example in hello etl thumbnails; do want 0 "$vortex" run "$examples/$example.yaml"; done
want 0 "$vortex" run "$examples/wide-map.yaml"

# A mistake in a file: place and fix, and nothing is submitted.
runs_before="$("$vortex" runs list -o name | wc -l)"
printf 'vortex: 1\nname: oops\ntasks:\n  resize:\n    run: [echo, hi]\n    retires: 3\n' >oops.yaml
want 7 "$vortex" run oops.yaml
says "oops.yaml:6:5"
says "did you mean 'retries'?"
want 7 "$vortex" validate oops.yaml
[[ "$("$vortex" runs list -o name | wc -l)" == "$runs_before" ]] || fail "something was submitted"

# A task that fails.
printf 'vortex: 1\nname: fails\ntasks:\n  bad: {run: [sh, -c, "echo why; exit 3"], retry: {max: 0}}\n  next: {needs: [bad], run: ["true"]}\n' >fails.yaml
want 8 "$vortex" run fails.yaml
says "exit code 3"
if grep -q 'exit code 3.*exit code 3' out err; then fail "it says the exit code twice"; fi
want 0 "$vortex" logs @last/bad
says "why"
want 0 "$vortex" tasks explain @last/next
says "'bad' is Failed"

# Params and outputs, never through a shell.
cat >values.yaml <<'YAML'
vortex: 1
name: values
params: {who: {type: string, default: world}, times: {type: number}}
tasks:
  make:
    shell: [bash, -euc]
    run: |
      echo '{"list": ["a b", "c"], "n": 7}' > "$VORTEX_OUTPUTS"
    outputs: [list, n]
  use:
    needs: [make]
    run: [printf, "%s|", "${{ params.who }}", "${{ params.times }}", "${{ tasks.make.outputs.n }}", "${{ tasks.make.outputs.list[0] }}"]
YAML
want 7 "$vortex" run values.yaml
says "times"
want 0 "$vortex" run values.yaml -p 'who=$(id); "x"' -p times=3
want 0 "$vortex" logs @last/use
says '$(id); "x"|3|7|a b|'

# One command as a task.
want 0 "$vortex" exec -- echo from afar
says "from afar"
want 8 "$vortex" exec -- sh -c 'exit 4'

# A killed worker: its task goes on elsewhere from its checkpoint, and the ledger tells.
cat >resume.yaml <<'YAML'
vortex: 1
name: resume
tasks:
  count:
    shell: [bash, -euc]
    env: {PROOF: "${{ params.proof }}"}
    run: |
      n=$(cat "$VORTEX_CHECKPOINT" 2>/dev/null || echo 0)
      echo "from $n" >> "$PROOF"
      echo $$ $VORTEX_WORKER_PID > "$PROOF.pid"
      while (( n < 40 )); do
        n=$((n + 1)); echo $n > "$VORTEX_CHECKPOINT.new"; mv "$VORTEX_CHECKPOINT.new" "$VORTEX_CHECKPOINT"
        echo "$((n * 100 / 40)) counting" > "$VORTEX_PROGRESS"
        sleep 0.1
      done
params: {proof: {type: string}}
YAML
run="$("$vortex" run resume.yaml -p proof="$folder/proof" --detach -q)"
eventually test -s "$folder/proof.pid"
# A checkpoint is durable once the controller has it.
eventually sh -c "'$vortex' tasks show $run-L0-0 -o json | jq -e '.checkpoint_bytes > 0'"
read -r _ worker_pid <"$folder/proof.pid"
kill -9 "$worker_pid"
want 0 "$vortex" runs wait "$run" --timeout 60s
[[ "$(wc -l <"$folder/proof")" == 2 ]] || fail "it did not run exactly twice: $(cat "$folder/proof")"
[[ "$(tail -1 "$folder/proof")" != "from 0" ]] || fail "it did not go on from its checkpoint"
want 0 "$vortex" recoveries list
says "exit"

# Poison ends in the dead letters, not in a dead fleet.
want 8 "$vortex" run "$examples/poison.yaml"
want 0 "$vortex" dlq list
says "crash_limit"

# An operator's drain reaches the worker.
all_present() {
  "$vortex" workers list -o json | jq -e '[.workers[] | select(.state == "IDLE")] | length == 3'
}
eventually all_present # the poison took some of them along
worker="$("$vortex" workers list -o name | head -1)"
want 0 "$vortex" workers drain "$worker" --yes
eventually sh -c "'$vortex' workers show $worker -o json | jq -e '.state == \"INACTIVE\"'"

kill -INT "$dev"
code=0
wait "$dev" || code=$?
dev=
[[ "$code" == 0 ]] || fail "dev ended with $code"
echo "$folder" >needle # in a file: the search would find itself
left="$(grep -laFf needle /proc/[0-9]*/cmdline 2>/dev/null || true)"
[[ -z "$left" ]] || fail "something of it is left: $left"
echo "dev: ok"

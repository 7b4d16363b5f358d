#!/usr/bin/env bash
# tests/e2e/worker_identity.sh VORTEX: a second worker with a valid token tries to speak for the first one,
# and a task tries to go beyond what its own token is for. All of that is refused, and the task of the
# first worker completes once.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
kill "$controller" && { wait "$controller" || true; }
make() { "$vortex" tokens create "$@" 2>/dev/null; }
offline=(--offline --database.path="$data/vortex.db")
make root --role admin "${offline[@]}" >"$folder/root"
make one --role worker --worker 'w1-*' "${offline[@]}" >"$folder/one"
make two --role worker "${offline[@]}" >"$folder/two"
make bound --role worker --worker 'gpu-*' "${offline[@]}" >"$folder/bound"
if make bad --role viewer --worker x "${offline[@]}" >/dev/null; then fail "a viewer was bound to workers"; fi
if make bad --role worker --worker 'a*b' "${offline[@]}" >/dev/null; then fail "a*b was taken for an id"; fi
flags=(--controller.require-tokens=true)
start
export VORTEX_SERVER="$url" VORTEX_TOKEN_FILE="$folder/root"
grep -q 'gpu-\*' <<<"$("$vortex" tokens list)" || fail "the list does not show the binding"

VORTEX_TOKEN_FILE="$folder/one" "$vortex" worker --name w1 --slots 2 --tuning=testing \
  --state-dir "$folder/state" --work-dir "$folder/work" 2>"$folder/worker.log" &
worker=$!
end_all() {
  touch "$folder/go"
  kill "$worker" 2>/dev/null || true
  wait "$worker" 2>/dev/null || true
  finish
}
trap end_all EXIT
cat >"$folder/dag.yaml" <<'YAML'
vortex: 1
name: identity
params: {folder: {type: string}}
tasks:
  work:
    shell: [bash, -euc]
    env: {FOLDER: "${{ params.folder }}"}
    outputs: [answer]
    run: |
      env >"$FOLDER/env.new" && mv "$FOLDER/env.new" "$FOLDER/env"
      echo "output of the task"
      while [ ! -e "$FOLDER/go" ]; do sleep 0.05; done
      echo '{"answer": 42}' >"$VORTEX_OUTPUTS"
YAML
run="$("$vortex" run "$folder/dag.yaml" -p folder="$folder" --detach -q)"
eventually test -e "$folder/env"
of_task() { sed -n "s/^$1=//p" "$folder/env"; }
task="$(of_task VORTEX_TASK_ID)" epoch="$(of_task VORTEX_EPOCH)" token="$(of_task VORTEX_TOKEN)"
[[ "$token" == vxa_* ]] || fail "the task has no token of its own: $token"
! grep -q '^VORTEX_TOKEN_FILE=' "$folder/env" || fail "the worker's token reached the task"
! grep -q "$(cat "$folder/one")" "$folder/env" || fail "the worker's token reached the task"

as() { printf 'Authorization: Bearer %s' "$(cat "$folder/$1")"; }
life="$(curl -fsS -H "$(as two)" "$url/api/workers/w1-1" | jq .incarnation)"
[[ "$(curl -fsS -H "$(as two)" "$url/api/workers/w1-1" | jq -r .registered_by)" == one ]] || fail "nobody registered it"
own="$(curl -fsS -H "$(as two)" "$url/api/workers" -d '{"id":"w2"}' | jq -r .session)"
[[ "$own" == vxs_* ]] || fail "no session: $own"
# refused CODE [curl arguments]: status 4xx with that code.
refused() {
  local got
  got="$(curl -s -H "$(as "${by:-two}")" "${@:2}" | jq -r .code)"
  [[ "$got" == "$1" ]] || fail "expected $1, got $got: ${*:2}"
}
forged="{\"incarnation\":$life,\"seq\":1000000,\"slots\":1,\"held\":[{\"task\":\"$task\",\"epoch\":$epoch}]"
forged_end=",\"reports\":[{\"task\":\"$task\",\"epoch\":$epoch,\"kind\":\"completed\",\"outputs\":{\"answer\":666}}]"
for more in '' "$forged_end"; do
  refused VX-WORKER-008 "$url/api/workers/w1-1/sync" -d "$forged$more}"
  refused VX-WORKER-009 "$url/api/workers/w1-1/sync" -H "Vortex-Session: $own" -d "$forged$more}"
  refused VX-WORKER-009 "$url/api/workers/w1-1/sync" -H "Vortex-Session: vxs_guess" -d "$forged$more}"
done
refused VX-WORKER-008 "$url/api/workers/w1-1/exited" -d "{\"incarnation\":$life}"
refused VX-WORKER-009 "$url/api/workers/w1-1/exited" -H "Vortex-Session: $own" -d "{\"incarnation\":$life}"
refused VX-WORKER-002 "$url/api/workers" -d "{\"id\":\"w1-1\",\"incarnation\":$life}"
refused VX-WORKER-010 "$url/api/workers" -d "{\"id\":\"w1-1\",\"incarnation\":$((life + 1))}"
refused VX-WORKER-009 "$url/api/tasks/$task/logs?epoch=$epoch&offset=0" -H "Vortex-Session: $own" -d forged
by=bound refused VX-AUTH-008 "$url/api/workers" -d '{"id":"w3"}'
by=bound refused VX-AUTH-008 "$url/api/workers/w2/sync" -H "Vortex-Session: $own" -d '{"incarnation":1,"seq":1,"slots":0}'
curl -fsS -H "$(as bound)" "$url/api/workers" -d '{"id":"gpu-7"}' >/dev/null

# The token of the attempt: itself, and nothing else.
with_token() { curl -s -H "Authorization: Bearer $token" "$@"; }
[[ "$(with_token "$url/api/tasks/$task" | jq -r .state)" == Running ]] || fail "the task cannot see itself"
seen() { [[ "$(with_token "$url/api/tasks/$task/logs")" == "output of the task" ]]; }
eventually seen
inside=(env -u VORTEX_TOKEN_FILE VORTEX_TOKEN="$token" VORTEX_URL="$url" VORTEX_TASK_ID="$task" VORTEX_EPOCH="$epoch")
"${inside[@]}" "$vortex" fence check || fail "the fence check of the task failed"
other="$("$vortex" run "$folder/dag.yaml" -p folder="$folder" --detach -q)"
for path in "/api/tasks/$other-L0-0/logs" "/api/tasks/$other-L0-0" "/api/tasks/$other-L0-0/fence?epoch=1" \
  /api/runs /api/workers "/api/tasks/$task/attempts" "/api/tasks/$task/logs?attempt=1" /metrics; do
  [[ "$(with_token "$url$path" | jq -r .code)" == VX-AUTH-010 ]] || fail "the token of an attempt opens $path"
done
[[ "$(with_token -X POST "$url/api/runs/$run/cancel" | jq -r .code)" == VX-AUTH-010 ]] || fail "it cancels its run"

# The same token after a restart of the controller, until the attempt ends.
kill "$controller" && { wait "$controller" || true; }
start
[[ "$(with_token "$url/api/tasks/$task" | jq -r .state)" == Running ]] || fail "the token did not outlive the controller"
touch "$folder/go"
"$vortex" runs wait "$run" --timeout 30s || fail "the run did not complete"
[[ "$(with_token "$url/api/tasks/$task" | jq -r .code)" == VX-AUTH-009 ]] || fail "the token outlived its attempt"
[[ "$(with_token -o /dev/null -w '%{http_code}' "$url/api/tasks/$task/logs")" == 401 ]] || fail "its output is still open"
if "${inside[@]}" "$vortex" fence check 2>/dev/null; then fail "the fence holds after the end"; fi
[[ "$("$vortex" tasks show "$task" -o json | jq .outputs.answer)" == 42 ]] || fail "forged outputs were accepted"
[[ "$(api "/api/tasks/$task/attempts" -H "$(as root)" | jq '.attempts | length')" == 1 ]] || fail "it ran more than once"
session="$(sqlite3 "$data/vortex.db" "SELECT length(session_hash) FROM workers WHERE id = 'w1-1'")"
[[ "$session" == 64 ]] || fail "no hash of a session is stored: $session"
! grep -rqE 'vxs_[A-Za-z0-9_-]{43}' "$folder/log" "$folder/worker.log" "$data/vortex.db" || fail "a session is in the clear"
echo "worker identity: ok"

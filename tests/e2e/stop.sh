#!/usr/bin/env bash
# tests/e2e/stop.sh VORTEX: SIGTERM under load with parked calls ends it with 0 within 5 s; a second
# controller on the file is refused; bad settings are refused before anything is touched.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
begin "$1"

registered="$(api /api/workers -d '{"id":"w1","slots":4}')"
incarnation="$(jq .incarnation <<<"$registered")"
session="Vortex-Session: $(jq -r .session <<<"$registered")"
curl -s "$url/api/workers/w1/sync" -H "$session" -d "{\"incarnation\":$incarnation,\"seq\":1,\"slots\":4,\"wait_ms\":60000}" >/dev/null &
curl -sN "$url/api/events?follow" >/dev/null &
for i in $(seq 20); do
  api /api/runs -d '{"dag":{"name":"x","tasks":{"a":{"run":["true"],"map":{"over":{"range":{"from":1,"to":500}}}}}}}' >/dev/null
done

second="$("$vortex" controller --database.path="$data/vortex.db" --controller.listen=127.0.0.1:0 2>&1)" &&
  fail "a second controller was let in"
grep -q "$controller" <<<"$second" || fail "it is not told who has the file: $second"

code=0
bad="$("$vortex" controller --database.path="$folder/other.db" --controller.crash_limit=900 2>&1)" || code=$?
[[ $code -eq 7 && ! -e "$folder/other.db" ]] || fail "bad settings: exit $code, $bad"
grep -q 'crash_limit' <<<"$bad" || fail "the bad key is not named: $bad"

code=0
open="$("$vortex" controller --database.path="$folder/other.db" --controller.listen=0.0.0.0:0 2>&1)" || code=$?
[[ $code -ne 0 ]] && grep -q 'tokens create' <<<"$open" || fail "an open door without tokens: $open"

begin_stop=$SECONDS
kill -TERM "$controller"
code=0
wait "$controller" || code=$?
[[ $code -eq 0 ]] || fail "exit code $code after SIGTERM"
[[ $((SECONDS - begin_stop)) -le 5 ]] || fail "it took $((SECONDS - begin_stop)) s to stop"
"$vortex" db check --database.path="$data/vortex.db" || fail "the database is not sound"
[[ "$(sqlite3 "$data/vortex.db" 'SELECT count(*) FROM runs')" == 20 ]] || fail "runs are missing"
start
[[ "$(api '/api/runs?limit=100' | jq '.runs | length')" == 20 ]] || fail "runs are missing after the restart"
echo "stop: ok"

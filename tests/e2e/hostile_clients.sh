#!/usr/bin/env bash
# tests/e2e/hostile_clients.sh VORTEX: clients without a token cannot make the controller read their bodies,
# a flood of documents delays no heartbeat, streams end with their token, and a database that has lost
# commits is not opened in silence.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
export VORTEX_SERVER="$url"
stop() { kill "$@" "$controller" && { wait "$controller" || true; }; }
stop

# Tokens: the first one is made offline, and not replaced by making it again.
make() { "$vortex" tokens create "$1" --role "$2" "${@:3}" 2>/dev/null; }
offline=(--offline --database.path="$data/vortex.db")
make root admin "${offline[@]}" >"$folder/root"
if make root viewer "${offline[@]}" >"$folder/again"; then fail "the token was replaced"; fi
if VORTEX_REQUIRE_TOKENS=true "$vortex" config check 2>"$folder/said"; then fail "an unknown variable was overlooked"; fi
grep -q "did you mean 'VORTEX_CONTROLLER_REQUIRE_TOKENS'" "$folder/said" || fail "no hint: $(cat "$folder/said")"

flags=(--controller.require-tokens=true)
start
export VORTEX_TOKEN_FILE="$folder/root"
[[ "$(curl -s "$url/health")" == '{"status":"healthy"}' ]] || fail "strangers learn too much"
[[ "$(stat -c %a "$data/vortex.db")" == 600 ]] || fail "others can read the database"

# Bodies of strangers: 24 of 64 MB at once.
resident() { awk '/^VmRSS/ {print $2}' "/proc/$controller/status"; }
head -c 64000000 /dev/zero >"$folder/huge"
before="$(resident)"
codes=()
for i in $(seq 24); do
  curl -s -o /dev/null -w '%{http_code}\n' -H 'Expect:' --data-binary "@$folder/huge" "$url/api/runs" \
    >"$folder/code.$i" 2>/dev/null &
  codes+=("$!")
done
most=0
while kill -0 "${codes[@]}" 2>/dev/null; do
  now="$(resident)"
  ((now > most)) && most="$now"
  sleep 0.02
done
for pid in "${codes[@]}"; do wait "$pid" || true; done
[[ "$(sort -u "$folder"/code.*)" == 401 ]] || fail "not all were refused: $(sort "$folder"/code.* | uniq -c)"
((most < before + 65536)) || fail "the bodies of strangers took $((most - before)) KiB"
echo "24 bodies of strangers took $((most > before ? most - before : 0)) KiB"

# A viewer sends document after document; a worker runs tasks all the same.
make viewer viewer >"$folder/viewer"
make worker worker >"$folder/worker"
{
  printf '{"name":"wide","tasks":{"a":{"run":["true"],"env":{"A":"x"'
  seq -f ',"VARIABLE_%.0f":"x"' 80000 | tr -d '\n'
  printf '}}}}'
} >"$folder/wide.json"
VORTEX_TOKEN_FILE="$folder/worker" "$vortex" worker --slots 1 --tuning=testing >"$folder/worker.log" 2>&1 &
worker=$!
flood=()
for _ in $(seq 4); do
  while [[ ! -e "$folder/enough" ]]; do
    curl -s -o /dev/null -H "Authorization: Bearer $(cat "$folder/viewer")" -H 'Content-Type: application/json' \
      --data-binary "@$folder/wide.json" "$url/api/dags/validate" || true
  done &
  flood+=("$!")
done
for _ in $(seq 5); do
  "$vortex" exec -- true >/dev/null 2>&1 || fail "a task did not run while documents came"
done
touch "$folder/enough"
wait "${flood[@]}"
curl -s -H "Authorization: Bearer $(cat "$folder/viewer")" "$url/api/recoveries" |
  jq -e '.recoveries | length == 0' >/dev/null || fail "a worker was lost"
kill "$worker" && wait "$worker" || true

# A stream ends with its token; the last admin stays.
curl -sN -H "Authorization: Bearer $(cat "$folder/viewer")" "$url/api/events?follow=true" >"$folder/stream" &
stream=$!
eventually grep -q connected "$folder/stream"
"$vortex" tokens revoke viewer --yes >/dev/null 2>&1
ended() { ! kill -0 "$stream" 2>/dev/null; }
eventually ended
if "$vortex" tokens revoke root --yes 2>"$folder/said"; then fail "the last admin was revoked"; fi
grep -q VX-AUTH-007 "$folder/said" || fail "another refusal: $(cat "$folder/said")"

# The write-ahead log is gone: what it held was acknowledged.
"$vortex" exec --detach -- true >/dev/null 2>&1 || true
stop -9
rm -f "$data/vortex.db-wal"
start
grep -q 'has lost commits' "$folder/log" || fail "lost commits were not noticed"
stop
ln "$data/vortex.db" "$data/other.db"
if "$vortex" controller --database.path="$data/other.db" --controller.listen=127.0.0.1:0 2>"$folder/said"; then
  fail "a database with two names was opened"
fi
grep -q 'hard links' "$folder/said" || fail "no reason: $(cat "$folder/said")"
rm "$data/other.db"
start

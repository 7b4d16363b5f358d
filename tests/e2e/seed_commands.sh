#!/usr/bin/env bash
# tests/e2e/seed_commands.sh VORTEX: the operators' commands, run as they are printed, against a real
# controller on the address they name. In a network namespace of its own, so that port 8080 is free.
# Proves: V06 V09
set -euo pipefail

vortex="$(realpath "$1")"
here="$(cd "$(dirname "$0")" && pwd)"
if [[ "${2:-}" != inside ]]; then
  exec unshare --net -- "$0" "$vortex" inside
fi
ip link set lo up

folder="$(mktemp -d)"
"$vortex" controller --database.path="$folder/vortex.db" --no-tokens 2>"$folder/log" &
controller=$!
trap 'kill "$controller" 2>/dev/null || true; wait "$controller" || true; rm -rf "$folder"' EXIT

fail() {
  echo "FAILED: $*" >&2
  cat "$folder/log" >&2
  exit 1
}
api() { curl -fsS "http://localhost:8080$1" "${@:2}"; }

for _ in $(seq 500); do
  api /readyz >/dev/null 2>&1 && break
  kill -0 "$controller" || fail "the controller ended"
  sleep 0.02
done

# Nineteen workers that are there and, later, two that are gone.
for i in $(seq 19); do
  api /api/workers -d "{\"id\":\"w$i\"}" >"$folder/w$i"
  incarnation="$(jq .incarnation "$folder/w$i")"
  api "/api/workers/w$i/sync" -H "Vortex-Session: $(jq -r .session "$folder/w$i")" -d "{\"incarnation\":$incarnation,\"seq\":1,\"slots\":1}" >/dev/null
done
[[ "$(bash "$here/seed/alert.sh" 2>/dev/null)" == '"OK"' ]] || fail "the alert fires although all is well"

for i in 1 2; do
  incarnation="$(api "/api/workers/w$i" | jq .incarnation)"
  api "/api/workers/w$i/exited" -H "Vortex-Session: $(jq -r .session "$folder/w$i")" -d "{\"incarnation\":$incarnation}" >/dev/null
done
[[ "$(bash "$here/seed/alert.sh" 2>/dev/null)" == '"ALERT: High offline ratio"' ]] ||
  fail "the alert stays silent although two of nineteen are gone"

# The way back of the seed's troubleshooting, and its queries while the controller runs.
curl -fsS -X POST http://localhost:8080/api/workers/w1/reset-state >/dev/null || fail "reset-state"
api /api/runs -d '{"dag":{"name":"seed","tasks":{"a":{"run":["true"]}}}}' >/dev/null
for query in "$here"/../store/seed_queries/*.sql; do
  sqlite3 "$folder/vortex.db" <"$query" >"$folder/out" || fail "$query"
done
sqlite3 "$folder/vortex.db" <"$here/../store/seed_queries/orphaned_tasks.sql" | grep -q 'r1-L0-0' ||
  fail "the waiting task is not among the orphaned ones"
echo "seed commands: ok"

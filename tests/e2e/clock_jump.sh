#!/usr/bin/env bash
# tests/e2e/clock_jump.sh VORTEX: the wall clock of the controller, then of the worker, jumps an hour
# ahead, back and behind while a task runs for longer than its lease. Leases do not follow wall clocks:
# nothing is taken back, nothing ends early, the task runs once.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

library="$(find /usr/lib -name libfaketimeMT.so.1 | head -1)"
[[ -n "$library" ]] || fail "libfaketime is not installed"
real_vortex="$(realpath "$1")"
clocks="$(mktemp -d)"
# clock WHO SHIFT: only the wall clock; clocks that measure time stay true, as after `date -s`.
clock() { echo "$2" >"$clocks/$1.new" && mv "$clocks/$1.new" "$clocks/$1"; }
day=86400
for who in controller worker; do
  clock "$who" "+$day"
  cat >"$clocks/run-$who" <<SH
#!/bin/sh
export LD_PRELOAD="$library" FAKETIME_TIMESTAMP_FILE="$clocks/$who"
export FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1
exec "$real_vortex" "\$@"
SH
  chmod +x "$clocks/run-$who"
done

begin "$clocks/run-controller"
trap 'touch "$folder/go"; kill "$worker" 2>/dev/null || true; wait "$worker" 2>/dev/null || true; finish; rm -rf "$clocks"' EXIT
"$clocks/run-worker" worker --server "$url" --name "jump-$port" --slots 2 --tuning=testing \
  --state-dir "$folder/state" --work-dir "$folder/work" 2>"$folder/worker.log" &
worker=$!
vortex="$real_vortex"
export VORTEX_SERVER="$url"

submit_waiting
# They began a day ahead; if that is not seen, this proves nothing.
tomorrow="$(TZ=UTC date -d "+$day sec" +%F)"
grep -q "^$tomorrow" "$folder/log" || fail "the controller does not go by the clock it was given"
grep -q "^$tomorrow" "$folder/worker.log" || fail "the worker does not go by the clock it was given"

for who in controller worker; do
  for shift in 3600 0 -3600 0; do
    clock "$who" "+$((day + shift))"
    sleep 1.5 # four of these are longer than the lease of 5 s
  done
done
touch "$folder/go"
eventually "$vortex" runs wait "$run" --timeout 20s
[[ "$(starts)" == 1 ]] || fail "it was started $(starts) times"
[[ "$(api /api/recoveries | jq '.recoveries | length')" == 0 ]] || fail "something was taken back"
lost="$(api "/api/events?limit=1000" | jq '[.events[] | select(.event == "worker_offline" or .event == "heartbeat_stale")] | length')"
[[ "$lost" == 0 ]] || fail "the worker was thought lost $lost times"
echo "clock jumps: ok"

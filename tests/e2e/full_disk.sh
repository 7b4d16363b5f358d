#!/usr/bin/env bash
# tests/e2e/full_disk.sh VORTEX: the disk under the database fills up. New work is refused with a
# clear error, running work is finished, and all goes on when there is space again.
# Proves: S06
set -euo pipefail
source "$(dirname "$0")/lib.sh"
data="$(mktemp -d)"
mount -t tmpfs -o size=24m none "$data"
begin "$1" --database.space_reserve_mib=4

registered="$(api /api/workers -d '{"id":"w1","slots":2}')"
incarnation="$(jq .incarnation <<<"$registered")"
session="Vortex-Session: $(jq -r .session <<<"$registered")"
seq=0 ack='{"term":0,"reply":0}'
sync() {
  seq=$((seq + 1))
  reply="$(api /api/workers/w1/sync -H "$session" -d "{\"incarnation\":$incarnation,\"seq\":$seq,\"ack\":$ack,
    \"slots\":2,\"held\":$1,\"reports\":$2,\"wait_ms\":0}")"
  ack="$(jq -c .mark <<<"$reply")"
}
api /api/runs -d '{"dag":{"name":"before","tasks":{"a":{"run":["true"]},"b":{"run":["true"]}}}}' >/dev/null
sync '[]' '[]'
mine="$(jq -c '[.assignments[] | {task, epoch}]' <<<"$reply")"
[[ "$(jq length <<<"$mine")" == 2 ]] || fail "both tasks were expected: $reply"
sync "$mine" "$(jq -c '[.[] | . + {kind: "started"}]' <<<"$mine")"

# Somebody else fills the disk, to the last byte.
dd if=/dev/zero of="$data/others" bs=1M 2>/dev/null || true
dd if=/dev/zero of="$data/others" bs=1 count=4096 oflag=append conv=notrunc 2>/dev/null || true
submit() { status /api/runs -d '{"dag":{"name":"more","tasks":{"a":{"run":["true"],"map":{"over":{"range":{"from":1,"to":2000}}}}}}}'; }
refused() { sync "$mine" '[]' && [[ "$(submit)" == 503 ]]; }
eventually refused
jq -e '.detail | test("full|space")' "$folder/answer" >/dev/null || fail "the error is not clear: $(cat "$folder/answer")"

# What runs is finished and written down all the same.
sync '[]' "$(jq -c '[.[] | . + {kind: "completed"}]' <<<"$mine")"
[[ "$(api /api/runs/r1 | jq -r .state)" == Completed ]] || fail "running work was not finished"
# The monitor log had no room for it, and tears no line.
jq -es . "$data/monitor.log" >/dev/null || fail "the monitor log has a torn line"

rm "$data/others"
taken() { [[ "$(submit)" == 201 ]]; }
eventually taken
# What the full disk kept out of the monitor log comes from the database.
whole() {
  jq -es '(map(.seq) | . == [range(1; length + 1)]) and any(.event == "run_complete")' "$data/monitor.log"
}
eventually whole
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
start
[[ "$(api /api/runs/r1 | jq -r .state)" == Completed ]] || fail "a finished run was lost"

# A controller starts on a full disk too: it releases the reserve that the last one has left.
reserved() { [[ -e "$data/vortex.db.reserve" ]]; }
eventually reserved
kill "$controller"
wait "$controller" 2>/dev/null || true
dd if=/dev/zero of="$data/others" bs=1M 2>/dev/null || true
dd if=/dev/zero of="$data/others" bs=1 count=8192 oflag=append conv=notrunc 2>/dev/null || true
start
reserved && fail "the reserve was not released"
[[ "$(submit)" == 503 ]] || fail "a new run was accepted on a full disk"
[[ "$(api /api/runs/r1 | jq -r .state)" == Completed ]] || fail "a finished run was lost"
rm "$data/others"
eventually taken
"$vortex" db check --database.path="$data/vortex.db" || fail "the database is not sound"
echo "full disk: ok"

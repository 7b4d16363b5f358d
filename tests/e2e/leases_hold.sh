#!/usr/bin/env bash
# tests/e2e/leases_hold.sh VORTEX: `vortex leases hold` as a lock with a fence. Two holders never
# overlap, whoever is killed or frozen; the command is gone before its lease can end.
# Proves: S02 S03 S09
set -euo pipefail
source "$(dirname "$0")/lib.sh"
begin "$1" --controller.partition-lease-secs=3
export VORTEX_SERVER="$url"
cd "$folder"

# What the holders run: says when it begins and ends, with its epoch, and lasts until $1 is there.
cat >critical.sh <<'SH'
#!/usr/bin/env bash
echo "$(date +%s%N) begin $VORTEX_LEASE_EPOCH $$" >>"$LOG"
trap 'echo "$(date +%s%N) end $VORTEX_LEASE_EPOCH $$" >>"$LOG"; exit 7' TERM
while [[ ! -e "$1" ]]; do sleep 0.02; done
echo "$(date +%s%N) end $VORTEX_LEASE_EPOCH $$" >>"$LOG"
exit 5
SH
chmod +x critical.sh
export LOG="$folder/story"
: >"$LOG"
hold() { "$vortex" leases hold "$@"; }
begun() { [[ "$(grep -c begin "$LOG")" -ge "$1" ]]; }
# No "begin" between a "begin" and its "end"; epochs only grow.
one_at_a_time() {
  awk '$2 == "begin" { if (inside || $3 <= last) exit 1; inside = 1; last = $3 }
       $2 == "end" { inside = 0 }' <(sort -n "$LOG") || fail "holders overlap: $(cat "$LOG")"
}
code() {
  local wanted=$1 got=0
  shift
  "$@" >"$folder/out" 2>"$folder/err" || got=$?
  [[ $got == "$wanted" ]] || fail "exit $got instead of $wanted: $*
$(cat "$folder/out" "$folder/err")"
}

# The environment, the command's own exit code, a free lease afterwards.
code 9 hold orders 0 -- sh -c 'echo "$VORTEX_LEASE_TOPIC $VORTEX_LEASE_PARTITION $VORTEX_LEASE_EPOCH"; exit 9'
[[ "$(cat out)" == "orders 0 1" ]] || fail "the command's environment: $(cat out)"
[[ "$(api /api/leases/orders/0 | jq .agent)" == null ]] || fail "it was not released"
code 127 hold orders 0 -- ./nothing-here
grep -q 'nothing-here: command not found' err || fail "$(cat err)"
[[ "$(api /api/leases/orders/0 | jq .agent)" == null ]] || fail "it was not released"
code 126 hold orders 0 -- "$folder"
code 143 hold orders 0 -- sh -c 'kill -TERM $$'

# Released each time before it ends: the next one finds it free.
for _ in $(seq 20); do code 0 hold orders 0 -- true; done

# The second waits for the first, or is refused; it runs when the first is done. Renewals keep the
# first one going for longer than its lease.
"$vortex" leases hold orders 1 -- ./critical.sh go1 &
first=$!
eventually begun 1
code 6 hold orders 1 -- true
grep -q 'held by' err || fail "$(cat err)"
code 9 hold orders 1 --wait 600ms -- true
renewed() { [[ "$(api /api/leases/orders/1 | jq -r .expires_at)" != "$expiry" ]]; }
for _ in 1 2; do
  expiry="$(api /api/leases/orders/1 | jq -r .expires_at)"
  eventually renewed
done
"$vortex" leases hold orders 1 --wait 60s -- ./critical.sh go2 &
second=$!
touch go1
got=0
wait "$first" || got=$?
[[ $got == 5 ]] || fail "the command's exit code: $got"
eventually begun 2
touch go2
wait "$second" || true
one_at_a_time

# SIGTERM is passed on, the exit code is the command's, what it left in the background is ended.
"$vortex" leases hold orders 1 -- bash -c 'sleep 1000 & echo $! >left; exec ./critical.sh never' &
first=$!
eventually begun 3
kill -TERM "$first"
got=0
wait "$first" || got=$?
[[ $got == 7 ]] || fail "the command's exit code after SIGTERM: $got"
# A process that is dead and not yet reaped does nothing any more.
gone() { ! grep -q '^State:[[:space:]]*[RSDTtI]' "/proc/$1/status" 2>/dev/null; }
export -f gone
eventually gone "$(cat left)"

# A holder that is killed with -9, or frozen, takes its command with it before anybody else runs.
for how in KILL STOP; do
  before="$(grep -c begin "$LOG")"
  "$vortex" leases hold orders 1 -- bash -c 'trap "" TERM; ./critical.sh never & wait' &
  first=$!
  eventually begun $((before + 1))
  victim="$(awk '$2 == "begin" { pid = $4 } END { print pid }' "$LOG")"
  kill "-$how" "$first"
  hold orders 1 --wait 60s -- bash -c "gone $victim || cat /proc/$victim/status >>'$folder/overlap'; true" ||
    fail "the next holder never came"
  [[ ! -e overlap ]] || fail "two holders at once after SIG$how: $(cat overlap)"
  gone "$victim" || fail "the command outlived its lease after SIG$how"
  [[ $how == STOP ]] && kill -CONT "$first"
  got=0
  wait "$first" || got=$?
  [[ $how == KILL || $got == 5 ]] || fail "a holder that was frozen: exit $got"
done

# The controller dies: the command gets TERM and is gone before the lease can end.
: >"$LOG"
"$vortex" leases hold orders 2 -- ./critical.sh never 2>"$folder/err" &
first=$!
eventually begun 1
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
expires="$(sqlite3 "$folder/vortex.db" \
  "SELECT lease_expires_at FROM partition_leases WHERE topic = 'orders' AND partition_id = 2")"
got=0
wait "$first" || got=$?
[[ $got == 5 ]] || fail "exit $got after the controller died: $(cat "$folder/err")"
ended="$(awk '$2 == "end" { print $1 }' "$LOG")"
[[ -n "$ended" ]] || fail "the command was not asked to end: $(cat "$LOG")"
[[ $ended -lt "$(date -d "$expires" +%s%N)" ]] || fail "the command ended at $ended, after $expires"
grep -q 'orders/2 is lost' "$folder/err" || fail "$(cat "$folder/err")"

# Several controllers: it moves on to the one that answers, before and while it holds.
start
epoch_before="$(api /api/leases/orders/2 | jq .epoch)"
code 0 hold orders 2 --wait 30s --server "http://127.0.0.1:1,$url" -- sh -c 'echo $VORTEX_LEASE_EPOCH'
[[ "$(cat out)" -gt "$epoch_before" ]] || fail "the epoch did not grow over a restart"
echo "leases_hold: ok"

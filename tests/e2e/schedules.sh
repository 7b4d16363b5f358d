#!/usr/bin/env bash
# tests/e2e/schedules.sh VORTEX: a stored DAG starts runs by itself, through a kill -9 of the controller: each slot at
# most once, slots that were missed are made up for as the schedule says, a failure pauses it, people act on it.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
"$vortex" worker --server "$url" --name "sched-$port" --slots 8 --tuning=testing \
  --state-dir "$folder/state" --work-dir "$folder/work" 2>"$folder/worker.log" &
worker=$!
trap 'kill "$worker" 2>/dev/null || true; wait "$worker" 2>/dev/null || true; finish' EXIT
export VORTEX_SERVER="$url"

runs_of() { "$vortex" runs list --dag "$1" --all -o jsonl; }
count() { runs_of "$1" | wc -l; }
at_least() { (($(count "$1") >= $2)); }
schedule() { "$vortex" schedules show "$1" -o json; }

# A run for every second, each of which writes down its slot and the next one.
cat >"$folder/tick.yaml" <<'YAML'
name: tick
params: {folder: {type: string, default: FOLDER}}
schedule: {every: 1s, overlap: allow, catchup: {window: 1m, limit: 2}}
tasks:
  note:
    shell: [bash, -euc]
    env: {SLOT: "${{ run.slot ?? 'none' }}", END: "${{ run.slot_end ?? 'none' }}", FOLDER: "${{ params.folder }}"}
    run: echo "$SLOT $END" >> "$FOLDER/slots"
YAML
sed -i "s|FOLDER}}$|$folder}}|" "$folder/tick.yaml"
"$vortex" dag apply "$folder/tick.yaml"
eventually at_least tick 3

# The controller dies and stays away for a few slots.
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
sleep 5
start
before="$(count tick)"
eventually at_least tick $((before + 3))
missed() { "$vortex" events --kind slots_missed -o jsonl | grep -q '"dag":"tick"'; }
eventually missed
"$vortex" schedules pause tick
runs_of tick | jq -r .slot | sort >"$folder/started"
[[ -z "$(uniq -d "$folder/started")" ]] || fail "slots that ran twice: $(uniq -d "$folder/started")"
# Started, skipped or missed: the slots in between are all there.
"$vortex" events --kind slots_missed -o jsonl | jq -s 'map(.data.slots // .slots) | add' >"$folder/missed"
first="$(date -u -d "$(head -1 "$folder/started")" +%s)"
last="$(date -u -d "$(tail -1 "$folder/started")" +%s)"
(($(wc -l <"$folder/started") + $(<"$folder/missed") == last - first + 1)) ||
  fail "$(wc -l <"$folder/started") runs and $(<"$folder/missed") missed from $first to $last"
all_written() { [[ "$(wc -l <"$folder/slots")" == "$(wc -l <"$folder/started")" ]]; }
eventually all_written
while read -r slot end; do
  (($(date -u -d "$end" +%s) == $(date -u -d "$slot" +%s) + 1)) || fail "slot $slot ends at $end"
done <"$folder/slots"

# Paused: nothing starts. Triggered: one run without a slot. Resumed: it goes on from now.
[[ "$(schedule tick | jq -r .paused)" == operator ]] || fail "not paused: $(schedule tick)"
paused="$(count tick)"
run="$("$vortex" schedules trigger tick -o name -q)"
"$vortex" runs wait "$run" --timeout 20s
[[ "$(api "/api/runs/$run" | jq -r '"\(.schedule) \(.slot)"')" == "tick null" ]] || fail "$(api "/api/runs/$run")"
tail -1 "$folder/slots" | grep -q "none none" || fail "a triggered run has a slot: $(tail -1 "$folder/slots")"
sleep 2
[[ "$(count tick)" == $((paused + 1)) ]] || fail "a paused schedule started runs"
"$vortex" schedules resume tick
eventually at_least tick $((paused + 3))
"$vortex" schedules list | grep -q '^tick .*every second' || fail "$("$vortex" schedules list)"
"$vortex" schedules next tick --count 3 -o json | jq -e '.slots | length == 3' >/dev/null ||
  fail "no next slots"

# A backfill: one run for each slot of a minute last year, once, however often it is asked for.
"$vortex" schedules pause tick
slots="$("$vortex" backfill tick --from 2025-03-01T00:00:00Z --to 2025-03-01T00:00:09Z --dry-run | wc -l)"
[[ "$slots" == 10 ]] || fail "$slots slots of 10"
before="$(count tick)"
for _ in 1 2; do
  "$vortex" backfill tick --from 2025-03-01T00:00:00Z --to 2025-03-01T00:00:09Z --parallel 4 >"$folder/filled"
  [[ "$(grep -c Completed "$folder/filled")" == 10 ]] || fail "backfill: $(cat "$folder/filled")"
  [[ "$(count tick)" == $((before + 10)) ]] || fail "$(count tick) runs after a backfill, $before before"
done
grep -q '2025-03-01T00:00:09Z 2025-03-01T00:00:10Z' "$folder/slots" || fail "no slot in $(tail "$folder/slots")"
"$vortex" dag delete tick --yes
status /api/schedules/tick >"$folder/status"
[[ "$(<"$folder/status")" == 404 ]] || fail "the schedule outlived its DAG"

# Never two at a time, and paused by its failure.
cat >"$folder/frail.yaml" <<'YAML'
name: frail
schedule: {every: 1s, pause_on_failure: true}
defaults: {retries: 0, shell: [bash, -euc]}
tasks:
  work: {run: sleep 2.5; exit 1}
YAML
"$vortex" dag apply "$folder/frail.yaml"
paused_by_failure() { [[ "$(schedule frail | jq -r .paused)" == failure ]]; }
eventually paused_by_failure
[[ "$(count frail)" == 1 ]] || fail "$(count frail) runs of a schedule that skips overlaps"
[[ "$(schedule frail | jq -r .failed_run)" == "$(runs_of frail | jq -r .id)" ]] || fail "$(schedule frail)"
"$vortex" events --kind slot_skipped -o jsonl | grep -q 'has not ended' || fail "no slot was skipped"
"$vortex" schedules show frail | grep -q 'paused after a failure' || fail "$("$vortex" schedules show frail)"
echo "schedules: ok"

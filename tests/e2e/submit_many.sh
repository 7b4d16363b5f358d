#!/usr/bin/env bash
# tests/e2e/submit_many.sh VORTEX: one run for each line of a file, the controller killed on the way; every
# line has its run exactly once. A line that is wrong is named, and then nothing is sent.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
begin "$1"
export VORTEX_SERVER="$url"
cd "$folder"

lines=2500
cat >each.yaml <<'YAML'
name: each
params: {n: {type: number}}
tasks: {t: {run: [echo, "${{ params.n }}"], queue: nobody}}
YAML
for i in $(seq "$lines"); do echo "{\"params\": {\"n\": $i}, \"labels\": {\"line\": \"l$i\"}}"; done >lines.jsonl

# Wrong lines: all of them are named, and nothing is sent.
printf '{"params": {"n": 1}}\n\n{"params": {"n": "x"}}\n{"n": 4}\nnonsense\n' >wrong.jsonl
got=0
"$vortex" run each.yaml --each wrong.jsonl >out 2>err || got=$?
[[ $got == 7 ]] || fail "exit $got for wrong lines: $(cat err)"
for place in wrong.jsonl:3: wrong.jsonl:4: wrong.jsonl:5:; do
  grep -q "$place" err || fail "$place is not named: $(cat err)"
done
[[ "$("$vortex" runs list -o name)" == "" ]] || fail "something was sent"
got=0
"$vortex" run each.yaml --each lines.jsonl -p n=1 2>err || got=$?
[[ $got == 2 ]] && grep -q 'cannot be combined' err || fail "-p beside --each: exit $got: $(cat err)"

# The controller dies in the middle of it and comes back; the command is repeated with its key.
"$vortex" run each.yaml --each lines.jsonl --idempotency-key mine >first 2>err &
sender=$!
has_runs() { [[ "$(sqlite3 vortex.db 'select count(*) from runs')" -gt 0 ]]; }
eventually has_runs
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
start
wait "$sender" || true
"$vortex" run each.yaml --each lines.jsonl --idempotency-key mine >second 2>err || fail "the repeated command: $(cat err)"
[[ "$(sort -u second | wc -l)" == "$lines" ]] || fail "$(sort -u second | wc -l) runs for $lines lines"
if [[ -s first ]]; then
  [[ -z "$(grep -vxFf second first)" ]] || fail "a run that was answered first is another one now"
fi
[[ "$(sqlite3 vortex.db 'select count(*) from runs')" == "$lines" ]] || fail "the database has other runs"
[[ "$(sqlite3 vortex.db "select count(distinct params) from runs")" == "$lines" ]] || fail "lines are there twice"
grep -q "already started before" err || fail "what was repeated is not said: $(cat err)"

# Refused by the controller: the line is named, the others are started.
printf '{"params": {"n": 1}, "idempotency_key": "mine:1"}\n{"params": {"n": 2}}\n' >reused.jsonl
got=0
"$vortex" run each.yaml --each reused.jsonl -o jsonl >out 2>err || got=$?
[[ $got == 6 || $got == 1 || $got == 7 ]] || fail "exit $got for a refused line: $(cat err)"
grep -q 'line 1: ' err || fail "the refused line is not named: $(cat err)"
[[ "$(jq -s 'map(.status) | tostring' out)" == '"[422,201]"' ]] || fail "answers: $(cat out)"

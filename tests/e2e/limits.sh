#!/usr/bin/env bash
# tests/e2e/limits.sh VORTEX: runs that share a key take turns, and tasks that name a limit keep to it, with a
# real worker, through a kill -9 of the controller. Mistakes get a place or a command.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
"$vortex" worker --server "$url" --name "limits-$port" --slots 8 --tuning=testing \
  --state-dir "$folder/state" --work-dir "$folder/work" 2>"$folder/worker.log" &
worker=$!
trap 'kill "$worker" 2>/dev/null || true; wait "$worker" 2>/dev/null || true; finish' EXIT
export VORTEX_SERVER="$url"

field() { api "/api/runs/$1" | jq -r ".$2"; }
expect() { [[ "$2" == "$1" ]] || fail "expected '$1', got '$2'"; }
contains() { grep -qF -- "$2" <<<"$1" || fail "expected '$2' in: $1"; }
restart() {
  kill -9 "$controller"
  wait "$controller" 2>/dev/null || true
  start
}

# Two runs of one customer take turns, through a kill of the controller; another customer does not wait.
cat >"$folder/turns.yaml" <<'YAML'
name: turns
params: {customer: {}, folder: {}}
concurrency: {key: "${{ params.customer }}", limit: 1}
tasks:
  work:
    shell: [bash, -euc]
    env: {FOLDER: "${{ params.folder }}", RUN: "${{ run.id }}", WHO: "${{ params.customer }}"}
    run: echo "begin $RUN" >> "$FOLDER/$WHO"; while [ ! -e "$FOLDER/go-$RUN" ]; do sleep 0.05; done; echo "end $RUN" >> "$FOLDER/$WHO"
YAML
turn() { "$vortex" run "$folder/turns.yaml" -p "customer=$1" -p "folder=$folder" --detach -q; }
first="$(turn acme)"
second="$(turn acme)"
third="$(turn acme)"
other="$(turn zoo)"
eventually test -e "$folder/acme"
eventually test -e "$folder/zoo"
expect true "$(field "$second" waits_for_turn)"
expect acme "$(field "$second" group)"
expect false "$(field "$other" waits_for_turn)"
shown="$("$vortex" runs show "$third")"
contains "$shown" "$first holds it (limit 1); $third is number 2 in line"
contains "$("$vortex" tasks explain "$third/work")" "vortex runs show $first"
"$vortex" runs cancel "$second" --yes -q
restart
expect Cancelled "$(field "$second" state)"
touch "$folder/go-$first" "$folder/go-$third" "$folder/go-$other"
for run in "$first" "$third" "$other"; do "$vortex" runs watch "$run" -q >/dev/null; done
expect "begin $first end $first begin $third end $third" "$(tr '\n' ' ' <"$folder/acme" | sed 's/ $//')"

# A key without a value is refused, and so is a limit of 0.
want_not() { if out="$("$@" 2>&1)"; then fail "accepted: $*"; fi; }
refused="$(curl -sS "$url/api/runs" -H 'Content-Type: application/json' -d '{"params": {"c": null}, "dag": {"name": "k",
  "concurrency": {"key": "${{ params.c }}"}, "tasks": {"a": {"run": ["true"]}}}}')"
contains "$refused" "params.c is null; add a default with ??"
sed 's/limit: 1/limit: 0/' "$folder/turns.yaml" >"$folder/zero.yaml"
want_not "$vortex" validate "$folder/zero.yaml"
contains "$out" "'limit' is 0, so nothing could ever run"

# Tasks that name a limit nobody has set wait, and say what to do; then no more than its slots run at once.
cat >"$folder/limited.yaml" <<'YAML'
name: limited
params: {folder: {}}
defaults: {limits: [api], shell: [bash, -euc], env: {FOLDER: "${{ params.folder }}"}}
tasks:
  each:
    map: {over: {range: {from: 1, to: 12}}}
    run: mkdir "$FOLDER/in-$VORTEX_TASK_ID"; ls -d "$FOLDER"/in-* | wc -l >> "$FOLDER/counts"; sleep 0.1; rmdir "$FOLDER/in-$VORTEX_TASK_ID"
YAML
run="$("$vortex" run "$folder/limited.yaml" -p "folder=$folder" --detach -q)"
limit_is_named() { "$vortex" runs show "$run" | grep -qF "vortex limits set api"; }
eventually limit_is_named
contains "$("$vortex" tasks explain "$run-L0-0")" "limit 'api' does not exist"
contains "$("$vortex" limits list)" "not set"
"$vortex" limits set api --slots 2 -q >/dev/null
eventually test -e "$folder/counts"
restart
"$vortex" runs watch "$run" -q >/dev/null
expect 12 "$(wc -l <"$folder/counts")"
[[ "$(sort -n "$folder/counts" | tail -1)" -le 2 ]] || fail "more than 2 at once: $(cat "$folder/counts")"
want_not "$vortex" limits set api
want_not "$vortex" limits set api --rate often
contains "$out" "100/1m"

# A rate: 4 in 3 s, also when the controller is killed in between.
"$vortex" limits set api --rate 4/3s -q >/dev/null
begun="$(date +%s%N)"
run="$("$vortex" run "$folder/limited.yaml" -p "folder=$folder" --detach -q)"
sleep 0.5
restart
"$vortex" runs watch "$run" -q >/dev/null
took=$((($(date +%s%N) - begun) / 1000000))
[[ $took -ge 5500 ]] || fail "12 tasks at 4 in 3 s took only $took ms"
"$vortex" limits delete api --yes -q
want_not "$vortex" limits show api
echo "limits: ok ($took ms for the rate)"

#!/usr/bin/env bash
# tests/e2e/blame.sh VORTEX: one submitter cannot take the fleet out of service. Tasks that cannot start
# blame no worker; tasks that die by a signal cordon one worker of three, which passes a probation and is back.
set -euo pipefail
vortex="$(realpath "$1")"
source "$(dirname "$0")/lib.sh"
begin "$vortex" --controller.worker-probation-after-secs=2
export VORTEX_SERVER="$url"
"$vortex" worker --server "$url" --name "b$port" --count 3 --slots 2 --tuning=testing \
  --state-dir "$folder/state" --work-dir "$folder/work" 2>"$folder/worker.log" &
supervisor=$!
end_all() {
  kill -TERM "$supervisor" 2>/dev/null || true
  wait "$supervisor" 2>/dev/null || true
  finish
}
trap end_all EXIT
three_ready() { [[ "$("$vortex" workers list --state ACTIVE -o json | jq '.workers | length')" == 3 ]]; }
eventually three_ready

# Nine definitions of a kind, twelve items each: every worker gets some of all of them.
flood() { # name, what each task is
  local i
  for i in 1 2 3 4 5 6 7 8 9; do
    printf 'vortex: 1\nname: %s%s\ntasks:\n  bad:\n    map: {over: {range: {from: 1, to: 12}}}\n    retry: {max: 0}\n    %s\n' \
      "$1" "$i" "$2" >"$folder/bad.yaml"
    "$vortex" run "$folder/bad.yaml" --detach -q >>"$folder/runs"
  done
  while read -r run; do "$vortex" runs wait "$run" --timeout 60s -q && fail "$run completed" || true; done <"$folder/runs"
  : >"$folder/runs"
}
cordoned() { "$vortex" workers list -o json | jq '[.workers[] | select(.cordoned)] | length'; }
said() { "$vortex" events --kind "$1" -o json --limit 1000 | grep -c "$1" || true; }

flood missing 'run: [/no/such/program]'
flood folder $'run: ["true"]\n    workdir: /no/such/folder'
[[ "$(cordoned)" == 0 && "$(said worker_cordoned)" == 0 ]] || fail "what could not start blames a worker"

flood killed 'run: [bash, -c, "kill -SEGV $$"]'
most="$(cordoned)"
(( most <= 1 )) || fail "$most of 3 workers are cordoned"
[[ "$(said worker_cordoned)" -ge 1 ]] || fail "nobody was ever cordoned"
"$vortex" exec -q -- true || fail "nothing runs any more"

all_back() {
  "$vortex" exec -q -- true >/dev/null
  [[ "$(cordoned)" == 0 ]]
}
eventually all_back
[[ "$(said worker_probation)" -ge 1 && "$(said worker_uncordoned)" -ge 1 ]] || fail "no probation was told of"
echo "blame: at most $most of 3 workers cordoned, all back after a probation: ok"

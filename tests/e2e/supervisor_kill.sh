#!/usr/bin/env bash
# tests/e2e/supervisor_kill.sh VORTEX: where there are no control groups, the supervisor alone is killed
# with -9 and started again at once, five times. The new one ends the old worker as a whole: no task is
# blamed, no two copies of one run at the same time, and the worker is not cordoned.
# Proves: V04
set -euo pipefail
vortex="$(realpath "$1")"
if [[ "${2:-}" != inside ]]; then
  exec unshare --mount -- "$0" "$vortex" inside
fi
mount -t tmpfs -o ro none /sys/fs/cgroup
source "$(dirname "$0")/lib.sh"
begin "$vortex" --controller.crash-limit=50
export VORTEX_SERVER="$url"

supervise() {
  STARTS="$folder/starts" "$vortex" worker --server "$url" --name "k$port" --slots 3 --tuning=testing \
    --state-dir "$folder/state" --work-dir "$folder/work" 2>>"$folder/worker.log" &
  supervisor=$!
}
end_all() {
  kill -TERM "$supervisor" 2>/dev/null || true
  wait "$supervisor" 2>/dev/null || true
  finish
}
supervise
trap end_all EXIT

cat >"$folder/dag.yaml" <<'YAML'
vortex: 1
name: survivors
params: {folder: {type: string}}
tasks:
  work:
    map: {over: {range: {from: 1, to: 3}}}
    retry: {max: 0}
    shell: [bash, -euc]
    env: {FOLDER: "${{ params.folder }}"}
    run: |
      mine="$FOLDER/$VORTEX_TASK_ID"
      # One that is dead but was not reaped yet runs no more.
      for old in $(cat "$mine" 2>/dev/null); do
        grep -qs '^State:.[^ZX]' "/proc/$old/status" && cp "/proc/$old/status" "$FOLDER/two"
      done
      echo "$$" >>"$mine"
      while [ ! -e "$FOLDER/go" ]; do sleep 0.05; done
YAML
run="$("$vortex" run "$folder/dag.yaml" -p folder="$folder" --detach -q)"
lines() { [[ "$(cat "$folder/$run"-* 2>/dev/null | wc -l)" -ge $1 ]]; }
eventually lines 3
grep -q 'no control groups available' "$folder/worker.log" || fail "there are control groups"
for round in 1 2 3 4 5; do
  kill -9 "$supervisor"
  wait "$supervisor" 2>/dev/null || true
  supervise
  eventually lines $((3 + 3 * round))
done
touch "$folder/go"
"$vortex" runs wait "$run" --timeout 30s || fail "the run did not complete"
[[ ! -e "$folder/two" ]] || fail "two copies ran at the same time: $(cat "$folder/two")"
blamed="$(sqlite3 "$data/vortex.db" 'SELECT sum(failure_count) FROM task_instances')"
[[ "$blamed" == 0 ]] || fail "$blamed failures are counted"
[[ "$("$vortex" workers show "k$port-1" -o json | jq .cordoned)" == false ]] || fail "the worker is cordoned"
echo "supervisor_kill: 5 kills, 15 attempts moved, 0 failures: ok"

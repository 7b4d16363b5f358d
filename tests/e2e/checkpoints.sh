#!/usr/bin/env bash
# tests/e2e/checkpoints.sh VORTEX: large checkpoints. 20 MiB are there for the next attempt on another
# worker, byte by byte, also after a restart of the controller; 100 MiB and a folder are refused aloud, in
# the monitor log and in the task's own, and what was saved before stays.
# Proves: V05
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
export VORTEX_SERVER="$url"
declare -A supervisors
# Names of their own: control groups are found by them.
supervise() {
  "$vortex" worker --server "$url" --name "$1$port" --slots 1 --tuning=testing --state-dir "$folder/state" \
    --work-dir "$folder/work/$1" 2>>"$folder/$1.log" &
  supervisors[$1]=$!
  eventually is_idle "$1$port-1"
}
is_idle() { [[ "$(api "/api/workers/$1" | jq -r .state)" == IDLE ]]; }
end_all() {
  touch "$folder/go"
  local pid
  for pid in "${supervisors[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${supervisors[@]}"; do wait "$pid" 2>/dev/null || true; done
  finish
}
trap end_all EXIT
# kill_all NAME: the worker and its supervisor, so that only the others are left.
kill_all() {
  local worker
  worker="$(tr -d ' ' <"/proc/${supervisors[$1]}/task/${supervisors[$1]}/children")"
  kill -9 "${supervisors[$1]}" "$worker"
  wait "${supervisors[$1]}" 2>/dev/null || true
  unset "supervisors[$1]"
}
saved() { [[ "$(api "/api/tasks/$run-L0-0" | jq -r .checkpoint_bytes)" == "$1" ]]; }
refused() {
  [[ -n "$(jq -c "select(.event == \"checkpoint_refused\" and .level == \"WARN\" and (.data.reason | contains(\"$1\")))" \
    "$data/monitor.log")" ]]
}
has_line() { api "/api/tasks/$run-L0-0/logs?attempt=$1" | grep -q "$2"; }

cat >"$folder/large.yaml" <<'YAML'
vortex: 1
name: large
params: {folder: {type: string}}
tasks:
  work:
    shell: [bash, -euc]
    env: {FOLDER: "${{ params.folder }}"}
    run: |
      if [ -s "$VORTEX_CHECKPOINT" ]; then
        sha256sum < "$VORTEX_CHECKPOINT" >> "$FOLDER/read"
      else
        head -c 20971520 /dev/urandom > "$VORTEX_CHECKPOINT.new"
        sha256sum < "$VORTEX_CHECKPOINT.new" > "$FOLDER/written"
        mv "$VORTEX_CHECKPOINT.new" "$VORTEX_CHECKPOINT"
        while [ ! -e "$FOLDER/larger" ]; do sleep 0.05; done
        head -c 104857600 /dev/zero > "$VORTEX_CHECKPOINT.new"
        mv "$VORTEX_CHECKPOINT.new" "$VORTEX_CHECKPOINT"
      fi
      while [ ! -e "$FOLDER/go" ]; do sleep 0.05; done
YAML
supervise a
run="$("$vortex" run "$folder/large.yaml" -p folder="$folder" --detach -q)"
eventually saved 20971520
touch "$folder/larger"
eventually refused 'too large'
eventually has_line 1 'the checkpoint was rejected: .*104857600 bytes'
saved 20971520 || fail "the one before is gone"

supervise b
kill_all a
eventually test -s "$folder/read"
cmp "$folder/written" "$folder/read" || fail "other bytes after the first worker died"

# The controller is killed, then the second worker: a third still has it.
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
start
supervise c
kill_all b
twice() { [[ "$(wc -l <"$folder/read")" == 2 ]]; }
eventually twice
[[ "$(sort -u "$folder/read" | cmp - "$folder/written" && echo same)" == same ]] || fail "other bytes after a restart"
touch "$folder/go"
"$vortex" runs watch "$run" -q || fail "the run failed"
pieces() { sqlite3 "file:$data/vortex.db?mode=ro" 'SELECT count(*) FROM checkpoint_pieces'; }
[[ "$(pieces)" == 0 ]] || fail "$(pieces) pieces of a completed task are still there"

# A checkpoint that cannot be fetched is nobody's failure: the task is given back, retries untouched, and
# starts from its checkpoint as soon as that can be had again.
rm "$folder/go" "$folder/larger" "$folder/read"
run="$("$vortex" run "$folder/large.yaml" -p folder="$folder" --detach -q)"
eventually saved 20971520
sql() { sqlite3 -cmd '.timeout 5000' "$data/vortex.db" "$1"; }
sql 'CREATE TABLE hidden AS SELECT * FROM checkpoint_pieces; DELETE FROM checkpoint_pieces'
supervise d
kill_all c
given_back() {
  api "/api/tasks/$run-L0-0/attempts" |
    jq -e '.attempts | any(.verdict == "given_back" and (.message | contains("could not fetch its checkpoint")))'
}
eventually given_back
[[ "$(sql "SELECT failure_count FROM task_instances WHERE id = '$run-L0-0'")" == 0 ]] ||
  fail "it was counted as a failure"
sql 'INSERT INTO checkpoint_pieces SELECT * FROM hidden; DROP TABLE hidden'
eventually test -s "$folder/read"
cmp "$folder/written" "$folder/read" || fail "other bytes after it was given back"
touch "$folder/go"
"$vortex" runs watch "$run" -q || fail "the run failed"

# A folder is refused aloud.
"$vortex" exec -q -- sh -c 'mkdir "$VORTEX_CHECKPOINT"; exit 1' && fail "it did not fail"
run="$(api '/api/runs?limit=1' | jq -r '.runs[0].id')"
eventually refused 'not a regular file'
eventually has_line 1 'the checkpoint was rejected: it is not a regular file'
echo ok

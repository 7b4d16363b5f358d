#!/usr/bin/env bash
# tests/e2e/controllers.sh VORTEX [TUNING LEASE]: three controllers on PostgreSQL. Workers know only two of them. The leader is
# killed with -9, frozen and stopped while a task runs: commands are served soon by another one, the task is not
# started again, and a leader that was frozen changes nothing when it goes on.
# Proves: V11 S05
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/postgres.sh"

vortex="$(realpath "$1")"
folder="$(mktemp -d)"
tuning="${2:-standard}"
lease="${3:-3}"
declare -a ports pids
worker=
clean_up() {
  local pid
  for pid in "$worker" "${pids[@]}"; do
    [[ -n "$pid" ]] || continue
    kill -CONT "$pid" 2>/dev/null || true
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  stop_cluster pg
  rm -rf "$folder"
}
trap clean_up EXIT

start_database() {
  make_cluster pg
  free_port
  run_cluster pg "$port"
  database="postgresql://vortex@127.0.0.1:$port/postgres"
}

start_controller() { # start_controller INDEX
  "$vortex" controller --database.url="$database" --controller.listen="127.0.0.1:${ports[$1]}" \
    --tuning="$tuning" --controller.leader_lease_secs="$lease" --controller.require-tokens=false \
    --monitoring.monitor_log="$folder/monitor-$1.log" 2>>"$folder/controller-$1.log" &
  pids[$1]=$!
}
at() { echo "http://127.0.0.1:${ports[$1]}"; }
is_ready() { curl -fsS -m 2 "$(at "$1")/readyz"; }
now_ms() { date +%s%3N; }

# Sets $leader; fails if nobody leads for half a minute.
find_leader() {
  local i tries
  for tries in $(seq 600); do
    for i in 0 1 2; do
      [[ -n "${pids[$i]}" ]] || continue
      if [[ "$(curl -s -m 1 "$(at "$i")/health" | jq -r .role 2>/dev/null)" == leader ]]; then
        leader=$i
        return 0
      fi
    done
    sleep 0.05
  done
  fail "nobody leads"
}

# Submits through any of the others until it is taken; sets $took to the milliseconds since $begin.
served_after() { # served_after LOST
  local i tries
  for tries in $(seq 2000); do
    for i in 0 1 2; do
      [[ "$i" == "$1" || -z "${pids[$i]}" ]] && continue
      if curl -fsS -m 1 "$(at "$i")/api/runs" -o /dev/null \
        -d '{"dag":{"name":"probe","tasks":{"a":{"run":["true"]}}}}' 2>/dev/null; then
        took=$(($(now_ms) - begin))
        return 0
      fi
    done
    sleep 0.02
  done
  fail "no controller takes commands"
}

start_database
for i in 0 1 2; do
  free_port
  ports[$i]=$port
  start_controller "$i"
done
for i in 0 1 2; do eventually is_ready "$i"; done
find_leader
first=$leader
others=()
for i in 0 1 2; do [[ "$i" == "$leader" ]] || others+=("$(at "$i")"); done
listed() { [[ "$(curl -s "$(at "$first")/api/controllers" | jq '.controllers | length')" == 3 ]]; }
eventually listed
"$vortex" controllers list --server "${others[0]}" | grep -q leader || fail "the list shows no leader"

# The worker is given the standbys alone.
url="$(IFS=,; echo "${others[*]}")"
"$vortex" worker --server "$url" --name "ha" --slots 2 --tuning="$tuning" --state-dir "$folder/state" \
  --work-dir "$folder/work" 2>"$folder/worker.log" &
worker=$!
submit_waiting

begin="$(now_ms)"
kill -9 "${pids[$leader]}"
wait "${pids[$leader]}" 2>/dev/null || true
pids[$leader]=
served_after "$leader"
echo "leader killed: commands served after $took ms"
((took <= 2000)) || fail "commands were served $took ms after kill -9"
start_controller "$leader"
eventually is_ready "$leader"

find_leader
frozen=$leader
term="$(curl -s "$(at "$frozen")/health" | jq .term)"
begin="$(now_ms)"
kill -STOP "${pids[$frozen]}"
served_after "$frozen"
echo "leader frozen: commands served after $took ms (lease $lease s)"
((took <= $(jq -n "$lease * 1000 | floor") + 2000)) || fail "commands were served $took ms after SIGSTOP"
kill -CONT "${pids[$frozen]}"
is_standby() { [[ "$(curl -s -m 1 "$(at "$frozen")/readyz" | jq -r '.status + .role')" == okstandby ]]; }
eventually is_standby
later="$(curl -s "$(at "$frozen")/health" | jq .term)"
((later > term)) || fail "the term is still $later"
curl -fsS "$(at "$frozen")/api/runs" -o /dev/null \
  -d '{"dag":{"name":"probe","tasks":{"a":{"run":["true"]}}}}' || fail "it passes nothing on"

find_leader
begin="$(now_ms)"
kill "${pids[$leader]}"
served_after "$leader"
echo "leader stopped: commands served after $took ms"
((took <= 2000)) || fail "commands were served $took ms after SIGTERM"
wait "${pids[$leader]}" 2>/dev/null || true
pids[$leader]=

touch "$folder/go"
find_leader
"$vortex" runs wait "$run" --server "$(at "$leader")" --timeout 60s || fail "the run did not end"
[[ "$(starts)" == 1 ]] || fail "the task was started $(starts) times"
attempts="$(curl -s "$(at "$leader")/api/runs/$run/tasks" | jq '[.tasks[].attempts] | max')"
[[ "$attempts" == 1 ]] || fail "the task has $attempts attempts"
echo "three controllers: ok"

#!/usr/bin/env bash
# tests/e2e/database_failover.sh VORTEX: the primary PostgreSQL is killed and its standby is promoted, with
# synchronous commit, under load. The standby's receiver is frozen first, so that the primary dies with commits
# that the standby does not have: nobody may have been told that those took effect. After the promotion every
# acknowledged submit and every published result is there, once, and running tasks were not restarted.
# Proves: V11 S05 S06
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/postgres.sh"

vortex="$(realpath "$1")"
commit="${2:-on}" # with `local`, submits are lost: then the test must fail
folder="$(mktemp -d)"
pids=()
clean_up() {
  local pid
  touch "$folder/stop"
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  stop_cluster a
  stop_cluster b
  rm -rf "$folder"
}
trap clean_up EXIT

make_cluster a
make_cluster_folder b
free_port
port_a=$port
run_cluster a "$port_a"
as_server "$programs/pg_basebackup" -D "$folder/b/data" -R -X stream -c fast --no-sync \
  -d "host=127.0.0.1 port=$port_a user=vortex application_name=b" || fail "no base backup"
free_port
port_b=$port
run_cluster b "$port_b"
# After the backup: the standby, once it is promoted, has nobody to wait for.
sql "$port_a" "ALTER SYSTEM SET synchronous_standby_names = 'b'" >/dev/null
sql "$port_a" "ALTER SYSTEM SET synchronous_commit = '$commit'" >/dev/null
sql "$port_a" "SELECT pg_reload_conf()" >/dev/null
is_synchronous() { [[ "$(sql "$port_a" "SELECT sync_state FROM pg_stat_replication")" == sync ]]; }
eventually is_synchronous

database="postgresql://vortex@127.0.0.1:$port_a,127.0.0.1:$port_b/postgres?connect_timeout=2"
servers=()
for i in 0 1; do
  free_port
  "$vortex" controller --database.url="$database" --controller.listen="127.0.0.1:$port" \
    --controller.leader_lease_secs=3 --controller.require-tokens=false \
    --monitoring.monitor_log="$folder/monitor-$i.log" 2>"$folder/controller-$i.log" &
  pids+=($!)
  servers+=("http://127.0.0.1:$port")
  eventually curl -fsS "${servers[$i]}/readyz"
done
url="${servers[0]}"
"$vortex" worker --server "${servers[0]},${servers[1]}" --name w --count 2 --slots 4 \
  --state-dir "$folder/state" --work-dir "$folder/work" 2>"$folder/worker.log" &
pids+=($!)
submit_waiting
waiting="$run"

# What is published is durable. In the order in which it was published.
for server in "${servers[@]}"; do
  curl -sN "$server/api/events?follow=true" >>"$folder/events-${server##*:}" &
  pids+=($!)
done

# Submits without a pause, each with a key of its own until it is acknowledged: its id.
mkdir "$folder/ran"
submit_all() {
  local i=0 answer
  while [[ ! -e "$folder/stop" ]]; do
    i=$((i + 1))
    until answer="$(curl -fsS -m 3 "${servers[i % 2]}/api/runs" -H "Idempotency-Key: $1-$i" \
      -d "{\"dag\":{\"name\":\"load\",\"tasks\":{\"a\":{\"run\":[\"sh\",\"-c\",
        \"echo \$VORTEX_EPOCH >>$folder/ran/\$VORTEX_RUN_ID\"]}}}}" 2>/dev/null)"; do
      [[ -e "$folder/stop" ]] && return 0
    done
    answer="${answer#*\"id\":\"}"
    echo "$1-$i ${answer%%\"*}" >>"$folder/acknowledged-$1"
  done
}
for one in 1 2; do
  submit_all "$one" &
  pids+=($!)
done
acknowledged() { cat "$folder"/acknowledged-* 2>/dev/null; }
has_acknowledged() { [[ "$(acknowledged | wc -l)" -ge "$1" ]]; }
results() { cat "$folder"/events-* | grep -o '"event":"task_complete","task_id":"[^"]*"' | cut -d '"' -f 8; }
has_results() { [[ "$(results | wc -l)" -ge "$1" ]]; }
eventually has_acknowledged 20
eventually has_results 10

# The standby hears nothing more; the primary has commits that wait for it.
receiver="$(sql "$port_b" "SELECT pid FROM pg_stat_wal_receiver")"
kill -STOP "$receiver"
if [[ "$commit" == on ]]; then
  waits() { [[ "$(sql "$port_a" "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")" -ge 1 ]]; }
  eventually waits
else
  eventually has_acknowledged $(($(acknowledged | wc -l) + 5))
fi
# All of it at once, as a machine that loses power.
primary="$(head -1 "$folder/a/data/postmaster.pid")"
kill -STOP "$primary"
children="$(cat "/proc/$primary/task/$primary/children")"
# shellcheck disable=SC2086
kill -9 $children "$primary"
before="$(acknowledged | wc -l)"
killed_at="$(date +%s%3N)"
kill -9 "$receiver" # what the network still holds is gone too
answers_b() { sql "$port_b" "SELECT 1"; }
eventually answers_b
as_server "$programs/pg_ctl" -D "$folder/b/data" -s -w promote || fail "no promotion"
promoted_at="$(date +%s%3N)"
eventually has_acknowledged $((before + 1))
served_at="$(date +%s%3N)"
eventually has_acknowledged $((before + 10))
touch "$folder/stop"
echo "promoted after $((promoted_at - killed_at)) ms, next submit acknowledged $((served_at - promoted_at)) ms later"

# Every acknowledged run ends, with one success that was started once; no key made two runs.
total=0
has_completed() { curl -fsS "$url/api/runs/$1" | grep -q '"state":"Completed"'; }
while read -r key run; do
  eventually has_completed "$run"
  [[ "$(wc -l <"$folder/ran/$run")" == 1 ]] || fail "$run ($key) was started $(wc -l <"$folder/ran/$run") times"
  total=$((total + 1))
done < <(acknowledged)
doubled="$(acknowledged | cut -d ' ' -f 2 | sort | uniq -d)"
[[ -z "$doubled" ]] || fail "two keys have the same run: $doubled"
runs="$(sql "$port_b" "SELECT count(*) FROM runs WHERE dag = 'load'")"
keys="$(sql "$port_b" "SELECT count(DISTINCT idempotency_key) FROM runs WHERE dag = 'load'")"
[[ "$runs" == "$keys" ]] || fail "$runs runs of $keys keys"

# Every result that was published has its row, once.
count=0
while read -r task; do
  successes="$(curl -fsS "$url/api/tasks/$task/attempts" | grep -o '"verdict":"completed"' | wc -l)"
  [[ "$successes" == 1 ]] || fail "$task was published as completed and has $successes successes"
  count=$((count + 1))
done < <(results | sort -u)

touch "$folder/go"
"$vortex" runs wait "$waiting" --server "$url" --timeout 60s >/dev/null || fail "the long task did not complete"
[[ "$(starts)" == 1 ]] || fail "the long task was started $(starts) times"
echo "database failover: ok, $total submits and $count results kept"

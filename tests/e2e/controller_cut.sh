#!/usr/bin/env bash
# tests/e2e/controller_cut.sh VORTEX: three controllers on PostgreSQL, each in a network namespace of its own. The
# leader is cut off from the database by a firewall, but not from workers and clients: another one takes over, and
# the one that is cut off answers 503 with Retry-After, says that it is not ready, and changes nothing. When the cut
# heals it becomes a standby. No task is lost, doubled or started again.
# Proves: V11 S05
set -euo pipefail

vortex="$(realpath "$1")"
if [[ "${2:-}" != inside ]]; then
  exec unshare --net -- "$0" "$vortex" inside
fi
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/postgres.sh"

lease=3
folder="$(mktemp -d)"
pids=()
clean_up() {
  local pid
  touch "$folder/stop"
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  stop_cluster pg
  rm -rf "$folder"
}
trap clean_up EXIT

# A namespace whose only way out is a wire to this one, in which the database, the worker and the clients are.
declare -a space
host() { # host NUMBER
  unshare --net sleep 1000 &
  space[$1]=$!
  pids+=("${space[$1]}")
  is_apart() { [[ "$(readlink /proc/self/ns/net)" != "$(readlink "/proc/${space[$1]}/ns/net")" ]]; }
  eventually is_apart "$1"
  ip link add "to-$1" type veth peer name wire netns "${space[$1]}"
  ip addr add "10.78.$1.1/24" dev "to-$1"
  ip link set "to-$1" up
  on "$1" ip link set lo up
  on "$1" ip addr add "10.78.$1.2/24" dev wire
  on "$1" ip link set wire up
  on "$1" ip route add default via "10.78.$1.1"
}
on() { nsenter -t "${space[$1]}" -n "${@:2}"; }
# The same in the background, without a shell between that would be ended in its place.
started_on() { # started_on NUMBER COMMAND...
  nsenter -t "${space[$1]}" -n "${@:2}" &
  pids+=($!)
}
at() { echo "http://10.78.$1.2:8080"; }

ip link set lo up
sysctl -qw net.ipv4.ip_forward=1 # controllers reach each other
make_cluster pg
for i in 1 2 3; do
  host "$i"
  echo "host all all 10.78.$i.0/24 trust" >>"$folder/pg/data/pg_hba.conf"
done
run_cluster pg 5432 '*'

url_at() { echo "postgresql://vortex@10.78.$1.1:5432/postgres?connect_timeout=2"; }
"$vortex" tokens create admin --role admin --offline --database.url="postgresql://vortex@127.0.0.1:5432/postgres" \
  >"$folder/admin" 2>"$folder/tokens.log" || fail "no admin token"
for i in 1 2 3; do
  # Answers of the database that were on their way are dropped as well: what it does with a write is unknown.
  started_on "$i" "$vortex" controller --database.url="$(url_at "$i")" --controller.listen=0.0.0.0:8080 \
    --controller.advertise-url="$(at "$i")" --controller.leader_lease_secs="$lease" \
    --controller.worker-networks=10.78.0.0/16,127.0.0.0/8 --database.path="$folder/c$i.db" \
    --monitoring.monitor_log="$folder/monitor-$i.log" 2>"$folder/controller-$i.log"
done
export VORTEX_TOKEN_FILE="$folder/admin"
token="Authorization: Bearer $(cat "$folder/admin")"
is_ready() { curl -fsS -m 2 "$(at "$1")/readyz"; }
for i in 1 2 3; do eventually is_ready "$i"; done
role_of() { curl -s -m 2 -H "$token" "$(at "$1")/health" | jq -r .role; }
find_leader() {
  local i
  for i in 1 2 3; do
    [[ "$(role_of "$i")" == leader && "$i" != "${1:-}" ]] && leader=$i && return 0
  done
  return 1
}
eventually find_leader
find_leader
cut=$leader

url="$(at 1),$(at 2),$(at 3)"
"$vortex" worker --server "$url" --name w --count 2 --slots 4 --state-dir "$folder/state" --work-dir "$folder/work" \
  2>"$folder/worker.log" &
pids+=($!)
submit_waiting
waiting="$run"

# Submits to all controllers in turn, also to the one that is cut off; each with a key until it is acknowledged.
mkdir "$folder/ran"
submit_all() {
  local i=0 tries=0 answer
  while [[ ! -e "$folder/stop" ]]; do
    i=$((i + 1))
    while true; do
      tries=$((tries + 1))
      answer="$(curl -fsS -m 3 "$(at $((tries % 3 + 1)))/api/runs" -H "$token" -H "Idempotency-Key: k$i" \
        -d "{\"dag\":{\"name\":\"load\",\"tasks\":{\"a\":{\"run\":[\"sh\",\"-c\",
          \"echo \$VORTEX_EPOCH >>$folder/ran/\$VORTEX_RUN_ID\"]}}}}" 2>/dev/null)" && break
      [[ -e "$folder/stop" ]] && return 0
    done
    answer="${answer#*\"id\":\"}"
    echo "${answer%%\"*}" >>"$folder/acknowledged"
  done
}
submit_all &
pids+=($!)
has_acknowledged() { [[ "$(wc -l <"$folder/acknowledged")" -ge "$1" ]]; }
eventually has_acknowledged 10

term="$(curl -s -H "$token" "$(at "$cut")/health" | jq .term)"
cut_at="$(date +%s%3N)"
on "$cut" iptables -A INPUT -p tcp --sport 5432 -j DROP
on "$cut" iptables -A OUTPUT -p tcp --dport 5432 -j DROP
other_leads() { find_leader "$cut"; }
eventually other_leads
echo "cut off: another controller leads after $(($(date +%s%3N) - cut_at)) ms (lease $lease s)"
before="$(wc -l <"$folder/acknowledged")"
eventually has_acknowledged $((before + 10))

# The one that is cut off refuses, and says when to come back.
refuses() {
  [[ "$(curl -s -m 5 -D "$folder/headers" -o "$folder/answer" -w '%{http_code}' "$(at "$cut")/api/runs" -H "$token" \
    -d '{"dag":{"name":"refused","tasks":{"a":{"run":["true"]}}}}')" == 503 ]] &&
    grep -qi '^retry-after:' "$folder/headers"
}
eventually refuses
not_ready() { [[ "$(curl -s -m 5 -o "$folder/answer" -w '%{http_code}' "$(at "$cut")/readyz")" == 503 ]]; }
eventually not_ready
curl -fsS -m 5 "$(at "$cut")/livez" >/dev/null || fail "the one that is cut off does not answer /livez"

on "$cut" iptables -F
is_standby() { [[ "$(role_of "$cut")" == standby ]] && is_ready "$cut"; }
eventually is_standby
later="$(curl -s -H "$token" "$(at "$cut")/health" | jq .term)"
((later > term)) || fail "the term is still $later"
made="$(curl -fsS -H "$token" "$(at "$cut")/api/runs" -d '{"dag":{"name":"passed-on","tasks":{"a":{"run":["true"]}}}}')" ||
  fail "it passes nothing on"
[[ "$made" == *'"id"'* ]] || fail "no run: $made"
before="$(wc -l <"$folder/acknowledged")"
eventually has_acknowledged $((before + 10))
touch "$folder/stop"

[[ "$(sql 5432 "SELECT count(*) FROM runs WHERE dag = 'refused'")" == 0 ]] || fail "a refused submit made a run"
has_completed() { curl -fsS -m 2 -H "$token" "$(at "$cut")/api/runs/$1" | grep -q '"state":"Completed"'; }
total=0
while read -r run; do
  eventually has_completed "$run"
  [[ "$(wc -l <"$folder/ran/$run")" == 1 ]] || fail "$run was started $(wc -l <"$folder/ran/$run") times"
  total=$((total + 1))
done <"$folder/acknowledged"
[[ -z "$(sort "$folder/acknowledged" | uniq -d)" ]] || fail "two keys have the same run"
runs="$(sql 5432 "SELECT count(*) FROM runs WHERE dag = 'load'")"
keys="$(sql 5432 "SELECT count(DISTINCT idempotency_key) FROM runs WHERE dag = 'load'")"
[[ "$runs" == "$keys" ]] || fail "$runs runs of $keys keys"
[[ "$(sql 5432 "SELECT coalesce(max(crash_count), 0) FROM task_instances")" == 0 ]] || fail "a task counts as crashed"
[[ "$(sql 5432 "SELECT count(*) FROM recovery_log")" == 0 ]] || fail "a worker was reclaimed"

touch "$folder/go"
eventually has_completed "$waiting"
[[ "$(starts)" == 1 ]] || fail "the long task was started $(starts) times"
echo "controller cut off from the database: ok, $total submits kept"

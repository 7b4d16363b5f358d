#!/usr/bin/env bash
# tests/e2e/partition.sh VORTEX: a worker is cut off from the controller by a firewall for longer than
# its lease. It must end its task before the lease does; the task then succeeds once, elsewhere; and
# when the cut heals the worker is of use again. Cut both ways, then in one direction only.
# Controller and workers each in a network namespace of their own.
# Proves: V15
set -euo pipefail

vortex="$(realpath "$1")"
if [[ "${2:-}" != inside ]]; then
  exec unshare --net -- "$0" "$vortex" inside
fi

folder="$(mktemp -d)"
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap finish EXIT
fail() {
  echo "FAILED: $*" >&2
  tail -n 40 "$folder"/*.log >&2
  exit 1
}
eventually() { # seconds, command
  local until=$((SECONDS + $1))
  while ! "${@:2}" >/dev/null 2>&1; do
    ((SECONDS < until)) || fail "never came true: ${*:2}"
    sleep 0.05
  done
}

# host NAME NUMBER: a namespace whose only way out is a wire to the controller's.
declare -A space
host() {
  unshare --net sleep 1000 &
  space[$1]=$!
  pids+=("${space[$1]}")
  eventually 5 nsenter -t "${space[$1]}" -n true
  # The process may still be in the namespace it was started from.
  eventually 5 eval '[[ "$(readlink /proc/self/ns/net)" != "$(readlink "/proc/${space['"$1"']}/ns/net")" ]]'
  ip link add "to-$1" type veth peer name wire netns "${space[$1]}"
  ip addr add "10.77.$2.1/24" dev "to-$1"
  ip link set "to-$1" up
  on "$1" ip link set lo up
  on "$1" ip addr add "10.77.$2.2/24" dev wire
  on "$1" ip link set wire up
}
on() { nsenter -t "${space[$1]}" -n "${@:2}"; }

ip link set lo up
host a 1
host b 2

# Off loopback there is nothing without tokens.
"$vortex" tokens create admin --role admin --offline --database.path="$folder/vortex.db" >"$folder/admin" 2>"$folder/tokens.log" ||
  fail "no admin token"
"$vortex" tokens create workers --role worker --offline --database.path="$folder/vortex.db" >"$folder/workers" 2>>"$folder/tokens.log" ||
  fail "no worker token"
"$vortex" controller --database.path="$folder/vortex.db" --controller.listen=0.0.0.0:8080 --tuning=testing \
  2>"$folder/controller.log" &
pids+=($!)
export VORTEX_TOKEN_FILE="$folder/admin" VORTEX_SERVER=http://127.0.0.1:8080
eventually 20 "$vortex" health

worker() { # NAME NUMBER
  STARTS="$folder/starts" GO="$folder/go" VORTEX_TOKEN_FILE="$folder/workers" \
    nsenter -t "${space[$1]}" -n "$vortex" worker --name "$1" --server "http://10.77.$2.1:8080" --tuning=testing --slots 2 \
    --state-dir "$folder/state-$1" --work-dir "$folder/work-$1" 2>"$folder/worker-$1.log" &
  pids+=($!)
}
mkdir "$folder/starts"
cat >"$folder/dag.yaml" <<'YAML'
vortex: 1
name: cut
tasks:
  work:
    shell: [bash, -uc]
    run: |
      echo "$VORTEX_EPOCH $$ $VORTEX_WORKER" >> "$STARTS/$VORTEX_RUN_ID"
      while [ ! -e "$GO" ]; do sleep 0.05; done
YAML

state_of() { "$vortex" workers show "$1" -o json | jq -e ".state == \"$2\""; }
line() { [[ "$(wc -l <"$folder/starts/$run" 2>/dev/null)" -ge $1 ]]; }
field() { sed -n "$1p" "$folder/starts/$run" | cut -d ' ' -f "$2"; }

# round NAME RULES...: the rules cut worker a off.
round() {
  rm -f "$folder/go"
  run="$("$vortex" run "$folder/dag.yaml" --detach -q)"
  eventually 20 line 1
  local first_worker cut_at
  first_worker="$(field 1 3)"
  local cut_host="${first_worker%%-*}"
  local old_pid
  old_pid="$(field 1 2)"
  cut_at="$(date +%s%N)"
  for rule in "${@:2}"; do on "$cut_host" iptables -A "$rule" -j DROP; done
  # The cut-off worker ends its task by itself, before its lease of 5 s is over.
  local gone_ms
  while kill -0 "$old_pid" 2>/dev/null && (($(date +%s%N) - cut_at < 30000000000)); do sleep 0.02; done
  gone_ms=$((($(date +%s%N) - cut_at) / 1000000))
  ((gone_ms < 5000)) || fail "$1: the task of the cut-off worker ended only after $gone_ms ms"
  eventually 40 line 2
  [[ "$(field 2 3)" != "$first_worker" ]] || fail "$1: it runs on the worker that is cut off"
  touch "$folder/go"
  eventually 20 "$vortex" runs wait "$run" --timeout 20s
  local successes
  successes="$(curl -fsS -H "Authorization: Bearer $(cat "$folder/admin")" \
    "$VORTEX_SERVER/api/tasks/$run-L0-0/attempts" | jq '[.attempts[] | select(.verdict == "completed")] | length')"
  [[ "$successes" == 1 ]] || fail "$1: $successes successes"
  on "$cut_host" iptables -F
  eventually 30 state_of "$first_worker" IDLE
  echo "$1: task ended by the worker itself after $gone_ms ms, one success elsewhere, worker back"
}

worker a 1
worker b 2
eventually 20 state_of a-1 IDLE
eventually 20 state_of b-1 IDLE
round "cut both ways" INPUT OUTPUT
round "cut towards the worker" INPUT
round "cut towards the controller" OUTPUT
echo "partition: ok"

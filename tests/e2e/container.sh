#!/usr/bin/env bash
# tests/e2e/container.sh VORTEX: workers as the first process of a container: a process space of their own
# in which the supervisor is process 1, as with an image whose entry point is `vortex worker`. It takes
# work, brings a killed worker back, leaves no zombies, drains on SIGTERM, and when the container is
# killed its task runs elsewhere.
# Proves: M08
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
declare -A boxes
# box NAME: `unshare` stands for the container's keeper; its child is process 1 inside, with a /proc of its
# own. (Not --mount-proc: that needs a root that is a mount point, which a chroot has not.)
box() {
  unshare --pid --fork --kill-child --mount --propagation unchanged -- \
    sh -euc 'mount --make-private /proc; mount -t proc proc /proc; exec "$@"' sh \
    "$vortex" worker --server "$url" --name "$1" --slots 2 --tuning=testing \
    --state-dir "$folder/state-$1" --work-dir "$folder/work-$1" 2>"$folder/$1.log" &
  boxes[$1]=$!
}
end_all() {
  touch "$folder/go"
  local pid
  for pid in "${boxes[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  wait "${boxes[@]}" 2>/dev/null || true
  finish
}
trap end_all EXIT
export VORTEX_SERVER="$url"
# first NAME: process 1 of the container, as seen from outside.
first() { cat "/proc/${boxes[$1]}/task/${boxes[$1]}/children" | tr -d ' '; }
state_is() { [[ "$("$vortex" workers show "$1" -o json | jq -r .state)" == "$2" ]]; }

box "a$port"
eventually state_is "a$port-1" IDLE
"$vortex" exec -q -- sh -c 'tr "\\0" " " </proc/1/cmdline | grep -q " worker --server "' ||
  fail "the supervisor is not process 1"

# Orphans of a task and a killed worker: nothing stays behind, not even a zombie.
"$vortex" exec -q -- sh -c '(setsid sleep 300 &) ; exit 0' || fail "a task with an orphan failed"
inside="$(first "a$port")"
kill -9 "$(cat "/proc/$inside/task/$inside/children" | cut -d ' ' -f 1)"
twice_started() { [[ "$(grep -c 'started as process' "$folder/a$port.log")" == 2 ]]; }
eventually twice_started
eventually state_is "a$port-1" IDLE
"$vortex" exec -q -- true || fail "no work after the respawn"
no_zombies() {
  local status
  for status in /proc/[0-9]*/status; do
    awk -v parent="$inside" '/^State:/ {dead = $2 == "Z"} /^PPid:/ {ours = $2 == parent}
      END {exit dead && ours ? 1 : 0}' "$status" 2>/dev/null || return 1
  done
}
eventually no_zombies

# The container is killed as a whole: the task goes on in another one.
submit_waiting
box "b$port"
eventually state_is "b$port-1" IDLE
kill -9 "${boxes[a$port]}"
twice() { [[ "$(starts)" == 2 ]]; }
eventually twice
[[ "$(tail -1 "$folder/starts")" == *" b$port-1" ]] || fail "it runs as $(tail -1 "$folder/starts")"

# `docker stop`: SIGTERM for process 1. What runs is finished, then everybody leaves.
kill -TERM "$(first "b$port")"
touch "$folder/go"
eventually "$vortex" runs wait "$run" --timeout 20s
code=0
wait "${boxes[b$port]}" || code=$?
[[ "$code" == 0 ]] || fail "the container ended with $code"
state_is "b$port-1" INACTIVE || fail "it did not take leave"
echo "container: ok"

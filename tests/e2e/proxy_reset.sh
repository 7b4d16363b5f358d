#!/usr/bin/env bash
# tests/e2e/proxy_reset.sh VORTEX: a proxy between worker and controller is killed and comes back, again
# and again, while a task runs for longer than its lease. A closed connection makes a worker suspect and
# no more: it comes back, keeps its task, and is given new work.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
controller_port="$port"
free_port
proxy_port="$port"
proxy=
proxy_up() {
  setsid socat "TCP-LISTEN:$proxy_port,bind=127.0.0.1,fork,reuseaddr" "TCP:127.0.0.1:$controller_port" &
  proxy=$!
}
# The listener and every connection through it, at once.
proxy_down() {
  kill -9 -- "-$proxy" 2>/dev/null || true
  wait "$proxy" 2>/dev/null || true
}
worker=
end_all() {
  touch "$folder/go"
  [[ -n "$worker" ]] && kill "$worker" 2>/dev/null && wait "$worker" 2>/dev/null
  proxy_down
  finish
}
trap end_all EXIT
proxy_up
"$vortex" worker --server "http://127.0.0.1:$proxy_port" --name "proxied-$proxy_port" --slots 2 --tuning=testing \
  --state-dir "$folder/state" --work-dir "$folder/work" 2>"$folder/worker.log" &
worker=$!
export VORTEX_SERVER="$url"

submit_waiting
count() { grep -c "$1" "$folder/monitor.log" || true; }
suspected() { [[ "$(count '"its connection closed"')" -ge $1 ]]; }
# Four rests of 1.5 s are longer than the lease of 5 s; the proxy is away for much less than the
# self-fence of 2.5 s.
# cut_off N: takes the proxy away until the worker is suspected for the Nth time. A worker that is between two
# calls at that moment loses nothing, and is not suspected: then once more.
cut_off() {
  local try
  while true; do
    proxy_down
    for try in $(seq 20); do
      suspected "$1" && proxy_up && return
      sleep 0.05
    done
    proxy_up
    sleep 0.3
  done
}
for time in 1 2 3 4; do
  cut_off "$time"
  sleep 1.5
  kill -0 "$(head -1 "$folder/starts" | cut -d " " -f 1)" || fail "the task was ended"
done
"$vortex" exec -q -- true || fail "the worker takes no work any more"
touch "$folder/go"
eventually "$vortex" runs wait "$run" --timeout 20s
[[ "$(starts)" == 1 ]] || fail "it was started $(starts) times"
[[ "$(api /api/recoveries | jq '.recoveries | length')" == 0 ]] || fail "something was taken back"
echo "connections reset: suspected $(count '"its connection closed"') times, nothing taken back"

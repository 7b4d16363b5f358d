#!/usr/bin/env bash
# A whole worker in bash: one task at a time, with heartbeats, stops and fencing. Needs curl and jq.
#   examples/worker.sh [URL] [ID]
url=${1:-http://127.0.0.1:8080} id=${2:-$(hostname)-$$}
incarnation=$(curl -fsS "$url/api/workers" -d "{\"id\":\"$id\"}" | jq .incarnation) || exit 1
seq=0 ack='{"term":0,"reply":0}'

sync() { # held, reports, wait in ms: says what we hold and what happened, hears what to do
  ((++seq))
  reply=$(curl -fsS "$url/api/workers/$id/sync" -d "{\"incarnation\":$incarnation,\"seq\":$seq,
    \"ack\":$ack,\"slots\":1,\"held\":$1,\"reports\":$2,\"wait_ms\":$3}") || return
  ack=$(jq -c .mark <<<"$reply")
}

until [[ $reports == over ]]; do
  until sync '[]' "${reports:-[]}" 5000; do sleep 1; done # a report is repeated until it is heard
  reports='[]' work=$(jq -c '.assignments[0] // empty' <<<"$reply")
  [[ $work ]] || continue
  mine=$(jq -c '{task, epoch}' <<<"$work")
  mapfile -t argv < <(jq -r '.run[]' <<<"$work")
  "${argv[@]}" &
  sync "[$mine]" "[$(jq -c '.kind = "started"' <<<"$mine")]" 0
  while kill -0 $! 2>/dev/null && sleep 0.2; do
    sync "[$mine]" '[]' 0 || continue
    jq -e '(.stops // []) + (.stale // []) == []' <<<"$reply" >/dev/null || kill $!
  done
  wait $! && end='{"kind":"completed"}' || end="{\"kind\":\"failed\",\"cause\":\"exit_code\",\"code\":$?}"
  reports="[$(jq -c ". + $end" <<<"$mine")]"
done

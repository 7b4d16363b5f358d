#!/usr/bin/env bash
# tests/e2e/dev_postgres.sh VORTEX: `vortex dev --postgres --controllers 3` as a user would try it: three
# controllers on one database, every one of them takes commands, the leader may be killed, data is kept for
# the next time, and nothing is left when it ends.
set -euo pipefail

vortex="$(realpath "$1")"
folder="$(mktemp -d)"
chmod 0755 "$folder" # PostgreSQL is another user when we are root
cd "$folder"
dev=
finish() {
  [[ -n "$dev" ]] && kill "$dev" 2>/dev/null && wait "$dev" 2>/dev/null
  rm -rf "$folder"
}
trap finish EXIT
fail() {
  echo "FAILED: $*" >&2
  tail -n 30 out err dev.log .vortex/*.log .vortex/postgres/*.log >&2 2>/dev/null
  exit 1
}
want() {
  local code=0
  "${@:2}" >out 2>err || code=$?
  [[ "$code" == "$1" ]] || fail "exit code $code instead of $1: ${*:2}"
}
says() { grep -qF -- "$1" out err || fail "it does not say '$1'"; }
eventually() {
  for _ in $(seq 1200); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.05
  done
  fail "never came true: $*"
}
start() {
  rm -f dev.log # of the one before: what it said is not what this one says
  "$vortex" dev --postgres --controllers 3 --tuning=testing --stay 2>dev.log &
  dev=$!
  eventually grep -q "keeps running" dev.log
  mapfile -t urls < <(sed -n '/^  API/,/^  dashboard/{/^  dashboard/d;p}' dev.log | grep -o 'http://[0-9.:]*')
  [[ ${#urls[@]} -eq 3 ]] || fail "it does not print three addresses"
}
end() {
  local code=0
  kill -INT "$dev"
  wait "$dev" || code=$?
  dev=
  [[ "$code" == 0 ]] || fail "dev ended with $code"
  echo "$folder" >needle # in a file: the search would find itself
  local left
  left="$(grep -laFf needle /proc/[0-9]*/cmdline 2>/dev/null || true)"
  [[ -z "$left" ]] || fail "something of it is left: $left"
}

# Several controllers on a file are refused before anything is started.
want 2 "$vortex" dev --controllers 3
says "--postgres"
[[ ! -e .vortex ]] || fail "it made .vortex"

start
for url in "${urls[@]}"; do
  want 0 "$vortex" --server "$url" exec -- echo "through $url"
  says "through $url"
done
# A controller learns of the others within seconds.
three_with_one_leader() {
  "$vortex" --server "${urls[0]}" controllers list -o json |
    jq -e '(.controllers | length == 3) and ([.controllers[] | select(.role == "leader")] | length == 1)'
}
eventually three_with_one_leader

# A database that is killed is started again, and the controllers go on with it.
kill -9 "$(head -1 .vortex/postgres/data/postmaster.pid)"
eventually grep -q "PostgreSQL exited; it was started again" dev.log
for url in "${urls[@]}"; do
  eventually "$vortex" --server "$url" exec -- true
done
kill -0 "$dev" || fail "dev ended with its database"
runs="$("$vortex" --server "${urls[0]}" runs list -o name | wc -l)"
end

# The next time it is all still there.
start
[[ "$("$vortex" --server "${urls[2]}" runs list -o name | wc -l)" == "$runs" ]] || fail "runs are missing"
end

# A database that dies again and again is given up, and says why.
start
revived() { [[ "$(grep -c "it was started again" dev.log)" -ge "$1" ]]; }
for i in 1 2 3 4 5 6; do
  kill -9 "$(head -1 .vortex/postgres/data/postmaster.pid)"
  ((i == 6)) || eventually revived "$i"
done
code=0
wait "$dev" || code=$?
dev=
[[ "$code" == 1 ]] || fail "dev ended with $code"
grep -q "PostgreSQL exited 6 times within 10 minutes" dev.log || fail "it does not say why it ended"
echo "dev_postgres: ok"

#!/usr/bin/env bash
# tests/e2e/database_away.sh VORTEX: a controller starts while its PostgreSQL is down: it waits, says so, answers
# health checks, and serves once the database is there. While the database is away later on, the log does not repeat
# itself. Wrong settings still end it at once, with a clear error.
# Proves: S06
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/postgres.sh"

vortex="$(realpath "$1")"
folder="$(mktemp -d)"
controller=
clean_up() {
  [[ -n "$controller" ]] && kill "$controller" 2>/dev/null && wait "$controller" 2>/dev/null
  stop_cluster pg
  rm -rf "$folder"
}
trap clean_up EXIT
make_cluster pg
free_port
database_port=$port
database="postgresql://vortex@127.0.0.1:$database_port/postgres"
free_port
url="http://127.0.0.1:$port"

begin_controller() { # begin_controller DATABASE
  "$vortex" controller --database.url="$1" --database.path="$folder/vortex.db" --controller.listen="127.0.0.1:$port" \
    --controller.require-tokens=false --monitoring.monitor_log=off 2>>"$folder/controller.log" &
  controller=$!
}
says() { grep -qF -- "$1" "$folder/controller.log"; }
count() { grep -cF -- "$1" "$folder/controller.log" || true; }

begin_controller "$database"
alive() { [[ "$(status /livez)" == 200 ]]; }
eventually alive
[[ "$(status /readyz)" == 503 ]] || fail "it is ready without a database"
[[ "$(status /health)" == 503 && "$(jq -r .status "$folder/answer")" == unhealthy ]] || fail "it is healthy without one"
[[ "$(status /api/runs -D "$folder/headers")" == 503 ]] || fail "it answers without a database"
grep -qi '^retry-after:' "$folder/headers" || fail "it does not say when to come back"
[[ "$(count 'waiting for the database')" == 1 ]] || fail "it says $(count 'waiting for the database') times that it waits"
# Repeated, but only after ten seconds.
since=$SECONDS
repeated() { [[ "$(count 'waiting for the database')" -ge 2 ]]; }
eventually repeated
((SECONDS - since >= 8)) || fail "it repeats itself after $((SECONDS - since)) s"

run_cluster pg "$database_port"
is_ready() { curl -fsS "$url/readyz"; }
eventually is_ready
eventually says "the database answers again"
[[ "$(status /api/runs -d '{"dag":{"name":"t","tasks":{"a":{"run":["true"]}}}}')" == 201 ]] || fail "it takes no run"

# Away later on: said once, then again after ten seconds.
stop_cluster pg
not_ready() { ! is_ready; }
eventually not_ready
eventually says "cannot become the leader"
eventually grep -q "cannot become the leader.*s now)" "$folder/controller.log"
[[ "$(count 'cannot become the leader')" == 2 ]] || fail "it repeats itself: $(count 'cannot become the leader') lines"
run_cluster pg "$database_port"
eventually is_ready
eventually says "the database can be written again"
kill "$controller"
wait "$controller" || fail "it did not stop with 0"
controller=

# Stopped while it waits: at once.
stop_cluster pg
begin_controller "$database"
eventually alive
kill "$controller"
wait "$controller" || fail "it did not stop with 0 while it waited"
controller=

# What is wrong with the settings does not get better by waiting.
refused() { # refused DATABASE TEXT
  local code=0
  timeout 20 "$vortex" controller --database.url="$1" --database.path="$folder/vortex.db" \
    --controller.listen="127.0.0.1:$port" --controller.require-tokens=false 2>"$folder/refused" || code=$?
  [[ "$code" != 0 && "$code" != 124 ]] || fail "exit code $code with $1"
  grep -qF -- "$2" "$folder/refused" || fail "it does not say '$2': $(cat "$folder/refused")"
}
refused "postgresql://[" "not a connection string"
run_cluster pg "$database_port"
refused "postgresql://vortex@127.0.0.1:$database_port/nothing" 'database "nothing" does not exist'
refused "postgresql://stranger@127.0.0.1:$database_port/postgres" 'role "stranger" does not exist'
sql "$database_port" "CREATE ROLE locked LOGIN PASSWORD 'right'" >/dev/null
echo "host all locked 127.0.0.1/32 scram-sha-256" >"$folder/hba"
cat "$folder/pg/data/pg_hba.conf" >>"$folder/hba"
cat "$folder/hba" >"$folder/pg/data/pg_hba.conf"
sql "$database_port" "SELECT pg_reload_conf()" >/dev/null
refused "postgresql://locked:wrong@127.0.0.1:$database_port/postgres" "password authentication failed"
sql "$database_port" "INSERT INTO vortex_layout (version) VALUES (99)" >/dev/null
refused "$database" "the database has layout 99"
echo "database away: ok"

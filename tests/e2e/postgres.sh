# Sourced by the tests that start a PostgreSQL of their own, after lib.sh. The servers run in $folder, as the user
# postgres if we are root. Exits 77 (skipped) where PostgreSQL is not installed.

programs="$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)"
[[ -x "$programs/initdb" ]] || { echo "skipped: PostgreSQL is not installed"; exit 77; }

# As the server's own user: it refuses to run as root.
as_server() {
  if [[ "$(id -u)" == 0 ]]; then
    setpriv --reuid=postgres --regid=postgres --init-groups -- "$@"
  else
    "$@"
  fi
}

# make_cluster NAME: an empty one in $folder/NAME/data.
make_cluster_folder() {
  mkdir "$folder/$1"
  chmod 755 "$folder"
  [[ "$(id -u)" != 0 ]] || chown postgres "$folder/$1"
}
make_cluster() {
  make_cluster_folder "$1"
  as_server "$programs/initdb" -D "$folder/$1/data" -U vortex -A trust -E UTF8 --locale=C --no-sync \
    >"$folder/initdb.log" 2>&1 || fail "initdb: $(cat "$folder/initdb.log")"
}

# run_cluster NAME PORT [ADDRESS]: starts it; returns when it takes connections.
run_cluster() {
  as_server "$programs/pg_ctl" -D "$folder/$1/data" -s -w -l "$folder/$1/server.log" \
    -o "-p $2 -c listen_addresses=${3:-127.0.0.1} -c unix_socket_directories= -c fsync=off" start
}
stop_cluster() { # stop_cluster NAME: at once, whatever it is doing
  as_server "$programs/pg_ctl" -D "$folder/$1/data" -m immediate -s stop >/dev/null 2>&1 || true
}
sql() { # sql PORT STATEMENT
  "$programs/psql" -h "${sql_host:-127.0.0.1}" -p "$1" -U vortex -d postgres -AXqtc "$2"
}

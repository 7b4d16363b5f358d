# Sourced by the tests of this folder: a controller on a folder and a port of its own. It requires no tokens,
# so that plain curl works as the documents print it; own_tokens.sh is about those that are there by default.
# begin VORTEX [flags]: sets $folder, $url, $controller; everything ends with the script.

fail() {
  echo "FAILED: $*" >&2
  [[ -f "$folder/log" ]] && cat "$folder/log" >&2
  tail -n 20 "$folder"/*.log >&2 2>/dev/null
  exit 1
}

# Waits until the command succeeds; fails after half a minute.
eventually() {
  local tries
  for tries in $(seq 600); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.05
  done
  fail "never came true: $*"
}

start() {
  "$vortex" controller --database.path="$data/vortex.db" --controller.listen="127.0.0.1:$port" \
    --tuning=testing --controller.require-tokens=false "${flags[@]}" 2>>"$folder/log" &
  controller=$!
  eventually curl -fsS "$url/readyz"
}

finish() {
  kill "$controller" 2>/dev/null || true
  wait "$controller" 2>/dev/null || true
  [[ "$data" != "$folder" ]] && umount "$data"
  rm -rf "$folder"
}

# A port that nobody listens on now. Below those that the system gives to outgoing connections: one of
# them could take it while the controller is being started again.
free_port() {
  local tried
  for tried in $(seq 50); do
    port=$((10000 + RANDOM % 22000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || return 0
  done
}

begin() {
  vortex="$1"
  shift
  flags=("$@")
  folder="$(mktemp -d)"
  data="${data:-$folder}"
  free_port
  url="http://127.0.0.1:$port"
  trap finish EXIT
  start
}

# submit_waiting: a run of one task that adds a line to $folder/starts whenever it starts (its process and
# its worker) and ends when $folder/go is there. Sets $run; returns once it has started.
submit_waiting() {
  cat >"$folder/waiting.yaml" <<'YAML'
vortex: 1
name: waiting
params: {folder: {type: string}}
tasks:
  work:
    shell: [bash, -euc]
    env: {FOLDER: "${{ params.folder }}"}
    run: |
      echo "$$ $VORTEX_WORKER" >> "$FOLDER/starts"
      while [ ! -e "$FOLDER/go" ]; do sleep 0.05; done
YAML
  run="$("$vortex" run "$folder/waiting.yaml" --server "$url" -p folder="$folder" --detach -q)"
  eventually test -s "$folder/starts"
}
starts() { wc -l <"$folder/starts"; }

api() { curl -fsS "$url$1" "${@:2}"; }
status() { curl -s -o "$folder/answer" -w '%{http_code}' "$url$1" "${@:2}"; }

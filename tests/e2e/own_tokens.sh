#!/usr/bin/env bash
# tests/e2e/own_tokens.sh VORTEX: a controller on loopback requires tokens by itself. Its own user finds
# them without doing anything; other users of the machine get nowhere.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
vortex="$(realpath "$1")"
begin "$vortex" --controller.require-tokens=true
export VORTEX_SERVER="$url"
token="$data/vortex.db.token"
other() { setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent "$@"; }

# The user of the controller.
[[ "$(stat -c '%a %u' "$token")" == "600 $(id -u)" ]] || fail "mode: $(stat -c '%a %u' "$token")"
"$vortex" status >/dev/null || fail "the command line does not find its token"
[[ "$("$vortex" tokens list -o name)" == "" ]] || fail "it is not in the database"
[[ "$(status /api/runs)" == 401 ]] || fail "anybody is let in"
grep -q 'vortex.db.token' "$folder/answer" || fail "the answer does not say where the token is"
[[ "$(status /api/runs -H "Authorization: Bearer $(cat "$token")")" == 200 ]] || fail "the token is not valid"

# A worker finds one of its own, which is no admin's.
"$vortex" worker --name w --slots 1 --state-dir "$folder/state" --work-dir "$folder/work" --tuning=testing \
  2>"$folder/worker.log" &
supervisor=$!
thief=
trap 'kill "$supervisor" $thief 2>/dev/null || true; wait "$supervisor" 2>/dev/null || true; finish' EXIT
"$vortex" exec -- echo done >"$folder/out" 2>"$folder/err" || fail "the task did not run: $(cat "$folder/err")"
grep -q done "$folder/out" || fail "no output: $(cat "$folder/out")"
[[ "$("$vortex" audit --what register_worker -o jsonl | jq -r .who | sort -u)" == local:worker ]] ||
  fail "the worker has another token"
[[ "$(status /api/tokens -H "Authorization: Bearer $(cat "$data/vortex.db.worker-token")")" == 403 ]] ||
  fail "the worker's token is an admin's"

# Another user of the machine.
chmod 755 "$folder"
code=0
other "$vortex" status >"$folder/out" 2>"$folder/err" || code=$?
[[ $code == 4 ]] || fail "another user got exit code $code"
grep -q -- --token-file "$folder/err" || fail "no word of what to do: $(cat "$folder/err")"
other cat "$token" 2>/dev/null && fail "another user can read the token"

# Whoever takes the port of a controller that was killed is not given its token.
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
found() { find /run/vortex/tokens "${XDG_RUNTIME_DIR:-/nonexistent}"/vortex/tokens \
  "$HOME"/.local/state/vortex/tokens -name "$port@*" ! -name '*.worker' 2>/dev/null; }
[[ -n "$(found)" ]] || fail "the token of the killed controller should still lie there"
cat >"$folder/thief.py" <<'PY'
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
open(sys.argv[2], "w").write("ready\n")
while True:
    c = s.accept()[0]
    c.settimeout(1)
    try:
        head = c.recv(65536).decode()
        open(sys.argv[2], "a").write(head)
        c.sendall(b"HTTP/1.1 401 no\r\nContent-Length: 0\r\n\r\n")
    except OSError:
        pass
    c.close()
PY
touch "$folder/stolen"
chmod 666 "$folder/stolen"
setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/python3 "$folder/thief.py" "$port" "$folder/stolen" &
thief=$!
eventually grep -q ready "$folder/stolen"
"$vortex" --timeout 2s status >/dev/null 2>&1 || true
eventually grep -q "GET /api" "$folder/stolen"
grep -qi authorization "$folder/stolen" && fail "the token was sent to another user's process"
kill "$thief"
wait "$thief" 2>/dev/null || true

# The same tokens after a restart: the worker goes on with its own.
before="$(cat "$token")"
start
[[ "$(cat "$token")" == "$before" ]] || fail "the token changed"
"$vortex" exec -- true >/dev/null 2>&1 || fail "the worker does not work for the next controller"
kill "$controller"
wait "$controller" || fail "it did not stop with 0"
[[ -z "$(found)" ]] || fail "a stopped controller leaves its token lying around"

# What others could read is no secret, and a link is not followed.
refused() {
  local code=0
  "$vortex" controller --database.path="$data/vortex.db" --controller.listen="127.0.0.1:$port" --tuning=testing \
    >"$folder/out" 2>&1 || code=$?
  [[ $code == 1 ]] || fail "$1: exit code $code"
  grep -q "$2" "$folder/out" || fail "$1: $(cat "$folder/out")"
}
chmod 644 "$token"
refused "readable by others" "other users can read"
rm "$token"
ln -s "$folder/elsewhere" "$token"
refused "a link" "symbolic link"
[[ ! -e "$folder/elsewhere" ]] || fail "the link was followed"
rm "$token"

# Without tokens, on request, and it says so.
flags=(--no-tokens)
start
[[ "$(status /api/runs)" == 200 ]] || fail "--no-tokens requires tokens"
grep -q 'no tokens are required' "$folder/log" || fail "it does not warn"
echo "own_tokens: ok"

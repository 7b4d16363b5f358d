#!/usr/bin/env bash
# tests/e2e/task_user.sh VORTEX: tasks as another user, without a network and on a read-only root, through a
# real worker; what cannot be arranged is refused before anything starts. Needs root.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
keys="$(mktemp -d)"
"$1" secrets init --file "$keys/master" -q >/dev/null
begin "$(realpath "$1")" --secrets.master-key-file="$keys/master"
export VORTEX_SERVER="$url"
chmod 755 "$folder"
worker=(worker --name w --slots 2 --state-dir "$folder/state" --work-dir "$folder/work" --tuning=testing)
supervisor=
trap 'kill "$supervisor" 2>/dev/null || true; wait "$supervisor" 2>/dev/null || true; finish; rm -rf "$keys"' EXIT

refused() { # WORDS FLAGS...
  local code=0
  "$vortex" "${worker[@]}" "${@:2}" >"$folder/said" 2>&1 || code=$?
  [[ $code == 7 ]] || fail "exit code $code: ${*:2}: $(cat "$folder/said")"
  grep -q -- "$1" "$folder/said" || fail "it does not say '$1': $(cat "$folder/said")"
}
refused "no user 'no-such-user'" --worker.task-user=no-such-user
cat >"$folder/as-nobody" <<SH
#!/bin/sh
exec setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$folder/home" "$vortex" "\$@"
SH
chmod 755 "$folder/as-nobody"
code=0
"$folder/as-nobody" worker --name n --state-dir "$folder/home/state" --work-dir "$folder/home/work" \
  --worker.task-user=daemon >"$folder/said" 2>&1 || code=$?
[[ $code == 7 ]] && grep -q 'only root can run tasks as another user' "$folder/said" ||
  fail "exit code $code: $(cat "$folder/said")"

"$vortex" "${worker[@]}" --worker.task-user=nobody:nogroup --worker.task-read-only-root=true --worker.task-network=none \
  --worker.task-limit-open-files=99 2>"$folder/worker.log" &
supervisor=$!
task() { "$vortex" exec -q -- sh -c "$1" 2>"$folder/err"; }
[[ "$(task 'id -un; id -gn; ulimit -n; ulimit -c')" == $'nobody\nnogroup\n99\n0' ]] ||
  fail "the task is somebody else: $(task 'id; ulimit -n')"
[[ "$(task 'grep NoNewPrivs /proc/self/status | cut -f2')" == 1 ]] || fail "it could gain privileges"
[[ "$(task 'cat /proc/net/dev | grep -c :')" == 1 ]] || fail "it has a network"
[[ "$(task 'echo x > "$VORTEX_TMPDIR/x" && echo "{}" > "$VORTEX_OUTPUTS" && echo fine')" == fine ]] ||
  fail "it cannot write its own files"
[[ "$(task 'touch "$HOME/x" /usr/x 2>/dev/null || echo refused')" == refused ]] || fail "the root is writable"
[[ "$(task 'cat '"$folder"'/vortex.db 2>/dev/null || echo refused')" == refused ]] || fail "it reads the database"

# Its secrets are its own.
"$vortex" secrets set pw 2>/dev/null <<<"not-for-others"
cat >"$folder/secret.yaml" <<'YAML'
vortex: 1
name: secret
tasks:
  read:
    secrets: {files: {pw: pw}}
    run: [sh, -c, "stat -c '%U %a' $VORTEX_SECRETS/pw $VORTEX_SECRETS; wc -c < $VORTEX_SECRETS/pw; ls /dev/shm/vortex-0 2>&1 | tail -1"]
YAML
"$vortex" run "$folder/secret.yaml" >/dev/null 2>"$folder/err" || fail "it cannot read its secret: $(cat "$folder/err")"
[[ "$("$vortex" logs @last | sed 's/^read | //' | head -3)" == $'nobody 400\nnobody 700\n14' ]] ||
  fail "its secret is not its own: $("$vortex" logs @last)"
"$vortex" logs @last | grep -q 'Permission denied' || fail "it can list what other tasks have"

# Everything it has started goes with it.
cat >"$folder/escape.yaml" <<'YAML'
vortex: 1
name: escape
tasks:
  leave: {run: [sh, -c, "setsid sleep 4711 & setsid sleep 4711 & sleep 4711"]}
YAML
run="$("$vortex" run "$folder/escape.yaml" --detach -q)"
eventually pgrep -u nobody -f 'sleep 4711'
"$vortex" runs cancel "$run" --yes >/dev/null 2>&1
"$vortex" runs wait "$run" --timeout 30s >/dev/null 2>&1 || true
pgrep -u nobody -f 'sleep 4711' >/dev/null && fail "something of it is left"
kill "$supervisor"
wait "$supervisor" || fail "the worker did not stop with 0"

# A DAG chooses from the users that the operator allows, and from no others.
refused "another name of root" --worker.task-users-allowed=daemon,00:0
refused "no user 'no-such-user'" --worker.task-users-allowed=daemon,no-such-user
"$vortex" "${worker[@]}" --worker.task-user=nobody --worker.task-users-allowed=daemon,bin 2>"$folder/worker2.log" &
supervisor=$!
cat >"$folder/users.yaml" <<'YAML'
vortex: 1
name: users
defaults: {retries: 0}
tasks:
  default: {run: [sh, -c, "id -un; stat -c %U $VORTEX_TMPDIR"]}
  chosen: {user: daemon, needs: default, run: [sh, -c, "id -un; echo $USER; stat -c %U $VORTEX_TMPDIR; echo '{}' > $VORTEX_OUTPUTS"]}
  another: {user: bin, needs: chosen, run: [id, -un]}
YAML
"$vortex" run "$folder/users.yaml" >/dev/null 2>"$folder/err" || fail "users: $(cat "$folder/err")"
[[ "$("$vortex" logs @last | sort)" == "$(printf '%s\n' 'another | bin' 'chosen | daemon' 'chosen | daemon' \
  'chosen | daemon' 'default | nobody' 'default | nobody')" ]] || fail "other users: $("$vortex" logs @last)"
"$vortex" workers show w-1 | grep -q 'bin,daemon' || fail "the worker does not show its users: $("$vortex" workers show w-1)"
for user in root nobody games; do
  sed -i "s/user: .*, needs: default/user: $user, needs: default/" "$folder/users.yaml"
  run="$("$vortex" run "$folder/users.yaml" --detach -q)"
  waits() { "$vortex" tasks explain "$run/chosen" | grep -q "allows tasks to run as '$user'"; }
  eventually waits
  "$vortex" runs cancel "$run" --yes >/dev/null 2>&1
done
sed -i 's/user: .*, needs: default/user: "root:root", needs: default/' "$folder/users.yaml"
"$vortex" validate "$folder/users.yaml" >"$folder/said" 2>&1 && fail "a group was accepted as part of the user"
grep -q "user 'root:root' may contain only" "$folder/said" || fail "no reason: $(cat "$folder/said")"
kill "$supervisor"
wait "$supervisor" || fail "the worker did not stop with 0"
echo "task_user: ok"

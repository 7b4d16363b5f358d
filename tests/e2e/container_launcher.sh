#!/usr/bin/env bash
# tests/e2e/container_launcher.sh VORTEX: `vortex worker --launcher container`. Each worker is process 1 of a
# container of its own: tasks see nothing of the machine's processes, and whatever they did to get away,
# nothing of them outlives a kill of the worker or of the supervisor. With --container-root tasks live in
# another file system than the worker.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
declare -A supervisors
# Processes of this test's tasks have this as an argument, whatever else they have thrown away.
mark="3$port.7"
echo "$mark" >"$folder/mark"
# supervise NAME [flags]: `as` goes before the command, `home` has its folders.
as=()
home="$folder"
supervise() {
  local name="$1"
  shift
  "${as[@]}" "$vortex" worker --server "$url" --name "$name" --slots 2 --tuning=testing \
    --worker.shutdown-timeout-secs=2 --state-dir "$home/state" --work-dir "$home/work" \
    --launcher container "$@" 2>>"$folder/$name.log" &
  supervisors[$name]=$!
}
end_all() {
  touch "$folder/go"
  local pid
  # What should be gone but is stopped would hold whoever waits for our output.
  grep -qsz -- "$folder" "/proc/${killed:-none}/cmdline" && kill -9 "$killed"
  for pid in "${supervisors[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${supervisors[@]}"; do wait "$pid" 2>/dev/null || true; done
  finish
}
trap end_all EXIT
export VORTEX_SERVER="$url"
state_is() { [[ "$("$vortex" workers show "$1" -o json | jq -r .state)" == "$2" ]]; }
# first NAME: process 1 of its only container, as seen from here.
first() { tr -d ' ' <"/proc/${supervisors[$1]}/task/${supervisors[$1]}/children"; }
marked() { { grep -lzxf "$folder/mark" /proc/[0-9]*/cmdline 2>/dev/null || true; } | wc -l; }
marked_are() { [[ "$(marked)" == "$1" ]]; }
# Forks twice, leaves its session, forgets its environment.
hide="env -i PATH=$PATH setsid sh -c 'sleep $mark & exit 0'"

# Mistakes are told before anything starts.
refused() {
  local want="$1" code=0
  shift
  "$vortex" worker --server "$url" "$@" 2>"$folder/refused" || code=$?
  [[ "$code" == 7 ]] || fail "worker $* ended with $code"
  grep -q -- "$want" "$folder/refused" || fail "worker $*: $(cat "$folder/refused")"
}
refused 'not one of subprocess, container' --launcher chroot
refused 'the launcher does not use containers' --container-root /
refused "$folder/nowhere is not a directory" --launcher container --container-root "$folder/nowhere"
refused "$folder/log is not a directory" --launcher container --container-root "$folder/log"

# doctor_finds MARK TEXT [flags]: what it says of containers, to whoever `as` is.
doctor_finds() {
  local mark="$1" text="$2" found
  shift 2
  found="$({ "${as[@]}" "$vortex" doctor -o jsonl "$@" || true; } |
    jq -r 'select(.name == "containers") | .mark + ": " + .found')"
  [[ "$found" == "$mark: "*"$text"* ]] || fail "doctor finds: $found"
}
doctor_finds ok 'available (--launcher container)'

# Process 1 is the worker, the host has its name, and nothing of the machine is seen.
supervise "a$port"
eventually state_is "a$port-1" IDLE
grep -q "a$port-1: started as process [0-9]* in a container" "$folder/a$port.log" || fail "no word of it"
here="$(uname -n)"
"$vortex" exec -q -- sh -euc '
  tr "\0" " " </proc/1/cmdline | grep -q -- " --process '"a$port-1"' "
  test "$(readlink /proc/self/ns/pid)" != "'"$(readlink /proc/self/ns/pid)"'"
  test "$(readlink /proc/self/ns/mnt)" != "'"$(readlink /proc/self/ns/mnt)"'"
  test "$(uname -n)" = "'"a$port-1"'"
  test "$VORTEX_CONTAINER $VORTEX_WORKER_PID" = "1 1"
  seen="$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\0" " ")"
  case "$seen" in *"vortex contr""oller"*) exit 1 ;; esac # written so that it does not find itself
  test "$(ls -d /proc/[0-9]* | wc -l)" -lt 12' || fail "the container is not one"
[[ "$(api "/api/workers/a$port-1" | jq -r .machine)" == "$here" ]] || fail "the machine has another name"
[[ "$(uname -n)" == "$here" ]] || fail "this host has another name now"
ls /proc/$$ >/dev/null || fail "/proc of this host is gone"

# An orphan that hid goes with its task.
"$vortex" exec -q -- sh -c "$hide" || fail "a task with an orphan failed"
marked_are 0 || fail "an orphan outlived its task"
no_zombies() {
  local status parent
  parent="$(first "a$port")"
  for status in /proc/[0-9]*/status; do
    awk -v parent="$parent" '/^State:/ {dead = $2 == "Z"} /^PPid:/ {ours = $2 == parent}
      END {exit dead && ours ? 1 : 0}' "$status" 2>/dev/null || return 1
  done
}
eventually no_zombies

# kill -9 of the worker: all of its container is gone before its task starts in another one.
cat >"$folder/hiding.yaml" <<YAML
vortex: 1
name: hiding
tasks:
  work:
    shell: [bash, -euc]
    run: |
      $hide
      echo "\$VORTEX_WORKER \$(readlink /proc/self/ns/pid)" >> $folder/starts
      while [ ! -e $folder/go ]; do sleep 0.05; done
YAML
run="$("$vortex" run "$folder/hiding.yaml" --detach -q)"
eventually test -s "$folder/starts"
eventually marked_are 1
supervise "b$port"
eventually state_is "b$port-1" IDLE
killed="$(first "a$port")"
kill -9 "$killed"
twice() { [[ "$(starts)" == 2 ]]; }
eventually twice
eventually marked_are 1
[[ ! -e "/proc/$killed" ]] || fail "process 1 is still there"
[[ "$(cut -d ' ' -f 2 "$folder/starts" | sort -u | wc -l)" == 2 ]] || fail "it ran in the same container"
grep -q "a$port-1: was killed by signal 9; all of its tasks are gone" "$folder/a$port.log" ||
  fail "the end of the worker was not seen"

# SIGTERM drains: what runs is finished, then everybody leaves.
holder="$(tail -1 "$folder/starts" | cut -d ' ' -f 1)"
holder="${holder%-1}"
kill -TERM "${supervisors[$holder]}"
touch "$folder/go"
eventually "$vortex" runs wait "$run" --timeout 20s
code=0
wait "${supervisors[$holder]}" || code=$?
unset "supervisors[$holder]"
[[ "$code" == 0 ]] || fail "the supervisor ended with $code"
state_is "$holder-1" INACTIVE || fail "it did not take leave"
[[ "$(starts)" == 2 ]] || fail "the drain cost an attempt"
marked_are 0 || fail "something outlived the drain"

# kill -9 of the supervisor: its container ends by itself, in good order or not.
rm -f "$folder/go" "$folder/starts"
other="${!supervisors[*]}"
eventually state_is "$other-1" IDLE
run="$("$vortex" run "$folder/hiding.yaml" --detach -q)"
eventually marked_are 1
killed="$(first "$other")"
kill -9 "${supervisors[$other]}"
wait "${supervisors[$other]}" 2>/dev/null || true
unset "supervisors[$other]"
eventually marked_are 0
gone() { [[ ! -e "/proc/$killed" ]]; }
eventually gone

# kill -9 of the supervisor of a worker that hangs: the next supervisor ends the container, by process 1.
supervise "c$port"
eventually marked_are 1
killed="$(first "c$port")"
kill -9 "${supervisors[c$port]}"
wait "${supervisors[c$port]}" 2>/dev/null || true
kill -STOP "$killed" # not before: the kernel wakes what was stopped when its parent dies
supervise "c$port"
eventually gone
eventually marked_are 1
touch "$folder/go"
eventually "$vortex" runs wait "$run" --timeout 20s
kill -TERM "${supervisors[c$port]}"
wait "${supervisors[c$port]}" || true
unset "supervisors[c$port]"

# A root of its own: sh and a few programs with their libraries.
root="$folder/image"
mkdir -p "$root/bin" "$root/home" "$root/etc"
for program in sh cat ls sleep readlink; do
  path="$(type -P "$program")"
  cp "$path" "$root/bin/$program"
  ldd "$path" | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done
done
echo "of the image" >"$root/etc/image"
before="$(wc -l </proc/self/mountinfo)"
supervise "r$port" --container-root "$root"
eventually state_is "r$port-1" IDLE
cat >"$folder/rooted.yaml" <<YAML
vortex: 1
name: rooted
tasks:
  inside:
    shell: [sh, -euc]
    workdir: /home
    outputs: [seen, where]
    run: |
      test ! -e "$folder/log"
      test -e /proc/self/root -a -c /dev/null -a -d /sys/kernel
      read -r seen </etc/image
      echo "{\"seen\": \"\$seen\", \"where\": \"\$(readlink /proc/self/cwd)\"}" >"\$VORTEX_OUTPUTS"
      echo note >"\$VORTEX_TMPDIR/note"
      cat /etc/image "\$VORTEX_TMPDIR/note"
YAML
run="$("$vortex" run "$folder/rooted.yaml" --detach -q)"
"$vortex" runs wait "$run" --timeout 20s >/dev/null || fail "$("$vortex" logs "$run/inside" 2>&1; "$vortex" tasks explain "$run/inside" 2>&1)"
[[ "$("$vortex" logs "$run/inside")" == *"of the image"*"note"* ]] || fail "$("$vortex" logs "$run/inside")"
outputs="$("$vortex" tasks show "$run/inside" -o json | jq -c .outputs)"
[[ "$outputs" == '{"seen":"of the image","where":"/home"}' ]] || fail "outputs are $outputs"
not_there() {
  "$vortex" exec -q "${@:2}" >"$folder/answer" 2>&1 && fail "it ran: ${*:2}"
  grep -q -- "$1" "$folder/answer" || fail "${*:2}: $(cat "$folder/answer")"
}
not_there "program 'awk' not found in PATH" -- awk 1
not_there "no such working directory: '/var'" --workdir /var -- cat /etc/image
[[ "$(wc -l </proc/self/mountinfo)" == "$before" ]] || fail "mounts of the container show outside"
kill -9 "$(first "r$port")"
eventually grep -q "r$port-1: was killed" "$folder/r$port.log"
eventually state_is "r$port-1" IDLE
"$vortex" exec -q -- cat /etc/image >/dev/null || fail "no work after the respawn"
kill -TERM "${supervisors[r$port]}"
wait "${supervisors[r$port]}" || true
unset "supervisors[r$port]"

# Another user than root has containers by a user namespace, and tasks have no rights from it.
nobody=65534
mkdir "$folder/theirs"
cp "$vortex" "$folder/theirs/vortex"
cp -a "$root" "$folder/theirs/image"
chown -R "$nobody:$nobody" "$folder/theirs"
chmod 711 "$folder"
other_user=(setpriv --reuid "$nobody" --regid "$nobody" --clear-groups)
with_other_user() {
  as=("${other_user[@]}")
  vortex="$folder/theirs/vortex" home="$folder/theirs" supervise "u$port" \
    --container-root "$folder/theirs/image"
  eventually state_is "u$port-1" IDLE
  "$vortex" exec -q -- sh -euc '
    while read -r name value; do
      case "$name" in
        Uid:) test "${value%%[!0-9]*}" = '"$nobody"' ;;
        CapPrm: | CapEff: | CapAmb:) test "$value" = 0000000000000000 ;;
      esac
    done </proc/self/status
    cat /etc/image' >"$folder/answer" 2>&1 || fail "a task of another user: $(cat "$folder/answer")"
  kill -TERM "${supervisors[u$port]}"
  wait "${supervisors[u$port]}" || true
  unset "supervisors[u$port]"
}
# Where no container may be made (in a chroot: for any user but root) the supervisor says what to do.
if "${other_user[@]}" unshare --user true 2>/dev/null; then
  with_other_user
  as=(unshare --user --map-root-user sh -euc
    'echo 0 >/proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-sys_admin "$@"' sh)
else
  as=("${other_user[@]}")
  home="$folder/theirs"
fi
vortex="$folder/theirs/vortex" supervise "n$port" --worker.spawn-retry-attempts=1
code=0
wait "${supervisors[n$port]}" || code=$?
unset "supervisors[n$port]"
[[ "$code" == 1 ]] || fail "a supervisor that may make no container ended with $code"
grep -q 'cannot create a container for a worker: .*allow user namespaces' "$folder/n$port.log" || fail "no advice"
vortex="$folder/theirs/vortex"
doctor_finds ok 'only --launcher container needs it'
doctor_finds fail 'worker.launcher is container: cannot create a container for a worker' --worker.launcher=container
echo "container_launcher: ok"

#!/usr/bin/env bash
# tests/e2e/worker_folders.sh VORTEX: the folders of workers. A task that removes or replaces them costs the
# next one nothing; two supervisors of one name cannot reach each other's processes, and the second is
# refused where the first lives; a folder that somebody else may have prepared is refused with the fix.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
export VORTEX_SERVER="$url"
name="f$port"
supervisors=()
supervise() { # state folder, flags
  "$vortex" worker --server "$url" --name "$name" --slots 1 --tuning=testing --state-dir "$folder/$1" \
    "${@:2}" 2>>"$folder/$1.log" &
  supervisors+=("$!")
}
end_all() {
  local pid
  touch "$folder/go"
  for pid in "${supervisors[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${supervisors[@]}"; do wait "$pid" 2>/dev/null || true; done
  finish
}
trap end_all EXIT
is() { [[ "$("$vortex" workers show "$name-1" -o json | jq -r .state)" == "$1" ]]; }

supervise state --work-dir "$folder/work"
eventually is IDLE

# A task does its worst, then others use the slot.
cat >"$folder/after.yaml" <<'YAML'
vortex: 1
name: after
tasks:
  one:
    retry: {max: 0}
    shell: [bash, -euc]
    run: |
      touch "$VORTEX_TMPDIR/x"
      echo '{"a": 1}' > "$VORTEX_OUTPUTS"
    outputs: [a]
YAML
mkdir "$folder/precious"
touch "$folder/precious/file"
for worst in 'rm -rf "$D"' 'rm -rf "$D"; echo x > "$D"' "rm -rf \"\$D\"; ln -s '$folder/precious' \"\$D\"" \
  'mv "$D" "$D.mine"; mkdir "$D"' 'rm -rf "$(dirname "$D")"' 'mkfifo "$VORTEX_OUTPUTS" "$VORTEX_CHECKPOINT" "$VORTEX_PROGRESS"'; do
  timeout 30 "$vortex" exec -q -- bash -c "D=\$(dirname \"\$VORTEX_OUTPUTS\"); $worst" >/dev/null 2>&1 || true
  timeout 30 "$vortex" run "$folder/after.yaml" -q >"$folder/said" 2>&1 || fail "after '$worst': $(cat "$folder/said")"
done
[[ -e "$folder/precious/file" ]] || fail "a link was followed"
[[ "$(stat -c %a "$folder/work")" == 700 ]] || fail "others can look into the work folder"
echo "6 ways to break a slot, 6 tasks completed after them"

# The same name: refused with the same state folder, and harmless with another.
code=0
timeout 20 "$vortex" worker --server "$url" --name "$name" --state-dir "$folder/state" --work-dir "$folder/work" \
  2>"$folder/said" || code=$?
[[ "$code" == 1 ]] && grep -q "a supervisor named '$name' is already running here" "$folder/said" ||
  fail "exit $code: $(cat "$folder/said")"
submit_waiting
first="$(cut -d' ' -f1 "$folder/starts")"
# It never reaches a controller, so that only the processes of this host are its business.
"$vortex" worker --server http://127.0.0.1:1 --name "$name" --slots 1 --tuning=testing --state-dir "$folder/other" \
  --work-dir "$folder/work" 2>>"$folder/other.log" &
other=$!
started() { grep -q 'started as process' "$folder/other.log"; }
eventually started
kill -9 "$(pgrep -P "$other" | head -1)" "$other"
wait "$other" 2>/dev/null || true
"$vortex" worker --server http://127.0.0.1:1 --name "$name" --slots 1 --tuning=testing --state-dir "$folder/other" \
  --work-dir "$folder/work" 2>>"$folder/other.log" &
other=$!
again() { [[ "$(grep -c 'started as process' "$folder/other.log")" -ge 2 ]]; }
eventually again
kill -TERM "$other"
wait "$other" 2>/dev/null || true
kill -0 "$first" 2>/dev/null || fail "a supervisor of the same name has killed the other's task"
[[ -d "/proc/$first" && "$(find "$folder/work" -mindepth 1 -maxdepth 1 | wc -l)" == 1 ]] ||
  fail "the work folder has: $(ls "$folder/work")"
echo "two supervisors of one name: apart"

# Folders that others may have prepared.
refused() { # words, flags: what a worker says with them
  code=0
  timeout 20 "$vortex" worker --server "$url" --name r "${@:2}" 2>"$folder/said" || code=$?
  [[ "$code" == 1 ]] && grep -q "$1" "$folder/said" || fail "${*:2}: exit $code: $(cat "$folder/said")"
}
mkdir -m 777 "$folder/open"
refused "chmod 700 $folder/open" --state-dir "$folder/open" --work-dir "$folder/work"
refused "chmod 700 $folder/open" --state-dir "$folder/fine" --work-dir "$folder/open"
ln -s "$folder/work" "$folder/link"
refused "is a symbolic link" --state-dir "$folder/fine" --work-dir "$folder/link"
if [[ "$(id -u)" == 0 ]]; then
  mkdir "$folder/theirs"
  chown 12345 "$folder/theirs"
  refused "belongs to user 12345" --state-dir "$folder/theirs" --work-dir "$folder/work"
  refused "belongs to user 12345" --state-dir "$folder/fine" --work-dir "$folder/theirs"
fi
echo "worker_folders: ok"

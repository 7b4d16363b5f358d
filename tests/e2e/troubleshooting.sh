#!/usr/bin/env bash
# tests/e2e/troubleshooting.sh VORTEX: every command of docs/troubleshooting.md, as it is printed,
# against a real controller with a run that failed on a worker that was lost once.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
root="$(cd "$(dirname "$0")/../.." && pwd)"
begin "$1"
export VORTEX_SERVER="$url"
mkdir "$folder/bin"
ln -s "$(realpath "$vortex")" "$folder/bin/vortex"
export PATH="$folder/bin:$PATH"
cd "$folder"

# r1 with a task that failed (load) and one behind it (report); w1 was lost and is there again.
"$vortex" worker --name w --slots 1 --state-dir "$folder/state" --work-dir "$folder/work" \
  --tuning=testing 2>"$folder/worker.log" &
supervisor=$!
trap 'kill "$supervisor" 2>/dev/null || true; wait "$supervisor" 2>/dev/null || true; finish' EXIT
cat >dag.yaml <<'YAML'
vortex: 1
name: nightly
tasks:
  load: {run: [sh, -c, "echo loading; exit 3"], retry: {max: 0}}
  report: {needs: [load], run: ["true"]}
YAML
api /api/workers -d '{"id":"w1"}' >w1.json
incarnation="$(jq .incarnation w1.json)"
api /api/workers/w1/sync -H "Vortex-Session: $(jq -r .session w1.json)" -d "{\"incarnation\":$incarnation,\"seq\":1,\"slots\":1,\"queues\":[\"other\"]}" >/dev/null
vortex run dag.yaml >/dev/null 2>&1 || true
[[ "$(api /api/runs/r1 | jq -r .state)" == Failed ]] || fail "the run did not fail as it should"

count=0
while IFS= read -r line; do
  count=$((count + 1))
  got=0
  bash -o pipefail -c "$line" >out 2>err </dev/null || got=$?
  # A grep that finds nothing has run as well.
  [[ $got == 0 || ($got == 1 && $line == grep*) ]] || fail "exit $got: $line
$(cat out err)"
done < <(sed -n 's/^ \{4,\}\(\(vortex\|grep\|sqlite3\|curl\|df\|ls\) .*\)$/\1/p' "$root/docs/troubleshooting.md")
[[ $count -gt 50 ]] || fail "only $count commands were found in the page"

# What the page calls by name is there under that name.
for key in $(grep -o '`\(controller\|worker\|database\|monitoring\)\.[a-z_]*`' "$root/docs/troubleshooting.md" | tr -d '`' | sort -u); do
  vortex config show | grep -q "$key" || fail "there is no setting $key"
done
for kind in $(grep -o '"event":"[a-z_]*"' "$root/docs/troubleshooting.md" | cut -d'"' -f4 | sort -u); do
  vortex events --kind "$kind" >/dev/null 2>&1 || fail "there is no event $kind"
done
echo "troubleshooting: ok ($count commands)"

#!/usr/bin/env bash
# V16: secrets reach the tasks that may have them and nobody else. A DAG prints its secrets in every form;
# then every file of controller and worker, every answer and the memory of controller, supervisor, worker and
# runners are searched for the values.
set -euo pipefail
cd "$(dirname "$0")"
source ./lib.sh
command -v python3 >/dev/null || { echo "SKIPPED: python3 is not installed"; exit 0; }

program="$1"
keys="$(mktemp -d)"
cleanup() {
  [[ -n "${worker:-}" ]] && kill "$worker" 2>/dev/null && wait "$worker" 2>/dev/null
  finish
  rm -rf "$keys"
}

"$program" secrets init --file "$keys/old.key" -q >/dev/null
[[ "$(stat -c %a "$keys/old.key")" == 600 ]] || { echo "FAILED: mode of the key file"; exit 1; }
"$program" secrets init --file "$keys/old.key" 2>/dev/null && { echo "FAILED: key overwritten"; exit 1; }

begin "$program" --secrets.master-key-file="$keys/old.key"
trap cleanup EXIT
vx() { "$vortex" --server "$url" "$@"; }
# says WORDS COMMAND...: whatever comes of the command, it says these words.
says() {
  "${@:2}" >"$folder/said" 2>&1 || true
  grep -q -- "$1" "$folder/said" || fail "no '$1' from ${*:2}: $(cat "$folder/said")"
}

# A value that is different in every form, and a key of several lines.
password='S3cr3t+p4ss/w0rd&quote"x~42'
printf '%s\n' "$password" >"$keys/password"
printf -- '-----BEGIN KEY-----\nMIIBVgIBADANBgkqh\nkiG9w0BAQEFAASCAT\n-----END KEY-----\n' >"$keys/tls"

vx secrets set db/password <"$keys/password"
vx secrets set tls/key --file "$keys/tls" --dag leaky
says 'db/password' vx secrets list
says 'DAG leaky' vx secrets show tls/key
says 'not masked' vx secrets set short --dag leaky <<<"abc"
# Wrong input says what to do.
says 'lower-case' vx secrets set Upper <"$keys/password"
says "did you mean 'db/password'" vx secrets show db/pasword
says 'is empty' vx secrets set empty </dev/null

"$vortex" worker --server "$url" --name "s$port" --slots 2 --tuning=testing --state-dir "$folder/state" \
  --work-dir "$folder/work" 2>"$folder/worker.log" &
worker=$!

cat >"$folder/leaky.yaml" <<'YAML'
vortex: 1
name: leaky
tasks:
  print:
    shell: [bash, -euc]
    secrets:
      PASSWORD: db/password
      files: {tls.key: tls/key, pw: db/password}
    run: |
      echo "plain: $PASSWORD"; cat "$VORTEX_SECRETS/pw"; echo; cat "$VORTEX_SECRETS/tls.key"
      for before in "" a ab; do printf '%s%s' "$before" "$PASSWORD" | base64 -w0; echo; done
      printf '%s' "$PASSWORD" | base64 -w0 | tr '+/' '-_'; echo
      python3 -c 'import os,urllib.parse as u,json; p=os.environ["PASSWORD"]; print(u.quote(p,safe=""), u.quote_plus(p), json.dumps(p))'
      for ((i = 0; i < ${#PASSWORD}; ++i)); do printf '%s' "${PASSWORD:i:1}"; done; echo
      echo "50 using $PASSWORD" > "$VORTEX_PROGRESS"
      echo "$PASSWORD" > "$VORTEX_CHECKPOINT"
      echo "error with $PASSWORD" >&2
      sha256sum "$VORTEX_SECRETS/tls.key" | cut -d' ' -f1
  outputs:
    shell: [bash, -euc]
    secrets: {PASSWORD: db/password}
    retries: 0
    run: |
      python3 -c 'import os,json; json.dump({"x": os.environ["PASSWORD"]}, open(os.environ["VORTEX_OUTPUTS"], "w"))'
YAML
vx validate "$folder/leaky.yaml" >/dev/null || fail "validate"
timeout 60 "$vortex" --server "$url" run "$folder/leaky.yaml" >"$folder/run.out" 2>&1 && fail "outputs with a secret were accepted"
run="$(vx runs list -o name | head -1)"
vx logs "$run/print" >"$folder/print.out"
grep -q 'plain: \*\*\*' "$folder/print.out" || fail "the output is not masked: $(cat "$folder/print.out")"
grep -q "$(sha256sum "$keys/tls" | cut -d' ' -f1)" "$folder/print.out" || fail "the file is not what was set"
says 'outputs contain the value of a secret' vx tasks list "$run" -o json
says '"secret":"db/password"' vx events --kind secret_used -o jsonl

# Out of scope and missing: the attempt says why.
sed -e 's/^name: leaky/name: other/' "$folder/leaky.yaml" >"$folder/other.yaml"
timeout 60 "$vortex" --server "$url" run "$folder/other.yaml" >/dev/null 2>&1 && fail "a secret out of scope was used"
says "only for DAG 'leaky'" vx tasks list @last -o json

[[ -z "$(find /dev/shm/vortex-"$(id -u)" -type f 2>/dev/null)" ]] || fail "files are left in memory"

# search FLAGS...: nothing of the values is there. What may not be looked at is no pass.
# Under a sanitizer memory says nothing: it keeps copies of its own, and nothing is optimised.
search() {
  local code=0
  if [[ -n "${VX_SANITIZED:-}" ]]; then
    [[ " $*" == *" --folder "* ]] || return 0
    while [[ $# -gt 0 && "$1" != --folder ]]; do shift 2; done
  fi
  ./search_secrets.py "$keys/password" "$keys/tls" "$@" >"$keys/searched" 2>&1 || code=$?
  cat "$keys/searched"
  [[ $code == 0 ]] || fail "a secret was found, or could not be searched for"
}
# Symbols that are bound late leave the registers, and what was copied last, on the stack.
readelf -d "$vortex" | grep -q BIND_NOW || fail "the program binds its symbols late"
# The one that was given the values, and supervisor, worker and runners after the tasks that used them.
search --process "controller=$controller=db/password" --tree "worker=$worker=vortex"
# The search finds what is there: the task that has the value.
cat >"$folder/holds.yaml" <<'YAML'
vortex: 1
name: leaky
tasks:
  holds:
    secrets: {PASSWORD: db/password, files: {k: tls/key}}
    # So much that it does not fit into one message to the runner.
    env: {FILLER: "@FILLER@"}
    run: [sh, -c, "echo started; while [ ! -e @GO@ ]; do sleep 0.05; done"]
YAML
sed -i "s/@FILLER@/$(printf 'x%.0s' {1..40000})/; s#@GO@#$folder/go#" "$folder/holds.yaml"
held="$(vx run "$folder/holds.yaml" --detach -q)"
eventually bash -c "'$vortex' --server '$url' logs '$held/holds' | grep -q started"
if [[ -z "${VX_SANITIZED:-}" ]]; then
  ./search_secrets.py "$keys/password" "$keys/tls" --tree "worker=$worker=vortex" >"$keys/searched" 2>&1 &&
    fail "the search does not find the value in the task that has it"
  grep -q '^worker/sh .*S3cr3t' "$keys/searched" || fail "no task among: $(cut -c1-300 "$keys/searched")"
fi
touch "$folder/go"
vx runs wait "$held" >/dev/null 2>&1 || fail "the task with much to tell failed"
search --tree "worker=$worker=vortex"

# The master key is replaced while it runs, with a kill in the middle of it; both keys are needed then.
"$vortex" secrets init --file "$keys/new.key" -q >/dev/null
kill "$controller"; wait "$controller" || true
export VORTEX_FAULT_POINT=rewrapped@1
flags=(--secrets.master-key-file="$keys/new.key" --secrets.previous-master-key-file="$keys/old.key")
"$vortex" controller --database.path="$data/vortex.db" --controller.listen="127.0.0.1:$port" --tuning=testing \
  "${flags[@]}" 2>>"$folder/log" && fail "the fault did not come"
unset VORTEX_FAULT_POINT
flags=(--secrets.master-key-file="$keys/old.key")
"$vortex" controller --database.path="$data/vortex.db" --controller.listen="127.0.0.1:$port" --tuning=testing \
  "${flags[@]}" 2>"$folder/refused.log" && fail "a wrong key was accepted"
grep -q 'master key does not match' "$folder/refused.log" || fail "no reason: $(cat "$folder/refused.log")"
flags=(--secrets.master-key-file="$keys/new.key" --secrets.previous-master-key-file="$keys/old.key")
start
eventually bash -c "'$vortex' --server '$url' secrets versions db/password -o wide | grep -q '$("$vortex" --server "$url" secrets rotate-master -o name)'"
cat >"$folder/again.yaml" <<'YAML'
vortex: 1
name: leaky
tasks:
  again: {run: [bash, -euc, 'echo "$PASSWORD" | tee "$VORTEX_TMPDIR/x" | sha256sum'], secrets: {PASSWORD: db/password, files: {k: tls/key}}}
YAML
timeout 60 "$vortex" --server "$url" run "$folder/again.yaml" >/dev/null 2>&1 || fail "the secrets cannot be used with the new key"
says "$(sha256sum "$keys/password" | cut -d' ' -f1)" vx logs "@last/again"
says 'sealed with master key' vx doctor

# Everything that can be asked for, and everything on disk, and the memory of the controller.
vx db backup "$folder/backup.db" --database.path="$data/vortex.db" >/dev/null 2>&1 || true
for path in /metrics /api/events?limit=10000 /api/runs /api/tasks /api/secrets /api/settings /api/dags \
  /api/master-key /api/workers /api/status /api/runs/"$run"/dag /api/tasks/"$run"-L0-0 \
  /api/tasks/"$run"-L0-0/attempts /api/tasks/"$run"-L0-0/logs /api/secrets/db%2Fpassword/versions; do
  api "$path" >>"$folder/answers" || true
done
search --process "controller=$controller=db/password" --tree "worker=$worker=vortex" --folder "$folder"
echo "ok"

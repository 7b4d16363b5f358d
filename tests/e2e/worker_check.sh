#!/usr/bin/env bash
# tests/e2e/worker_check.sh VORTEX: the conformance kit passes the worker in bash and the built-in one,
# and names the rule that a broken worker breaks.
set -euo pipefail
vortex=$1
root="$(cd "$(dirname "$0")/../.." && pwd)"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

"$vortex" worker-check -- "$root/examples/worker.sh" '{url}' w1 >"$folder/bash" 2>&1 ||
  fail "examples/worker.sh: $(cat "$folder/bash")"
"$vortex" worker-check -- "$vortex" worker --server '{url}' --name w2 --slots 1 --tuning=testing \
  --work-dir "$folder/work" --state-dir "$folder/state" >"$folder/builtin" 2>&1 ||
  fail "vortex worker: $(cat "$folder/builtin")"

# The small worker of the docs keeps the rules it claims to keep.
sed -n '/^```bash$/,/^```$/p' "$root/docs/api.md" | grep -v '^```' >"$folder/small.sh"
claims=(session argv script exit-code failing-script start-once stop stale repeat-reports unavailable reset unknown-fields self-fence)
"$vortex" worker-check "${claims[@]/#/--rule=}" -- bash "$folder/small.sh" '{url}' w4 >"$folder/small" 2>&1 ||
  fail "the worker in docs/api.md: $(cat "$folder/small")"

# breaks RULE SED-EXPRESSION: worker.sh with one line changed fails that rule.
breaks() {
  local rule=$1 result
  sed "$2" "$root/examples/worker.sh" >"$folder/broken.sh"
  cmp -s "$folder/broken.sh" "$root/examples/worker.sh" && fail "nothing was broken for $rule"
  chmod +x "$folder/broken.sh"
  if "$vortex" worker-check -o json --rule "$rule" -- "$folder/broken.sh" '{url}' w3 >"$folder/json" 2>"$folder/err"; then
    fail "a worker that breaks '$rule' passed"
  fi
  result=$(jq -r --arg id "$rule" '.rules[] | select(.id == $id) | "\(.result) \(.paragraph)"' "$folder/json")
  [[ $result == fail\ * ]] || fail "$rule: $(cat "$folder/json" "$folder/err")"
  grep -qE "^##+ ${result#fail }$" "$root/docs/api.md" || fail "docs/api.md has no paragraph '${result#fail }'"
}
breaks argv 's|^    "${argv\[@\]}" </dev/null|    sh -c "${argv[*]}" </dev/null|'
breaks failing-script 's|^  elif (($1 > 0)); then|  elif false; then|'
breaks env 's|"${vars\[@\]}" VORTEX_URL|VORTEX_URL|'
breaks missing-outputs 's|&& \[\[ $lacking \]\]; then|\&\& false; then|'
breaks start-once 's|^    ((epoch > ${newest\[$name\]:-0})) .*||'
breaks timeout 's|&& how=timed_out|\&\& :|'
breaks stale 's|&& how=stale|\&\& :|'
breaks repeat-reports 's|^    (($(jq .seq_seen <<<"$reply") >= seq)) &&|   |'
breaks session 's|-H "Vortex-Session: $session"||'
breaks self-fence 's|&& how=self_fenced|\&\& :|'

"$vortex" worker-check -- false >"$folder/nobody" 2>&1 && fail "a worker that is not there passed"
"$vortex" worker-check >"$folder/usage" 2>&1 && fail "no command was accepted"
[[ $("$vortex" worker-check 2>&1 || true) == *"--listen"* ]] || fail "no help: $(cat "$folder/usage")"
echo "worker check: ok"

#!/usr/bin/env bash
# tests/e2e/webhooks.sh VORTEX: the ends of runs are told to a receiver behind TLS, signed as Standard
# Webhooks asks for. What ends while the receiver refuses and the controller is killed is told all the
# same. Command line and workers reach a controller behind TLS, and nobody trusts a certificate that
# the system does not.
# Proves: A09
set -euo pipefail
source "$(dirname "$0")/lib.sh"

tls="$(mktemp -d)"
certificate() { # name, host
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$2" \
    -addext "subjectAltName=DNS:$2" -keyout "$tls/$1.key" -out "$tls/$1.pem" 2>/dev/null
}
certificate ours localhost
certificate other localhost
certificate elsewhere elsewhere.example.org
cat "$tls/ours.pem" "$tls/elsewhere.pem" >"$tls/trusted.pem"
export SSL_CERT_FILE="$tls/trusted.pem"

started=()
end_all() {
  local pid
  for pid in "${started[@]}"; do kill -- "-$pid" 2>/dev/null || true; done
  wait "${started[@]}" 2>/dev/null || true
  rm -rf "$tls"
  finish
}
begin "$(realpath "$1")" --controller.webhook-networks=127.0.0.1,::1
trap end_all EXIT
export VORTEX_SERVER="$url" IN="$folder/in" DEAF="$folder/deaf"
mkdir "$IN"

# One request in, one answer out: every message becomes a file named by its id.
cat >"$folder/receive" <<'SH'
#!/usr/bin/env bash
read -r _
declare -A head
while IFS=': ' read -r name value && [[ "$name" != $'\r' ]]; do head[${name,,}]="${value%$'\r'}"; done
body="$(head -c "${head[content-length]}")"
if [[ -e "$DEAF" ]]; then
  printf 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
  exit
fi
jq -n --arg signature "${head[webhook-signature]}" --arg time "${head[webhook-timestamp]}" \
  --arg body "$body" '$ARGS.named' >"$IN/.new.$$"
mv "$IN/.new.$$" "$IN/${head[webhook-id]}"
printf 'HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'
SH
chmod +x "$folder/receive"
controller_port="$port"
behind_tls() { # certificate, what socat connects to: sets $port
  free_port
  setsid socat "OPENSSL-LISTEN:$port,bind=127.0.0.1,reuseaddr,fork,verify=0,cert=$tls/$1.pem,key=$tls/$1.key" \
    "$2" 2>>"$folder/socat.log" &
  started+=("$!")
  eventually bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"
}
behind_tls ours "EXEC:$folder/receive"
receiver="https://localhost:$port/in?from=vortex"
behind_tls other "EXEC:$folder/receive"
stranger="https://localhost:$port/"
behind_tls elsewhere "EXEC:$folder/receive"
misnamed="https://localhost:$port/"
behind_tls ours "TCP:127.0.0.1:$controller_port"
secure="https://localhost:$port"

"$vortex" webhooks create ci "$receiver" >"$folder/secret" 2>/dev/null || fail "no webhook was made"
grep -q '^whsec_' "$folder/secret" || fail "no secret: $(cat "$folder/secret")"
"$vortex" webhooks test ci | grep -q '^The receiver accepted the test message: 204' || fail "the test message was not taken"

# A worker that reaches the controller through TLS, and tasks that do so by what they inherit.
setsid env -C "$tls" SSL_CERT_FILE=trusted.pem "$vortex" worker --server "$secure" --name "w$controller_port" --slots 2 --tuning=testing \
  --state-dir "$folder/state" --work-dir "$folder/work" 2>"$folder/worker.log" &
started+=("$!")
"$vortex" exec --server "$secure" -q -- true || fail "no command through TLS"
run="$("$vortex" runs list -o name)"
told() { # run: the message of its end, into $message
  message="$(grep -l "\\\\\"subject\\\\\":\\\\\"$1\\\\\"" "$IN"/ci-[0-9]* 2>/dev/null)" && [[ -s "$message" ]]
}
eventually told "$run"
body="$(jq -j .body "$message")"
[[ "$(jq -r '.type + " " + .data.run.state' <<<"$body")" == "vortex.run_complete Completed" ]] || fail "told: $body"
key="$(sed 's/^whsec_//' "$folder/secret" | base64 -d | od -An -tx1 | tr -d ' \n')"
expected="v1,$(printf '%s.%s.%s' "$(basename "$message")" "$(jq -r .time "$message")" "$body" |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)"
[[ "$(jq -r .signature "$message")" == "$expected" ]] || fail "the signature is not $expected: $(cat "$message")"

"$vortex" exec -q -- env -u VORTEX_SERVER bash -c 'echo "$VORTEX_URL"; "$0" fence check && echo held' "$vortex" \
  >"$folder/said" 2>&1 || fail "no fence check through TLS: $(cat "$folder/said")"
[[ "$(cat "$folder/said")" == "$secure"$'\n'held ]] || fail "tasks are given $(cat "$folder/said")"
# A token is never sent in clear: to nobody, so that this needs no answer.
echo secret >"$folder/token"
code=0
env -u VORTEX_SERVER VORTEX_TASK_ID=r1-L0-0 VORTEX_EPOCH=1 VORTEX_URL=http://192.0.2.1:9 \
  "$vortex" --token-file "$folder/token" --timeout 5s fence check 2>"$folder/said" || code=$?
[[ "$code" == 4 ]] && grep -q 'not sending the token to http://192.0.2.1:9 in clear text' "$folder/said" ||
  fail "a token in clear: exit $code: $(cat "$folder/said")"

# The receiver refuses, the controller is killed, the run ends: it is told in the end.
touch "$DEAF"
"$vortex" exec -q -- false 2>/dev/null && fail "false succeeded"
run="$("$vortex" runs list -o name | head -1)"
trouble() { [[ "$("$vortex" webhooks show ci -o json | jq -r .trouble)" == "it answered 503" ]]; }
eventually trouble
"$vortex" webhooks list | grep -q "ci  *failing" || fail "the list does not say that it fails"
kill -9 "$controller"
wait "$controller" 2>/dev/null || true
rm "$DEAF"
port="$controller_port"
start
eventually told "$run"
[[ "$(jq -r .body "$message" | jq -r .data.run.state)" == Failed ]] || fail "told: $(cat "$message")"
well() { [[ "$("$vortex" webhooks show ci -o json | jq -c '[.trouble, .delivered, .given_up, .missed]')" == '[null,3,0,0]' ]]; }
eventually well

# Certificates that are not trusted, or of somebody else.
for address in "$stranger" "$misnamed"; do
  "$vortex" webhooks create bad "$address" >/dev/null 2>&1 || fail "no webhook was made"
  code=0
  "$vortex" webhooks test bad >/dev/null 2>"$folder/said" || code=$?
  [[ "$code" == 1 ]] && grep -q 'its certificate is not trusted' "$folder/said" || fail "it said $(cat "$folder/said")"
  "$vortex" webhooks delete bad --yes >/dev/null 2>&1 || fail "it is not deleted"
done
code=0
"$vortex" status --server "$stranger" >/dev/null 2>"$folder/said" || code=$?
[[ "$code" == 5 ]] || fail "a controller with an untrusted certificate was talked to: $(cat "$folder/said")"

code=0
"$vortex" webhooks create typo "$receiver" --kind run_compelte 2>"$folder/said" || code=$?
[[ "$code" == 2 ]] && grep -q "did you mean 'run_complete'" "$folder/said" ||
  fail "exit code $code: $(cat "$folder/said")"
[[ "$("$vortex" webhooks list -o name)" == ci ]] || fail "the list is $("$vortex" webhooks list)"
echo "webhooks: ok"

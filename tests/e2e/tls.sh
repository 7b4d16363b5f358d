#!/usr/bin/env bash
# tests/e2e/tls.sh VORTEX: a cluster with certificates of `vortex tls init`. A user logs in by the CA's
# fingerprint, workers with tokens run a DAG over TLS, tasks check their fence over it, a renewed
# certificate is used without a restart, strangers and their certificates are refused.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

vortex="$(realpath "$1")"
folder="$(mktemp -d)"
data="$folder"
unset XDG_CONFIG_HOME XDG_RUNTIME_DIR SSL_CERT_FILE SSL_CERT_DIR
export HOME="$folder/home"
mkdir "$HOME"
free_port
url="https://127.0.0.1:$port"
tls="$folder/tls"
controller=
worker=
end_all() {
  [[ -n "$worker" ]] && kill "$worker" 2>/dev/null && wait "$worker" 2>/dev/null
  [[ -n "$controller" ]] && kill "$controller" 2>/dev/null && wait "$controller" 2>/dev/null
  rm -rf "$folder"
}
trap end_all EXIT
refused() { # code, pattern, command...: it ends so and says so
  local code=0 wanted="$1" pattern="$2"
  shift 2
  "$@" >"$folder/said" 2>&1 </dev/null || code=$?
  [[ "$code" == "$wanted" ]] && grep -qE "$pattern" "$folder/said" ||
    fail "exit $code instead of $wanted: $*: $(cat "$folder/said")"
}

# One command makes it all, and never writes over anything.
"$vortex" tls init "$tls" --host controller.example.org --host 10.0.0.5 --worker gpu >"$folder/init" 2>&1
fingerprint="$(sed -n 's/^CA fingerprint: //p' "$folder/init")"
[[ "$(openssl x509 -in "$tls/ca.pem" -noout -fingerprint -sha256)" == *"=${fingerprint#SHA256:}" ]] ||
  fail "the fingerprint is not that of OpenSSL: $fingerprint"
[[ "$(stat -c %a "$tls" "$tls/ca.key" "$tls/server.key" "$tls/worker-gpu.key" | xargs)" == "700 600 600 600" ]] ||
  fail "modes: $(stat -c '%a %n' "$tls" "$tls"/*)"
openssl verify -CAfile "$tls/ca.pem" -x509_strict "$tls/server.pem" "$tls/worker-gpu.pem" >/dev/null ||
  fail "OpenSSL does not accept the certificates"
refused 6 'already exists; nothing was written' "$vortex" tls init "$tls"
"$vortex" tls show "$tls/server.pem" >"$folder/said"
grep -q 'localhost, 127.0.0.1, controller.example.org, 10.0.0.5' "$folder/said" || fail "show: $(cat "$folder/said")"
refused 7 'holds no certificate' "$vortex" tls show "$tls/server.key"
refused 3 'cannot be read|does not exist' "$vortex" tls show "$tls/none.pem"

database=(--database.path="$data/vortex.db")
"$vortex" tokens create root --role admin --offline "${database[@]}" >"$folder/root" 2>/dev/null
"$vortex" tokens create workers --role worker --offline "${database[@]}" >"$folder/worker" 2>/dev/null
secure=(--controller.tls-cert-file="$tls/server.pem" --controller.tls-key-file="$tls/server.key")
serve() { # more flags
  "$vortex" controller "${database[@]}" --controller.listen="127.0.0.1:$port" --tuning=testing \
    --controller.require-tokens=true "${secure[@]}" "$@" 2>>"$folder/log" &
  controller=$!
  eventually "$vortex" status --server "$url" --ca-file "$tls/ca.pem" --token-file "$folder/root"
}

# Wrong files are refused at the start, by name.
begin_with() { "$vortex" controller "${database[@]}" --controller.listen="127.0.0.1:$port" "$@"; }
refused 1 'tls_key_file is not' begin_with --controller.tls-cert-file="$tls/server.pem"
refused 1 "worker-gpu.key is not the key of .*server.pem" begin_with \
  --controller.tls-cert-file="$tls/server.pem" --controller.tls-key-file="$tls/worker-gpu.key"
# The same without starting anything.
"$vortex" config check "${secure[@]}" >"$folder/said" 2>&1 || fail "config check: $(cat "$folder/said")"
refused 7 'tls_key_file is not' "$vortex" config check --controller.tls-cert-file="$tls/server.pem"
refused 7 "worker-gpu.key is not the key of .*server.pem" "$vortex" config check \
  --controller.tls-cert-file="$tls/server.pem" --controller.tls-key-file="$tls/worker-gpu.key"
refused 7 "$tls/none.pem" "$vortex" config check "${secure[@]}" --controller.tls-client-ca-file="$tls/none.pem"
chmod 644 "$tls/server.key"
refused 7 'chmod 600' "$vortex" config check "${secure[@]}"
refused 1 'chmod 600' begin_with "${secure[@]}"
chmod 600 "$tls/server.key"

serve
# A thousand handshakes that are begun and never ended, from one address: health is told all the same, to others
# and to that address.
python3 - "$port" "$tls/ca.pem" <<'PY' || fail "half-open handshakes are in the way"
import resource, socket, ssl, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
port, trust = int(sys.argv[1]), ssl.create_default_context(cafile=sys.argv[2])
held = []
for _ in range(1000):
    one = socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0))
    one.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01")
    held.append(one)
for address in ("127.0.0.1", "127.0.0.2"):
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=10, source_address=(address, 0)) as plain:
        with trust.wrap_socket(plain, server_hostname="127.0.0.1") as line:
            line.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            answer = line.recv(4096)
    print(f"/livez with 1,000 open handshakes, from {address}: {answer[:12].decode()}, "
          f"{(time.monotonic() - begin) * 1000:.0f} ms")
    assert answer.startswith(b"HTTP/1.1 200"), answer
PY
# Strangers.
[[ "$(curl -s "http://127.0.0.1:$port/livez")" == *'this port speaks https'* ]] || fail "plain HTTP is not told so"
curl -fsS --cacert "$tls/ca.pem" "https://localhost:$port/livez" >/dev/null || fail "curl cannot reach it"
refused 5 "unknown CA with the fingerprint $fingerprint" "$vortex" status --server "$url"
grep -q "vortex login $url" "$folder/said" || fail "no advice: $(cat "$folder/said")"
"$vortex" tls init "$folder/other" -q >/dev/null
refused 5 'its certificate is not trusted' "$vortex" status --server "$url" --ca-file "$folder/other/ca.pem"

# Log in: only with the right fingerprint, and only with a token that is good.
refused 4 "pass --fingerprint $fingerprint" "$vortex" login "$url" --token-file "$folder/root"
refused 4 'not the one you passed' "$vortex" login "$url" --fingerprint "SHA256:00${fingerprint:9}" --token-file "$folder/root"
echo vx_wrong >"$folder/wrong"
refused 4 'unknown token' "$vortex" login "$url" --fingerprint "$fingerprint" --token-file "$folder/wrong"
refused 4 'in clear text' "$vortex" login http://192.0.2.1:8080 --token-file "$folder/root"
[[ ! -e "$HOME/.config/vortex/login" ]] || fail "a login that failed was kept"
"$vortex" login "$url" --fingerprint "$fingerprint" <"$folder/root" >/dev/null || fail "no login"
[[ "$(stat -c %a "$HOME/.config/vortex/login" "$HOME"/.config/vortex/login/* | xargs)" == "700 600 600 600" ]] ||
  fail "modes: $(stat -c '%a %n' "$HOME"/.config/vortex/login/*)"
"$vortex" status >"$folder/said" || fail "no status after the login"
grep -q 'on, the certificate expires in' "$folder/said" || fail "status: $(cat "$folder/said")"
# What was kept for one controller is shown to no other.
refused 5 'no answer from http://127.0.0.1:1' "$vortex" status --server http://127.0.0.1:1 --timeout 1s
"$vortex" health -o json | jq -e '.tls and (.certificate_expires_at != null)' >/dev/null || fail "health does not tell"
"$vortex" doctor 2>&1 | grep -q 'tls: on, the certificate expires' || fail "doctor does not tell"
curl -fsS --cacert "$tls/ca.pem" -H "Authorization: Bearer $(cat "$folder/root")" "$url/metrics" |
  awk '/^vortex_tls_certificate_expiry_seconds / { found = $2 > 364 * 86400 } END { exit !found }' || fail "no metric"

# Workers, with everything they use: output, checkpoints, outputs, the fence.
work() { # more flags
  (cd "$tls" && exec env HOME="$folder" "$vortex" worker --server "$url" --token-file "$folder/worker" --ca-file ca.pem \
    --name "w$port" --slots 2 --tuning=testing --state-dir "$folder/state" --work-dir "$folder/work" "$@" \
    2>>"$folder/worker.log") &
  worker=$!
}
work
cat >"$folder/dag.yaml" <<YAML
vortex: 1
name: secured
tasks:
  first:
    shell: [bash, -euc]
    outputs: [url]
    retry: {max: 3, delay: 1s}
    run: |
      echo "says \$VORTEX_URL"
      if [ ! -s "\$VORTEX_CHECKPOINT" ]; then echo half >"\$VORTEX_CHECKPOINT"; exit 1; fi
      "$vortex" --token-file "$folder/worker" fence check
      printf '{"url": "%s"}' "\$VORTEX_URL" >"\$VORTEX_OUTPUTS"
  second:
    needs: [first]
    shell: [bash, -euc]
    env: {GIVEN: "\${{ tasks.first.outputs.url }}"}
    run: test "\$GIVEN" = "$url"
YAML
"$vortex" run "$folder/dag.yaml" -q >"$folder/said" 2>&1 || fail "the DAG failed: $(cat "$folder/said")"
run="$("$vortex" runs list -o name | head -1)"
"$vortex" logs "$run/first" | grep -q "says $url" || fail "no log: $("$vortex" logs "$run/first")"

# A renewed certificate: new connections see it, nothing is interrupted. A broken one is not used.
served() { openssl s_client -connect "127.0.0.1:$port" </dev/null 2>/dev/null | openssl x509 -noout -fingerprint -sha256; }
before="$(served)"
echo broken >"$tls/server.key.new" && chmod 600 "$tls/server.key.new" && mv "$tls/server.key.new" "$tls/server.key"
kill -HUP "$controller"
eventually grep -q 'the new certificate is not used, the old one stays: .*server.key' "$folder/log"
[[ "$(served)" == "$before" ]] || fail "a broken pair changed what is served"
"$vortex" tls renew "$tls" --host another.example.org | grep -q '10.0.0.5, another.example.org' || fail "not renewed"
eventually grep -q 'the certificate was reloaded' "$folder/log"
[[ "$(served)" != "$before" ]] || fail "the renewed certificate is not served"
"$vortex" exec -q -- true || fail "no task after the renewal"
[[ "$(grep -c 'old one stays' "$folder/log")" == 1 ]] || fail "said more than once: $(cat "$folder/log")"

# Client certificates for workers.
kill "$worker" && wait "$worker" || true
kill "$controller" && wait "$controller" || true
serve --controller.tls-client-ca-file="$tls/ca.pem" --controller.tls-require-client-cert=workers
"$vortex" status >/dev/null || fail "a user needs a certificate"
[[ "$(curl -s --cacert "$tls/ca.pem" -H "Authorization: Bearer $(cat "$folder/worker")" "$url/api/workers" -d '{}')" == *VX-AUTH-020* ]] ||
  fail "a worker without a certificate was let in"
work --cert-file worker-gpu.pem --key-file worker-gpu.key
"$vortex" exec -q -- true || fail "no task on a worker with a certificate"

"$vortex" logout | grep -q "Logged out of $url" || fail "no logout"
[[ ! -e "$HOME/.config/vortex/login" ]] || fail "the login is still there"
echo "tls: ok"

#!/usr/bin/env bash
# tests/e2e/terminal.sh VORTEX: what strangers write does not command the terminal of those who read it.
# Output of tasks, messages of failures and the answers of a hostile server are shown on a terminal with
# their control characters spelled out; elsewhere, and with --raw, they are passed on byte for byte.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

begin "$(realpath "$1")"
export VORTEX_SERVER="$url"
"$vortex" worker --server "$url" --name "t$port" --slots 1 --tuning=testing --state-dir "$folder/state" \
  --work-dir "$folder/work" 2>"$folder/worker.log" &
worker=$!
hostile=0
end_all() {
  kill -TERM "$worker" 2>/dev/null || true
  [[ "$hostile" == 0 ]] || kill -TERM "$hostile" 2>/dev/null || true
  wait "$worker" 2>/dev/null || true
  finish
}
trap end_all EXIT

# Title, clipboard, another screen, C1 in UTF-8 and as a byte, writing direction, and a colour that may stay.
evil=$'\e]0;owned\a \e]52;c;aGk=\e\\ \e[2J\e[?1049h \u009b2J \x9b2J \u202egnp.exe \e[31mred\n'
printf '%s' "$evil" >"$folder/evil"
on_terminal() { script -qec "$*" /dev/null </dev/null | tr -d '\r' >"$folder/shown"; }
harmless() { # what was done
  local left
  # Colours are all that may be left; of ours too, with which columns and states are painted.
  left="$(LC_ALL=C sed -E 's/\x1b\[[0-9;:]*m//g' "$folder/shown")"
  if LC_ALL=C grep -qaP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]' <<<"$left"; then
    fail "$1 reaches the terminal: $(od -c <<<"$left" | head -20)"
  fi
  if ! iconv -f UTF-8 -t UTF-8 <<<"$left" >/dev/null 2>&1; then fail "$1: a byte of C1 reaches the terminal"; fi
}

"$vortex" exec -q -- cat "$folder/evil" >"$folder/piped" || fail "the task failed"
cmp -s "$folder/evil" "$folder/piped" || fail "piped output is changed: $(od -c "$folder/piped" | head)"
run="$("$vortex" runs list -o name)"
on_terminal "'$vortex' logs $run/command"
harmless "the log"
grep -qF '^[]0;owned^G' "$folder/shown" || fail "it is not shown: $(cat "$folder/shown")"
grep -qF '<U+202E>gnp.exe' "$folder/shown" || fail "it is not shown: $(cat "$folder/shown")"
grep -qF $'\e[31mred' "$folder/shown" || fail "colours are gone"
on_terminal "'$vortex' logs --raw $run/command"
grep -qaF $'\e]0;owned\a' "$folder/shown" || fail "--raw changes the output"
"$vortex" logs "$run/command" | cmp -s - "$folder/evil" || fail "the piped log is changed"

# A failure whose last lines are that, while somebody watches.
on_terminal "'$vortex' exec -- bash -c 'cat $folder/evil; exit 3'" || true
harmless "a failed command"
run="$("$vortex" runs list -o name | head -1)"
for words in "runs show $run" "tasks list $run" "runs list" "events" "workers list" "-o json runs show $run" \
  "-o json logs $run"; do
  on_terminal "'$vortex' $words" || true
  harmless "$words"
done

# A server that is none of ours.
free_port
cat >"$folder/hostile" <<'SH'
#!/usr/bin/env bash
body="$(printf '{"title":"\\u001b]0;owned\\u0007","detail":"\\u009b2J\\u202e\\u001b[2J","code":"VX-\\u001b[2J","hint":"\\u001b[?1049h","status":500}')"
printf 'HTTP/1.1 500 Oh\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' "${#body}" "$body"
SH
chmod +x "$folder/hostile"
socat "TCP-LISTEN:$port,bind=127.0.0.1,reuseaddr,fork" "EXEC:$folder/hostile" 2>/dev/null &
hostile=$!
eventually bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"
for words in status "runs list" "workers show x" "logs r1" "-o json status"; do
  on_terminal "'$vortex' --server http://127.0.0.1:$port --timeout 3s $words" || true
  [[ -s "$folder/shown" ]] || fail "'$words' said nothing"
  harmless "the answer to '$words'"
done

# Refused where it would become a name.
code=0
printf 'vortex: 1\nname: d\ntasks:\n  a:\n    run: [x]\n    labels: {zone: "a\\u202Eb"}\n' >"$folder/d.yaml"
"$vortex" validate "$folder/d.yaml" 2>"$folder/said" || code=$?
[[ "$code" == 7 ]] && grep -q 'd.yaml:6:' "$folder/said" && grep -q 'U+202E' "$folder/said" ||
  fail "validate: exit $code: $(cat "$folder/said")"
[[ "$(status /api/workers -X POST -d '{"id":"w\u001b[2J","machine":"m"}')" == 422 ]] || fail "$(cat "$folder/answer")"
echo "terminal: ok"

#!/usr/bin/env bash
# A complete worker in bash, one task at a time: env, workdir, timeout, outputs, checkpoint, progress,
# logs, stops, self-fence, drain on SIGTERM. docs/api.md describes every field; `vortex worker-check`
# tests a worker like this one. Needs bash 5, curl, jq and setsid.
# Only one $(...) per assignment: between two in one command, bash 5.2 can lose a SIGTERM.
#   examples/worker.sh [URL] [ID]
url=${1:-${VORTEX_SERVER:-http://127.0.0.1:8080}} id=${2:-$(hostname)-$$}
dir=$(mktemp -d) || exit 1
seq=0 task='' reports='[]' leaving='' backoff=100
declare -A newest # by task: the newest epoch seen. No epoch is started twice.
auth=(${VORTEX_TOKEN:+-H "Authorization: Bearer $VORTEX_TOKEN"}) # a token with the role worker, if tokens are in use
trap 'rm -rf "$dir"' EXIT
trap 'leaving=draining' TERM INT

now() { local t=${EPOCHREALTIME/[.,]/}; echo $((t / 1000)); } # in ms
say() { echo "$id: $*" >&2; }
field() { jq -r "$1 // empty" <<<"$work"; }
pause() { sleep "$((backoff / 1000)).$(printf %03d $((backoff % 1000)))"; ((backoff = backoff < 2000 ? backoff * 2 : 2000)); }

register() { # opens a session and ends any earlier one with this id
  local answer
  until answer=$(curl "${auth[@]}" -fsS -m 5 "$url/api/workers" -d "$(jq -n --arg id "$id" '{$id, slots: 1}')"); do
    [[ $leaving ]] && exit 0
    pause
  done
  read -r incarnation lease beat fence session < <(jq -r '"\(.incarnation) \(.lease_ms) \(.heartbeat_interval_ms) \(.self_fence_ms) \(.session)"' <<<"$answer")
  seq=0 ack='{"term":0,"reply":0}' reports='[]' alive=$(now) backoff=100
  say "registered as incarnation $incarnation: lease $lease ms, self-fence $fence ms"
}

sync() { # wait in ms: sends what is held and what happened, receives what to do
  local sent body status held='[]' limit=$((fence / 3 + $1))
  sent=$(now)
  [[ $task ]] && held=$(jq -c --argjson p "$(progress)" '[{task, epoch} + $p]' <<<"$work")
  body="{\"incarnation\":$incarnation,\"seq\":$((++seq)),\"ack\":$ack,\"slots\":1,\"held\":$held,
    \"reports\":$reports,\"wait_ms\":$1${leaving:+,\"leaving\":\"$leaving\"}}"
  status=$(curl "${auth[@]}" -H "Vortex-Session: $session" -sS -m "$((limit / 1000)).$((limit % 1000 / 100))" -o "$dir/reply" -w '%{http_code}' \
    "$url/api/workers/$id/sync" -d @- <<<"$body" 2>"$dir/curl") || status=0
  if [[ $status == 200 ]] && reply=$(jq -c . "$dir/reply"); then
    alive=$sent backoff=100 ack=$(jq -c .mark <<<"$reply")
    lease=$(jq .lease_ms <<<"$reply")
    (($(jq .seq_seen <<<"$reply") >= seq)) && reports='[]' # otherwise send them again
    [[ $(jq .drain <<<"$reply") == true ]] && leaving=${leaving:-draining}
    return 0
  fi
  reply='{}'
  if [[ $status == 40[39] ]]; then
    case $(jq -r .why "$dir/reply") in
      stale_incarnation) say 'a newer worker has this id'; kill_task KILL; exit 3 ;;
      unknown_worker | session_ended | wrong_session) say 'the session is over'; kill_task KILL; task=''; register; return 1 ;;
    esac
  fi
  pause
  return 1
}

report() { # the kind, and its other fields as JSON
  reports=$(jq -c --argjson work "$work" --arg kind "$1" --argjson more "${2:-{\}}" \
    '. + [($work | {task, epoch}) + {$kind} + $more]' <<<"$reports")
}

progress() { # the last line of the file, such as "42% counting"
  tail -n 1 "$dir/t/progress" 2>/dev/null |
    jq -R 'capture("^ *(?<p>[0-9]+)%? *(?<s>.*)") | {progress: {percent: ([(.p | tonumber), 100] | min), step: .s[:200]}}' |
    grep . || echo '{}'
}

checkpoint() { # sent whenever it changes
  local sum
  sum=$(cksum 2>/dev/null <"$dir/t/checkpoint") && [[ $sum != "$saved" ]] || return
  saved=$sum
  (($(stat -c %s "$dir/t/checkpoint") <= 65536)) || { echo 'the checkpoint is larger than 64 KiB and was not saved' >>"$dir/t/log"; return; }
  report checkpoint "$(base64 -w 0 "$dir/t/checkpoint" | jq -R '{data_base64: .}')"
}

ship_log() { # one chunk; the offset makes it safe to repeat. False: nothing to send, or not now
  local size status
  size=$(stat -c %s "$dir/t/log")
  ((size > shipped)) || return
  ((size - shipped > 1048576)) && size=$((shipped + 1048576)) # the controller accepts at most 4 MiB at once
  status=$(tail -c +$((shipped + 1)) "$dir/t/log" | head -c $((size - shipped)) | curl "${auth[@]}" -H "Vortex-Session: $session" -sS -m 2 -o /dev/null \
    -w '%{http_code}'     --data-binary @- "$url/api/tasks/$(field .task)/logs?epoch=$(field .epoch)&offset=$shipped" 2>/dev/null)
  [[ $status == [24]* ]] && shipped=$size # 4xx: discard it
}

kill_task() { # TERM (or KILL), then KILL after the grace period, to everything in its session
  [[ $task ]] || return
  kill -"${1:-TERM}" -- "-$task" 2>/dev/null
  local grace until
  [[ $1 == KILL ]] && grace=0 || grace=$(field .kill_grace_ms)
  until=$(($(now) + ${grace:-5000}))
  while kill -0 -- "-$task" 2>/dev/null && (($(now) < until + 2000)); do # after that, only zombies are left
    (($(now) < until)) || kill -KILL -- "-$task" 2>/dev/null
    sleep 0.05
  done
  wait "$task" 2>/dev/null
}

start_task() { # runs $work in its own process group, without a shell
  local argv vars where missing
  mapfile -d '' -t argv < <(jq -j '.run[]? | . + "\u0000"' <<<"$work")
  mapfile -d '' -t vars < <(jq -j '(.env // {}) + {VORTEX_TASK_ID: .task, VORTEX_EPOCH: .epoch, VORTEX_ATTEMPT: .attempt,
      VORTEX_TASK: .name, VORTEX_DAG: .dag, VORTEX_RUN_ID: (.task | split("-")[0]),
      VORTEX_TOKEN: (.token // "")}
    + (if .map then {VORTEX_MAP_INDEX: .map.index, VORTEX_MAP_ITEM: .map.item} else {} end)
    | to_entries[] | "\(.key)=\(.value)\u0000"' <<<"$work")
  where=$(field .workdir) saved='' shipped=0
  rm -rf "$dir/t" && mkdir -p "$dir/t/tmp"
  jq -e .checkpoint >/dev/null <<<"$work" && jq -j .checkpoint <<<"$work" >"$dir/t/checkpoint"
  jq -e .checkpoint_base64 >/dev/null <<<"$work" && jq -r .checkpoint_base64 <<<"$work" | base64 -d >"$dir/t/checkpoint"
  saved=$(cksum 2>/dev/null <"$dir/t/checkpoint")
  [[ ! $where || -d $where ]] || missing="no folder $where"
  (cd "${where:-.}" 2>/dev/null && type -P -- "${argv[0]}" >/dev/null) || missing=${missing:-"no program ${argv[0]}"}
  if [[ $missing ]]; then
    report failed "$(jq -n --arg message "$missing" '{cause: "could_not_start", code: 0, $message}')"
    return
  fi
  setsid env -C "${where:-.}" "${vars[@]}" VORTEX_URL="$url" VORTEX_WORKER="$id" VORTEX_OUTPUTS="$dir/t/outputs" \
    VORTEX_CHECKPOINT="$dir/t/checkpoint" VORTEX_PROGRESS="$dir/t/progress" VORTEX_TMPDIR="$dir/t/tmp" \
    "${argv[@]}" </dev/null >"$dir/t/log" 2>&1 &
  task=$! began=$(now)
  report started
}

end_of_task() { # interprets its exit status (bash cannot tell exit code 137 from signal 9)
  local outputs='{}' lacking
  if (($1 > 128)); then
    report failed "{\"cause\":\"signal\",\"code\":$(($1 - 128))}"
  elif (($1 > 0)); then
    report failed "{\"cause\":\"exit_code\",\"code\":$1}"
  elif [[ -e $dir/t/outputs ]] && ! outputs=$(jq -ce 'objects' "$dir/t/outputs" 2>/dev/null); then
    report failed '{"cause":"exit_code","code":0,"message":"the outputs are not a JSON object"}'
  elif lacking=$(jq -r --argjson o "$outputs" '(.outputs // []) - ($o | keys) | join(", ")' <<<"$work") && [[ $lacking ]]; then
    report failed "$(jq -n --arg l "$lacking" '{cause: "exit_code", code: 0, message: "outputs not written: \($l)"}')"
  else
    report completed "{\"outputs\":$outputs}"
  fi
}

tend_task() { # one iteration while a task runs: has it ended, must it end?
  local how='' next mine status limit
  next=$(now)
  [[ $reports == '[]' ]] && ((next += beat / 3)) # do not delay reports
  mine=$(jq -c '{task, epoch}' <<<"$work")
  limit=$(field .timeout_ms)
  while kill -0 "$task" 2>/dev/null && (($(now) < next)); do sleep 0.05; done
  if ! kill -0 "$task" 2>/dev/null; then
    wait "$task"; status=$?
    checkpoint; kill_task KILL # kill whatever it left behind
    while ship_log; do sync 0; done
    [[ $task ]] || return # the session ended
    task=''
    end_of_task "$status"
    return
  fi
  checkpoint; ship_log
  sync 0
  [[ $task ]] || return # the session ended
  jq -e --argjson m "$mine" 'any(.stops[]?; {task, epoch} == $m)' <<<"$reply" >/dev/null && how=stopped
  jq -e --argjson m "$mine" 'any(.stale[]?; . == $m)' <<<"$reply" >/dev/null && how=stale
  ((${limit:-0} > 0 && $(now) - began > limit)) && how=timed_out
  (($(now) - alive > fence)) && how=self_fenced # it may soon run elsewhere
  [[ $how ]] || return
  say "$(field .task): $how"
  kill_task
  while ship_log; do sync 0; done
  [[ $task ]] || return
  task=''
  case $how in
    timed_out) report timed_out ;;
    stale) ;; # no longer ours: report nothing
    *) report released "{\"cause\":\"$how\"}" ;;
  esac
}

register
while :; do
  if [[ $task ]]; then tend_task; continue; fi
  [[ $leaving ]] && (($(now) - alive > lease)) && exit 1 # no controller left to report to
  [[ $leaving && $reports == '[]' ]] && { leaving=gone; sync 0; exit 0; } # everything is reported
  sync "$([[ $reports == '[]' && ! $leaving ]] && echo "$beat" || echo 0)" || continue
  while read -r work; do
    name=$(field .task)
    epoch=$(field .epoch)
    ((epoch > ${newest[$name]:-0})) || continue
    newest[$name]=$epoch
    if [[ $task || $leaving ]]; then report released '{"cause":"not_started"}'; else start_task; current=$work; fi
  done < <(jq -c '.assignments[]?' <<<"$reply")
  [[ $task ]] && work=$current
done

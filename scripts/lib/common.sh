# Sourced by the scripts: the repository root, help and quiet building.

VX_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
cd "$VX_ROOT"
source "$VX_ROOT/scripts/lib/setup.sh"

# The commit at which ./test was green last, in this tree.
VX_LAST_GREEN=build/last-green

# The comment under the first line of a script is its help.
vx_help() {
  sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$1"
}

vx_die() {
  echo "$(basename "$0"): $*" >&2
  exit 2
}

# Runs a command and shows what it printed only if it failed.
vx_quietly() {
  local log
  log="$(mktemp)"
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

vx_configure() {
  vx_quietly cmake --preset "$1"
}

# Shows how far ninja has come: one line that moves on a terminal, a line for every tenth elsewhere.
# A build of a few steps shows nothing.
vx_progress() {
  local terminal=0
  [[ -t 1 ]] && terminal=1
  awk -v terminal="$terminal" '
    match($0, /^\[[0-9]+\/[0-9]+\]/) {
      split(substr($0, 2, RLENGTH - 2), step, "/")
      if (step[2] < 20) next
      percent = int(step[1] * 100 / step[2])
      if (terminal) printf "\r   building: %d%% (%d of %d steps)", percent, step[1], step[2]
      else if (int(percent / 10) > tenth) {
        tenth = int(percent / 10)
        printf "   building: %d%% (%d of %d steps)\n", percent, step[1], step[2]
      }
      shown = 1
      fflush()
    }
    END { if (terminal && shown) printf "\r\033[K" }'
}

# vx_build <preset> [targets]: shows progress, and the compiler's output only if it failed.
vx_build() {
  local preset="$1" log status=0
  shift
  vx_configure "$preset" || return 1
  log="$(mktemp)"
  cmake --build "build/$preset" -- "$@" 2>&1 | tee "$log" | vx_progress || status=1
  if [[ $status -ne 0 ]]; then
    grep -v '^\[[0-9]*/[0-9]*\]' "$log" >&2 || true
  fi
  rm -f "$log"
  return $status
}

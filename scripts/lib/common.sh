# Sourced by the scripts: the repository root, help and quiet building.

VX_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
cd "$VX_ROOT"
source "$VX_ROOT/scripts/lib/setup.sh"

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

# vx_build <preset> [targets]
vx_build() {
  local preset="$1"
  shift
  vx_configure "$preset" && vx_quietly cmake --build "build/$preset" -- "$@"
}

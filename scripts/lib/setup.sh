# Sourced by ./run, ./test and the scripts: the one list of Debian packages, and how they get there.
# vx_setup build    what compiling and running needs
# vx_setup all      the same and what the checks of the source need
# vx_setup patroni  what building needs, and what scripts/patroni-drill does
# Quiet when nothing is missing.

VX_PACKAGES_BUILD=(
  g++ cmake ninja-build ccache
  libfmt-dev libtomlplusplus-dev
  libboost1.81-dev libboost-json1.81-dev libsqlite3-dev libpq-dev libssl-dev
  libsodium-dev libzstd-dev libyaml-cpp-dev libcli11-dev libspdlog-dev prometheus-cpp-dev libsystemd-dev
  pkg-config sqlite3 curl jq tzdata
  libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev
)
# For the dashboard. A node of another source brings its own npm, which Debian's package would replace.
VX_PACKAGES_NODE=(nodejs npm)
# Clang 19: earlier ones cannot read std::expected of GCC 12's library.
VX_PACKAGES_CHECK=(
  clang-19 libclang-rt-19-dev lld-19 clang-format-19 clang-tidy-19 python3 python3-yaml python3-croniter
  iproute2 iptables openssl socat libfaketime
  postgresql-15 postgresql-client-15
  chromium fonts-dejavu-core
)
# Only a script that is started by hand needs these.
VX_PACKAGES_PATRONI=(etcd-server patroni postgresql-15)

vx_missing_packages() {
  local package
  for package in "$@"; do
    if [[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]]; then
      echo "$package"
    fi
  done
}

vx_as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "vortex: installing packages needs root: run as root or install sudo" >&2
    return 1
  fi
}

vx_apt() {
  vx_as_root env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" >"$VX_APT_LOG" 2>&1
}

vx_setup() {
  local wanted=("${VX_PACKAGES_BUILD[@]}") missing
  command -v npm >/dev/null || wanted+=("${VX_PACKAGES_NODE[@]}")
  [[ "$1" == all ]] && wanted+=("${VX_PACKAGES_CHECK[@]}")
  [[ "$1" == patroni ]] && wanted+=("${VX_PACKAGES_PATRONI[@]}")
  mapfile -t missing < <(vx_missing_packages "${wanted[@]}")
  [[ ${#missing[@]} -eq 0 ]] && return 0

  if ! command -v apt-get >/dev/null; then
    echo "vortex: needs these Debian 12 packages: ${missing[*]}" >&2
    return 1
  fi
  VX_APT_LOG="$(mktemp)"
  echo "vortex: installing ${missing[*]}"
  # The lists of a fresh machine are empty or old: fetch them only when the install needs it.
  if ! vx_apt install -y --no-install-recommends "${missing[@]}"; then
    echo "vortex: refreshing the package lists first"
    if ! { vx_apt update && vx_apt install -y --no-install-recommends "${missing[@]}"; }; then
      cat "$VX_APT_LOG" >&2
      echo "vortex: could not install the packages above" >&2
      return 1
    fi
  fi
  rm -f "$VX_APT_LOG"
}

#!/usr/bin/env bash
# tests/web/run.sh VORTEX NAME: one file of browser tests against the real program.
set -euo pipefail
export VORTEX
VORTEX="$(realpath "$1")"
exec node --test --test-concurrency=1 "$(dirname "$0")/$2.test.mjs"

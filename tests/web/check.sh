#!/usr/bin/env bash
# tests/web/check.sh VORTEX-OPENAPI: the sources of the dashboard against the types that the controller's
# own description gives, and the tests of its logic.
set -euo pipefail
description="$(mktemp)"
trap 'rm -f "$description"' EXIT
"$(realpath "$1")" >"$description"
cd "$(dirname "$0")/../../web"
node node_modules/openapi-typescript/bin/cli.js "$description" -o src/api/schema.d.ts >/dev/null
node node_modules/svelte-check/bin/svelte-check --tsconfig ./tsconfig.json --fail-on-warnings
node node_modules/vitest/vitest.mjs run

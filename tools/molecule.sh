#!/usr/bin/env bash
# Runs the scenarios in tests/molecule (or those named) in one sandbox: check, converge, idempotence, verify. Together they build one
# cluster, so each finds what the one before has made; alone it makes that itself.
set -euo pipefail
cd "$(dirname "$0")/../tests"
scenarios=("$@")
[ $# -gt 0 ] || scenarios=(ignition provision csr_approval bootstrap_teardown)
# The sandbox of a run that was interrupted.
molecule destroy --scenario-name default &>/dev/null || { echo 'molecule destroy --scenario-name default failed' >&2; exit 1; }
molecule test "${scenarios[@]/#/--scenario-name=}"

#!/usr/bin/env bash
# Runs every scenario in extensions/molecule (or those named): check, converge, idempotence, verify.
set -euo pipefail
cd "$(dirname "$0")/../extensions"
if [ $# -eq 0 ]; then mapfile -t scenarios < <(find molecule -mindepth 2 -maxdepth 2 -name molecule.yml -printf '%h\n' | sed 's|.*/||' | sort); else scenarios=("$@"); fi
for scenario in "${scenarios[@]}"; do
    molecule test --scenario-name "$scenario"
done

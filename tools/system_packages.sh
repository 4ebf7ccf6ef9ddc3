#!/usr/bin/env bash
# Installs the missing packages of the given lists (tests/*-packages.txt) when this may be done without a question (root, or sudo without a
# password). Otherwise says which are missing and ends well: the tests that need them are skipped with that reason, or fail with CI=true.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin

missing=()
while read -r package program _; do
    case $package in '' | \#*) continue ;; esac
    # Some packages have files only.
    command -v "$program" >/dev/null || [ -e "$program" ] || missing+=("$package")
done < <(cat "$@")
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

become=()
if [ "$(id -u)" -ne 0 ]; then become=(sudo -n); fi
if ! command -v apt-get >/dev/null || ! "${become[@]}" true 2>/dev/null; then
    echo "System packages that some tests use are missing; those tests will be skipped. To have them: sudo apt-get install ${missing[*]}"
    exit 0
fi

# A test machine wants the programs, not a name server on port 53: nothing is started while these are installed.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap '"${become[@]}" rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${become[@]}" tee "$policy" >/dev/null
    "${become[@]}" chmod 755 "$policy"
fi
echo "Installing system packages for the tests: ${missing[*]}"
log=$(mktemp)
if ! { "${become[@]}" apt-get update -q && "${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log"
    echo "Could not install ${missing[*]}; the tests that need them will be skipped (they fail with CI=true)."
fi
rm -f "$log"

#!/usr/bin/env bash
# Writes constraints.txt: every distribution, also those nobody names, at the version that the requirements files resolve to in an empty environment.
set -euo pipefail
cd "$(dirname "$0")/.."
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
python3 -m venv "$empty"
"$empty/bin/pip" install --quiet --disable-pip-version-check -r requirements-dev.txt
{
    echo "# Written by \`make lock\`: the whole of requirements-dev.txt, resolved. Do not edit."
    "$empty/bin/pip" freeze
} >constraints.txt
echo "constraints.txt: $(grep -c == constraints.txt) distributions"

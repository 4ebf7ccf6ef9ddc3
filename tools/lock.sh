#!/usr/bin/env bash
# Writes requirements/constraints.txt: every distribution, also those nobody names, at the version that the requirements files resolve to in an empty
# environment, with the Python of Debian 12: a newer one would take versions that do not install there.
set -euo pipefail
cd "$(dirname "$0")/.."
python=3.11.2
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
python3 -m venv "$empty"
# Its own files are no part of the lock.
"$empty/bin/pip" install --quiet --disable-pip-version-check --dry-run --ignore-installed --report "$empty/report.json" \
    --target "$empty/nothing" --python-version "$python" --only-binary :all: -r requirements/dev.txt
{
    echo "# Written by \`make lock\`: the whole of requirements/dev.txt, resolved for Python $python. Do not edit."
    "$empty/bin/python" - "$empty/report.json" <<'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as report:
    found = [entry["metadata"] for entry in json.load(report)["install"]]
for entry in sorted(found, key=lambda each: each["name"].lower()):
    if entry["name"] not in ("pip", "setuptools", "wheel"):
        print(f"{entry['name']}=={entry['version']}")
PYTHON
} >"$empty/constraints.txt"
cp "$empty/constraints.txt" requirements/constraints.txt
echo "requirements/constraints.txt: $(grep -c == requirements/constraints.txt) distributions"

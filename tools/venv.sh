#!/usr/bin/env bash
# tools/venv.sh VENV REQUIREMENTS...: make the virtual environment if it is not there and install what the files name, at the
# versions that requirements/constraints.txt pins. PYTHON chooses the interpreter.
set -euo pipefail
venv=$1
shift
python=${PYTHON:-python3}

say() { printf '%s\n' "$*" >&2; }

if ! command -v "$python" >/dev/null; then
    say "setup: no $python on this machine. Python 3.11 or newer is needed (Debian: apt-get install python3 python3-venv)."
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    say "setup: $("$python" --version) is too old, 3.11 or newer is needed. Another one can be named: make setup PYTHON=python3.12"
    exit 1
fi

# Debian keeps what `python3 -m venv` needs in a package of its own.
if [ ! -x "$venv/bin/pip" ] && ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    package="python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
    become=()
    if [ "$(id -u)" -ne 0 ]; then become=(sudo -n); fi
    if command -v apt-get >/dev/null && "${become[@]}" true 2>/dev/null; then
        say "setup: $python cannot make virtual environments yet, installing the system package $package"
        "${become[@]}" apt-get update -qq
        "${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$package" >/dev/null
    else
        say "setup: $python cannot make virtual environments: its modules venv and ensurepip are not installed."
        say "       On Debian and Ubuntu:  sudo apt-get install $package"
        exit 1
    fi
fi

if [ ! -x "$venv/bin/pip" ]; then
    say "setup: making the virtual environment $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv"
fi

# What pip does, for people: on a terminal one line that changes, elsewhere a line every 15 seconds. All of it is kept in a file, of which the
# end is shown when pip fails.
progress() {
    local log=$1 line last=0 packages=0 now
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$log"
        case $line in Collecting* | "  Downloading"* | Downloading* | Installing* | Building*) ;; *) continue ;; esac
        case $line in Collecting*) packages=$((packages + 1)) ;; esac
        line=${line#"${line%%[![:space:]]*}"}
        now=$SECONDS
        if [ -t 2 ]; then
            printf '\r\033[K  %3d s, %d packages: %.80s' "$now" "$packages" "$line" >&2
        elif [ $((now - last)) -ge 15 ]; then
            last=$now
            printf '  %3d s, %d packages: %.80s\n' "$now" "$packages" "$line" >&2
        fi
    done
    if [ -t 2 ]; then printf '\r\033[K' >&2; fi
}

arguments=()
for file in "$@"; do arguments+=(-r "$file"); done
say "setup: installing $* (the first time it takes a minute or two)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
SECONDS=0
# Python compiles what it imports; of the 15,000 modules of the package ansible that is a small part.
pip=("$venv/bin/python" -m pip install --no-compile --disable-pip-version-check --progress-bar off --constraint requirements/constraints.txt)
if ! "${pip[@]}" "${arguments[@]}" 2>&1 | progress "$log"; then
    say "setup: pip failed. Is the package index reachable (PIP_INDEX_URL, HTTPS_PROXY)? The end of its output:"
    tail -n 20 "$log" >&2
    exit 1
fi
say "setup: installed in $SECONDS s"

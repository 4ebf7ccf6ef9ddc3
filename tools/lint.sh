#!/usr/bin/env bash
# tools/lint.sh [--quick]: every check that only reads; --quick leaves out those that take minutes. Runs them all, lists those that failed, and ends
# with 1 if one did.
set -uo pipefail
quick=${1-}
cd "$(dirname "$0")/.." || exit
export ANSIBLE_LOCALHOST_WARNING=False YAMLLINT_CONFIG_FILE=.config/yamllint.yml
[ -t 1 ] || export NO_COLOR=1
failed=()

check() {
    local name=$1
    shift
    printf '== %s\n' "$name"
    "$@" || failed+=("$name")
}

# The link makes the plugins importable under the collection's own name; checked by that name they are checked once.
collection=collections/ansible_collections/equinix_metal/openshift
mapfile -t types < <(git ls-files --cached --others --exclude-standard -- 'metal_api/*.py' 'sandbox/*.py' 'tests/*.py' 'tools/*.py' 'roles/*/files/*.py')
mapfile -t plugins < <(git ls-files --cached --others --exclude-standard -- 'plugins/*.py' | sed "s|^|$collection/|")
mapfile -t shells < <(git ls-files --cached --others --exclude-standard -- '*.sh' .ci/run)

no_ignores() {
    local found
    found=$(git ls-files --cached --others --exclude-standard -- 'tests/sanity/ignore-*.txt' 2>/dev/null)
    [ -z "$found" ] || { echo "no sanity ignore files here: $found"; return 1; }
}

check 'ruff' ruff check .
check 'ruff format' ruff format --check .
check 'mypy' mypy "${types[@]}" "${plugins[@]}"
check 'spelling and terms' python -m tools.words.check
check 'antsibull-changelog' antsibull-changelog lint
check 'shellcheck' shellcheck "${shells[@]}"
check 'secrets in tasks' python -m tools.task_secrets
check 'no sanity ignores' no_ignores
if [ "$quick" != --quick ]; then
    check 'ansible-lint' ansible-lint --offline
    check 'antsibull-docs' antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs=dependent --disallow-unknown-collection-refs .
fi

if [ ${#failed[@]} -gt 0 ]; then
    printf '\nlint: failed: %s\n' "$(IFS=,; echo "${failed[*]}")"
    exit 1
fi
printf '\nlint: all clean\n'

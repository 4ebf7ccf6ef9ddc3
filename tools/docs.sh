#!/usr/bin/env bash
# Checks the documentation and renders the pages of all plugins and roles, as reStructuredText and HTML, into .build/docs.
set -euo pipefail
cd "$(dirname "$0")/.."
antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs=dependent --disallow-unknown-collection-refs .
rm -rf .build/docs
mkdir -p .build/docs/rst
antsibull-docs collection --use-current --squash-hierarchy --fail-on-error --no-indexes --dest-dir .build/docs/rst equinix_metal.openshift
echo "Pages are in .build/docs"

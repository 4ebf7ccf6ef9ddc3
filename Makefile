# How things are done here, in one place. `make` alone lists it. Everything runs from the virtual environment in .venv.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)
# Set in many container images. Without bytecode each of the thousands of Python processes of the tests compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

# pytest's own switches for all suites, for example: make unit PYTEST="-x -k csr"
PYTEST ?=
# Several processes, each with a sandbox of its own: most of the time a test waits. One after another: make test WORKERS=
WORKERS ?= -n auto --dist loadgroup --no-loadscope-reorder
# How many stages of `make test` run at the same time: pytest, and the others one after another beside it.
JOBS ?= 2
STAGES := pytest lint sanity integration-short molecule matrix-short

.PHONY: help setup demo sandbox test pytest check nightly lint unit contract sanity integration-short molecule matrix-short docs build release ee clean system-packages programs lock

help: ## list the targets
	@printf 'usage: make TARGET\n\n'
	@grep -hE '^[a-z0-9-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | while IFS= read -r line; do printf '  %-16s %s\n' "$${line%%:*}" "$${line##*## }"; done

setup: $(VENV)/.ready ## make the virtual environment in .venv: Ansible, its collections and the sandbox, pinned
	@echo 'ready; to have ansible-playbook in this shell: source $(VENV)/bin/activate'

demo: $(VENV)/.ready ## watch a cluster being installed, scaled up, scaled down and destroyed in the sandbox (DEMO=--verbose: all output)
	@python -m sandbox demo $(if $(MACHINES),--machines $(MACHINES)) $(DEMO)

sandbox: $(VENV)/.ready ## start the sandbox; stays in the foreground, for a second terminal: source .sandbox/env.sh (SANDBOX="--speed 600")
	@exec python -m sandbox serve $(SANDBOX)

check: dev ## before each commit, in minutes: ruff, mypy, spelling and terms, and the tests of what changed since main
	@tools/lint.sh --quick
	@python -m tools.changed -- $(WORKERS) $(PYTEST)

# In a terminal the lines of the stages come as they are written, elsewhere each stage's output comes in one piece. All stages run to their
# end, so that one run shows everything that fails.
test: system-packages programs ## everything .ci/run runs: lint, sanity, molecule, unit and contract tests, a sample of integration and end-to-end tests
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) --output-sync=$(if $(MAKE_TERMOUT),line,target) $(STAGES)

nightly: system-packages programs ## everything long, in parts of at most an hour (make nightly PART=rack; PART=--help lists the parts)
	@tools/system_packages.sh tests/nightly-packages.txt
	@python -m tools.nightly $(PART) -- $(WORKERS) $(PYTEST)

# The programs are a line of the recipe: a prerequisite with a recipe would have make begin another stage first, and this one takes longest.
pytest: dev ## all tests of pytest but the long ones
	@python -m sandbox build >/dev/null
	@pytest -m 'not long' --durations=15 --durations-min=20 --junitxml=.build/pytest.xml $(WORKERS) $(PYTEST)

lint: dev ## ruff, mypy, ansible-lint, documentation, changelog and shell scripts
	@tools/lint.sh

unit: dev ## unit tests, of the collection and of the sandbox
	@pytest --ignore=tests/contract --ignore=tests/e2e $(WORKERS) $(PYTEST)

contract: programs ## contract tests of every module that changes something, against the sandbox
	@pytest tests/contract -m 'not long' $(WORKERS) $(PYTEST)

# Without pylint, half of its time: `make nightly` has it with every version of ansible-core, and ruff knows most of its rules.
sanity: dev ## ansible-test sanity, on a copy, without ignore files
	@python -m tools.sanity --skip-test pylint

# What a target asserts of a module, its contract tests assert too: here one, and the inventory, show that the collection works when installed.
integration-short: programs ## ansible-test integration for a module of the Metal API and the inventory
	@python -m tools.integration metal_device_set inventory_metal

molecule: programs ## the molecule scenarios in tests/molecule
	@tools/molecule.sh

matrix-short: programs ## plugins and contracts with the oldest and the newest supported version of ansible-core
	@python -m tools.matrix --short -- $(PYTEST)

docs: dev ## build the documentation site in .build/docs/html: all pages, plugins and roles, with links checked
	@python -m tools.site

build: dev ## the collection's artifact, and the wheel of the Metal API server, in build/
	@ansible-galaxy collection build --force --output-path build
	@python -m build --wheel --no-isolation --outdir build

release: programs ## build the artifact, install it into an empty folder and try it there (a new version: make release VERSION=0.2.0)
	@python -m tools.release $(VERSION)

ee: dev ## the build context of the execution environment in .build/ee, without a container engine: podman build .build/ee
	@ansible-builder create --file requirements/execution-environment.yml --context .build/ee --output-filename Containerfile

clean: ## remove the virtual environment and everything built or cached here (not clusters/, not .sandbox/)
	@rm -rf $(VENV) .build build .cache .ansible .mypy_cache .ruff_cache .pytest_cache tests/output changelogs/.plugin-cache.yaml
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What checks and tests need, on top of setup.
dev: $(VENV)/.ready-dev
.PHONY: dev

system-packages: dev
	@tools/system_packages.sh tests/system-packages.txt

# etcd and Kubernetes for the sandbox, built once: with progress here rather than silence in a test.
programs: dev
	@python -m sandbox build >/dev/null

# After a change to a requirements file: write down what the whole environment resolves to.
lock: dev
	@tools/lock.sh

PINS := $(addprefix requirements/,constraints.txt requirements.txt metal-api.txt sandbox.txt ansible.txt) tools/venv.sh
$(VENV)/.ready: $(PINS)
	@PYTHON="$(PYTHON)" tools/venv.sh $(VENV) requirements/sandbox.txt requirements/ansible.txt
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready requirements/dev.txt
	@PYTHON="$(PYTHON)" tools/venv.sh $(VENV) requirements/dev.txt
	@touch $@

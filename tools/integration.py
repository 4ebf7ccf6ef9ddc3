"""Runs the integration targets with ``ansible-test integration`` on a copy of the collection: ``python -m tools.integration``.

Without options it starts a sandbox. With ``--service`` the targets run against the service that METAL_API_URL, METAL_AUTH_TOKEN and
METAL_PROJECT_ID name, and order machines there that cost money until they are deleted at the end. It is an option since a shell that has
these variables for another reason must not order anything. METAL_TEST_METRO, METAL_TEST_OTHER_METRO, METAL_TEST_PLAN and
METAL_TEST_OPERATING_SYSTEM say what is ordered.

Without the names of targets all are run, in as many processes as there are processors. Anything else is handed to ansible-test.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from sandbox.testing.process import RunningSandbox
from tools.collection_copy import BUILD, HOME, copy_collection, start_ansible_test

SPEED = 3600.0
"""The sandbox's machines live an hour in a second."""


def targets(copy: Path) -> list[str]:
    """The names of all targets that are to be run by themselves."""
    found = (path.parent for path in (copy / "tests" / "integration" / "targets").glob("*/aliases"))
    return sorted(path.name for path in found if "hidden" not in (path / "aliases").read_text(encoding="utf-8").split())


@contextlib.contextmanager
def own_service(folder: Path) -> Iterator[dict[str, str]]:
    """Start a sandbox; yield the variables for the targets."""
    with RunningSandbox(folder / "state", log=folder / "sandbox.log", speed=SPEED) as running:
        yield {
            "metal_api_url": running.environment["METAL_API_URL"],
            "metal_api_token": running.environment["METAL_AUTH_TOKEN"],
            "metal_project_id": running.environment["METAL_PROJECT_ID"],
            "metal_wait_interval": "0.1",
        }


@contextlib.contextmanager
def given_service(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the variables for the targets, from the environment. Ends the program when one is missing."""
    names = {"METAL_API_URL": "metal_api_url", "METAL_AUTH_TOKEN": "metal_api_token", "METAL_PROJECT_ID": "metal_project_id"}
    if missing := [name for name in names if not environment.get(name)]:
        sys.exit(f"--service: not set: {', '.join(missing)}")
    choices = {
        "METAL_TEST_METRO": "metal_metro",
        "METAL_TEST_OTHER_METRO": "metal_other_metro",
        "METAL_TEST_PLAN": "metal_plan",
        "METAL_TEST_OPERATING_SYSTEM": "metal_operating_system",
    }
    yield {variable: environment[name] for name, variable in {**names, **choices}.items() if environment.get(name)}


def provide_key() -> None:
    """The key ansible-test makes for itself when there is none; several of it at once would trip over each other."""
    key = HOME / ".ansible" / "test" / "id_rsa"
    if not key.exists():
        key.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["ssh-keygen", "-m", "PEM", "-q", "-t", "rsa", "-N", "", "-f", str(key)], check=True)


def run(copy: Path, chosen: list[str], arguments: list[str]) -> list[str]:
    """Run the targets, several at once; what failed is shown. Returns the targets that failed."""

    def one(target: str) -> bool:
        path = copy.parents[2] / f"{target}.log"
        begun = time.monotonic()
        with path.open("wb") as log:
            failed = bool(start_ansible_test(copy, "integration", [*arguments, target], log=log).wait())
        print(f"integration: {target}: {'FAILED' if failed else 'ok'} after {time.monotonic() - begun:.0f} s", flush=True)
        if failed:
            print(path.read_text(encoding="utf-8", errors="replace"), flush=True)
        return failed

    if len(chosen) == 1:
        return chosen if start_ansible_test(copy, "integration", [*arguments, *chosen]).wait() else []
    with ThreadPoolExecutor(min(len(chosen), os.cpu_count() or 1)) as pool:
        return [target for target, failed in zip(chosen, pool.map(one, chosen), strict=True) if failed]


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the integration targets.")
    parser.add_argument("--service", action="store_true", help="the service of the environment, instead of a sandbox")
    parser.add_argument("targets", nargs="*", help="some targets, instead of all")
    options, arguments = parser.parse_known_args()

    copy = copy_collection(BUILD / "integration")
    provide_key()
    chosen = options.targets or targets(copy)
    config = copy / "tests" / "integration" / "integration_config.yml"
    with tempfile.TemporaryDirectory(prefix="integration-") as folder:
        service = given_service(os.environ) if options.service else own_service(Path(folder))
        with service as variables:
            config.touch(mode=0o600)  # it holds a token
            config.write_text(yaml.safe_dump({**variables, "resource_prefix": f"test-{secrets.token_hex(4)}"}), encoding="utf-8")
            try:
                failed = run(copy, chosen, arguments)
            finally:
                config.unlink()
    if failed:
        print(f"integration: failed: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())

"""What a scenario stands on: made before it, by the modules themselves or by the API, and taken away after it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from sandbox.running import RunningSandbox
from tests.laws.scenario import WAIT, Scenario

ROOT = Path(__file__).resolve().parents[2]
MODULES = "ansible_collections.equinix_metal.openshift.plugins.modules"
MARK = re.compile(r"\{([a-z0-9_.]+)\}")
WAITS = "wait_interval"


def run(module: str, options: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """One call of a module as a process of its own, without Ansible's own start; its result, or its failure."""
    done = subprocess.run(
        [sys.executable, "-m", f"{MODULES}.{module}"],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": dict(options)}),
        env={**environment, "PYTHONPATH": str(ROOT / "collections")},
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def call(sandbox: RunningSandbox, method: str, path: str, body: Any = None) -> Any:
    """One call of the API, as it is; every entry of a list."""
    answer = httpx.request(
        method,
        httpx.URL(f"{sandbox.environment['METAL_API_URL']}/{path}").copy_merge_params({"per_page": 1000} if method == "GET" else {}),
        json=body,
        headers={"X-Auth-Token": sandbox.environment["METAL_AUTH_TOKEN"]},
    ).raise_for_status()
    return answer.json() if answer.content else None


def filled(value: Any, facts: Mapping[str, Any]) -> Any:
    """``value`` with every ``{name.fact}`` in it replaced; a text that is nothing else becomes the fact itself."""
    if isinstance(value, Mapping):
        return {name: filled(item, facts) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(item, facts) for item in value]
    if not isinstance(value, str):
        return value
    if whole := MARK.fullmatch(value):
        return _fact(whole[1], facts)
    return MARK.sub(lambda mark: str(_fact(mark[1], facts)), value)


def _fact(path: str, facts: Mapping[str, Any]) -> Any:
    found: Any = facts
    for part in path.split("."):
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found


@contextmanager
def laid(scenario: Scenario, sandbox: RunningSandbox, environment: Mapping[str, str]) -> Iterator[Scenario]:
    """The scenario with its ground made and its references filled in. The journal is empty then."""
    facts: dict[str, Any] = {"project": sandbox.environment["METAL_PROJECT_ID"]}
    made: list[tuple[str, Mapping[str, Any]]] = []
    try:
        for name, (maker, options) in scenario.ground.items():
            given = filled(options, facts)
            if " " in maker:
                method, path = filled(maker, facts).split(" ")
                facts[name] = call(sandbox, method, path, given)
                if facts[name] is not None:
                    made.append((f"DELETE {path}/{facts[name]['id']}", {}))
                continue
            result = run(maker, given, environment)
            assert not result.get("failed"), result
            facts[name], *_others = [
                value for key, value in result.items() if key not in ("diff", "invocation") and isinstance(value, dict)
            ]
            waits = WAIT if WAITS in result["invocation"]["module_args"] else {}
            made.append((maker, {"id": facts[name]["id"], "state": "absent", **waits}))
        sandbox.forget()
        texts = {name: filled(getattr(scenario, name), facts) for name in ("create", "change", "absent", "never", "listing", "order")}
        yield replace(scenario, ground={}, **texts)
    finally:
        sandbox.call("DELETE", "faults")
        for module, options in reversed(made):
            if " " in module:
                call(sandbox, *module.split(" "))
                continue
            result = run(module, options, environment)
            assert not result.get("failed"), result

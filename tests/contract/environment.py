"""Run modules, and create what a scenario requires, with the modules or the API; it is deleted afterwards."""

import json
import multiprocessing
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.testing.process import RunningSandbox
from tests.contract import programs
from tests.contract.scenario import WAIT, Scenario

ROOT = Path(__file__).resolve().parents[2]
MODULES = "ansible_collections.equinix_metal.openshift.plugins.modules"
MARK = re.compile(r"\{([a-z0-9_.]+)\}")
WAITS = "wait_interval"
RESERVED_HARDWARE = "reserved hardware"
"""No API makes it or takes it away again: the sandbox makes it, and afterwards it is back in the project it was in."""
LONGEST = programs.LONGEST


def run(
    module: str, options: Mapping[str, Any], environment: Mapping[str, str], *, without_pauses: bool = False, page_size: int | None = None
) -> dict[str, Any]:
    """Run a module by its action plugin in a process of its own, without Ansible's start, and return its result or failure.

    ``without_pauses``: retries follow at once, and the process is killed after ``LONGEST``. ``page_size``: entries of a page.
    Fails for a traceback, for the token in what is said, and when it had to be killed.
    """
    _code, text = _played(
        module, programs.play_module, module, dict(options), environment=environment, without_pauses=without_pauses, page_size=page_size
    )
    assert "\n{" in text, f"{module} ended without a result: {text}"
    return programs.last_result(text)


def run_often(module: str, options: Mapping[str, Any], environment: Mapping[str, str], server: str, calls: int) -> list[str]:
    """Return the output of each of ``calls`` calls of a module, without pauses, in one process; fewer when one of them hangs."""
    given = (module, dict(options), server, calls)
    _code, text = _said(
        f"{calls} calls of {module}", programs.play_module_often, *given, environment=environment, without_pauses=True, longest=None
    )
    return text.split(programs.NEXT)[1:]


def inventory(source: Path, environment: Mapping[str, str], *, page_size: int | None = None) -> dict[str, Any]:
    """Run ``ansible-inventory --list`` of one source without pauses: ``failed`` with ``msg``, or ``listed``."""
    settings = {"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true", "ANSIBLE_NOCOLOR": "1"}
    code, text = _played(
        "inventory", programs.play_inventory, str(source), environment={**environment, **settings}, without_pauses=True, page_size=page_size
    )
    if code:
        # What other plugins say of a source that is not theirs is said by Ansible, not by us.
        result = [line for line in text.splitlines() if "Cannot " in line] or text.splitlines()
        return {"failed": True, "msg": result[-1].strip()}
    return {"listed": json.JSONDecoder().raw_decode(text[text.index("{\n") :])[0]}


_starting = threading.Lock()


def _processes() -> ForkServerContext:
    """Return the context that forks a clean process: the programs are loaded in it already, and nothing of what the tests have loaded.

    Tests start processes from several threads. One of them starts the server: the environment that the server is started with is that of
    all threads, and two that change and restore it at the same time leave a wrong one behind.
    """
    with _starting:
        return _fork_server()


@cache
def _fork_server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    # pytest: what a child of multiprocessing has to find is the program that began it all.
    context.set_forkserver_preload(["__main__", "pytest", programs.__name__])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "collections")]))
        forkserver.ensure_running()
    return context


def _played(
    title: str, program: Callable[..., None], *given: Any, environment: Mapping[str, str], without_pauses: bool, page_size: int | None
) -> tuple[int, str]:
    """Return the exit code and output of a process that runs this program. Fails for a traceback, and for the token."""
    longest = LONGEST if without_pauses else None
    code, text = _said(title, program, *given, environment=environment, without_pauses=without_pauses, page_size=page_size, longest=longest)
    assert "Traceback" not in text, text
    if token := environment.get("METAL_AUTH_TOKEN", ""):
        assert token not in text
    return code, text


def _said(
    title: str,
    program: Callable[..., None],
    *given: Any,
    environment: Mapping[str, str],
    without_pauses: bool,
    longest: float | None,
    page_size: int | None = None,
) -> tuple[int, str]:
    with tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as said:
        manner = programs.Manner(said.name, dict(environment), without_pauses, page_size)
        process = _processes().Process(target=program, args=(manner, *given))
        process.start()
        process.join(longest)
        if process.is_alive():
            process.kill()
            process.join()
            pytest.fail(f"{title} was not over after {longest:g} s")
        code = process.exitcode
        process.close()
        text = said.read()
    return code or 0, text


@dataclass(frozen=True)
class Metal:
    """The session's sandbox as a test uses it: modules, and calls of its API."""

    sandbox: RunningSandbox
    environment: dict[str, str]

    def run(self, module: str, options: Mapping[str, Any], *, without_pauses: bool = False) -> dict[str, Any]:
        return run(module, options, self.environment, without_pauses=without_pauses)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return call(self.sandbox, method, path, body)


def call(sandbox: RunningSandbox, method: str, path: str, body: Any = None) -> Any:
    """Call the API and return the answer; of a list every entry."""
    query = {"per_page": 1000} if method == "GET" else {}
    url = httpx.URL(f"{sandbox.environment['METAL_API_URL']}/{path}").copy_merge_params(query)
    # Not checked: it is loopback, and reading this machine's certificates takes longer than the call.
    answer = httpx.request(method, url, json=body, headers={"X-Auth-Token": sandbox.environment["METAL_AUTH_TOKEN"]}, verify=False)  # noqa: S501
    answer.raise_for_status()
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
def made(
    prerequisites: Mapping[str, tuple[str, Mapping[str, Any]]], sandbox: RunningSandbox, environment: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Create the prerequisites and yield their results by name, with an empty journal; delete them afterwards."""
    facts: dict[str, Any] = {"project": sandbox.environment["METAL_PROJECT_ID"]}
    standing: list[tuple[str, Mapping[str, Any]]] = []
    try:
        for name, (maker, options) in prerequisites.items():
            given = filled(options, facts)
            if maker == RESERVED_HARDWARE:
                facts[name] = sandbox.call("POST", "hardware_reservations", json=given)
                standing += [(f"POST hardware-reservations/{each}/move", {"project_id": facts["project"]}) for each in facts[name]["ids"]]
                continue
            if " " in maker:
                method, path = filled(maker, facts).split(" ")
                facts[name] = call(sandbox, method, path, given)
                if facts[name] is not None:
                    standing.append((f"DELETE {path}/{facts[name]['id']}", {}))
                continue
            result = run(maker, given, environment)
            assert not result.get("failed"), result
            facts[name], *_others = [
                value for key, value in result.items() if key not in ("diff", "invocation") and isinstance(value, dict)
            ]
            waits = WAIT if WAITS in result["invocation"]["module_args"] else {}
            standing.append((maker, {"id": facts[name]["id"], "state": "absent", **waits}))
        sandbox.forget()
        yield facts
    finally:
        sandbox.call("DELETE", "faults")
        for module, options in reversed(standing):
            if " " in module:
                method, path = module.split(" ")
                call(sandbox, method, path, options or None)
                continue
            result = run(module, options, environment)
            assert not result.get("failed"), result


@contextmanager
def laid(scenario: Scenario, sandbox: RunningSandbox, environment: Mapping[str, str]) -> Iterator[Scenario]:
    """Yield the scenario with its prerequisites created and its references replaced, with an empty journal."""
    with made(scenario.prerequisites, sandbox, environment) as facts:
        texts = {name: filled(getattr(scenario, name), facts) for name in ("create", "change", "absent", "never", "listing", "order")}
        yield replace(scenario, prerequisites={}, **texts)

"""The fault table: every module and the inventory plugin in every trouble of ``faults.py``.

Modules run in this process, which makes a cell a fraction of a second. The ordinary suite takes a part of the table that has every trouble
and every module in it; the whole is marked ``long``.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.equinix_metal.openshift.plugins.module_utils import _metal_client, _resource
from sandbox.running import RunningSandbox
from tests.laws.faults import FAULTS, LATE, RETRIES, TIMEOUT, Fault, Kind, Verdict
from tests.laws.ground import call, laid
from tests.laws.reliability import PAGE, page
from tests.laws.scenario import TAGS, Scenario
from tests.laws.scenarios import SCENARIOS
from tests.laws.test_troubles import world

ROOT = Path(__file__).resolve().parents[2]
MODULES = "ansible_collections.equinix_metal.openshift.plugins.modules"
READERS = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("metal_*_info.py"))
LONGEST = 30.0
"""Seconds within which every call of a module is over, whatever it meets."""

WRITES = "POST|PUT|PATCH|DELETE"
NO_QUESTION = "^(?!.*/capacity)"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for between two tries is looked at elsewhere; here it would only take time."""
    monkeypatch.setattr(_metal_client, "_backoff", lambda failures: 0.01)
    monkeypatch.setattr(_metal_client, "_retry_after", lambda headers: 0.02 if "Retry-After" in headers else None)
    monkeypatch.setattr(_resource, "LOOKS_AFTER_LOST_CREATE", (0.2, 0.1))


@pytest.fixture
def rewritten(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], Any], str, int], list[int]]:
    """Rewrite answers before the client reads them: those to requests of these methods, after the first so many, once."""

    def rewrite(how: Callable[[Any], Any], methods: str, skip: int) -> list[int]:
        session_of = _metal_client.MetalClient._session
        count = [0]

        def hook(response: Any, *_arguments: Any, **_more: Any) -> Any:
            if re.fullmatch(methods, response.request.method) and response.content.strip() and response.ok:
                count[0] += 1
                if count[0] == skip + 1:
                    response._content = json.dumps(how(response.json())).encode()
            return response

        def session(client: Any) -> Any:
            found = session_of(client)
            found.hooks["response"] = [hook]
            return found

        monkeypatch.setattr(_metal_client.MetalClient, "_session", session)
        return count

    return rewrite


class Trouble:
    """A fault that is switched on for one call of a module."""

    def __init__(self, sandbox: RunningSandbox, rewritten: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self._sandbox = sandbox
        self._rewritten = rewritten
        self._monkeypatch = monkeypatch

    def on(self, fault: Fault, kind: Kind, *, times: int | None = 1) -> None:
        methods = "GET" if kind == "read" else WRITES
        skip = fault.skip.get(kind, 0)
        if fault.sandbox is not None:
            asked = {**fault.sandbox, "method": methods, "path": NO_QUESTION, "times": times, "skip": skip}
            self._sandbox.call("POST", "faults", json=asked)
        elif fault.rewrite is not None:
            self._rewritten(fault.rewrite, methods, skip)

    def off(self) -> None:
        self._sandbox.call("DELETE", "faults")
        self._monkeypatch.undo()
        quick.__wrapped__(self._monkeypatch)  # type: ignore[attr-defined]  # the plain function behind the fixture


def run(module: str, options: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """One call of a module in this process: its result, or its failure. Fails for a traceback and for a call that takes too long."""
    given = {
        **{name: value for name, value in options.items() if name != "progress_interval"},
        "metal_api_url": environment["METAL_API_URL"],
        "metal_api_token": environment["METAL_AUTH_TOKEN"],
        "metal_api_timeout": TIMEOUT,
        "metal_api_retries": RETRIES,
    }
    if "wait_timeout" in options:
        given |= {"wait_timeout": 6, "wait_interval": 0.05}
    if "project_id" not in options:
        given["project_id"] = environment["METAL_PROJECT_ID"]
    said = io.StringIO()
    started = time.monotonic()
    with patch_module_args(given), redirect_stdout(said), redirect_stderr(said):
        try:
            import_module(f"{MODULES}.{module}").main()
        except SystemExit:
            pass
        except BaseException:  # noqa: BLE001 - whatever it is, it is a traceback for a user
            pytest.fail(f"{module} ended in a traceback:\n{traceback.format_exc()}")
    assert time.monotonic() - started < LONGEST, f"{module} took {time.monotonic() - started:.0f} s"
    text = said.getvalue()
    assert environment["METAL_AUTH_TOKEN"] not in text
    assert "Traceback" not in text, text
    result: dict[str, Any] = json.loads(text[text.index("{") :])
    return result


def judge(result: Mapping[str, Any], verdict: Verdict, fault: Fault, sandbox: RunningSandbox) -> None:
    """Is the end of a call what the table says?"""
    message = str(result.get("msg") or "")
    if verdict == "success":
        assert not result.get("failed"), f"{fault.name}: {message}"
    if verdict == "error":
        assert result.get("failed"), f"{fault.name}: no error: {result}"
    if result.get("failed"):
        assert message, result
        assert "\n" not in message, message
        assert len(message) < 1500, message
        assert result.get("failure"), result
        if verdict == "error" and fault.sandbox is not None and "status" in fault.sandbox:
            ids = [each["request_id"] for each in sandbox.journal() if each["status"] == fault.sandbox["status"]]
            assert any(str(identity) in message for identity in ids), f"no request id in: {message}"
            assert "Could not" in message, message


def settle(fault: Fault) -> None:
    """Let what was given up on arrive."""
    if fault.name == "hang":
        time.sleep(LATE)


def cells(scenario: Scenario) -> list[tuple[Kind, str]]:
    """What a fault meets in the life of a resource: a read or a write, in each of its steps."""
    found: list[tuple[Kind, str]] = [("read", "create"), ("create", "create")]
    if scenario.change is not None:
        found += [("read", "change"), ("change", "change")]
    if scenario.absent is not None:
        found += [("read", "absent"), ("delete", "absent")]
    return found


def expected(scenario: Scenario, fault: Fault, kind: Kind) -> Verdict | None:
    if kind == "create" and scenario.absent is None:
        # What cannot be absent is never ordered, only changed.
        return "either" if fault.change == "success" and fault.create == "error" else fault.change
    return fault.verdict(kind)


def try_out(
    scenario: Scenario,
    fault: Fault,
    part: list[tuple[Kind, str]],
    *,
    trouble: Trouble,
    sandbox: RunningSandbox,
    environment: Mapping[str, str],
) -> None:
    """One resource's life, with the fault in these of its steps."""

    def step(name: str) -> dict[str, Any]:
        return run(scenario.module, getattr(scenario, name), environment)

    def well(name: str) -> None:
        result = step(name)
        assert not result.get("failed"), f"without trouble, {name}: {result}"

    def meet(name: str, kind: Kind, verdict: Verdict, times: int | None = 1) -> None:
        sandbox.forget()
        trouble.on(fault, kind, times=times)
        try:
            result = step(name)
        finally:
            trouble.off()
        judge(result, verdict, fault, sandbox)
        settle(fault)
        scenario.view(world(sandbox, scenario))  # fails when there are two of anything

    for kind, name in part:
        verdict = expected(scenario, fault, kind)
        if verdict is None:
            continue
        before = "create" if name != "create" else "absent" if scenario.absent is not None else "change"
        well(before)
        if name == "create" and fault.always is not None:
            meet(name, kind, fault.always, times=None)
            well(before)
        meet(name, kind, verdict)
        well(name)
        assert not step(name)["changed"]


def titled(value: Any) -> str:
    return str(getattr(value, "title", None) or getattr(value, "name", value))


@pytest.fixture
def trouble(sandbox: RunningSandbox, rewritten: Any, monkeypatch: pytest.MonkeyPatch) -> Trouble:
    return Trouble(sandbox, rewritten, monkeypatch)


def life(
    scenario: Scenario, fault: Fault, trouble: Trouble, sandbox: RunningSandbox, environment: dict[str, str], *, parts: slice = slice(None)
) -> None:
    with laid(scenario, sandbox, environment) as ready:
        try:
            try_out(ready, fault, cells(ready)[parts], trouble=trouble, sandbox=sandbox, environment=environment)
        finally:
            trouble.off()
            if ready.absent is not None:
                run(ready.module, ready.absent, environment)


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=titled)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=titled)
def test_modules_that_change(
    scenario: Scenario, fault: Fault, trouble: Trouble, sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    life(scenario, fault, trouble, sandbox, sandbox_environment)


QUICK = [scenario for scenario in SCENARIOS if not scenario.ground]
"""Those that stand on nothing are soon over."""


@pytest.mark.parametrize("fault", FAULTS, ids=titled)
def test_every_fault_with_some_module(fault: Fault, trouble: Trouble, sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    number = FAULTS.index(fault)
    life(QUICK[number % len(QUICK)], fault, trouble, sandbox, sandbox_environment, parts=slice(number % 2, None, 2))


READING: dict[str, dict[str, Any]] = {"metal_capacity_info": {"servers": [{"plan": "c3.small.x86", "metro": "da", "quantity": 2}]}}
"""Options of the readers that need some."""


def read(reader: str, fault: Fault, trouble: Trouble, sandbox: RunningSandbox, environment: dict[str, str]) -> None:
    assert fault.read is not None
    options = READING.get(reader, {})
    for verdict, times in ((fault.read, 1), (fault.always, None)):
        if verdict is not None:
            sandbox.forget()
            trouble.on(fault, "read", times=times)
            result = run(reader, options, environment)
            trouble.off()
            judge(result, verdict, fault, sandbox)
    assert not run(reader, options, environment).get("failed")


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=titled)
@pytest.mark.parametrize("reader", READERS)
def test_modules_that_read(
    reader: str, fault: Fault, trouble: Trouble, sandbox: RunningSandbox, sandbox_environment: dict[str, str]
) -> None:
    read(reader, fault, trouble, sandbox, sandbox_environment)


@pytest.mark.parametrize("fault", FAULTS, ids=titled)
def test_every_fault_with_some_reader(fault: Fault, trouble: Trouble, sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    read(READERS[FAULTS.index(fault) % len(READERS)], fault, trouble, sandbox, sandbox_environment)


def inventory(fault: Fault, sandbox: RunningSandbox, environment: dict[str, str], folder: Path) -> None:
    """``ansible-inventory --list``, as a user has it; an answer that is odd is what the sandbox answered before, rewritten."""
    assert fault.read is not None
    source = folder / "02.metal.yml"
    source.write_text(
        f"plugin: equinix_metal.openshift.metal\nmetal_api_timeout: {TIMEOUT}\nmetal_api_retries: {RETRIES}\n", encoding="utf-8"
    )
    sandbox.call("POST", "devices", json={"count": 2, "hostname": "worker-{{index}}.laws.metal.test", "tags": TAGS})
    try:
        met = dict(fault.sandbox or {})
        if fault.rewrite is not None:
            devices = call(sandbox, "GET", f"projects/{environment['METAL_PROJECT_ID']}/devices")
            met = {"status": 200, "body": fault.rewrite(devices)}
        sandbox.call("POST", "faults", json={**met, "method": "GET", "times": 1})
        started = time.monotonic()
        done = subprocess.run(
            [Path(sys.executable).parent / "ansible-inventory", "-i", source, "--list"],
            env={**environment, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true", "ANSIBLE_NOCOLOR": "1"},
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    finally:
        sandbox.call("DELETE", "faults")
        run("metal_device_set", {"ownership_tags": TAGS, "all_owned": True, "state": "absent", "wait_timeout": 30}, environment)
    assert time.monotonic() - started < LONGEST
    told = done.stdout + done.stderr
    assert "Traceback" not in told, told
    assert environment["METAL_AUTH_TOKEN"] not in told
    if fault.skip:
        # One page is one call: the fault waits for a second one.
        assert done.returncode == 0, told
        return
    if fault.read == "success":
        assert done.returncode == 0, told
        assert "worker-1.laws.metal.test" in json.loads(done.stdout)["_meta"]["hostvars"]
    if fault.read == "error":
        assert done.returncode != 0, told
        assert "Could not list the devices" in told.replace("\n", " "), told


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=titled)
def test_the_inventory(fault: Fault, sandbox: RunningSandbox, sandbox_environment: dict[str, str], tmp_path: Path) -> None:
    inventory(fault, sandbox, sandbox_environment, tmp_path)


@pytest.mark.parametrize("name", ["403", "502", "without-tags"])
def test_some_faults_with_the_inventory(name: str, sandbox: RunningSandbox, sandbox_environment: dict[str, str], tmp_path: Path) -> None:
    inventory(next(fault for fault in FAULTS if fault.name == name), sandbox, sandbox_environment, tmp_path)


def test_a_list_that_changes_while_its_pages_are_read(
    sandbox: RunningSandbox, sandbox_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_metal_client, "PAGE_SIZE", 2)
    sandbox.call("POST", "devices", json={"count": 5, "hostname": "worker-{{index}}.laws.metal.test", "tags": TAGS})
    try:
        listing = f"projects/{sandbox_environment['METAL_PROJECT_ID']}/devices"
        first = call(sandbox, "GET", listing)["devices"]
        # A device of the first page was deleted meanwhile: all others moved up by one, and one of them was never seen.
        moved = {"devices": first[3:5], "meta": {"total": 4, "current_page": 2, "last_page": 2, "next": None}}
        sandbox.call("POST", "faults", json={"method": "GET", "path": "[?&]page=2", "status": 200, "body": moved, "times": 1})
        result = run("metal_device_info", {"tags": TAGS}, sandbox_environment)
        assert sorted(device["hostname"] for device in result["devices"]) == [f"worker-{n}.laws.metal.test" for n in range(1, 6)]
    finally:
        sandbox.call("DELETE", "faults")
        run("metal_device_set", {"ownership_tags": TAGS, "all_owned": True, "state": "absent", "wait_timeout": 30}, sandbox_environment)


def test_the_page_is_made_from_this_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tests.laws.reliability"

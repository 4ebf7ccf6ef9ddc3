"""`make bench`: what things cost, in calls to the API and in seconds, for 10, 100 and 1,000 devices."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

import httpx
from rich.console import Console
from rich.table import Table

from sandbox.running import REPOSITORY, RunningSandbox
from tests.e2e.harness import User

SIZES = (10, 100, 1000)

INVENTORY = """\
plugin: equinix_metal.openshift.metal
"""


def list_inventory(sandbox: RunningSandbox, folder: Path) -> tuple[float, int]:
    """Seconds and calls of one ``ansible-inventory --list`` of all devices."""
    source = folder / "bench.metal.yml"
    source.write_text(INVENTORY, encoding="utf-8")
    environment = {**os.environ, **sandbox.environment, "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg")}
    sandbox.forget()
    started = time.monotonic()
    subprocess.run(
        ["ansible-inventory", "-i", str(source), "--list", "--output", str(folder / "hosts.json")],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    return time.monotonic() - started, len(sandbox.journal())


def list_devices(sandbox: RunningSandbox) -> tuple[float, int]:
    """Seconds and calls to read every page of the project's devices, with nothing of Ansible in between."""
    environment = sandbox.environment
    path: str | None = f"/projects/{environment['METAL_PROJECT_ID']}/devices?per_page=250"
    calls = 0
    started = time.monotonic()
    with httpx.Client(headers={"X-Auth-Token": environment["METAL_AUTH_TOKEN"]}, timeout=60) as client:
        while path:
            answer = client.get(environment["METAL_API_URL"] + path)
            answer.raise_for_status()
            calls += 1
            following = answer.json()["meta"]["next"]
            path = following["href"].removeprefix("/metal/v1") if following else None
    return time.monotonic() - started, calls


def bench_inventory(console: Console) -> None:
    table = Table(title="Devices that exist", title_justify="left")
    for name in ("devices", "ansible-inventory --list", "calls", "all pages of the API", "calls"):
        table.add_column(name, justify="right")
    with tempfile.TemporaryDirectory() as name, RunningSandbox(Path(name) / "state", log=Path(name) / "log", speed=60) as sandbox:
        there = 0
        for size in SIZES:
            sandbox.call("POST", "devices", json={"count": size - there, "plan": "c3.small.x86", "metro": "da", "tags": ["bench"]})
            there = size
            whole, calls = list_inventory(sandbox, Path(name))
            pages, page_calls = list_devices(sandbox)
            table.add_row(f"{size:,}", f"{whole:.2f} s", str(calls), f"{pages:.3f} s", str(page_calls))
    console.print(table)


def bench_playbooks(console: Console) -> None:
    table = Table(title="The example cluster, machines at 240 times life", title_justify="left")
    for name in ("playbook", "seconds", "reads", "writes", "changed"):
        table.add_column(name, justify="left" if name == "playbook" else "right")
    with tempfile.TemporaryDirectory() as name, User(Path(name), speed=240).at_work() as user:
        for title, playbook in (
            ("install", "install.yml"),
            ("install again", "install.yml"),
            ("scale, nothing to do", "scale.yml"),
            ("destroy", "destroy.yml"),
        ):
            run = user.destroy() if playbook == "destroy.yml" else user.play(playbook).ended_well()
            reads = len(run.requests) - len(run.writes)
            table.add_row(title, f"{run.seconds:.1f}", str(reads), str(len(run.writes)), str(run.changed))
    console.print(table)


if __name__ == "__main__":
    shown = Console()
    bench_inventory(shown)
    bench_playbooks(shown)

"""docs/coming-from.md names nothing that is not there, leaves out nothing of what is installed, and its playbook runs."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.inventory.metal import host_variables
from sandbox.testing.process import RunningSandbox, is_write
from tests.conftest import SPEED

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
COLLECTION = "equinix_metal.openshift"
NAME = re.compile(r"`([^`]+)`")
MARK = re.compile(r"<!-- options: (.+) -->")


@dataclass(frozen=True)
class Row:
    """One line of a table. ``kind``: its first head cell. ``of``: what its options are of, as the mark before the table says."""

    heading: str
    kind: str
    of: str
    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    remark: str

    @property
    def title(self) -> str:
        return f"{self.heading}: {self.theirs[0] if self.theirs else self.ours}"


def rows() -> Iterator[Row]:
    heading = kind = of = ""
    for line in PAGE.splitlines():
        if line.startswith("#"):
            heading, of = line.lstrip("# "), ""
        elif mark := MARK.fullmatch(line):
            of = mark[1]
        elif not line.startswith("|"):
            kind = ""
        elif not kind:
            kind = line.split("|")[1].strip()
        elif not line.startswith("| ---"):
            theirs, ours, remark = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:4])
            assert ours == "none" or NAME.search(ours), line
            yield Row(heading, kind, of, tuple(NAME.findall(theirs)), tuple(NAME.findall(ours)), remark)


ROWS = list(rows())
OPTIONS = [row for row in ROWS if row.kind == "option"]


def ansible_doc(kind: str, *names: str) -> dict[str, Any]:
    """What a user reads: by the last part of each name, with ``doc`` and ``return``."""
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-doc", "--json", "-t", kind, *names],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return {name.rpartition(".")[2]: result for name, result in json.loads(done.stdout).items()}


@pytest.fixture(scope="module")
def documented() -> dict[str, Any]:
    modules = [f"{COLLECTION}.{path.stem}" for path in (ROOT / "plugins" / "modules").glob("*.py")]
    inventory = ansible_doc("inventory", f"{COLLECTION}.metal")["metal"]
    return {**ansible_doc("module", *modules), "inventory metal": inventory}


def option(documented: dict[str, Any], of: str, name: str) -> dict[str, Any]:
    """The option that a cell names: ``option``, ``option.suboption``, ``module.option``, any of them with ``=value``."""
    name, _equals, value = name.partition("=")
    first, _dot, rest = name.partition(".")
    if first in documented and rest:
        of, name = first, rest
    found: dict[str, Any] = {"suboptions": documented[of]["doc"]["options"]}
    for part in name.split("."):
        found = found["suboptions"][part]
    assert not value or value in found["choices"], f"{value} is no choice of {name}"
    return found


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: row.title)
def test_options(row: Row, documented: dict[str, Any]) -> None:
    assert row.of, "no mark says whose options these are"
    if not row.ours:
        assert row.remark, "no reason is given"
        return
    found = {name: option(documented, row.of, name) for name in row.ours}
    how = row.remark.partition(";")[0]
    if how == "same":
        assert row.ours == row.theirs
    elif how == "alias":
        assert row.theirs[0] in found[row.ours[0]]["aliases"]
    else:
        assert row.theirs != row.ours


@pytest.mark.parametrize("row", [row for row in ROWS if row.kind in ("module", "command", "resource")], ids=lambda row: row.title)
def test_modules(row: Row, documented: dict[str, Any]) -> None:
    assert row.ours or row.remark, "no reason is given"
    for name in row.ours:
        if name not in documented:
            option(documented, "", name)


@pytest.mark.parametrize("row", [row for row in ROWS if row.kind == "returned"], ids=lambda row: row.title)
def test_returned_values(row: Row, documented: dict[str, Any]) -> None:
    assert row.ours or row.remark, "no reason is given"
    for name in row.ours:
        module, *parts = name.split(".")
        found: dict[str, Any] = {"contains": documented[module]["return"]}
        for part in parts:
            found = fields(documented, found)[part]


def fields(documented: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """The documented fields of a result: its own, or those of the result that its description refers to."""
    if "contains" not in value:
        reference = re.search(r"the fields of RV\((?P<module>[\w.]+)#module:(?P<result>\w+)\)", str(value["description"]))
        assert reference, value
        value = documented[reference["module"].rpartition(".")[2]]["return"][reference["result"]]
    contained: dict[str, Any] = value["contains"]
    return contained


@pytest.mark.parametrize("row", [row for row in ROWS if row.kind == "host variable"], ids=lambda row: row.title)
def test_host_variables(row: Row) -> None:
    known = {f"metal_{name}" for name in host_variables({"id": "1", "hostname": "a"})} | {"ansible_host"}
    assert row.ours or row.remark, "no reason is given"
    assert set(row.ours) <= known


@pytest.mark.parametrize(
    "module", ["packet_device", "packet_ip_subnet", "packet_project", "packet_sshkey", "packet_volume", "packet_volume_attachment"]
)
def test_every_option_of_community_general_is_on_the_page(module: str) -> None:
    theirs = set(ansible_doc("module", f"community.general.{module}")[module]["doc"]["options"])
    result = {name for row in OPTIONS if module in row.heading.split() for name in row.theirs}
    assert theirs - result == set()


def block(mark: str) -> str:
    """The code under a mark of the page."""
    found = re.search(rf"<!-- {mark} -->\n```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found, mark
    return found[1]


def test_the_playbook_of_the_page_runs_and_is_idempotent(tmp_path: Path) -> None:
    (tmp_path / "web.yml").write_text(block("playbook"), encoding="utf-8")
    (tmp_path / "02.metal.yml").write_text(block("inventory"), encoding="utf-8")
    with RunningSandbox(tmp_path / "state", log=tmp_path / "log", speed=SPEED) as sandbox:
        environment = {**os.environ, **sandbox.environment, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}

        def run(program: str, *arguments: str) -> str:
            command = [str(Path(sys.executable).parent / program), *arguments]
            done = subprocess.run(
                command, env=environment, cwd=tmp_path, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        play = ("-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}", "web.yml")
        assert ", active" in run("ansible-playbook", *play)
        sandbox.forget()
        assert "changed=0" in run("ansible-playbook", *play)
        assert [request for request in sandbox.journal() if is_write(request)] == []
        listed = json.loads(run("ansible-inventory", "-i", "02.metal.yml", "--list"))
        assert listed["plan_c3_small_x86"]["hosts"] == listed["tag_web"]["hosts"] == ["web-01"]

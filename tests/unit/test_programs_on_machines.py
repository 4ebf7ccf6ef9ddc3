"""Scripts and units that the collection writes on machines run programs of RHEL CoreOS alone."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import tree_sitter_bash
from tree_sitter import Language, Parser, Query, QueryCursor

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.boot import pointer
from sandbox.containers.tree import LIVE_PROGRAMS, PROGRAMS

ROLES = Path(__file__).resolve().parents[2] / "roles"
BASH = Language(tree_sitter_bash.language())
CALLS = Query(
    BASH,
    """(command name: (command_name) @called)
    (command name: (command_name) @trap (#eq? @trap "trap") . argument: (raw_string) @script)
    (command name: (command_name) @exec (#eq? @exec "exec") . argument: (word) @called)
    (function_definition name: (word) @function) (ERROR) @error (MISSING) @error""",
)
COREOS = set(" ".join([*PROGRAMS.values(), LIVE_PROGRAMS]).split())
FILES = [path for role in ("boot_files", "ignition") for path in sorted(ROLES.glob(f"{role}/files/*"))]
SCRIPTS = {path.name: path.read_text() for path in FILES if path.suffix == ".sh"}
UNITS = {path.name: path.read_text() for path in FILES if path.suffix in {".service", ".timer"}}
SCRIPTS["kubelet-registration.sh"] = pointer.SCRIPT
UNITS["kubelet-registration.service"] = pointer.UNIT.format(command=f"{pointer.SCRIPT_PATH} --node-labels=a=b")


def programs_of(script: str) -> set[str]:
    """Return what a bash script calls, without its functions and the commands of bash."""
    captured = QueryCursor(CALLS).captures(Parser(BASH).parse(script.encode()).root_node)
    names = {kind: {str(node.text, "utf-8") for node in nodes if node.text} for kind, nodes in captured.items()}
    assert not captured.get("error"), "the parser does not understand the script"
    own = names.get("function", set()) | set(subprocess.check_output(["bash", "-c", "compgen -b"], text=True).split())
    return names.get("called", set()).union(*(programs_of(text.strip("'")) for text in names.get("script", ()))) - own


def commands_of(unit: str) -> Iterator[str]:
    return (match[1] for match in re.finditer(r"^Exec\w+=[-@:+!|]*(\S+)", unit, re.MULTILINE))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs_programs_of_coreos(name: str) -> None:
    assert programs_of(SCRIPTS[name]) <= COREOS


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_runs_programs_of_coreos_or_a_script(name: str) -> None:
    local = {f"/usr/local/bin/{script.removesuffix('.sh')}" for script in SCRIPTS}
    assert set(commands_of(UNITS[name])) <= local | {f"/usr/{folder}/{program}" for folder in ("bin", "sbin") for program in COREOS}


def test_a_program_is_called_in_a_substitution_a_pipe_and_a_trap() -> None:
    script = "#!/bin/bash\nf() { [ -e x ] || python3 -c 1; }\ntrap 'perl -e 1' EXIT\nexec nsupdate\nx=$(f | dig +short \"$(nc host)\")\n"
    assert programs_of(script) == {"python3", "perl", "dig", "nc", "nsupdate"}

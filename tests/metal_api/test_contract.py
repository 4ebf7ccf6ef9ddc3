"""Every route is called, and its answer read by the models of a client nobody here wrote: a route without that fails here."""

import re
from pathlib import Path

from metal_api.absent import MISSING
from sandbox.metal.resources import ROUTES
from tests.metal_api import contract
from tests.metal_api.conftest import Sandbox
from tests.metal_api.walk import walk

DOCUMENT = Path(__file__).parents[2] / "docs/sandbox.md"


async def test_every_answer_of_every_route(sandbox: Sandbox) -> None:
    contract.SEEN.clear()
    await walk(sandbox)
    missing = {(each.method, each.path) for each in ROUTES} - contract.SEEN
    assert not missing


async def test_every_other_call_of_the_client_is_known_to_be_missing(sandbox: Sandbox) -> None:
    """Of the vendor's text nothing is forgotten: imitated, or 501 with the part it belongs to, and in the table of docs/sandbox.md."""
    missing: dict[str, dict[str, list[str]]] = {}
    imitated = {(each.method, contract.bare(each.path)) for each in ROUTES}
    for method, path in sorted(contract.expectations(), key=lambda call: (call[1], call[0])):
        if (method, path) in imitated:
            continue
        (text,) = await sandbox.errors(method, path.replace("{}", "x"), 501)
        found = re.fullmatch(r"This Metal API has no (.+) \(.+\): docs/sandbox.md lists what is missing\.", text)
        assert found, f"{method} {path}: {text}"
        missing.setdefault(found[1], {}).setdefault(path, []).append(method)

    def calls(what: str) -> str:
        return ", ".join(f"`{' '.join(methods)} {path}`" for path, methods in missing[what].items())

    table = [f"| {what} | {calls(what)} |" for what in MISSING if what in missing]
    assert "\n".join(table) in DOCUMENT.read_text(encoding="utf-8"), "docs/sandbox.md should have:\n" + "\n".join(table)

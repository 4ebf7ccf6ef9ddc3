"""Hrefs lead somewhere: from the lists of an account to everything that an answer names."""

from collections.abc import Iterator
from typing import Any

from tests.metal_api.conftest import Sandbox
from tests.metal_api.objects import everything

PREFIX = "/metal/v1"
# Of recorded answers, whose objects no client reads and no text describes (docs/sandbox.md names both).
NOWHERE = ("/hardware/", "/bgp-configs/")


def hrefs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            if name == "href":
                yield each
            else:
                yield from hrefs(each)
    elif isinstance(value, list):
        for each in value:
            yield from hrefs(each)


async def test_every_href_can_be_followed(sandbox: Sandbox) -> None:
    ids = await everything(sandbox)
    project = sandbox.project
    roots = [
        "/user",
        "/users",
        "/organizations",
        "/projects",
        "/plans",
        "/facilities",
        "/operating-systems",
        "/locations/metros",
        "/events",
    ]
    parts = ("devices", "ips", "virtual-networks", "metal-gateways", "vrfs", "batches", "hardware-reservations", "spot-market-requests")
    roots += [f"{project}/{each}" for each in (*parts, "ssh-keys", "api-keys", "memberships", "bgp-config", "bgp/sessions", "events")]
    roots += [f"/ports/{ids['ports']}/vlan-assignments", f"/ports/{ids['ports']}/vlan-assignments/batches", f"/vrfs/{ids['vrfs']}/routes"]
    left, known = [PREFIX + each for each in roots], set[str]()
    broken: dict[str, int] = {}
    while left:
        path = left.pop()
        answer = await sandbox.api.get(sandbox.url + path)
        if answer.status_code != 200:
            broken[path] = answer.status_code
            continue
        for found in hrefs(answer.json()):
            # "#..." is an object without an address.
            if found not in known and not found.startswith("#"):
                known.add(found)
                assert found.startswith(f"{PREFIX}/"), f"{path} has {found}"
                if not found.removeprefix(PREFIX).startswith(NOWHERE):
                    left.append(found)
    assert broken == {}
    kinds = {each.removeprefix(PREFIX).split("/")[1] for each in known}
    assert kinds >= {"locations", "facilities", "plans", "operating-systems", "ports", "ips", "memberships", "users", "batches"}

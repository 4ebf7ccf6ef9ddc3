# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions by Accept header, and how machine configs become one."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from sandbox.openshift.kubelet import KubeletConfig
from sandbox.openshift.machine_config_server import (
    UnusableVersionError,
    accepted_version,
    application,
    in_version,
    merged,
    rendered_name,
    template,
)

IGNITION = "application/vnd.coreos.ignition+json"


@pytest.mark.parametrize(
    ("accept", "version"),
    [
        ("", (2, 2, 0)),
        ("*/*", (2, 2, 0)),
        (IGNITION, (2, 2, 0)),
        (f"{IGNITION};version=nonsense", (2, 2, 0)),
        (f"{IGNITION};version=2.4.0", (2, 2, 0)),
        (f"{IGNITION};version=3.1.0", (3, 1, 0)),
        (f"{IGNITION};version=3.2.0, */*;q=0.1", (3, 2, 0)),
        (f"{IGNITION}; version=3.4.0-experimental", (3, 4, 0)),
        (f"{IGNITION};version=3.9.0", (3, 5, 0)),
        (f"{IGNITION};q=0.5;version=3.1.0, {IGNITION};version=3.3.0", (3, 3, 0)),
        (f"{IGNITION};version=1.0.0, {IGNITION};version=3.3.0;q=0.2", (3, 3, 0)),
    ],
)
def test_accepted_version(accept: str, version: tuple[int, int, int]) -> None:
    assert accepted_version(accept) == version


@pytest.mark.parametrize("version", ["3.0.0", "4.0.0", "2.1.0", "1.0.0"])
def test_unusable_version(version: str) -> None:
    with pytest.raises(UnusableVersionError, match=version):
        accepted_version(f"{IGNITION};version={version}, */*;q=0.1")


def test_machine_configs_merge_by_name_and_later_ones_win() -> None:
    def file(content: str) -> dict[str, object]:
        return {"path": "/etc/a", "contents": {"source": f"data:,{content}"}}

    def config(name: str, content: str, key: str) -> dict[str, object]:
        users = [{"name": "core", "sshAuthorizedKeys": [key]}]
        return {"metadata": {"name": name}, "spec": {"config": {"storage": {"files": [file(content)]}, "passwd": {"users": users}}}}

    result = merged([config("99-b", "second", "key b"), config("00-a", "first", "key a"), {"metadata": {"name": "50-empty"}, "spec": {}}])
    assert result["storage"]["files"] == [file("second")]
    assert result["passwd"]["users"] == [{"name": "core", "sshAuthorizedKeys": ["key a", "key b"]}]
    assert rendered_name("worker", result) == rendered_name("worker", dict(result))
    assert rendered_name("worker", result).startswith("rendered-worker-")


def test_spec_2_names_a_file_system() -> None:
    old = in_version(merged([template("worker", schedulable=False)]), (2, 2, 0))
    assert {file["filesystem"] for file in old["storage"]["files"]} == {"root"}
    assert all("overwrite" not in file for file in old["storage"]["files"])


@pytest.mark.parametrize(("schedulable", "taints", "worker"), [(False, 1, False), (True, 0, True)])
def test_kubelet_reads_its_role_from_its_unit(schedulable: bool, taints: int, worker: bool) -> None:
    kubeconfig = "clusters: [{cluster: {server: 'https://api-int:6443', certificate-authority-data: YQ==}}]\nusers: [{user: {token: t}}]\n"
    config = merged([template("master", schedulable=schedulable)])
    for path, content in (("/etc/kubernetes/kubeconfig", kubeconfig), ("/etc/kubernetes/kubelet-ca.crt", "an authority")):
        config["storage"]["files"].append({"path": path, "contents": {"source": f"data:,{content}"}})
    read = KubeletConfig.read(config)
    assert read.is_control_plane
    assert len(read.taints) == taints
    assert ("node-role.kubernetes.io/worker" in read.labels) == worker
    assert read.labels["node.openshift.io/os_id"] == "rhel"
    assert "" not in read.labels


def test_hundreds_who_ask_at_once_share_one_config() -> None:
    made = 0

    async def config_for(pool: str) -> dict[str, Any]:
        nonlocal made
        made += 1
        await asyncio.sleep(0.1)
        return {"ignition": {"version": "3.5.0"}, "storage": {"files": [{"path": f"/{pool}-{made}"}]}}

    async def ask(number: int) -> list[httpx.Response]:
        transport = httpx.ASGITransport(application(config_for))
        headers = {"accept": f"{IGNITION};version=3.4.0"}
        async with httpx.AsyncClient(transport=transport, base_url="https://api-int:22623", headers=headers) as client:
            first = asyncio.create_task(client.get("/config/worker"))
            asked = [asyncio.create_task(client.get("/config/worker")) for _again in range(number)]
            await asyncio.sleep(0.05)
            # Who goes away takes nothing from the others.
            first.cancel()
            return [*await asyncio.gather(*asked), await client.get("/config/worker")]

    *together, later = asyncio.run(ask(300))
    assert {answer.status_code for answer in together} == {200}
    assert {answer.json()["storage"]["files"][0]["path"] for answer in together} == {"/worker-1"}
    # Who asks later gets what is true then.
    assert later.json()["storage"]["files"][0]["path"] == "/worker-2"

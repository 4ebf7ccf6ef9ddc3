"""Versions by Accept header, and how machine configs become one."""

import asyncio
from typing import Any

import httpx
import pytest

from sandbox.openshift.assets import AssetError
from sandbox.openshift.kubelet import KubeletConfig
from sandbox.openshift.machine_config_server import (
    accepted_version,
    application,
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


KUBECONFIG = "clusters: [{cluster: {server: 'https://api-int:6443', certificate-authority-data: YQ==}}]\nusers: [{user: {token: t}}]\n"
SCRIPT = "data:,mkdir /run/systemd/system/kubelet.service.d; systemctl daemon-reload"


def worker(flags: str, *, script: str = SCRIPT, condition: str = "ConditionPathExists=!/var/lib/kubelet/kubeconfig") -> dict[str, Any]:
    """Return the config of a worker with a unit before the kubelet."""
    config = merged([template("worker", schedulable=False)])
    files = [("/etc/kubernetes/kubeconfig", f"data:,{KUBECONFIG}"), ("/etc/kubernetes/kubelet-ca.crt", "data:,an authority")]
    files += [("/usr/local/bin/flags", script)] if script else []
    config["storage"]["files"] += [{"path": path, "contents": {"source": source}} for path, source in files]
    service = f"[Service]\nExecStart=/usr/local/bin/flags {flags}\n[Install]\nRequiredBy=kubelet.service\n"
    unit = f"[Unit]\nBefore=kubelet.service\n{condition}\n{service}"
    config["systemd"]["units"].append({"name": "flags.service", "enabled": True, "contents": unit})
    return config


def test_a_unit_before_the_kubelet_adds_flags_until_the_machine_has_joined() -> None:
    first = KubeletConfig.read(worker("--node-labels=a=1,b= --register-with-taints=k=v:NoSchedule,x=:NoExecute")).first
    assert first.labels == {"a": "1", "b": ""}
    assert first.taints == ({"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "x", "effect": "NoExecute"})
    assert KubeletConfig.read(worker("--node-labels=a=1", script="data:,echo nothing")).first.labels == {}
    assert KubeletConfig.read(worker("--node-labels=a=1", condition="")).first.labels == {}


def test_a_kubelet_does_not_start_without_the_program_of_a_unit_that_it_requires() -> None:
    with pytest.raises(AssetError, match="/usr/local/bin/flags, which does not exist"):
        KubeletConfig.read(worker("--node-labels=a=1", script=""))


@pytest.mark.parametrize("label", ["node-role.kubernetes.io/infra", "node-restriction.kubernetes.io/a", "a.k8s.io/b"])
def test_a_kubelet_ends_with_labels_that_it_may_not_set(label: str) -> None:
    assert KubeletConfig.read(worker("--node-labels=node.kubernetes.io/a=1")).first.labels == {"node.kubernetes.io/a": "1"}
    with pytest.raises(AssetError, match="labels specified with --node-labels"):
        KubeletConfig.read(worker(f"--node-labels={label}=1"))


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

"""Members of a real etcd, by its own API: a learner joins and votes, refusals, and the loss of a quorum."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.machines.network import BoundHTTP, NameService
from sandbox.openshift import pki
from sandbox.openshift.binaries import Binaries
from sandbox.openshift.control_plane import ControlPlaneError
from sandbox.openshift.etcd import MembershipError
from sandbox.openshift.real_etcd import RealEtcd, etcd_flags
from tests.eventually import eventually

DAY = timedelta(days=1)
FIRST, SECOND = "127.99.0.1", "127.99.0.2"


async def test_members(tmp_path: Path, binaries: Binaries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.openshift.real_etcd._READ_EVERY", 0)
    signer = pki.self_signed_ca("etcd-signer", DAY)
    machines: dict[str, Any] = {}
    running: list[subprocess.Popen[bytes]] = []

    def start(address: str, *joining: str) -> None:
        certificates = tmp_path / address / "etcd-certs"
        for name in ("etcd-peer", "etcd-serving"):
            pki.server(signer, name, (address, "127.0.0.1"), DAY).write(certificates / name)
        pki.write_file(certificates / "ca.crt", signer.certificate)
        command = [str(binaries.etcd), "--data-dir=data", *etcd_flags(address, address, address), *joining]
        running.append(subprocess.Popen(command, cwd=certificates.parent, stderr=subprocess.DEVNULL))
        machines[address] = SimpleNamespace(http=BoundHTTP(address, NameService((address, 53), address)))

    client = pki.client(signer, "etcd", ("etcd",), DAY).write(tmp_path / "client")
    etcd = RealEtcd(lambda: machines, client, tmp_path / FIRST / "etcd-certs" / "ca.crt")

    async def voting() -> bool:
        try:
            await etcd.read()
            await etcd.promote()
        except ControlPlaneError:
            return False
        return len(etcd.healthy) == len(machines)

    async def added() -> bool:
        # etcd refuses it until the first member is up for some seconds.
        await etcd.add(SECOND)
        return etcd.at(SECOND) is not None

    try:
        start(FIRST)
        await eventually(voting, within=60)
        await eventually(added, within=60)
        await etcd.add("127.99.0.3")
        assert [(member.address, member.started) for member in etcd] == [(FIRST, True), (SECOND, False)]
        members = ",".join(f"{name}=https://{name}:2380" for name in (FIRST, SECOND))
        start(SECOND, "--initial-cluster-state=existing", f"--initial-cluster={members}")
        await eventually(voting, within=60)
        with pytest.raises(MembershipError, match="member not found"):
            await etcd.remove(1)
        running[1].kill()
        del machines[SECOND]
        await etcd.read()
        assert not etcd.has_quorum
    finally:
        for process in running:
            process.kill()
            process.wait()

"""Clients written in Go by others: the models of equinix-sdk-go read every answer, and packngo runs its own acceptance tests.

Those ran against the real service: where they pass, the sandbox does as it did. Building both takes minutes the first time.
"""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from sandbox.openshift.binaries import go_command
from tests.metal_api import contract
from tests.metal_api.conftest import Sandbox
from tests.metal_api.walk import walk

pytestmark = pytest.mark.long

MODULE = Path(__file__).with_name("go_clients")
PACKNGO = "github.com/packethost/packngo"

# Acceptance tests that are not run: why -> their names.
NOT_RUN = {
    "interconnections are not imitated": {
        "TestAccConnectionFabricTokenRedundant",
        "TestAccConnectionFabricTokenSingle",
        "TestAccConnectionOrganization",
        "TestAccConnectionProject",
        "TestAccVirtualCircuitDedicated",
        "TestAccVirtualCircuitShared",
    },
    "volumes, notifications and e-mail addresses are not imitated": {
        "TestAccCreateEmail",
        "TestAccDeviceAttachVolume",
        "TestAccDeviceAttachVolumeForceDelete",
        "TestAccListNotifications",
        "TestAccProjectListEvents",
        "TestAccVolumeBasic",
        "TestAccVolumeLargeList",
        "TestAccVolumeUpdate",
    },
    "order plans, systems and buildings of before 2020, which the catalogue does not have": {
        "TestAccCheckCapacity",
        "TestAccDeviceCreateFacilities",
        "TestAccDevicePort1E",
        "TestAccDevicePortL2HybridL3ConvertType2",
        "TestAccDevicePortL2HybridL3ConvertType3",
        "TestAccDevicePortL2HybridL3ConvertTypeC1LA",
        "TestAccDevicePortL2HybridL3ConvertTypeS",
        "TestAccDevicePortL2L3ConvertType2",
        "TestAccDevicePortL2L3ConvertType2A",
        "TestAccDevicePortL2L3ConvertType3",
        "TestAccDevicePortL2L3ConvertTypeS",
        "TestAccDevicePortNativeVlan",
        "TestAccDevicePortNetworkStateTransitions",
        "TestAccDeviceSpotInstance",
        "TestAccPlansFilter",
    },
    "wait until a gateway without ports is active, as it became by itself in 2021: later clients wait for ready": {
        "TestAccMetalGatewayExistingReservation",
        "TestAccMetalGatewaySubnetSize",
    },
    "calls the real service's own address": {"TestAccInvalidCredentials"},
    "refuses its own request before it is sent": {"TestAccVLANAssignmentServiceOp"},
    "wants events, whichever were there before it": {"TestAccListEvents"},
}
# Each deletes all projects of its kind, those of the others too: they are run before the others, one by one.
ALONE = ("Project", "Org")


@pytest.fixture(scope="module")
def go(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """The program that reads answers, and packngo's tests."""
    command = go_command(Console(stderr=True))
    folder = tmp_path_factory.mktemp("clients")
    environment = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    models, packngo = folder / "models", folder / "packngo"
    for built in ([command, "build", "-o", str(models), "."], [command, "test", "-c", "-o", str(packngo), PACKNGO]):
        subprocess.run(built, cwd=MODULE, env=environment, check=True)
    yield models, packngo


async def test_the_models_of_the_go_sdk_read_every_answer(sandbox: Sandbox, go: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[tuple[str, str, str]] = []
    monkeypatch.setattr(contract, "kept", kept)
    await walk(sandbox)
    lines = [json.dumps({"model": kind, "call": call, "body": json.loads(text)}) for call, kind, text in kept]
    read = await asyncio.to_thread(subprocess.run, [go[0]], input="\n".join(lines) + "\n", text=True, capture_output=True, check=False)
    assert read.returncode == 0, read.stdout
    assert f"read {len(lines)} answers" in read.stdout
    assert len(lines) > 150


async def test_packngo_runs_its_own_acceptance_tests(sandbox: Sandbox, go: tuple[Path, Path], tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PACKNGO_TEST_ACTUAL_API": "1",
        "PACKET_AUTH_TOKEN": sandbox.world.token,
        # Its tests know hrefs as they were without a prefix.
        "PACKET_API_URL": f"{sandbox.url}/",
    }

    async def run(*arguments: str) -> str:
        # Away from its own folder: it looks for recorded answers beside it.
        process = await asyncio.create_subprocess_exec(
            go[1], *arguments, cwd=tmp_path, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        output, _none = await process.communicate()
        return output.decode()

    not_run = set().union(*NOT_RUN.values())
    names = [each for each in (await run("-test.list", "^TestAcc")).split() if each.startswith("TestAcc")]
    assert not_run <= set(names)
    chosen = [each for each in names if each not in not_run]
    alone = [each for each in chosen if any(word in each for word in ALONE)]
    together = [each for each in chosen if each not in alone]
    output = ""
    for some, parallel in [*(([each], 1) for each in alone), (together, 16)]:
        pattern = f"^({'|'.join(some)})$"
        output += await run("-test.v", "-test.run", pattern, "-test.parallel", str(parallel), "-test.timeout", "200s")
    passed = {each for each in chosen if f"--- PASS: {each} " in output}
    assert set(chosen) - passed == set(), output
    assert len(passed) > 50

"""A module and the cluster lock: what was read without it is discarded, and changes before its loss are reported."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import LockNeededError, PlayEndedError
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.play import process
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.metal import MetalModule
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.record import Holder
from ansible_collections.equinix_metal.openshift.plugins.module_utils.lock.run import Locked, Run
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal import resource
from ansible_collections.equinix_metal.openshift.plugins.module_utils.metal.vlan import VLAN_OPTIONS, Vlan
from tests.module_arguments import patch_module_args

from .service import Reply, serving

PROJECT = "2b70eb8f-fa18-47c0-aba7-222a842362fd"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(resource, "RECHECK_AFTER_LOST_ANSWER", (0.0, 0.0))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path


def test_changes_before_the_lock_was_lost_are_reported() -> None:
    module = MetalModule.__new__(MetalModule)
    module.result, module._wrote, module._client, module._lock_of_this_call = {"changed": False}, False, None, None
    taken: list[LockNeededError] = []
    module._take_lock = taken.append  # type: ignore[method-assign,assignment]

    def act() -> None:
        if not taken:
            module.result["changed"] = True
            raise LockNeededError("lost")
        assert module.result == {"changed": False}, "from its beginning"

    module._with_lock(act)
    module.end(None)
    assert (len(taken), module.result["changed"]) == (1, True)


def call(url: str, capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    """``metal_vlan`` as a module: it ends this process, and says how."""
    given = {"metal_api_url": url, "metal_api_token": "token-0123456789", "project_id": PROJECT, "metro": "da", "tags": ["a=b"], **options}
    with patch_module_args(given), pytest.raises(SystemExit), MetalModule(VLAN_OPTIONS, in_project=True) as module:
        module.converge(lambda: Vlan(module.client, module.params))
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_a_module_whose_play_has_ended_sends_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    run = Run.begin(Holder.here(process(child.pid), "s", operation="install.yml"), Locked("s", ["a=b"], PROJECT, "da", 300))
    child.kill()
    child.wait()
    with serving(Reply(200, {"virtual_networks": []})) as service:
        result = call(service.url, capsys, cluster_lock=str(run.path))
        assert service.seen == []
    assert result["failed"]
    assert result["failure"]["type"] == PlayEndedError.__name__
    assert f"process {child.pid} is gone" in result["msg"]


def test_a_pause_ends_with_the_play(capsys: pytest.CaptureFixture[str]) -> None:
    """A 429 that asks for a minute: the module is gone a second after its play, and has sent nothing more."""
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    run = Run.begin(Holder.here(process(child.pid), "s", operation="install.yml"), Locked("s", ["a=b"], PROJECT, "da", 300))

    def end(*_arguments: Any) -> None:
        child.kill()
        child.wait()

    refused = Reply(429, headers={"Retry-After": "60"})
    with serving(refused) as service:
        service.on_request = end
        began = os.times().elapsed
        result = call(service.url, capsys, cluster_lock=str(run.path))
        assert os.times().elapsed - began < 30
        assert len(service.seen) == 1
    assert result["failure"]["type"] == PlayEndedError.__name__


def test_an_invalid_run_is_reported(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    with serving(Reply(200, {"virtual_networks": []})) as service:
        result = call(service.url, capsys, cluster_lock=str(folder / "none.json"))
        assert service.seen == []
    assert "Cannot read the run" in result["msg"]
    assert "Set cluster_lock to the run that metal_cluster_lock returned" in result["msg"]

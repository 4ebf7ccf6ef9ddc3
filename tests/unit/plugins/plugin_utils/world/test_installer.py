"""An installer that is at hand is asked for its answer to the install-config, and nothing of that stays."""

import fcntl
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible import constants

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world import installer, mirror
from sandbox.openshift import mirror as served
from tests.install_configs import GROUND
from tests.mirror_site import Site, mirror_site

VERSION = "4.20.33"
PASSWORD = "planted-password"


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sandbox's installer, which knows the installer's fields."""
    state, folder = tmp_path_factory.mktemp("state"), tmp_path_factory.mktemp("installer")
    served.create_mirror_app(state, sys.executable, "http://127.0.0.1:1")
    shutil.unpack_archive(state / "mirror" / "x86_64" / "clients" / "ocp" / VERSION / "openshift-install-linux.tar.gz", folder)
    return str(folder / "openshift-install")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(folder))
    return folder


def wanted(directory: Path, **settings: Any) -> dict[str, Any]:
    machine = {"role": "control-plane", "architecture": "x86_64"}
    return {
        **{name.removeprefix("openshift_"): value for name, value in GROUND.items()},
        "platform": "none",
        "cluster_networks": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
        "service_networks": ["172.30.0.0/16"],
        "machine_networks": ["10.0.0.0/16"],
        "machines": {"control_plane": [machine] * 3, "workers": [machine] * 2},
        "directory": str(directory),
        "version": VERSION,
        "folder_exists": False,
        "bootstrap_over": False,
        "installer_timeout": 60,
        "installer_cache": str(directory / "cache"),
        "mirror_url": "http://127.0.0.1:9/pub/openshift-v4",
        "distribution": "ocp",
        "release_keyring": "",
        "timeout": 5,
        **settings,
    }


def answer(asked: dict[str, Any], announce: Callable[[str], None] = lambda line: None, **readings: Any) -> dict[str, Any]:
    found = {"installer": mirror.installer_version(mirror.path(asked["installer"]), asked)} if asked.get("installer") else readings
    return dict(installer.collect(asked, found, announce))


def script(path: Path, manifests: str = "exit 0", version: str = VERSION, architecture: str = "amd64") -> str:
    """A program that says that it is an installer, and does this when it is to make manifests."""
    path.parent.mkdir(parents=True, exist_ok=True)
    says = f'printf "%s\\n" "$0 {version}" "built from commit 1" "release architecture {architecture}"'
    path.write_text(f'#!/bin/sh\nif [ "$1" = version ]; then {says}; exit; fi\n{manifests}\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_it_accepts(stand_in: str, tmp_path: Path, temporary: Path) -> None:
    assert answer(wanted(tmp_path, installer=stand_in, version="")) == {"installer_answer": {"version": VERSION, "warnings": []}}
    assert list(temporary.iterdir()) == []


def test_it_refuses_what_the_rules_cannot_know(tmp_path: Path, temporary: Path) -> None:
    text = f'failed to load asset \\"Install Config\\": proxy.httpProxy: Invalid value: \\"http://ada:{PASSWORD}@10.0.0.9:3128\\": refused'
    refusing = script(tmp_path / "refusing", f'echo secret >"${{3#--dir=}}/auth"; echo "level=error msg={text}" >&2; exit 3')
    asked = wanted(tmp_path, installer=refusing, proxy={"httpProxy": f"http://ada:{PASSWORD}@192.0.2.9:3128"})
    refused = answer(asked)["installer_answer"]["refused"]
    assert "Invalid value" in refused
    assert PASSWORD not in refused
    assert list(temporary.iterdir()) == []


def test_it_does_not_answer(tmp_path: Path, temporary: Path) -> None:
    asked = wanted(tmp_path, installer=script(tmp_path / "slow", "exec sleep 60"), installer_timeout=0.3)
    assert answer(asked) == {"installer_answer": {"version": VERSION, "msg": "no answer within 0.3 s"}}
    assert list(temporary.iterdir()) == []


def test_its_folder_and_what_is_in_it_are_for_their_owner_alone(tmp_path: Path) -> None:
    modes = tmp_path / "modes"
    looking = script(tmp_path / "looking", f'stat -c %a "${{3#--dir=}}" "${{3#--dir=}}/install-config.yaml" >"{modes}"')
    assert answer(wanted(tmp_path, installer=looking))["installer_answer"] == {"version": VERSION, "warnings": []}
    assert modes.read_text(encoding="utf-8").split() == ["700", "600"]


@pytest.mark.parametrize(
    ("version", "architecture", "settings", "is_asked"),
    [
        (VERSION, "amd64", {}, True),
        (VERSION, "arm64", {}, False),
        ("4.19.42", "amd64", {}, False),
        (VERSION, "amd64", {"version": "stable-4.20"}, False),
        # Files without a device are made anew when the settings have changed.
        (VERSION, "amd64", {"folder_exists": True}, True),
        (VERSION, "amd64", {"bootstrap_over": True}, False),
        # Not by rules: it is the judge.
        (VERSION, "amd64", {"install_config": {"publish": "Internal"}}, True),
        (VERSION, "amd64", {"install_config": {"metadata": {"name": "other"}}}, False),
    ],
)
def test_one_that_an_earlier_run_has_fetched(
    version: str, architecture: str, settings: dict[str, Any], is_asked: bool, tmp_path: Path
) -> None:
    script(tmp_path / "my cluster" / "bin" / "any" / "openshift-install", version=version, architecture=architecture)
    found = answer(wanted(tmp_path / "my cluster", **settings))
    assert (found == {"installer_answer": {"version": VERSION, "warnings": []}}) is is_asked
    assert not list((tmp_path / "my cluster").glob("cache/[!v]*")), "nothing is downloaded"


def test_it_is_not_asked_once_devices_have_been_ordered(tmp_path: Path) -> None:
    script(tmp_path / "bin" / "any" / "openshift-install")
    devices = {"devices": [{"id": "1", "hostname": "cp-0", "state": "active", "tags": ["openshift-role=control-plane"]}]}
    assert answer(wanted(tmp_path, folder_exists=True), devices=devices) == {}


def test_what_a_killed_run_has_left_is_removed_unless_another_run_is_at_work(tmp_path: Path) -> None:
    script(tmp_path / "bin" / "any" / "openshift-install")
    left = tmp_path / "cache" / "validate-killed" / "install-config.yaml"
    left.parent.mkdir(parents=True)
    left.write_text("a pull secret")
    with (tmp_path / "cache" / "validate.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        assert "warnings" in answer(wanted(tmp_path))["installer_answer"]
        assert left.exists(), "it may be the other run's"
    assert "warnings" in answer(wanted(tmp_path))["installer_answer"]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["validate.lock"]


def test_none_is_here(tmp_path: Path) -> None:
    found = answer(wanted(tmp_path / "none"), mirror={"url": "http://m.test/sums", "msg": "Connection refused", "content": ""})
    assert found == {"installer_answer": {"unavailable": "http://m.test/sums cannot be read: Connection refused"}}
    assert answer(wanted(tmp_path, installer=str(tmp_path / "none"))) == {}
    found = answer(wanted(tmp_path, version="stable-4.20"), mirror={"msg": "Connection refused"})
    assert found == {"installer_answer": {"unavailable": "stable-4.20: Connection refused"}}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A mirror with the stand-in."""
    with mirror_site(tmp_path_factory.mktemp("mirror")) as found:
        yield found


def of_site(site: Site, directory: Path, version: str = VERSION, **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    asked = wanted(directory, version=version, mirror_url=site.url, release_keyring=str(served.keyring(site.folder)), **settings)
    return asked, mirror.collect({**asked, "installer": "", "signature_timeout": 30})


@pytest.mark.debian("gpgv")
@pytest.mark.parametrize("version", [VERSION, "stable-4.20"])
def test_it_is_downloaded_once_for_all_clusters(site: Site, tmp_path: Path, version: str) -> None:
    cache, lines = tmp_path / "cache", list[str]()
    for name in ("one", "two"):
        asked, readings = of_site(site, tmp_path / name, version, installer_cache=str(cache))
        assert answer(asked, lines.append, **readings) == {"installer_answer": {"version": VERSION, "warnings": []}}
        assert not (tmp_path / name).exists()
    (line,) = lines
    assert line.startswith("Downloading http://")
    assert [path.stat().st_mode & 0o777 for path in cache.glob("[!v]*")] == [0o700]


@pytest.mark.debian("gpgv")
def test_one_that_is_not_signed_does_not_run(site: Site, tmp_path: Path) -> None:
    asked, readings = of_site(site, tmp_path)
    (tmp_path / "empty.gpg").touch()
    found = answer({**asked, "release_keyring": str(tmp_path / "empty.gpg")}, **readings)["installer_answer"]
    assert "is refused by" in found["unavailable"]
    assert not list((tmp_path / "cache").rglob("openshift-install"))

# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builder of the image: its cache entry, its commands and its errors, without building."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from metal_api import building
from sandbox.coreos_image import build


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(build.READY_FOLDER_VARIABLE, raising=False)
    return tmp_path / "cache"


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=200)


def image_in(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in (*build.FILES, *build.AGENT_FILES):
        (folder / name).write_bytes(name.encode())
    return folder


def test_a_ready_folder_takes_the_place_of_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = image_in(tmp_path / "ready")
    monkeypatch.setenv(build.READY_FOLDER_VARIABLE, str(folder))
    assert build.ensure_image() == build.Image(*(folder / name for name in (*build.FILES, *build.AGENT_FILES)))
    (folder / "rootfs.img").unlink()
    with pytest.raises(build.ImageError, match=r"ready has no complete image of machines: rootfs\.img missing"):
        build.ensure_image()


def test_a_failed_step_leaves_no_image_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch, console: Console, tmp_path: Path) -> None:
    installer = tmp_path / "installer"
    for name in ("systemd", "scripts"):
        (installer / "crate" / name).mkdir(parents=True)
    (installer / "program").touch()

    def fail(*_arguments: object, **_named: object) -> None:
        raise building.BuildError("making the image failed: no mirror")

    monkeypatch.setattr(build, "check_programs", lambda _programs: None)
    monkeypatch.setattr(build, "ensure_kubelet", lambda _console: installer / "program")
    monkeypatch.setattr(build, "ensure_installer", lambda _console: build.Installer(installer / "program", installer / "crate"))
    monkeypatch.setattr(build, "debian_mirrors", list)
    monkeypatch.setattr(build, "run_step", fail)
    with pytest.raises(build.ImageError, match=r"(?s)no mirror.*run the command again.*SANDBOX_COREOS_IMAGE"):
        build.ensure_image(console)
    assert not build.cache_folder().exists()
    assert not list(build.cache_folder().parent.glob("building-*"))


def test_the_cache_entry_changes_with_every_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = build.cache_folder(), build.agent_cache_folder()
    assert (build.cache_folder(), build.agent_cache_folder()) == before
    seen = {before[0]}
    for name, value in {"SYSTEM": build.Tree(("systemd",), "assemble", {}), "INSTALLER_VERSION": "0.28.0", "SUITE": "trixie"}.items():
        with monkeypatch.context() as changed:
            changed.setattr(build, name, value)
            seen.add(build.cache_folder())
    copy = tmp_path / "package"
    for path in {*build.sources(), *build.agent_sources()}:
        target = copy / path.relative_to(build.SOURCE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
        target.chmod(path.stat().st_mode)
    monkeypatch.setattr(build, "SOURCE", copy)
    assert (build.cache_folder(), build.agent_cache_folder()) == before
    (copy / "files/usr/bin/kubelet").chmod(0o644)
    seen.add(build.cache_folder())
    (copy / "files/boot/grub2/grub.cfg").write_text("boot\n")
    seen.add(build.cache_folder())
    assert len(seen) == 6
    assert build.agent_cache_folder() == before[1], "the ramdisk of the agent has none of it"
    (copy / "agent-requirements.txt").write_text("ironic-python-agent==12.0.0\n")
    assert build.agent_cache_folder() != before[1]


def test_missing_programs_are_named_with_their_packages() -> None:
    with pytest.raises(build.ImageError, match=r"without no-such-program\. .*apt-get install no-such-package\. .*SANDBOX_COREOS_IMAGE"):
        build.check_programs({"no-such-program": "no-such-package", "sh": "dash"})
    build.check_programs({"sh": "dash"})

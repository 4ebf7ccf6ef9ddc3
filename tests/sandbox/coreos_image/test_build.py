# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builder of the image: its cache entry, its commands and its errors, without building."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest
from rich.console import Console

from metal_api import building
from sandbox.coreos_image import assemble, build


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


def test_an_image_in_the_cache_is_not_built_again(console: Console) -> None:
    image_in(build.cache_folder())
    image_in(build.agent_cache_folder())
    assert build.ensure_image(console).kernel.read_text() == "vmlinuz"
    assert isinstance(console.file, io.StringIO)
    assert not console.file.getvalue()


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


def test_mirrors_are_those_of_the_computers_apt() -> None:
    listed = "\n".join(
        [
            "deb http://mirror.example/debian/ bookworm main",
            "deb http://mirror.example/debian/ bookworm main",
            "deb http://mirror.example/debian/ bookworm contrib",
            "deb http://mirror.example/debian/ bookworm-updates main",
            "deb http://mirror.example/security/ bookworm-security main",
            "deb http://other.example/apt/ stable main",
        ]
    )
    assert build.mirror_lines(listed) == [
        "deb http://mirror.example/debian/ bookworm main",
        "deb http://mirror.example/debian/ bookworm-updates main",
        "deb http://mirror.example/security/ bookworm-security main",
    ]
    # Without the release itself its updates are no use.
    assert build.mirror_lines("deb http://mirror.example/debian/ bookworm-updates main\n") == []
    assert build.mirror_lines("deb http://archive.example/ubuntu/ noble main\n") == []


def test_the_debian_tree_is_made_from_these_mirrors(tmp_path: Path) -> None:
    command = build.mmdebstrap(
        tmp_path / "build",
        tmp_path / "results",
        build.Tree(["udev", "jq"], "agent", {}),
        ["deb http://mirror.example/debian/ bookworm main"],
    )
    assert command[0] == "mmdebstrap"
    assert command[-3:] == ["bookworm", "-", "deb http://mirror.example/debian/ bookworm main"]
    assert "--include=udev,jq" in command
    assert f"--customize-hook=copy-in {tmp_path}/build /" in command
    assert any(argument.endswith("python3 -m sandbox.coreos_image.agent /build") for argument in command)


def test_the_agents_packages_are_pinned() -> None:
    required = (build.SOURCE / "agent-requirements.txt").read_text().splitlines()
    packages = [line for line in required if not line.startswith("#")]
    assert any(line.startswith("ironic-python-agent==") for line in packages)
    assert [line for line in packages if line.count("==") != 1] == []


def test_times_are_limited(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for path in (old, new):
        path.touch()
    os.utime(old, (1, 1))
    (tmp_path / "link").symlink_to("nowhere")
    assemble.limit_times(tmp_path)
    assert (old.stat().st_mtime, new.stat().st_mtime, (tmp_path / "link").lstat().st_mtime) == (1, int(assemble.EPOCH), int(assemble.EPOCH))


@pytest.mark.parametrize(
    ("shown", "version"),
    [("cargo 1.95.0 (f2d3ce0bd 2026-03-21)\n", (1, 95)), ("cargo 1.96.0+dfsg1\n", (1, 96)), ("error: no default toolchain\n", ())],
)
def test_the_version_of_cargo(shown: str, version: tuple[int, ...]) -> None:
    assert build.cargo_version(shown) == version


def test_an_old_cargo_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin/cargo", "echo cargo 1.63.0")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    with pytest.raises(
        build.ImageError, match=r"Cargo 1\.87 or newer \(.*/cargo is 1\.63; no cargo-web on PATH\).*apt-get install cargo-web"
    ):
        build.cargo_environment()
    program(tmp_path / "bin/cargo-web", "echo cargo 1.96.0")
    assert build.cargo_environment() == {"CARGO": f"{tmp_path}/bin/cargo-web", "RUSTC": "rustc-web"}


def program(path: Path, line: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return path


def test_container_images_are_what_docker_saves() -> None:
    content = assemble.container_images(b"busybox")
    assert content == assemble.container_images(b"busybox"), "reproducible"
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        names = archive.getnames()
        manifest = json.loads(_read(archive, "manifest.json"))
        for image in manifest:
            assert image["Config"] in names
            config = json.loads(_read(archive, image["Config"]))
            assert len(config["rootfs"]["diff_ids"]) == len(image["Layers"])
        with tarfile.open(fileobj=io.BytesIO(_read(archive, "layer.tar"))) as layer:
            assert layer.getmember("bin/sh").linkname == "busybox"
            assert layer.getmember("bin/busybox").mode == 0o755
    assert [image["RepoTags"] for image in manifest] == [["localhost/busybox:1"], ["localhost/pause:1"]]


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    assert file is not None
    return file.read()


def test_the_kubelets_wrapper_drops_what_upstreams_kubelet_refuses(tmp_path: Path) -> None:
    real = program(tmp_path / "kubelet", 'printf "%s\\n" "$@"')
    wrapper = tmp_path / "wrapper"
    source = (build.SOURCE / "files/usr/bin/kubelet").read_text()
    assert "exec /usr/libexec/kubelet" in source
    wrapper.write_text(source.replace("/usr/libexec/kubelet", str(real)))
    given = [
        "--config=/etc/kubernetes/kubelet.conf",
        "--container-runtime-endpoint=/var/run/crio/crio.sock",
        "--node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=debian,",
        "--node-ip=",
        "--cloud-provider=",
        "--v=",
    ]
    done = subprocess.run(["bash", str(wrapper), *given], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "--config=/etc/kubernetes/kubelet.conf",
        "--container-runtime-endpoint=unix:///run/containerd/containerd.sock",
        "--node-labels=node.openshift.io/os_id=debian",
        "--cloud-provider=",
    ]


def test_programs_of_the_image_are_executable() -> None:
    files = build.SOURCE / "files"
    scripts = [path for path in files.rglob("*") if path.is_file() and path.read_bytes().startswith(b"#!") and "dracut" not in path.parts]
    assert scripts
    assert [path for path in scripts if not os.access(path, os.X_OK)] == []


def test_units_that_presets_enable_exist() -> None:
    """Units of this package; those of Debian's packages are not here."""
    preset = (build.SOURCE / "files/usr/lib/systemd/system-preset/80-coreos-image.preset").read_text()
    enabled = {line.split()[1] for line in preset.splitlines() if line.startswith("enable ")}
    own = {path.name for path in (build.SOURCE / "files/usr/lib/systemd/system").glob("*.service")}
    assert {"coreos-growfs.service", "ignition-firstboot-complete.service"} <= enabled & own

# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the operating system image of machines that boot, once for each content of its inputs, in the user's cache folder.

mmdebstrap makes a Debian tree from the mirrors of the computer's apt, and :mod:`sandbox.coreos_image.assemble` completes it inside. The
kubelet is built from the module of the sandbox's control plane, coreos-installer from its crate; each has a cache entry of its own, so that
changes of the image do not build them again. ``SANDBOX_COREOS_IMAGE`` names a folder with a ready image instead.
``python -m sandbox.coreos_image.build`` builds the image and prints the paths of its files.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from metal_api.building import BuildError, cache_root, locked, run_step
from sandbox.coreos_image import assemble
from sandbox.openshift import binaries

SOURCE: Final = Path(__file__).resolve().parent
READY_FOLDER_VARIABLE: Final = "SANDBOX_COREOS_IMAGE"
SUITE: Final = "bookworm"
"""The Debian release: it has the Ignition engine and the GRUB that grub.cfg and grub.py are written for."""

INSTALLER: Final = "coreos-installer"
INSTALLER_VERSION: Final = "0.27.0"
OLDEST_CARGO: Final = (1, 87)
SPARE_BYTES: Final = 6 << 30
"""Free bytes that a build requires for its temporary files."""

PACKAGES: Final = (
    # The system.
    *("systemd-sysv", "systemd-resolved", "udev", "dbus", "linux-image-cloud-amd64", "kmod", "passwd", "iproute2", "ca-certificates"),
    *("util-linux-extra", "e2fsprogs", "procps", "mawk"),
    # What the scripts of the collection's live config run, and coreos-installer.
    *("curl", "jq", "gdisk", "fdisk", "zstd", "iputils-ping", "ethtool"),
    # The kubelet's node.
    *("containerd", "runc", "containernetworking-plugins", "iptables", "nftables", "conntrack", "socat"),
    # What assemble.py runs and removes again.
    *("dracut", "dracut-network", "ignition", "grub-pc-bin", "grub-efi-amd64-bin", "squashfs-tools", "mtools", "dosfstools", "cpio"),
    *("busybox-static", "python3"),
)
AGENT_PACKAGES: Final = (
    *("systemd-sysv", "systemd-resolved", "udev", "dbus", "linux-image-cloud-amd64", "kmod", "iproute2", "ca-certificates", "python3"),
    *("util-linux-extra", "e2fsprogs", "dosfstools", "gdisk", "parted", "mdadm", "nvme-cli", "hdparm", "smartmontools", "procps", "psmisc"),
    *("dmidecode", "lshw", "pciutils", "ethtool", "efibootmgr", "cpio", "zstd"),
)
AGENT_PYTHON: Final = "3.11"
"""Python of :data:`SUITE`."""

LIBRARIES: Final[Mapping[str, str]] = {"openssl": "libssl-dev", "liblzma": "liblzma-dev", "libzstd": "libzstd-dev"}
"""Libraries that coreos-installer is linked to, by the name that pkg-config has for them, with their Debian packages."""

SHARED_FILES: Final = "files/usr/lib/systemd/network"
"""What the ramdisk of Ironic's agent has in common with the system."""

FILES: Final = ("vmlinuz", "initramfs.img", "rootfs.img")
AGENT_FILES: Final = ("agent-vmlinuz", "agent-initramfs.img")


@dataclass(frozen=True)
class Tree:
    """A Debian tree: its packages, the module of this package that assembles the result in it, and files of the result by its names."""

    packages: Sequence[str]
    module: str
    results: Mapping[str, str]


SYSTEM: Final = Tree(PACKAGES, "assemble", {name: name for name in FILES})
AGENT: Final = Tree(AGENT_PACKAGES, "agent", {"vmlinuz": "agent-vmlinuz", "initramfs.img": "agent-initramfs.img"})
WAITING: Final = "Another process is building the image of machines; waiting for it."


class ImageError(Exception):
    """The image cannot be built; the message has the reason and what to install or change."""


@dataclass(frozen=True)
class Image:
    """Files of the image: live kernel, initramfs and rootfs as a release of RHCOS has them, and kernel and initramfs of Ironic's agent."""

    kernel: Path
    initramfs: Path
    rootfs: Path
    agent_kernel: Path
    agent_initramfs: Path

    @classmethod
    def in_folder(cls, folder: Path) -> Image:
        """Return the image in ``folder``. Raises :class:`ImageError` with the names of missing files."""
        return cls(*_files(folder, FILES), *_files(folder, AGENT_FILES))


def _files(folder: Path, names: Sequence[str]) -> list[Path]:
    if missing := [name for name in names if not (folder / name).is_file()]:
        raise ImageError(f"{folder} has no complete image of machines: {', '.join(missing)} missing")
    return [folder / name for name in names]


@dataclass(frozen=True)
class Installer:
    """coreos-installer and the folder of its crate's source, which has its systemd units and scripts."""

    program: Path
    crate: Path


def ensure_image(progress: Console | None = None) -> Image:
    """Return the image, building first what the cache lacks: about 5 minutes, and once 10 to 30 minutes for coreos-installer.

    ``progress``: console for the progress, stderr by default; nothing is printed if the image exists. Blocks: call it before the event
    loop or in a thread. Raises :class:`ImageError`.
    """
    if ready := os.environ.get(READY_FOLDER_VARIABLE):
        return Image.in_folder(Path(ready).expanduser())
    console = progress or Console(stderr=True)
    system = _ensure(cache_folder(), _build_system, console)
    agent = _ensure(agent_cache_folder(), _build_agent, console)
    return Image(*_files(system, FILES), *_files(agent, AGENT_FILES))


def _ensure(folder: Path, build: Callable[[Path, Console], None], console: Console) -> Path:
    if folder.is_dir():
        return folder
    with locked(folder.with_suffix(".lock"), console, WAITING):
        if not folder.is_dir():
            try:
                build(folder, console)
            except (BuildError, binaries.BinariesError) as error:
                raise ImageError(
                    f"Cannot build the image of machines: {error}\nCorrect the cause and run the command again: finished parts are kept in "
                    f"{folder.parent}. Or name a folder with {', '.join((*FILES, *AGENT_FILES))} in {READY_FOLDER_VARIABLE}."
                ) from error
    return folder


def cache_folder() -> Path:
    """Return the folder of the built system, which need not exist yet."""
    versions = (*SYSTEM.packages, INSTALLER_VERSION, binaries.kubernetes_version(), _module_hash())
    return cache_root() / f"coreos-image-{inputs_hash(sources(), versions)}"


def agent_cache_folder() -> Path:
    """Return the folder of the built ramdisk with Ironic's agent, which need not exist yet."""
    return cache_root() / f"agent-ramdisk-{inputs_hash(agent_sources(), AGENT.packages)}"


def inputs_hash(paths: Iterable[Path], versions: Iterable[str]) -> str:
    """Return 16 hex digits that change with every input: files and their modes, programs and versions; not with the Debian mirror."""
    digest = hashlib.sha256("\n".join((SUITE, *versions)).encode())
    for path in paths:
        mode = "x" if path.stat().st_mode & 0o100 else "-"
        digest.update(f"\n{path.relative_to(SOURCE.parent)} {mode} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def sources() -> list[Path]:
    """Return the files of this package that end up in the system or assemble it, sorted."""
    return [*(SOURCE / name for name in ("__init__.py", "assemble.py", "grub.py")), *_below("files")]


def agent_sources() -> list[Path]:
    """Return the files of this package that end up in the agent's ramdisk or assemble it, sorted."""
    modules = ("__init__.py", "agent-requirements.txt", "agent.py", "assemble.py", "grub.py")
    return [*(SOURCE / name for name in modules), *_below("agent_files"), *_below(SHARED_FILES)]


def _below(name: str) -> list[Path]:
    return files_below(SOURCE / name)


def files_below(folder: Path) -> list[Path]:
    """Return the files of a folder and of those in it, sorted."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _module_hash() -> str:
    return hashlib.sha256(b"".join((binaries.MODULE / name).read_bytes() for name in ("go.mod", "go.sum"))).hexdigest()[:16]


def _build_system(folder: Path, console: Console) -> None:
    check_programs(_required_programs())
    kubelet = binaries.ensure_kubelet(console, binaries.PLAIN_KUBELET)
    installer = ensure_installer(console)
    console.print("Building the image of machines from Debian packages: about 3 minutes, once for each version of the image.")
    with _working_folder(folder) as working:
        build = working / "build"
        _copy_sources(build, sources())
        shutil.copy(kubelet, build / "kubelet")
        shutil.copy(installer.program, build / INSTALLER)
        for name in ("systemd", "scripts"):
            shutil.copytree(installer.crate / name, build / "crate" / name)
        _make(working, SYSTEM, folder, console)


def _build_agent(folder: Path, console: Console) -> None:
    check_programs(_required_programs())
    console.print("Building the ramdisk with Ironic's agent from Debian packages and PyPI: about 2 minutes, once for each version of it.")
    with _working_folder(folder) as working:
        build = working / "build"
        _copy_sources(build, agent_sources())
        for path in _below(SHARED_FILES):
            target = build / "agent_files" / path.relative_to(SOURCE / "files")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        run_step(console, "downloading Ironic's agent", agent_pip(build / "agent"), folder=working)
        _make(working, AGENT, folder, console)


def agent_pip(target: Path) -> list[str]:
    """Return the command that unpacks the agent's packages for the Python of the ramdisk, whatever Python runs here."""
    platforms = [f"--platform={name}_x86_64" for name in ("manylinux2014", "manylinux_2_28", "manylinux_2_34")]
    return [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile"),
        *("--implementation=cp", f"--python-version={AGENT_PYTHON}", "--only-binary=:all:", *platforms),
        *(f"--target={target}", f"--requirement={SOURCE / 'agent-requirements.txt'}"),
    ]


def _required_programs() -> dict[str, str]:
    return {"mmdebstrap": "mmdebstrap", "apt-get": "apt"} | ({} if os.geteuid() == 0 else {"newuidmap": "uidmap"})


@contextlib.contextmanager
def _working_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder beside ``folder``, so that the finished image is moved there in one step."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(folder.parent).free) < SPARE_BYTES:
        raise ImageError(f"The build of the image requires {SPARE_BYTES >> 30} GiB in {folder.parent}; {free >> 30} GiB are free")
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder.parent) as temporary:
        # Ordinary users build as a range of other ids, which have to reach the folder.
        Path(temporary).chmod(0o755)
        yield Path(temporary)


def _copy_sources(build: Path, paths: Iterable[Path]) -> None:
    """Copy files of this package to the folder that the Debian tree gets as ``/build``, where its modules can be imported."""
    package = build / "sandbox/coreos_image"
    package.mkdir(parents=True)
    for path in paths:
        inside = path.relative_to(SOURCE)
        target = build / inside if len(inside.parts) > 1 else package / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


def _make(working: Path, tree: Tree, folder: Path, console: Console) -> None:
    """Make a Debian tree from ``working/build`` and move its results to ``folder``."""
    results, made = working / "results", working / "made"
    results.mkdir()
    results.chmod(0o777)
    run_step(
        console,
        f"making {folder.name.rpartition('-')[0]} with mmdebstrap",
        mmdebstrap(working / "build", results, tree, debian_mirrors()),
        folder=working,
        environment={**os.environ, "SOURCE_DATE_EPOCH": assemble.EPOCH, "LC_ALL": "C.UTF-8"},
    )
    made.mkdir()
    for result, name in tree.results.items():
        shutil.copyfile(results / "out" / result, made / name)
    made.rename(folder)
    console.print(f"Built {', '.join(tree.results.values())} in {folder}", markup=False)


def mmdebstrap(build: Path, results: Path, tree: Tree, mirrors: Sequence[str]) -> list[str]:
    """Return the command that makes a Debian tree, runs its module in it and copies what it made to ``results/out``."""
    environment = "--chdir=/build PYTHONPATH=/build PYTHONDONTWRITEBYTECODE=1"
    return [
        *("mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(tree.packages)}", "--format=null"),
        f"--customize-hook=copy-in {build} /",
        f'--customize-hook=chroot "$1" env {environment} python3 -m sandbox.coreos_image.{tree.module} /build',
        f"--customize-hook=copy-out /build/out {results}",
        *(SUITE, "-"),
        *mirrors,
    ]


def debian_mirrors() -> list[str]:
    """Return apt's sources of :data:`SUITE` on this computer. On another release there are none, and mmdebstrap has defaults."""
    command = ["apt-get", "indextargets", "--format", "deb $(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    return mirror_lines(listed.stdout) if listed.returncode == 0 else []


def mirror_lines(listed: str) -> list[str]:
    """Return the lines for component main of the release, its updates and its security updates, without repetitions."""
    suites = {SUITE, f"{SUITE}-updates", f"{SUITE}-security"}
    lines = dict.fromkeys(line for line in listed.splitlines() if line.split()[2:] in [[suite, "main"] for suite in suites])
    return list(lines) if any(line.split()[2] == SUITE for line in lines) else []


def check_programs(programs: Mapping[str, str]) -> None:
    """Raise :class:`ImageError` that names missing programs and their Debian packages; ``programs`` are packages by program."""
    if missing := {program: package for program, package in programs.items() if shutil.which(program) is None}:
        raise ImageError(
            f"The image of machines cannot be built without {', '.join(missing)}. "
            f"On Debian: apt-get install {' '.join(sorted(set(missing.values())))}. "
            f"Or name a folder with {', '.join((*FILES, *AGENT_FILES))} in {READY_FOLDER_VARIABLE}."
        )


def ensure_installer(console: Console) -> Installer:
    """Return coreos-installer, built from its crate with the versions of its lock file (10 to 30 minutes on two cores, once)."""
    folder = cache_root() / f"{INSTALLER}-{INSTALLER_VERSION}"
    installer = Installer(folder / INSTALLER, folder / "crate")
    if folder.is_dir():
        return installer
    programs = {"cc": "gcc", "pkg-config": "pkg-config", "strip": "binutils"}
    check_programs(programs)
    missing = [
        package for library, package in LIBRARIES.items() if subprocess.run(["pkg-config", "--exists", library], check=False).returncode
    ]
    if missing:
        raise ImageError(f"{INSTALLER} cannot be built without headers of its libraries. On Debian: apt-get install {' '.join(missing)}")
    environment = {**os.environ, **cargo_environment()}
    with tempfile.TemporaryDirectory(prefix="building-", dir=cache_root()) as temporary:
        # Cargo's own folder of this build: the crate's source is found there, whatever the user's configuration of Cargo.
        made, sources_of_cargo = Path(temporary) / "made", Path(temporary) / "cargo"
        _link_configuration(sources_of_cargo)
        command = [
            environment["CARGO"],
            "install",
            INSTALLER,
            f"--version=={INSTALLER_VERSION}",
            "--locked",
            f"--root={made}",
            f"--target-dir={temporary}/target",
        ]
        environment["CARGO_HOME"] = str(sources_of_cargo)
        run_step(
            console,
            f"building {INSTALLER} {INSTALLER_VERSION} (10 to 30 minutes)",
            command,
            folder=Path(temporary),
            environment=environment,
        )
        crates = sorted(sources_of_cargo.glob(f"registry/src/*/{INSTALLER}-{INSTALLER_VERSION}"))
        if not crates:
            raise ImageError(
                f"Cargo kept no source of {INSTALLER} {INSTALLER_VERSION} in its folder registry/src: its units cannot be installed"
            )
        done = Path(temporary) / "done"
        done.mkdir()
        for name in ("systemd", "scripts"):
            shutil.copytree(crates[0] / name, done / "crate" / name)
        run_step(
            console, f"stripping {INSTALLER}", ["strip", "-o", str(done / INSTALLER), str(made / "bin" / INSTALLER)], folder=Path(temporary)
        )
        done.rename(folder)
    return installer


def _link_configuration(folder: Path) -> None:
    """Give a new folder of Cargo the user's configuration (proxies, mirrors, credentials for them)."""
    folder.mkdir()
    own = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    for name in ("config.toml", "config", "credentials.toml"):
        if (own / name).is_file():
            (folder / name).symlink_to(own / name)


def cargo_environment() -> dict[str, str]:
    """Return ``CARGO`` and, for Debian's newer toolchain, ``RUSTC``. Raises :class:`ImageError` without a Cargo that is new enough."""
    tried = []
    for cargo, rustc in (("cargo", ""), ("cargo-web", "rustc-web")):
        if (program := shutil.which(cargo)) is None:
            tried.append(f"no {cargo} on PATH")
            continue
        shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        version = cargo_version(shown.stdout)
        if version >= OLDEST_CARGO:
            return {"CARGO": program} | ({"RUSTC": rustc} if rustc else {})
        tried.append(f"{program} is {'.'.join(map(str, version)) or 'of unknown version'}")
    required = ".".join(map(str, OLDEST_CARGO))
    raise ImageError(
        f"{INSTALLER} cannot be built: it requires Cargo {required} or newer ({'; '.join(tried)}). "
        "On Debian: apt-get install cargo-web rustc-web"
    )


def cargo_version(shown: str) -> tuple[int, ...]:
    """Return major and minor version of the output of ``cargo --version``; empty if there is none."""
    match = re.match(r"cargo (\d+)\.(\d+)", shown)
    return (int(match[1]), int(match[2])) if match else ()


def main() -> int:
    """Build the image and print its paths."""
    try:
        image = ensure_image()
    except ImageError as error:
        print(error, file=sys.stderr)
        return 1
    print(*dataclasses.astuple(image), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

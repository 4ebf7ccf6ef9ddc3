# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Assembles the image inside a fresh Debian tree, as root of it: ``python3 -m sandbox.coreos_image.assemble FOLDER``.

Runs with Debian's Python and its standard library alone. ``FOLDER`` has ``files`` (what is added to the tree), ``kubelet``,
``coreos-installer`` and ``crate`` (the crate's source); the result is in ``FOLDER/out``. No loop devices and no mounts.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from sandbox.coreos_image import grub

BUILD_PACKAGES: Final = (
    *("dracut", "dracut-network", "dracut-core", "ignition", "grub-pc-bin", "grub-efi-amd64-bin", "grub-common", "squashfs-tools"),
    *("mtools", "dosfstools", "cpio", "busybox-static", "python3", "python3-minimal", "python3.11", "python3.11-minimal"),
    *("libpython3-stdlib", "libpython3.11-stdlib", "libpython3.11-minimal", "media-types"),
)
"""Packages that the build alone requires; the image does not have them."""

LIVE_OMITTED: Final = (
    "usr/libexec/kubelet",
    "usr/bin/containerd*",
    "usr/bin/ctr",
    "usr/sbin/runc",
    "usr/lib/cni",
    "usr/share/coreos-image/images.tar",
)
"""What the live system does not run: it makes the download smaller."""

OMITTED: Final = (
    *("usr/share/doc/*", "usr/share/man/*", "usr/share/locale/*", "usr/share/info/*", "usr/share/lintian", "usr/share/bash-completion"),
    *(
        "usr/share/zoneinfo",
        "var/cache/apt/*",
        "var/lib/apt/lists/*",
        "var/log/*",
        "var/cache/debconf/*",
        "boot/*",
        "build",
        "var/cache/ldconfig/*",
    ),
    # The identity of the tree that builds, and what mmdebstrap removes only later.
    *("var/lib/dbus/machine-id", "etc/nvme/host*", "usr/sbin/policy-rc.d", "etc/apt/apt.conf.d/99mmdebstrap", "etc/apt/sources.list*"),
    # What packages enabled: at the first boot systemd enables the units of the presets, and disables none.
    *("etc/systemd/system/*.wants", "etc/systemd/system/*.requires", "etc/systemd/system/dbus-org.*"),
)
MASKED: Final = (
    *("systemd-firstboot", "systemd-repart", "systemd-pcrphase", "systemd-pcrphase-sysinit", "systemd-binfmt", "dracut-shutdown"),
    # Its files in /run are those of the initramfs, which it cannot write again.
    "systemd-network-generator",
)
"""Services that Debian starts and a machine of the sandbox does not require: boot is shorter."""

GRUB_MODULES: Final = (
    *(
        "part_gpt",
        "ext2",
        "search",
        "search_label",
        "normal",
        "configfile",
        "test",
        "echo",
        "true",
        "regexp",
        "serial",
        "terminal",
        "gzio",
        "boot",
    ),
    *("minicmd", "reboot"),
)
GRUB_EARLY: Final = "search --no-floppy --set=root --label boot\nset prefix=($root)/grub2\nnormal\n"
DRACUT_OMITTED: Final = (
    "crypt lvm mdraid dmraid multipath btrfs plymouth i18n nvdimm qemu-net network-legacy resume systemd-pcrphase terminfo"
)
OPTIONS: Final = ("root=LABEL=root", "rw", "ignition.platform.id=metal")
PAUSE: Final = "trap 'exit 0' TERM INT; while true; do sleep 86400 & wait; done"
"""Process 1 of a pod: it ends at once when the pod is stopped."""

INODE_COUNTS: Final = frozenset(("Inode count", "Free inodes"))
BOOT_BYTES: Final = 160 * grub.MIB
EFI_BYTES: Final = 8 * grub.MIB
ROOT_SPARE: Final = 96 * grub.MIB
UUIDS: Final = {"boot": "00000000-0000-4000-b000-000000000001", "root": "00000000-0000-4000-b000-000000000002"}
EPOCH: Final = "1767225600"
"""Time of the files that the build makes, in seconds since 1970."""


def run(*command: str, cwd: Path | None = None, stdin: bytes | None = None, stdout: int | TextIO = sys.stderr) -> None:
    """Run a program of the tree; its output is that of the build. Raises CalledProcessError."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH, "E2FSPROGS_FAKE_TIME": EPOCH, "LC_ALL": "C.UTF-8"}
    subprocess.run(command, cwd=cwd, input=stdin, env=environment, check=True, stdout=stdout)


def assemble(folder: Path) -> None:
    """Build ``vmlinuz``, ``initramfs.img`` and ``rootfs.img`` in ``folder/out``."""
    out = folder / "out"
    out.mkdir()
    started = time.monotonic()

    def step(title: str) -> None:
        print(f"STEP {title} at {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)

    version = next(Path("/usr/lib/modules").iterdir()).name
    step("adding files")
    run("cp", "--archive", "--no-preserve=ownership", "--remove-destination", f"{folder}/files/.", "/")
    step("making the initramfs with dracut")
    initramfs = out / "initramfs.img"
    make_initramfs(initramfs, version)
    kernel = out / "vmlinuz"
    shutil.copyfile(f"/boot/vmlinuz-{version}", kernel)
    step("copying the tree")
    stage = folder / "stage"
    make_stage(stage, folder)
    step("making the disk image")
    disk = folder / "metal.raw"
    make_disk(disk, stage, folder, version)
    step("compressing the disk image")
    live = folder / "live"
    run("cp", "--archive", "--link", str(stage), str(live))
    remove(live, LIVE_OMITTED)
    image = live / "usr/share/coreos-image/metal.raw.zst"
    run("zstd", "--quiet", "-9", "-T0", str(disk), "-o", str(image))
    disk.unlink()
    step("making the live root file system")
    add_installer(live, folder)
    limit_times(live)
    make_rootfs(out / "rootfs.img", live, folder)
    step("done")
    for path in sorted(out.iterdir()):
        print(f"SIZE {path.name} {path.stat().st_size >> 20} MiB", file=sys.stderr)


def make_initramfs(target: Path, version: str) -> None:
    """Write the initramfs of the live system and of the installed one, which are the same."""
    run(
        *("dracut", "--force", "--no-hostonly", "--no-hostonly-cmdline", "--no-early-microcode", "--reproducible", "--zstd"),
        *("--add", "coreos-boot", "--omit", DRACUT_OMITTED, "--kver", version, str(target)),
    )


def copy_tree(stage: Path, folder: Path) -> None:
    """Copy the tree without ``folder`` by hard links; the folders of file systems of the kernel are empty in it."""
    stage.mkdir()
    for path in sorted(Path("/").iterdir()):
        if path.name in {"proc", "sys", "dev", "run", "tmp"}:
            (stage / path.name).mkdir()
            (stage / path.name).chmod(0o1777 if path.name == "tmp" else 0o755)
        elif path != Path(*folder.parts[:2]):
            run("cp", "--archive", "--link", str(path), str(stage))


def make_unconfigured(stage: Path) -> None:
    """Make a copy of the tree a system that has not booted yet: systemd applies the presets, and nothing has the identity of the build."""
    replace(stage / "etc/machine-id", "uninitialized\n")
    replace(stage / "etc/hostname", "localhost\n")
    replace(stage / "etc/hosts", "127.0.0.1 localhost\n::1 localhost\n")
    resolver = stage / "etc/resolv.conf"
    resolver.unlink(missing_ok=True)
    resolver.symlink_to("../run/systemd/resolve/resolv.conf")
    for name in MASKED:
        (stage / f"etc/systemd/system/{name}.service").symlink_to("/dev/null")


def limit_times(tree: Path) -> None:
    """Set times after :data:`EPOCH` to it, so that builds of the same files are the same."""
    limit = int(EPOCH)
    for path in (tree, *tree.rglob("*")):
        if path.lstat().st_mtime > limit:
            os.utime(path, (limit, limit), follow_symlinks=False)


def make_stage(stage: Path, folder: Path) -> None:
    """Copy the tree without what the build alone requires, and complete it to the root file system of the image."""
    copy_tree(stage, folder)
    busybox = Path("/bin/busybox").read_bytes()
    present = [name for name in BUILD_PACKAGES if Path(f"/var/lib/dpkg/info/{name}.list").exists()]
    run("dpkg", f"--root={stage}", "--force-depends", "--force-remove-essential", "--no-triggers", "--purge", *present)
    remove(stage, OMITTED)
    make_unconfigured(stage)
    replace(stage / "etc/fstab", "LABEL=boot /boot ext4 defaults,nodev,nosuid,nofail 0 2\n")
    for name in ("etc/kubernetes/manifests", "usr/share/coreos-image", "usr/libexec", "etc/coreos", "opt/cni/bin"):
        (stage / name).mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / "kubelet", stage / "usr/libexec/kubelet")
    (stage / "usr/libexec/kubelet").chmod(0o755)
    (stage / "usr/share/coreos-image/images.tar").write_bytes(container_images(busybox))
    limit_times(stage)


def remove(tree: Path, patterns: Sequence[str]) -> None:
    """Remove what matches a pattern, relative to ``tree``."""
    for pattern in patterns:
        for path in list(tree.glob(pattern)):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def replace(path: Path, text: str) -> None:
    """Write a file anew: the old one may be a hard link of the tree that builds."""
    path.unlink(missing_ok=True)
    path.write_text(text)


def container_images(busybox: bytes) -> bytes:
    """Return an archive in the format of ``docker save`` with the images of pods: the pause image, and a busybox to run."""
    applets = ("sh", "sleep", "ls", "cat", "echo", "wget", "httpd", "nslookup", "ping", "hostname", "date", "env", "id", "ip", "true")
    layer = _tar({"bin/busybox": busybox}, {f"bin/{name}": "busybox" for name in applets}, ["tmp", "etc"])
    images = {"localhost/busybox:1": ["/bin/sh"], "localhost/pause:1": ["/bin/sh", "-c", PAUSE]}
    files: dict[str, bytes] = {"layer.tar": layer}
    manifest = []
    for name, command in images.items():
        config = json.dumps(
            {
                "architecture": "amd64",
                "os": "linux",
                "config": {"Cmd": command, "Env": ["PATH=/bin"]},
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
            },
            sort_keys=True,
        ).encode()
        digest = f"{hashlib.sha256(config).hexdigest()}.json"
        files[digest] = config
        manifest.append({"Config": digest, "RepoTags": [name], "Layers": ["layer.tar"]})
    return _tar({**files, "manifest.json": json.dumps(manifest).encode()}, {}, [])


def _tar(files: Mapping[str, bytes], links: Mapping[str, str], folders: Sequence[str]) -> bytes:
    """Return a tar archive without times and owners."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in folders:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(folder)
        for name, content in files.items():
            file = tarfile.TarInfo(name)
            file.size, file.mode = len(content), 0o755
            archive.addfile(file, io.BytesIO(content))
        for name, target in links.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
    return buffer.getvalue()


def make_disk(disk: Path, stage: Path, folder: Path, version: str) -> None:
    """Write the raw image of an installed disk."""
    boot = folder / "boot"
    (boot / "loader/entries").mkdir(parents=True)
    shutil.copyfile(f"/boot/vmlinuz-{version}", boot / f"vmlinuz-{version}")
    shutil.copyfile(folder / "out/initramfs.img", boot / f"initramfs-{version}.img")
    (boot / "loader/entries/coreos-image.conf").write_text(grub.bls_entry(f"Sandbox CoreOS {version}", version, OPTIONS))
    shutil.copytree(folder / "files/boot/grub2", boot / "grub2")
    (boot / "ignition.firstboot").touch()
    early = folder / "early.cfg"
    early.write_text(GRUB_EARLY)
    core = _grub_image("i386-pc", ("biosdisk",), early, boot, folder / "core.img")
    loader = _grub_image("x86_64-efi", ("fat",), early, boot, folder / "BOOTX64.EFI")
    efi = folder / "efi.img"
    _sized(efi, EFI_BYTES)
    run("mkfs.vfat", "-F", "16", "-s", "1", "-i", "c0de0001", "-n", "EFI-SYSTEM", "--invariant", str(efi))
    run("mmd", "-i", str(efi), "::EFI", "::EFI/BOOT")
    run("mcopy", "-i", str(efi), str(loader), "::EFI/BOOT/BOOTX64.EFI")
    used = int(subprocess.run(["du", "--summarize", "--block-size=1", str(stage)], capture_output=True, check=True).stdout.split()[0])
    root_bytes = -(-(used * 108 // 100 + ROOT_SPARE) // grub.MIB) * grub.MIB
    table = grub.partitions(BOOT_BYTES, EFI_BYTES, root_bytes)
    _sized(disk, grub.disk_bytes(table))
    run("sgdisk", *grub.sgdisk_arguments(table), str(disk))
    first = table[0].first
    with disk.open("r+b") as target:
        target.write(grub.boot_code(Path("/usr/lib/grub/i386-pc/boot.img").read_bytes(), first))
        target.seek(first * grub.SECTOR)
        target.write(grub.core_image(core.read_bytes(), first))
    limit_times(boot)
    sources = {"EFI-SYSTEM": efi}
    for label, tree in (("boot", boot), ("root", stage)):
        partition = next(entry for entry in table if entry.label == label)
        sources[label] = folder / f"{label}.ext4"
        _sized(sources[label], partition.sectors * grub.SECTOR)
        # GRUB 2.06 cannot read file systems with a checksum seed.
        features = "^metadata_csum_seed,^orphan_file" if label == "boot" else "^orphan_file"
        run(
            *("mkfs.ext4", "-q", "-L", label, "-O", features, "-U", UUIDS[label], "-E", f"hash_seed={UUIDS[label]},lazy_itable_init=0"),
            *("-m", "0", "-d", str(tree), str(sources[label])),
        )
        limit_inode_times(sources[label])
    for partition in table:
        if partition.label in sources:
            source = sources[partition.label]
            run(
                "dd",
                f"if={source}",
                f"of={disk}",
                "bs=1M",
                f"seek={partition.first * grub.SECTOR // grub.MIB}",
                "conv=notrunc,sparse",
                "status=none",
            )
            source.unlink()


def limit_inode_times(image: Path) -> None:
    """Set access and change times of the files of an ext4 image to :data:`EPOCH`: mkfs copies those of the tree, which cannot be set."""
    shown = subprocess.run(["dumpe2fs", "-h", str(image)], capture_output=True, text=True, check=True).stdout
    counts = {name: int(value) for name, _colon, value in (line.partition(":") for line in shown.splitlines()) if name in INODE_COUNTS}
    # mkfs gives the inodes one after the other; 3 to 10 are reserved.
    used = counts["Inode count"] - counts["Free inodes"]
    script = "".join(f"set_inode_field <{inode}> {field} @{EPOCH}\n" for inode in (2, *range(11, used + 1)) for field in ("atime", "ctime"))
    run("debugfs", "-w", "-f", "-", str(image), stdin=script.encode(), stdout=subprocess.DEVNULL)
    run("e2fsck", "-f", "-n", str(image))


def _sized(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def _grub_image(platform: str, modules: Sequence[str], early: Path, boot: Path, target: Path) -> Path:
    """Write GRUB for one firmware; its module ``linux`` goes to the boot file system, because grub.cfg loads it late."""
    source = Path("/usr/lib/grub") / platform
    required = grub.dependencies((source / "moddep.lst").read_text(), "linux")
    folder = boot / "grub2" / platform
    folder.mkdir()
    shutil.copyfile(source / "linux.mod", folder / "linux.mod")
    run(
        *("grub-mkimage", "--format", platform, "--prefix", "/grub2", "--config", str(early), "--output", str(target)),
        *sorted({*GRUB_MODULES, *modules, *required}),
    )
    return target


def add_installer(live: Path, folder: Path) -> None:
    """Add coreos-installer with the units and scripts of its crate, as ``make install`` of the crate does."""
    crate = folder / "crate"
    units, generators, scripts = live / "usr/lib/systemd/system", live / "usr/lib/systemd/system-generators", live / "usr/libexec"
    generators.mkdir(parents=True, exist_ok=True)
    for source in sorted((crate / "systemd").iterdir()):
        target = (generators if source.name.endswith("-generator") else units) / source.name
        shutil.copyfile(source, target)
        target.chmod(0o755 if target.parent == generators else 0o644)
    for source in sorted((crate / "scripts").iterdir()):
        shutil.copyfile(source, scripts / source.name)
        (scripts / source.name).chmod(0o755)
    shutil.copyfile(folder / "coreos-installer", live / "usr/bin/coreos-installer")
    (live / "usr/bin/coreos-installer").chmod(0o755)


def make_rootfs(target: Path, live: Path, folder: Path) -> None:
    """Write the live root file system: a cpio archive with ``root.squashfs``, as Fedora's has."""
    squashfs = folder / "squashfs"
    squashfs.mkdir()
    run("mksquashfs", str(live), str(squashfs / "root.squashfs"), "-comp", "zstd", "-Xcompression-level", "9", "-no-progress")
    limit_times(squashfs)
    run("cpio", "--quiet", "--create", "--format=newc", "--reproducible", f"--file={target}", cwd=squashfs, stdin=b"root.squashfs\n")


if __name__ == "__main__":
    assemble(Path(sys.argv[1]).resolve())

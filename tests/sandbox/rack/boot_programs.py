"""Programs of one sector which write a line to the serial port: enough to see what firmware boots, in a second and without a kernel."""

import subprocess
from pathlib import Path
from typing import Literal

End = Literal["halt", "reset", "off"]

_ORIGIN = 0x7C00
_PRINT = bytes.fromhex(
    "ac"  # lodsb
    "84c0 7412"  # test al, al; jz end
    "88c4 bafd03"  # mov ah, al; mov dx, 0x3fd
    "ec a820 74fb"  # in al, dx; test al, 0x20 (room to write); jz -5
    "88e0 baf803 ee"  # mov al, ah; mov dx, 0x3f8; out dx, al
    "ebe9"  # jmp to the beginning
)
_ENDS: dict[End, bytes] = {
    "halt": b"",
    "reset": bytes.fromhex("baf90c b002 ee b006 ee"),  # the reset register at port 0xcf9
    "off": bytes.fromhex("ba0406 b80020 ef"),  # ACPI's control register of q35 at port 0x604: soft off
}
_HALT = bytes.fromhex("fa f4 ebfd")


def sector(line: str, end: End) -> bytes:
    """A boot sector that writes a line and ends."""
    start = bytes.fromhex("31c0 8ed8 fc be")
    code = _PRINT + _ENDS[end] + _HALT
    text = _ORIGIN + len(start) + 2 + len(code)
    content = start + text.to_bytes(2, "little") + code + line.encode("ascii") + b"\r\n\0"
    return content.ljust(510, b"\0") + b"\x55\xaa"


def write_disk(disk: Path, line: str, end: End) -> None:
    """Make the disk of a machine with such a program."""
    disk.parent.mkdir(parents=True, exist_ok=True)
    raw = disk.with_suffix(".raw")
    raw.write_bytes(sector(line, end).ljust(1 << 20, b"\0"))
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", str(raw), str(disk)], check=True)


def write_cd(iso: Path, line: str, end: End) -> None:
    """Make an ISO with such a program."""
    folder = iso.with_suffix(".content")
    folder.mkdir(parents=True)
    (folder / "boot.bin").write_bytes(sector(line, end).ljust(2048, b"\0"))
    options = ["-b", "boot.bin", "-c", "boot.cat", "-no-emul-boot", "-boot-load-size", "4"]
    subprocess.run(["xorriso", "-as", "mkisofs", "-quiet", "-o", str(iso), *options, str(folder)], check=True, capture_output=True)

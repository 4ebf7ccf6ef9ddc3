"""A rack is refused when its machines have one name or address twice, or cannot be emulated; its file keeps the password to its owner."""

from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.rack.model import RackConfig, RackError, RackMachine

ONE = RackMachine("one", "5f6e9a00-0000-4000-8000-000000000001", ("52:54:00:00:00:01",))
TWO = RackMachine("two", "5f6e9a00-0000-4000-8000-000000000002", ("52:54:00:00:00:02", "52:54:00:00:00:03"), firmware="uefi")


def _config(folder: Path, *machines: RackMachine) -> RackConfig:
    return RackConfig(folder, machines, "127.0.0.1", 8000, "admin", "secret", bridge="br0")


def test_file_has_the_whole_rack_and_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    config, file = _config(tmp_path, ONE, TWO), tmp_path / "rack.json"
    config.save(file)
    assert RackConfig.load(file) == config
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("machines", "message"),
    [
        ([replace(ONE, name="../one")], "the name must be a DNS label"),
        ([replace(ONE, macs=("01:00:5e:00:00:01",))], "machine one: macs must be unicast"),
        ([replace(ONE, memory_mb=100)], "machine one: at least 256 MB"),
        ([ONE, replace(TWO, uuid=ONE.uuid)], f"two machines with the same uuid: {ONE.uuid}"),
    ],
)
def test_machines_that_cannot_be_emulated_are_refused(tmp_path: Path, machines: list[RackMachine], message: str) -> None:
    with pytest.raises(RackError, match=message):
        _config(tmp_path, *machines).check()

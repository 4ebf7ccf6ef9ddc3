"""The file of a rack keeps the password to its owner."""

from pathlib import Path

from sandbox.rack.model import RackConfig, RackMachine

ONE = RackMachine("one", "5f6e9a00-0000-4000-8000-000000000001", ("52:54:00:00:00:01",))
TWO = RackMachine("two", "5f6e9a00-0000-4000-8000-000000000002", ("52:54:00:00:00:02", "52:54:00:00:00:03"), firmware="uefi")


def test_file_has_the_whole_rack_and_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    config, file = RackConfig(tmp_path, (ONE, TWO), "127.0.0.1", 8000, "admin", "secret", bridge="br0"), tmp_path / "rack.json"
    config.save(file)
    assert RackConfig.load(file) == config
    assert file.stat().st_mode & 0o777 == 0o600

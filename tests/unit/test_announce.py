"""What the load balancers' program makes of a device's metadata. With real BIRD and HAProxy: tests/containers."""

import re
from pathlib import Path

import yaml

ROLES = Path(__file__).resolve().parents[2] / "roles"
PROGRAM = ROLES / "load_balancer/files/announce.py"
VENDOR = re.compile(r"[\w.-]*\b(platformequinix|packet|equinix)\.(com|net)\b")


def test_the_unit_has_the_metadata_service_of_the_inventory() -> None:
    command = re.search(r"^ExecStart=(.*)$", PROGRAM.with_suffix(".service").read_text(encoding="utf-8"), re.MULTILINE)
    assert command is not None
    files = yaml.safe_load((ROLES / "load_balancer/vars/main.yml").read_text(encoding="utf-8"))["__load_balancer_announce_files"]
    (settings,) = (file["content"] for file in files if file["path"] == "/etc/default/announce")
    assert set(re.findall(r"\$\{(\w+)\}", command[1])) == {line.partition("=")[0] for line in settings.splitlines()}
    assert "METADATA_URL={{ __load_balancer_metadata_url }}" in settings.splitlines()


def test_no_program_of_a_role_knows_a_host_of_the_vendor() -> None:
    paths = [path for folder in ("files", "templates") for path in ROLES.glob(f"*/{folder}/**/*.*") if path.suffix != ".pyc"]
    texts = {path: path.read_text(encoding="utf-8") for path in paths if path.is_file()}
    assert len(texts) > 20
    assert [f"{path.name}: {found[0]}" for path, text in texts.items() for found in VENDOR.finditer(text)] == []

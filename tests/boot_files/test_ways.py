"""What is published, in each way: who gets it, that it stays the same, and that it is gone afterwards.

The tests of a way build on each other, in this order.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import ssl
import subprocess
import time
import urllib.parse

import httpx
import pytest

from tests.ports import free_port
from tests.secrets.keeping import keeping

from .storage import ACCESS_KEY, SECRET_KEY
from .ways import BOOTSTRAP, Pointed, Way

RECAP = re.compile(r"changed=(\d+)")


def changed(output: str) -> int:
    return sum(map(int, RECAP.findall(output)))


def script(way: Way) -> str:
    answer = httpx.get(way.script_url, trust_env=False)
    assert answer.status_code == 200
    return answer.text


def live_url(way: Way) -> str:
    found = re.search(r"ignition\.config\.url=(\S+)", script(way))
    assert found
    return found[1]


def test_a_machine_boots_and_gets_bootstrap_ign_by_its_pointer(way: Way) -> None:
    with keeping(way.folder.parent / "kept-publish") as keeper:
        output = way.run("main", "-vvv", environment=dict(keeper.environment))
    assert script(way).startswith("#!ipxe\n")
    # Firmware and the live system know no authority of ours.
    assert urllib.parse.urlsplit(way.script_url).scheme == urllib.parse.urlsplit(live_url(way)).scheme == "http"
    assert httpx.get(live_url(way), trust_env=False).json()["ignition"]["version"]
    machine = Pointed.at(way.pointer)
    assert machine.url.startswith("https://")
    answer = machine.get()
    assert (answer.status_code, answer.text) == (200, BOOTSTRAP)
    assert machine.digest == "sha512-" + hashlib.sha512(answer.content).hexdigest()
    secrets = {
        "the access key": ACCESS_KEY,
        "the secret key": SECRET_KEY,
        "the signature": urllib.parse.urlsplit(machine.url).query,
        **machine.headers,
        "bootstrap.ign": "planted-9d41",
        "a private key": "PRIVATE KEY",
    }
    assert keeper.revealed({name: secret for name, secret in secrets.items() if secret}, output) == []


def test_nobody_else_gets_it(way: Way) -> None:
    machine = Pointed.at(way.pointer)
    with pytest.raises(httpx.ConnectError, match=r"CERTIFICATE_VERIFY_FAILED"):
        machine.get(verify=ssl.create_default_context())
    if way.name == "object_storage":
        assert machine.get(url=machine.url.partition("?")[0]).status_code == 403
        assert machine.get(url=machine.url[:-1] + ("0" if machine.url[-1] != "0" else "1")).status_code == 403
        assert httpx.get(way.script_url.partition("?")[0], trust_env=False).status_code == 403
        (way.ground / "ahead").write_text("43260", encoding="utf-8")
        assert machine.get().status_code == 403, "after its end"
        (way.ground / "ahead").unlink()
        assert machine.get().status_code == 200
    else:
        assert machine.get(headers={}).status_code == 401
        assert machine.get(headers={"Authorization": machine.headers["Authorization"] + "x"}).status_code == 401
        assert (
            httpx.get(way.script_url.replace("x86_64.ipxe", "bootstrap.ign"), headers=machine.headers, trust_env=False).status_code == 404
        )


def test_a_second_run_changes_nothing_and_its_addresses_stay(way: Way) -> None:
    before = way.script_url, script(way), way.pointer
    assert changed(way.run()) == 0
    assert (way.script_url, script(way), way.pointer) == before


def test_addresses_are_signed_again_for_another_endpoint(way: Way) -> None:
    if way.name != "object_storage":
        assert not (way.folder / "object-storage.json").exists()
        return
    before = way.script_url
    elsewhere = way.variables["openshift_publish_open_endpoint"].replace("127.0.0.1", "localhost")
    way.run(openshift_publish_open_endpoint=elsewhere)
    assert way.script_url.startswith(elsewhere), "the address of the earlier run is not used again"
    assert f"ignition.config.url={elsewhere}/" in script(way)
    way.run()
    assert urllib.parse.urlsplit(way.script_url).netloc == urllib.parse.urlsplit(before).netloc


@pytest.mark.debian("systemd")
def test_systemd_understands_the_unit_and_finds_it_kept_in(way: Way) -> None:
    if way.name != "host":
        assert not list(way.ground.glob("units/*.service"))
        return
    (unit,) = (way.ground / "units").glob("*.service")
    assert "RuntimeMaxSec=43200\n" in unit.read_text(encoding="utf-8")
    read = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], check=False, capture_output=True, text=True)
    assert (read.returncode, read.stderr) == (0, "")
    # Of 100, less is better; a unit without any of it has 96.
    judged = ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", str(unit)]
    found = subprocess.run(judged, check=False, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[-3000:]


def test_what_it_has_written_is_its_owners_alone(way: Way) -> None:
    written = [*way.folder.rglob("*"), *(way.ground / "run").rglob("*")]
    assert len(written) > 8
    open_to_others = [path for path in written if path.is_file() and path.parent.name != "ignition" and path.stat().st_mode & 0o077]
    assert open_to_others == []


def test_withdrawn_bootstrap_ign_is_gone_and_the_rest_is_not(way: Way) -> None:
    machine = Pointed.at(way.pointer)
    # Written when the bootstrap is complete, which it is then.
    (way.folder / "kubeconfig").write_text("{}", encoding="utf-8")
    try:
        with keeping(way.folder.parent / "kept-withdraw") as keeper:
            output = way.run("withdraw", "-vvv", environment=dict(keeper.environment))
        assert changed(output) > 0
        secrets = {"the access key": ACCESS_KEY, "the secret key": SECRET_KEY, **machine.headers, "a signature": "Signature="}
        assert keeper.revealed(secrets, output) == []
        assert machine.get().status_code == 404
        assert script(way).startswith("#!ipxe\n")
        assert changed(way.run("withdraw")) == 0
    finally:
        (way.folder / "kubeconfig").unlink()


def nobody_has_it(way: Way, url: str) -> None:
    if way.name == "object_storage":
        assert httpx.get(url, trust_env=False).status_code == 404
        assert way.objects == []
    else:
        with pytest.raises(httpx.ConnectError):
            httpx.get(url, trust_env=False)
    if way.name == "host":
        assert [path.name for path in (way.ground / "units").iterdir()] == ["state"]
        assert list((way.ground / "run").iterdir()) == []


def test_removed_nothing_is_left(way: Way) -> None:
    url = way.script_url
    with keeping(way.folder.parent / "kept-remove") as keeper:
        output = way.run("remove", "-vvv", environment=dict(keeper.environment))
    assert changed(output) > 0
    assert keeper.revealed({"the access key": ACCESS_KEY, "the secret key": SECRET_KEY, "a signature": "Signature="}, output) == []
    assert not (way.folder / "publish").exists()
    nobody_has_it(way, url)
    assert changed(way.run("remove")) == 0


def test_a_computer_that_has_not_published_it_can_remove_it(way: Way) -> None:
    if way.name == "controller":
        assert changed(way.run("remove")) == 0, "it was on the other computer, and is none of ours"
        return
    way.run()
    url = way.script_url
    shutil.rmtree(way.folder / "publish")
    (way.folder / "object-storage.json").unlink(missing_ok=True)
    assert changed(way.run("remove")) > 0
    nobody_has_it(way, url)


def test_a_host_that_cannot_be_reached_is_a_failure_that_a_rescue_sees(way: Way) -> None:
    if way.name != "host":
        return
    port = way.host["ansible_port"]
    way.host["ansible_port"] = free_port()
    try:
        for verb in ("main", "remove"):
            code, output = way.play(verb, boot_files_listen_timeout=2)
            # 4 is a host that is unreachable: Ansible ends the play there, whatever else it was to do.
            assert code == 2, output
            assert "UNREACHABLE" not in output
            assert "timed out waiting for ping module test" in output
    finally:
        way.host["ansible_port"] = port


@pytest.mark.long
def test_what_is_published_ends_by_itself(way: Way) -> None:
    if way.name == "object_storage":
        # Addresses that end soon are not used again.
        way.run()
        before = way.script_url
        way.run(boot_files_least_validity=43300)
        assert way.script_url != before
        assert httpx.get(before, trust_env=False).status_code == 200, "a machine that has it goes on"
        way.run("remove")
        return
    began = time.monotonic()
    way.run(boot_files_lifetime=45)
    end = began + 200
    while time.monotonic() < end:
        try:
            httpx.get(way.script_url, trust_env=False)
        except httpx.ConnectError:
            break
        time.sleep(0.5)
    else:
        pytest.fail("it still answers")
    assert time.monotonic() - began > 45
    way.run("remove")


def test_why_object_storage_refused_is_shown_without_its_keys(way: Way) -> None:
    if way.name != "object_storage":
        return
    refusals = {
        "no-such-bucket": {"openshift_publish_bucket": "no-such-bucket"},
        "looking up bucket": {"openshift_publish_endpoint": "http://127.0.0.1:9"},
    }
    for number, (reason, wrong) in enumerate(refusals.items()):
        with keeping(way.folder.parent / f"kept-refused-{number}") as keeper:
            output = way.run("main", "-vvv", environment=dict(keeper.environment), ends_well=False, **wrong)
        assert reason in " ".join(output.split())
        assert "without keys and signatures" in output
        assert keeper.revealed({"the access key": ACCESS_KEY, "the secret key": SECRET_KEY}, output) == []

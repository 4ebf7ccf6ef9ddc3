"""Boot files, with each publishing method: which clients can read them, idempotence, and removal.

The tests of a method build on each other, in this order.
"""

import hashlib
import re
import shutil
import ssl
import urllib.parse

import httpx
import pytest

from tests.ports import free_port
from tests.secrets.keeping import keeping
from tests.systemd import check_exposure, check_units

from .methods import BOOTSTRAP, Method, Pointed
from .storage import ACCESS_KEY, SECRET_KEY

RECAP = re.compile(r"changed=(\d+)")


def changed(output: str) -> int:
    return sum(map(int, RECAP.findall(output)))


def script(method: Method) -> str:
    answer = httpx.get(method.script_url, trust_env=False)
    assert answer.status_code == 200
    return answer.text


def live_url(method: Method) -> str:
    found = re.search(r"ignition\.config\.url=(\S+)", script(method))
    assert found
    return found[1]


def test_a_machine_boots_and_gets_bootstrap_ign_by_its_pointer(method: Method) -> None:
    with keeping(method.folder.parent / "kept-publish") as keeper:
        output = method.run("main", "-vvv", environment=dict(keeper.environment))
    assert script(method).startswith("#!ipxe\n")
    # Firmware and the live system have no CA of ours.
    assert urllib.parse.urlsplit(method.script_url).scheme == urllib.parse.urlsplit(live_url(method)).scheme == "http"
    assert httpx.get(live_url(method), trust_env=False).json()["ignition"]["version"]
    machine = Pointed.at(method.pointer)
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


def test_other_clients_get_no_bootstrap_ign(method: Method) -> None:
    machine = Pointed.at(method.pointer)
    with pytest.raises(httpx.ConnectError, match=r"CERTIFICATE_VERIFY_FAILED"):
        machine.get(verify=ssl.create_default_context())
    if method.name == "object_storage":
        assert machine.get(url=machine.url.partition("?")[0]).status_code == 403
        assert machine.get(url=machine.url[:-1] + ("0" if machine.url[-1] != "0" else "1")).status_code == 403
        assert httpx.get(method.script_url.partition("?")[0], trust_env=False).status_code == 403
        (method.workspace / "ahead").write_text("43260", encoding="utf-8")
        assert machine.get().status_code == 403, "after its end"
        (method.workspace / "ahead").unlink()
        assert machine.get().status_code == 200
    else:
        assert machine.get(headers={}).status_code == 401
        assert machine.get(headers={"Authorization": machine.headers["Authorization"] + "x"}).status_code == 401
        assert (
            httpx.get(method.script_url.replace("x86_64.ipxe", "bootstrap.ign"), headers=machine.headers, trust_env=False).status_code
            == 404
        )


def test_a_second_run_changes_nothing_and_keeps_the_urls(method: Method) -> None:
    before = method.script_url, script(method), method.pointer
    assert changed(method.run()) == 0
    assert (method.script_url, script(method), method.pointer) == before


@pytest.mark.debian("systemd")
def test_systemd_accepts_the_hardened_unit(method: Method) -> None:
    if method.name != "host":
        assert not list(method.workspace.glob("units/*.service"))
        return
    (unit,) = (method.workspace / "units").glob("*.service")
    text = unit.read_text(encoding="utf-8")
    assert "RuntimeMaxSec=43200\n" in text
    assert "OOMPolicy=continue\nRestart=on-abort\n" in text, "no memory ends the boot server while machines boot"
    check_units(unit)
    check_exposure(unit, 20)


def test_published_files_are_readable_by_their_owner_only(method: Method) -> None:
    written = [*method.folder.rglob("*"), *(method.workspace / "run").rglob("*")]
    assert len(written) > 8
    open_to_others = [path for path in written if path.is_file() and path.parent.name != "ignition" and path.stat().st_mode & 0o077]
    assert open_to_others == []


def test_withdraw_deletes_only_bootstrap_ign(method: Method) -> None:
    machine = Pointed.at(method.pointer)
    # Written when the bootstrap is complete, which it is then.
    (method.folder / "kubeconfig").write_text("{}", encoding="utf-8")
    try:
        with keeping(method.folder.parent / "kept-withdraw") as keeper:
            output = method.run("withdraw", "-vvv", environment=dict(keeper.environment))
        assert changed(output) > 0
        secrets = {"the access key": ACCESS_KEY, "the secret key": SECRET_KEY, **machine.headers, "a signature": "Signature="}
        assert keeper.revealed(secrets, output) == []
        assert machine.get().status_code == 404
        assert script(method).startswith("#!ipxe\n")
        assert changed(method.run("withdraw")) == 0
    finally:
        (method.folder / "kubeconfig").unlink()


def nobody_has_it(method: Method, url: str) -> None:
    if method.name == "object_storage":
        assert httpx.get(url, trust_env=False).status_code == 404
        assert method.objects == []
    else:
        with pytest.raises(httpx.ConnectError):
            httpx.get(url, trust_env=False)
    if method.name == "host":
        assert [path.name for path in (method.workspace / "units").iterdir()] == ["state"]
        assert list((method.workspace / "run").iterdir()) == []


def test_remove_deletes_all_boot_files(method: Method) -> None:
    url = method.script_url
    with keeping(method.folder.parent / "kept-remove") as keeper:
        output = method.run("remove", "-vvv", environment=dict(keeper.environment))
    assert changed(output) > 0
    assert keeper.revealed({"the access key": ACCESS_KEY, "the secret key": SECRET_KEY, "a signature": "Signature="}, output) == []
    assert not (method.folder / "publish").exists()
    nobody_has_it(method, url)
    assert changed(method.run("remove")) == 0


@pytest.mark.long
def test_a_host_that_has_not_published_can_remove_the_boot_files(method: Method) -> None:
    if method.name == "controller":
        assert changed(method.run("remove")) == 0, "it was on the other computer, and is none of ours"
        return
    method.run()
    url = method.script_url
    shutil.rmtree(method.folder / "publish")
    (method.folder / "object-storage.json").unlink(missing_ok=True)
    assert changed(method.run("remove")) > 0
    nobody_has_it(method, url)


def test_an_unreachable_host_fails_so_that_rescue_runs(method: Method) -> None:
    if method.name != "host":
        return
    port = method.host["ansible_port"]
    method.host["ansible_port"] = free_port()
    try:
        for verb in ("main", "remove"):
            code, output = method.play(verb, __boot_files_listen_timeout=2)
            # 4 is a host that is unreachable: Ansible ends the play there, whatever else it was to do.
            assert code == 2, output
            assert "UNREACHABLE" not in output
            assert "timed out waiting for ping module test" in output
    finally:
        method.host["ansible_port"] = port


def test_object_storage_errors_are_printed_without_credentials(method: Method) -> None:
    if method.name != "object_storage":
        return
    refusals = {
        "no-such-bucket": {"openshift_publish_bucket": "no-such-bucket"},
        "looking up bucket": {"openshift_publish_endpoint": "http://127.0.0.1:9"},
    }
    for number, (reason, wrong) in enumerate(refusals.items()):
        with keeping(method.folder.parent / f"kept-refused-{number}") as keeper:
            output = method.run("main", "-vvv", environment=dict(keeper.environment), ends_well=False, **wrong)
        assert reason in " ".join(output.split())
        assert "without keys and signatures" in output
        assert keeper.revealed({"the access key": ACCESS_KEY, "the secret key": SECRET_KEY}, output) == []

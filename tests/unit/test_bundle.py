"""What is packed for others to read: what is secret goes in every spelling, and what is no secret stays readable."""

import base64
import gzip
import importlib.util
import io
import json
import os
import resource
import stat
import subprocess
import sys
import tarfile
import urllib.parse
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.programs.redaction import (
    REDACTED,
    Redactor,
    is_secret_name,
    secrets_in,
)

PROGRAM = Path(__file__).resolve().parents[2] / "roles" / "gather" / "files" / "bundle.py"
_spec = importlib.util.spec_from_file_location("bundle", PROGRAM)
assert _spec is not None
assert _spec.loader is not None
bundle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(bundle)

SECRET = "pl4nted+s3cret/with=odd&signs"
KEY = """-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIPlantedPlantedPlantedPlantedPlantedPlanted
oAoGCCqGSM49AwEHoUQDQgAEplanted==
-----END EC PRIVATE KEY-----
"""


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


SPELLINGS = {
    "plain": SECRET,
    "in a sentence": f"the word {SECRET} is not to be told",
    "JSON": json.dumps({"x": SECRET}),
    "JSON in JSON": json.dumps({"x": json.dumps({"y": SECRET + '"'})}),
    "in an address": "https://example.com/?a=" + urllib.parse.quote(SECRET, safe=""),
    "in a form": "a=" + urllib.parse.quote_plus(SECRET),
    "base64": b64(SECRET),
    "base64, urlsafe": base64.urlsafe_b64encode(SECRET.encode()).decode(),
    "base64 behind one byte": b64("x" + SECRET),
    "base64 behind two bytes": b64("xy" + SECRET),
    "base64 in the middle": b64("user:" + SECRET + ":more"),
    "base64 of base64": b64("in here: " + b64(SECRET)),
    "data URL": "data:text/plain;base64," + b64(f"[Unit]\nEnvironment=A={SECRET}\n"),
    "Ignition in Ignition": json.dumps({"source": "data:;base64," + b64(json.dumps({"source": "data:;base64," + b64(SECRET)}))}),
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_a_known_secret_goes_in_every_spelling(text: str) -> None:
    redactor = Redactor([SECRET])
    clean = redactor.text(text)
    assert redactor.count
    assert REDACTED in clean
    for part in (SECRET, b64(SECRET), urllib.parse.quote(SECRET, safe="")):
        assert part not in clean


UNKNOWN = {
    "PEM": f"ca: here\n{KEY}after",
    "PEM cut off": KEY[:70],
    "PEM in JSON": json.dumps({"contents": KEY}),
    "PEM in base64": b64(KEY),
    "kubeconfig": "    client-key-data: " + b64("pl4nted"),
    "YAML": "password: pl4nted",
    "YAML block": "pull_secret: |\n  pl4nted\n  pl4nted\nnext: seen",
    "JSON": '{"api_token": "pl4nted", "next": "seen"}',
    "JSON in a log": 'msg="answer {\\"token\\": \\"pl4nted\\"}"',
    "ini": "aws_secret_access_key = pl4nted",
    "environment": 'Environment="AWS_SECRET_ACCESS_KEY=pl4nted"',
    "nested": "env: 'A=b METAL_AUTH_TOKEN=pl4nted'",
    "header": "Authorization: Bearer pl4nted12345",
    "scheme alone": "sent Bearer pl4nted12345",
    "proxy": "http://user:pl4nted@proxy.example.com:3128",
    "presigned": "https://s3.example.com/b/k?X-Amz-Credential=pl4nted&X-Amz-Signature=pl4nted&X-Amz-Expires=60",
    "JSON web token": "eyJhbGciOiJSUzI1NiJ9.eyJwbDRudGVkIjoi.pl4nted",
    "OAuth": "sha256~pl4ntedpl4ntedpl4nted",
    "bootstrap token": "pl4nte.pl4ntedpl4nted00",
    "BGP": '{"md5": "pl4nted"}',
    "registry": '{"auths": {"quay.io": {"auth": "pl4nted"}}}',
    "registries": '{"auths": {"quay.io": {"auth": "pl4nted"}, "b": {"password": "pl4nted"}}, "next": "seen"}',
    "entry of an environment, YAML": "env:\n- name: METAL_AUTH_TOKEN\n  value: pl4nted\n- name: HOME\n  value: seen",
    "entry of an environment, JSON": '[{"name": "DB_PASSWORD", "value": "pl4nted"}, {"name": "HOME", "value": "seen"}]',
    "entry of an environment, value first": '{"value": "pl4nted", "name": "DB_PASSWORD"}',
    "entry of an environment, JSON in JSON": json.dumps({"x": json.dumps([{"key": "api_key", "value": 'pl4"pl4nted'}])}),
    "entry of an environment, Python": "{'name': 'DB_PASSWORD', 'value': 'pl4nted'}",
    "entry of an environment, Go": "EnvVar{Name:DB_PASSWORD Value:pl4nted}",
    "header in Ignition": '"httpHeaders":[{"name":"Authorization","value":"pl4nted"}]',
    "Secret": "apiVersion: v1\nkind: Secret\ndata:\n  word: pl4nted\nmetadata:\n  name: seen",
    "Secret, JSON": '{"kind": "Secret", "stringData": {"word": "pl4nted"}, "metadata": {"name": "seen"}}',
    "option": "podman login --username robot --password pl4nted seen.example.com",
    "option with =": "oc login --token=pl4nted --server=seen",
    "option in a list": '"cmd": ["podman", "login", "--password", "pl4nted", "seen"]',
    "short option": "podman login -u robot -p pl4nted seen.example.com",
    "short option in a list": '["podman", "login",\n "-u", "robot",\n "-p", "pl4nted", "seen"]',
    "standard input": "echo 'pl4nted word' | podman login --password-stdin seen",
    "sshpass": "sshpass -p pl4nted ssh seen",
    "ipmitool": "ipmitool -I lanplus -H 10.0.0.1 -U seen -P pl4nted power status",
    "curl": "curl -u admin:pl4nted https://seen.example.com",
    "curl, long": "curl --user 'admin:pl4nted' https://seen.example.com",
    "skopeo": "skopeo copy --src-creds robot:pl4nted docker://seen",
    "literal": "oc create secret generic seen --from-literal=word=pl4nted",
    "netrc": "machine quay.io login robot password pl4nted\nmachine seen",
    "npm": "//registry.example.com/:_authToken=pl4nted",
    "cookie": "Set-Cookie: session=pl4nted; Path=/pl4nted; HttpOnly\nseen",
    "cookies sent": '> Cookie: a=pl4nted; b="pl4nted"\n> Host: seen',
    "cookie of a command": "curl -H 'Cookie: a=pl4nted; b=\"pl4nted\"' https://seen",
    "cookies in JSON": '{"set_cookie": "a=pl4nted", "cookies_string": "b=pl4nted", "next": "seen"}',
    "header, digest": 'Authorization: Digest username="pl4nted", nonce="x", response="pl4nted"\nseen',
    "header, digest in JSON": json.dumps({"Authorization": 'Digest username="u", response="pl4nted"', "next": "seen"}),
    "header of a command": "curl -H \"Authorization: token pl4nted, and='pl4nted'\" https://seen",
    "header, Go": "map[Authorization:[Custom pl4nted] Host:[seen]]",
    "user information": "https://pl4nted@github.com/seen",
    "user information with marks": "http://user:pl4nted@pl4nted@seen:3128 http://user:pl4nted/pl4nted@proxy",
    "user information without scheme": "proxy user:pl4nted@seen.example.com:3128",
    "sentence": 'Login as seen with password "pl4nted word"',
    "spaces": "password: pl4nted pl4nted\nnext: seen",
    "marks": "DB_PASSWORD=pl4n,ted;pl4nted&pl4nted}pl4nted'pl4nted\\pl4nted seen",
    "quotes": "password: 'pl4''pl4nted'\nnext: seen",
    "quotes without end": "password: 'pl4 pl4nted\nnext: seen",
    "bytes": "token=b'pl4nted' seen",
    "anchor": "password: &word pl4nted\nnext: seen",
    "assignment": 'password := "pl4nted" // seen',
    "words for a name": "API key: pl4nted\nSecret Access Key: pl4nted",
    "list": "tokens:\n  - pl4nted\n  - pl4nted\nnext: seen",
    "document": '{"customdata": {"a": ["pl4nted", {"b": "pl4nted"}]}, "next": "seen"}',
    "line in a text": '{"msg": "seen\\npsk: pl4nted\\nseen"}',
    "XML": "<password>pl4nted</password><name>seen</name>",
    "hash": "core:$6$pl4ntedpl4nted$pl4ntedpl4ntedpl4nted:seen",
    "GitHub": "pulled with ghp_pl4ntedpl4ntedpl4nted",
    "PGP": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\npl4nted\n-----END PGP PRIVATE KEY BLOCK-----\nseen",
    "data URL with per cent": "data:,Environment%3DDB_PASSWORD%3Dpl4nted%0A",
    "value with per cent": "https://seen.example.com/?q=%7B%22password%22%3A%22pl4nted%22%7D&next=1",
    "packed data URL": "data:;base64," + base64.b64encode(gzip.compress(b"[Service]\nEnvironment=DB_PASSWORD=pl4nted\n")).decode(),
    "base64 in lines": base64.encodebytes(b"Description=harmless, but long enough for more than one line\nDB_PASSWORD=pl4nted\n").decode(),
}


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_what_looks_like_a_secret_goes(text: str) -> None:
    clean = Redactor().text(text)
    assert REDACTED in clean
    assert "pl4nte" not in clean
    assert "lanted" not in clean
    assert ("seen" in text) == ("seen" in clean)


HARMLESS = (
    "2026-11-21T07:10:00Z level=info msg=Waiting up to 20m0s (until 7:30AM UTC) for the Kubernetes API at https://api.demo.metal.test:6443...",
    "operator authentication is not available: OAuthServerDeploymentAvailable: no pods (since 10:12:31Z)",
    "machine worker-0.demo.metal.test, c3.small.x86 in da, active (d3d5c2f7-1d8c-4d2d-8d71-c6ef5cf78883)",
    "rhcos-9.8.20260428-0-live-kernel.x86_64 sha256 9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
    "token_name: node-bootstrapper\nsecretName: pull\ncredentialsMode: Manual",
    "public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBubkULyBKDqIk9Q",
    "Error: 401 Unauthorized (request 1f4c1e6a0b6d4c0b)",
    "tokens: 3\nsecrets: 12 of 14\npasswordless: yes",
    "Tests passed: 12, bypass: none\npassed=12 passes: 3",
    "tls:\n  termination: passthrough\n  passthrough: route",
    "env:\n- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      key: password\n      name: database",
    "imagePullSecrets:\n- name: pull\nautomountServiceAccountToken: true",
    '{"secret": {"secretName": "pull", "defaultMode": 420}, "imagePullSecrets": [{"name": "pull"}]}',
    '{"name": "HOME", "value": "/root"} {"name": "token-reviewer", "id": "1"}',
    "- name: DB_PASSWORD\n- name: HOME\n  value: /root",
    "kind: ConfigMap\ndata:\n  word: harmless",
    "PWD=/root OLDPWD=/var KUBECONFIG=/opt/openshift/auth/kubeconfig",
    "podman run -u 1000:1000 -p 8080:80 --token-file /run/token --password-stdin quay.io/openshift/release",
    "sudo -u core mkdir -p /opt/openshift && journalctl -b -u kubelet -p err",
    "ssh core@192.0.2.10 -p 22 and https://192.0.2.10:6443/readyz, user@example.com",
    "quay.io/openshift-release-dev/ocp-release@sha256:9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
    "docker://registry.example.com:5000/ocp/release@sha256:9b74c9897bac770ffc029102a200c5de",
    "Basic authentication failed; the machine worker-0 asks for a password",
    'kubernetes secret "node-bootstrapper-token" not found',
    "https://mirror.example.com/?path=%2Fpub%2Fopenshift-v4",
    "data:;base64," + b64("[Unit]\nDescription=a harmless unit that is long enough\n"),
)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redactor(["something else"]).text(text) == text


def test_data_loses_what_stands_under_the_name_of_a_secret() -> None:
    plain: dict[str, object] = {"hostname": "m", "userdata": "", "password": None}
    facts = {**plain, "customdata": {"a": 1}, "list": [{"root_password": "pl4nted", "state": "active"}]}
    assert Redactor().data(facts) == {**plain, "customdata": REDACTED, "list": [{"root_password": REDACTED, "state": "active"}]}


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "DB_PASSWORD", "value": "pl4nted"},
        {"key": "api-token", "value": ["pl4nted"]},
        {"Name": "Authorization", "Value": "pl4nted"},
        {"kind": "Secret", "data": {"word": "pl4nted"}},
        {"Set-Cookie": "a=pl4nted"},
        {"cmd": ["podman", "login", "--password", "pl4nted"]},
        {"cmd": ["podman", "login", "-u", "robot", "-p", "pl4nted"]},
        {"cmd": ["curl", "-u", "admin:pl4nted"]},
        {"stdout_lines": ["password: pl4nted"]},
    ],
    ids=str,
)
def test_data_loses_what_stands_beside_the_name_of_a_secret(entry: dict[str, object]) -> None:
    redactor = Redactor()
    clean = str(redactor.data([entry]))
    assert redactor.count == 1
    assert REDACTED in clean
    assert "pl4nted" not in clean


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "HOME", "value": "/root"},
        {"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "database", "key": "password"}}},
        {"tokens": 3, "passed": 12, "passwordless": True},
        {"secret": {"secretName": "pull", "defaultMode": 420}, "imagePullSecrets": [{"name": "pull"}]},
        {"kind": "ConfigMap", "data": {"word": "harmless"}},
        {"cmd": ["podman", "run", "-u", "1000:1000", "-p", "8080:80", "--password-stdin", "quay.io/image"]},
        {"hostname": "worker-0.demo.metal.test", "id": "d3d5c2f7-1d8c-4d2d-8d71-c6ef5cf78883", "address": "192.0.2.10"},
    ],
    ids=str,
)
def test_data_keeps_what_is_no_secret(entry: dict[str, object]) -> None:
    assert Redactor().data(entry) == entry


def test_the_longest_goes_first_and_short_words_are_no_secrets() -> None:
    assert Redactor(["secret", "secret-and-more"]).text("a secret-and-more b") == f"a {REDACTED} b"
    assert Redactor(["abc", "", " "]).text("abc is a word") == "abc is a word"


def test_a_pull_secret_is_many_secrets() -> None:
    pull_secret = json.dumps({"auths": {"quay.io": {"auth": "b3BlbjpzZXNhbWU=", "email": "a@example.com"}}})
    found = set(secrets_in(pull_secret))
    assert {pull_secret, "b3BlbjpzZXNhbWU="} <= found
    assert "a@example.com" not in found


def test_a_redacted_document_is_still_one() -> None:
    document = {"apiVersion": "v1", "pullSecret": '{"auths":{}}', "users": [{"name": "admin", "user": {"client-key-data": b64(KEY)}}]}
    clean = yaml.safe_load(Redactor().text(yaml.safe_dump(document)))
    assert clean["users"][0] == {"name": "admin", "user": {"client-key-data": REDACTED}}
    assert json.loads(Redactor().text(json.dumps(document)))["pullSecret"] == REDACTED


@pytest.mark.parametrize("name", ["password", "api_token", "pullSecret", "client-key-data", "X-Auth-Token", "md5", "authorization"])
def test_the_name_of_a_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["tokenName", "author", "public_key", "monkey", "authority", "certificate-authority-data", "pass_count"])
def test_another_name(name: str) -> None:
    assert not is_secret_name(name)


# --- the archive ---------------------------------------------------------------------------------------------------------------


def packed(path: Path, **asked: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """What is in the archive, and what the program says of it."""
    done = subprocess.run([sys.executable, PROGRAM, path], input=json.dumps(asked), capture_output=True, text=True, check=True)
    with tarfile.open(path) as archive:
        top = path.name.removesuffix(".tar.gz")
        entries = {member.name.removeprefix(f"{top}/"): archive.extractfile(member).read().decode() for member in archive}  # type: ignore[union-attr]
    return entries, json.loads(done.stdout)


def tar_of(**files: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def test_files_folders_and_archives_are_opened_and_cleaned(tmp_path: Path) -> None:
    (tmp_path / "logs" / "deep").mkdir(parents=True)
    (tmp_path / "logs" / "install.log").write_text(f"line one\ntoken={SECRET}\n", encoding="utf-8")
    (tmp_path / "logs" / "deep" / "old.log.gz").write_bytes(gzip.compress(f"it was {SECRET}".encode()))
    inner = tar_of(**{"journal.log": f"x {SECRET} y".encode()})
    (tmp_path / "logs" / "bundle.tar.gz").write_bytes(tar_of(**{"a/inner.tar.gz": inner, "../../evil": b"harmless"}))
    (tmp_path / "logs" / "disk.img").write_bytes(bytes(range(256)))
    (tmp_path / "word").write_text(SECRET + "\n", encoding="utf-8")

    path = tmp_path / "out" / "failure.tar.gz"
    entries, result = packed(
        path,
        contents={"machines.json": {"m": [SECRET]}, "note.txt": "as it is"},
        files=[str(tmp_path / "logs"), str(tmp_path / "missing")],
        folder=str(tmp_path),
        folder_secrets=["word", "no-such-file", "tls/*.key"],
    )

    assert (
        sorted(entries)
        == result["entries"]
        == [
            "left-out.json",
            "logs/bundle.tar.gz/a/inner.tar.gz/journal.log",
            "logs/bundle.tar.gz/evil",
            "logs/deep/old.log",
            "logs/install.log",
            "machines.json",
            "note.txt",
        ]
    )
    assert all(SECRET not in text for text in entries.values())
    assert entries["logs/bundle.tar.gz/a/inner.tar.gz/journal.log"] == f"x {REDACTED} y"
    assert entries["note.txt"] == "as it is"
    assert {entry["name"] for entry in result["left_out"]} == {"logs/disk.img", "missing"}
    assert result["redacted"] == 4
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_of_the_cluster_s_folder_the_files_of_the_patterns_are_put_in(tmp_path: Path) -> None:
    folder = tmp_path / "clusters [of] mine" / "demo.metal.test"
    (folder / "ignition").mkdir(parents=True)
    (folder / "publish").mkdir()
    for name in ("ignition/.openshift_install.log", "notes.log", "publish/server.log", "publish/bearer", "kubeconfig"):
        (folder / name).write_text(f"this is {name}\n", encoding="utf-8")
    patterns = ["ignition/.openshift_install.log", "ignition/log-bundle-*.tar.gz", "*.log", "publish/*.log", "notes.log"]
    entries, result = packed(tmp_path / "failure.tar.gz", folder=str(folder), folder_files=patterns, folder_secrets=["publish/bearer"])
    assert sorted(entries) == [".openshift_install.log", "notes.log", "server.log"]
    assert result["left_out"] == [], "what is not there is no matter"
    assert packed(tmp_path / "other.tar.gz", folder=str(tmp_path / "gone"), folder_files=patterns)[0] == {}


def bundles(folder: Path, *times: str, cluster: str = "demo.metal.test") -> list[Path]:
    paths = [folder / f"{cluster}-failed-{time}.tar.gz" for time in times]
    for path in paths:
        packed(path, contents={"failure.json": {}})
    return paths


def test_the_newest_archives_of_a_cluster_are_kept(tmp_path: Path) -> None:
    old = bundles(tmp_path, "20261121T071000Z", "20261121T081000Z", "20261120T235959Z")
    newest = tmp_path / "demo.metal.test-failed-20261122T071000Z.tar.gz"
    _entries, result = packed(newest, contents={"failure.json": {}}, keep=2)
    assert result["path"] == str(newest)
    assert result["deleted"] == [str(old[2]), str(old[0])]
    assert sorted(tmp_path.iterdir()) == [old[1], newest]


@pytest.mark.parametrize("keep", [0, None])
def test_all_archives_are_kept_where_that_is_chosen(tmp_path: Path, keep: int | None) -> None:
    old = bundles(tmp_path, "20261121T071000Z", "20261121T081000Z")
    _entries, result = packed(tmp_path / "demo.metal.test-failed-20261122T071000Z.tar.gz", contents={"failure.json": {}}, keep=keep)
    assert result["deleted"] == []
    assert all(path.exists() for path in old)


def test_only_what_this_program_has_written_is_deleted(tmp_path: Path) -> None:
    others = {
        "of another cluster": bundles(tmp_path, "20261101T000000Z", cluster="demo2.metal.test")[0],
        "of a cluster whose name ends alike": bundles(tmp_path, "20261101T000000Z", cluster="my-demo.metal.test")[0],
        "renamed": bundles(tmp_path, "20261101T000000Z")[0].rename(tmp_path / "demo.metal.test-failed-20261101T000000Z-keep.tar.gz"),
        "no archive": tmp_path / "demo.metal.test-failed-20261102T000000Z.tar.gz",
        "an archive of somebody else": tmp_path / "demo.metal.test-failed-20261103T000000Z.tar.gz",
        "a folder": tmp_path / "demo.metal.test-failed-20261104T000000Z.tar.gz",
        "a link": tmp_path / "demo.metal.test-failed-20261105T000000Z.tar.gz",
    }
    others["no archive"].write_text("my notes", encoding="utf-8")
    others["an archive of somebody else"].write_bytes(tar_of(**{"notes/failure.json": b"mine"}))
    others["a folder"].mkdir()
    others["a link"].symlink_to(others["of another cluster"])
    ours = bundles(tmp_path, "20261106T000000Z")[0]
    _entries, result = packed(tmp_path / "demo.metal.test-failed-20261122T071000Z.tar.gz", contents={"failure.json": {}}, keep=1)
    assert result["deleted"] == [str(ours)]
    assert [name for name, path in others.items() if not path.is_symlink() and not path.exists()] == []


def test_a_full_disk_leaves_no_half_archive_and_deletes_no_older_one(tmp_path: Path) -> None:
    old = bundles(tmp_path, "20261121T071000Z")
    path = tmp_path / "demo.metal.test-failed-20261122T071000Z.tar.gz"
    asked = json.dumps({"contents": {"failure.json": {}, "noise.txt": b64(os.urandom(200_000).hex())}, "keep": 1})
    done = subprocess.run(
        [sys.executable, PROGRAM, path],
        input=asked,
        capture_output=True,
        text=True,
        check=False,
        # The kernel refuses to let the file grow, as it does on a full disk.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Could not write {path}: ")
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == old


def test_of_what_is_too_long_the_end_is_kept_and_no_half_key(tmp_path: Path) -> None:
    (tmp_path / "long.log").write_text(KEY * 50_000 + "the end\n", encoding="utf-8")
    entries, result = packed(tmp_path / "failure.tar.gz", files=[str(tmp_path / "long.log")])
    assert entries["long.log"].endswith("the end\n")
    assert "lanted" not in entries["long.log"]
    assert result["left_out"][0]["name"] == "long.log"

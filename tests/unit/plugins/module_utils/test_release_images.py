# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which images a release has, where machines ask for them, and how what is missing is reported."""

from __future__ import annotations

import gzip
import io
import json
import tarfile

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.release.images import (
    REFERENCES,
    ImageError,
    Missing,
    commands,
    components,
    first_manifest,
    image,
    layers,
    login,
    logins,
    places,
    proxy_for,
    sentences,
    tagged_image,
    uses_proxy,
)

DIGEST, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64
RELEASE = image(f"quay.io/openshift-release-dev/ocp-release@{DIGEST}")


@pytest.mark.parametrize(
    "text",
    ["", "quay.io/a/b", "quay.io/a/b:4.20", f"quay.io@{DIGEST}", "quay.io/a@sha256:short", f"/a@{DIGEST}x", f"quay.io/a@{DIGEST.upper()}"],
)
def test_only_images_by_digest_are_read(text: str) -> None:
    with pytest.raises(ImageError, match="Cannot read the image"):
        image(text)


def test_mirrors_of_the_longest_source_in_their_order() -> None:
    sources = [
        {"source": "quay.io", "mirrors": ["wide.test"]},
        {"source": RELEASE.name, "mirrors": ["one.test:5000/a", "two.test/b"]},
        {"source": RELEASE.name, "mirrors": ["two.test/b", "three.test/c"]},
        {"source": "quay.io/openshift-release-dev/ocp", "mirrors": ["part-of-a-name.test"]},
    ]
    assert [each.name for each in places(RELEASE, sources)] == ["one.test:5000/a", "two.test/b", "three.test/c"]
    assert [str(each) for each in places(image(f"quay.io/x/y@{OTHER}"), sources)] == [f"wide.test/x/y@{OTHER}"]
    assert places(image(f"registry.test/x@{OTHER}"), sources) == [image(f"registry.test/x@{OTHER}")]
    assert places(RELEASE, [{"source": RELEASE.name, "mirrors": []}]) == [RELEASE]


def test_the_login_of_the_longest_path() -> None:
    auths = {"quay.io": {"auth": "wide"}, "quay.io/a": {"auth": "narrow"}, "empty.test": {}}
    assert [login(auths, *place) for place in (("quay.io", "a/b"), ("quay.io", "ab"), ("empty.test", "a"), ("x", "y"))] == [
        "narrow",
        "wide",
        "",
        "",
    ]
    assert logins("") == {}
    assert logins('{"auths": {"a": {"auth": "b"}}}') == {"a": {"auth": "b"}}
    for text in ("no json", "[]", '{"auths": []}', "{}"):
        with pytest.raises(ImageError, match="expected a JSON object with auths"):
            logins(text)


@pytest.mark.parametrize(
    ("place", "no_proxy", "expected"),
    [
        ("quay.io", "", True),
        ("127.0.0.1:5000", "", False),
        ("[::1]:5000", "", False),
        ("localhost:5000", "", False),
        ("quay.io", "*", False),
        ("quay.io", "example.com, quay.io", False),
        ("cdn.quay.io", "quay.io", False),
        ("quay.io", ".quay.io", True),
        ("cdn.quay.io", "*.quay.io", False),
        ("quay.io", "ay.io", True),
        ("quay.io", "quay.io:443", False),
        ("quay.io", "quay.io:80", True),
        ("10.1.2.3:5000", "10.0.0.0/8", False),
        ("10.1.2.3:5000", "10.1.2.3", False),
        ("192.0.2.1", "10.0.0.0/8", True),
        ("quay.io", "10.0.0.0/8,not/a/network", True),
    ],
)
def test_exceptions_of_the_proxy(place: str, no_proxy: str, *, expected: bool) -> None:
    assert uses_proxy(place, no_proxy) is expected


def test_registries_are_reached_through_the_https_proxy_alone() -> None:
    assert proxy_for("quay.io", {"httpProxy": "http://proxy.test"}) == ""
    assert proxy_for("quay.io", {"httpsProxy": "http://proxy.test"}) == "http://proxy.test"
    assert proxy_for("quay.io", {"httpsProxy": "http://proxy.test", "noProxy": "quay.io"}) == ""
    assert proxy_for("quay.io", {}) == ""


def test_manifests() -> None:
    assert first_manifest(json.dumps({"manifests": [{"digest": DIGEST}, {"digest": OTHER}]}).encode()) == DIGEST
    assert first_manifest(b'{"layers": []}') == ""
    assert layers(json.dumps({"layers": [{"digest": DIGEST}, {"digest": OTHER}]}).encode()) == [OTHER, DIGEST]
    for content in (b"[]", b"\xff", b"{}"):
        with pytest.raises(ImageError):
            layers(content)
    with pytest.raises(ImageError, match="is empty"):
        first_manifest(b'{"manifests": []}')


def layer(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(buffer.getvalue())


def test_components_of_a_layer() -> None:
    stream = {"spec": {"tags": [{"name": "etcd", "from": {"name": f"quay.io/a/b@{DIGEST}"}}]}}
    assert components(layer(REFERENCES, json.dumps(stream).encode())) == {"etcd": f"quay.io/a/b@{DIGEST}"}
    assert components(layer("etc/passwd", b"")) is None
    for content in (b"no archive", layer(REFERENCES, b"{}"), layer(REFERENCES, json.dumps(stream).encode())[:-30]):
        with pytest.raises(ImageError, match="Cannot read release-manifests/image-references"):
            components(content)


def missing(name: str, digest: str = OTHER, place: str = "mirror.test/release", problem: str = "manifest unknown") -> Missing:
    return Missing(name, f"quay.io/openshift-release-dev/ocp-v4.0-art-dev@{digest}", place, problem)


def test_one_sentence_for_each_place_and_problem() -> None:
    assert sentences([missing("etcd"), missing("pod"), missing("cli", problem="HTTP 500"), missing("cli", place="b.test/x")]) == [
        "mirror.test/release does not serve etcd, pod: manifest unknown",
        "mirror.test/release does not serve cli: HTTP 500",
        "b.test/x does not serve cli: manifest unknown",
    ]
    assert sentences([missing(str(number)) for number in range(7)])[0].endswith(
        "does not serve 0, 1, 2, 3, 4 and 2 more images: manifest unknown"
    )


def test_commands_mirror_single_images_or_the_release() -> None:
    assert commands(RELEASE, []) == []
    assert commands(RELEASE, [missing("etcd")]) == [
        f"oc image mirror --keep-manifest-list=true -a PULL_SECRET_FILE {missing('etcd').image} mirror.test/release"
    ]
    whole = Missing("release image", str(RELEASE), "mirror.test/release-images", "manifest unknown")
    (command,) = commands(RELEASE, [whole, missing("etcd")])
    assert command.startswith(
        f"oc adm release mirror --from={RELEASE} --to=mirror.test/release --to-release-image=mirror.test/release-images:"
    )
    (command,) = commands(RELEASE, [missing(str(number)) for number in range(20)])
    assert command == f"oc adm release mirror --from={RELEASE} --to=mirror.test/release -a PULL_SECRET_FILE"
    (command,) = commands(RELEASE, [whole])
    assert " --to=COMPONENTS_REPOSITORY --to-release-image=mirror.test/release-images:" in command
    unreachable = Missing("release image", str(RELEASE), RELEASE.name, "timed out")
    assert commands(RELEASE, [unreachable]) == [], "nothing can be mirrored to its source"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("registry.example.com:5000/a/b:v4.20", ("registry.example.com:5000", "a/b", "", "v4.20")),
        ("registry.example.com:5000/a/b", ("registry.example.com:5000", "a/b", "", "latest")),
        (f"registry.example.com/a/b:v4.20@{DIGEST}", ("registry.example.com", "a/b", DIGEST, "")),
        (f"registry.example.com:5000/a@{DIGEST}", ("registry.example.com:5000", "a", DIGEST, "")),
        ("localhost/a:1", ("localhost", "a", "", "1")),
    ],
)
def test_images_by_tag(text: str, parts: tuple[str, str, str, str]) -> None:
    found = tagged_image(text)
    assert (found.registry, found.repository, found.digest, found.tag) == parts


@pytest.mark.parametrize(
    "text", ["", "a", "redhat/index:v4.20", "registry.example.com/a:", "registry.example.com/A b", "r.example/a@sha256:1"]
)
def test_images_that_no_registry_can_be_asked_for(text: str) -> None:
    with pytest.raises(ImageError):
        tagged_image(text)


def test_a_missing_additional_image_that_has_a_mirror_is_copied_alone() -> None:
    lacking = Missing("catalogue a", "registry.example.com/a/b:v1", "mirror.test/b", "manifest unknown", is_additional=True)
    release = image(f"quay.io/a/b@{DIGEST}")
    whole = Missing("release image", str(release), "mirror.test/c", "manifest unknown")
    copied = "oc image mirror --keep-manifest-list=true -a PULL_SECRET_FILE registry.example.com/a/b:v1 mirror.test/b:v1"
    assert commands(release, [lacking]) == [copied]
    assert commands(release, [whole, lacking])[0].startswith("oc adm release mirror ")
    assert commands(release, [whole, lacking])[1:] == [copied]

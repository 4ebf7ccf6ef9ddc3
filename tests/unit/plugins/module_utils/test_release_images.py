"""Where machines ask for images, with which login, and when through a proxy. With registries: tests/images."""

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.release.images import (
    ImageError,
    image,
    login,
    logins,
    places,
    uses_proxy,
)

DIGEST, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64
RELEASE = image(f"quay.io/openshift-release-dev/ocp-release@{DIGEST}")


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
        ("quay.io", "*", False),
        ("quay.io", "example.com, quay.io", False),
        ("cdn.quay.io", "quay.io", False),
        ("quay.io", ".quay.io", True),
        ("cdn.quay.io", "*.quay.io", False),
        ("quay.io", "quay.io:443", False),
        ("10.1.2.3:5000", "10.0.0.0/8", False),
        ("192.0.2.1", "10.0.0.0/8", True),
    ],
)
def test_exceptions_of_the_proxy(place: str, no_proxy: str, *, expected: bool) -> None:
    assert uses_proxy(place, no_proxy) is expected

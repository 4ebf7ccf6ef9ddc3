"""The output of a real openshift-install keeps its reason and loses its secrets (measured with openshift/installer of 4.19)."""

import base64
import json
import urllib.parse

import pytest

from ansible_collections.equinix_metal.openshift.plugins.filter.redact import redact
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.printable import printable

CORE = "planted-7f3a91"
AUTH = base64.b64encode(f"user:{CORE}".encode()).decode()
PULL_SECRET = json.dumps({"auths": {"quay.io": {"auth": AUTH, "email": "core@example.com"}}})
FETCH = 'level=error msg=failed to fetch Install Config: failed to load asset "Install Config": failed to create install config: '
INVALID = f'{FETCH}invalid "install-config.yaml" file: '


def go(text: str) -> str:
    """The text as Go's %q writes it."""
    return json.dumps(text, ensure_ascii=False)


def refused(field: str, value: str, reason: str) -> str:
    return f"{field}: Invalid value: {go(value)}: {reason}"


PASSWORDS = {
    "plain": CORE,
    "short": "x1y2",
    "escaped": f"p%40ss{CORE}",
    "an at sign": f"p@ss{CORE}",
    "a slash": f"p/ss{CORE}",
    "a blank": f"pa {CORE}",
    "a quote": f'pa"{CORE}',
    "a backslash": f"pa\\{CORE}",
    "a colon": f"pa:{CORE}",
}
PROXY_REASONS = ("proxy value is part of the cluster networks", 'parse "%s": net/url: invalid userinfo')


@pytest.mark.parametrize("informed", [True, False], ids=["with the settings", "by form alone"])
@pytest.mark.parametrize("password", PASSWORDS.values(), ids=PASSWORDS)
@pytest.mark.parametrize("reason", PROXY_REASONS, ids=range(len(PROXY_REASONS)))
def test_a_refused_proxy_loses_its_password(reason: str, password: str, informed: bool) -> None:
    if not informed and (set(password) & set(' "\\') or len(password) < 6):
        password = CORE  # what can only be known by the settings
    url = f"http://user:{password}@10.128.0.5:3128"
    result = reason.replace('"%s"', go(url))
    text = INVALID + refused("proxy.httpProxy", url, result)
    settings = [{"httpProxy": url, "noProxy": ".example.com"}] if informed else []
    shown = redact(text, settings=settings)
    assert CORE not in shown and urllib.parse.quote(CORE) not in shown
    assert password not in shown
    assert "proxy.httpProxy: Invalid value: " in shown
    assert shown.endswith(result.rpartition(": ")[2]) and "10.128.0.5:3128" in shown


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (f"{{auths{CORE}", "invalid character 'a' looking for beginning of object key string"),
        (json.dumps({"auths": {}, "x": CORE}), "auths required"),
        (
            json.dumps({"auths": {"quay.io": {"username": "x", "password": CORE}}}),
            '"quay.io" requires either auth or credsStore',
        ),
        (PULL_SECRET, "unexpected end of JSON input"),
    ],
)
@pytest.mark.parametrize("quoted", [False, True], ids=["as it is", "in a log"])
def test_a_refused_pull_secret_is_not_repeated_and_its_reason_is(value: str, reason: str, quoted: bool) -> None:
    line = INVALID + refused("pullSecret", value, reason)
    text = f"time=now level=error msg={go(line)}" if quoted else line
    shown = redact(text, secrets=[value])
    assert CORE not in shown and AUTH not in shown
    assert "pullSecret: Invalid value: " in shown
    assert (json.dumps(reason)[1:-1] if quoted else reason) in shown
    assert 'invalid "install-config.yaml" file' in shown.replace("\\", "")


def test_a_refused_private_key_is_not_repeated() -> None:
    key = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{CORE}\n-----END OPENSSH PRIVATE KEY-----\n"
    assert redact(INVALID + refused("sshKey", key, "no key found")) == f'{INVALID}sshKey: Invalid value: "<redacted>\\n": no key found'


@pytest.mark.parametrize(
    "text",
    [
        'networking.machineNetwork[0]: Invalid value: "100.64.8.0/24": must not overlap with OVNKubernetes default internal subnet',
        "proxy: Required value: must include httpProxy or httpsProxy",
        'proxy.noProxy: Invalid value: ".example.com, 10.0.0.0/8": noProxy must not have spaces',
        "failed to unmarshal install-config.yaml: json: cannot unmarshal array into Go struct field Proxy.proxy.noProxy of type string",
    ],
)
def test_a_reason_without_a_secret_stays_as_it_is(text: str) -> None:
    settings = [{"noProxy": ".example.com, 10.0.0.0/8", "networkType": "OVNKubernetes"}]
    assert redact(INVALID + text, secrets=[PULL_SECRET], settings=settings) == INVALID + text


def test_what_stands_under_the_name_of_a_secret_in_settings_is_known_wherever_it_stands() -> None:
    settings = [{"platform": {"baremetal": {"hosts": [{"bmc": {"password": CORE, "username": "root"}}]}}, "baseDomain": "metal.test"}]
    shown = redact(f"cannot log in with {CORE} ({base64.b64encode(CORE.encode()).decode()}) at metal.test", settings=settings)
    assert shown.startswith("cannot log in with <redacted> (<redacted>") and shown.endswith(") at metal.test")


def test_control_characters_are_escaped_and_lines_stay() -> None:
    assert redact("\x1b[31mfatal\x1b[0m\nPLAY\u202e\rRECAP") == "\\x1b[31mfatal\\x1b[0m\nPLAY\\u202e\nRECAP"
    assert printable("a\nb") == "a\\nb"


def test_of_a_long_text_the_end_is_kept() -> None:
    shown = redact("x\n" * 5000 + "level=fatal msg=the reason", limit=100)
    assert shown.startswith("(cut, 10026 characters) ...")
    assert shown.endswith("level=fatal msg=the reason")
    assert len(shown) < 140


def test_data_keeps_its_shape() -> None:
    assert redact({"msg": f"with {CORE}", "rc": 3, "password": "x", "list": [CORE]}, secrets=[CORE]) == {
        "msg": "with <redacted>",
        "rc": 3,
        "password": "<redacted>",
        "list": ["<redacted>"],
    }

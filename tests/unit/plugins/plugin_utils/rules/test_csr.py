"""The report on certificate requests: what it says, and that nothing in it can forge a line or fill a screen."""

from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.csr import SHOWN
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.csr import lines as csr_report


def entry(name: str, reason: str = "first certificate", **more: str) -> dict[str, Any]:
    return {"name": name, "node": "worker-0", "signer": "kubernetes.io/kubelet-serving", "reason": reason, **more}


RESULT: dict[str, Any] = {
    "approved": ["csr-c"],
    "denied": ["csr-d"],
    "verdicts": [entry("csr-a"), entry("csr-c", "second"), entry("csr-d")],
    "refused": [entry("csr-d", "no machine"), entry("csr-e", "no machine")],
    "alarms": [{"node": "w", "message": "more keys"}],
    "joined": ["worker-0"],
}


def test_what_needs_attention_is_told_and_who_has_joined() -> None:
    assert csr_report(RESULT, ["worker-0", "worker-1"]) == [
        "REFUSED   csr-d for node 'worker-0' (kubelet-serving), denied: no machine",
        "REFUSED   csr-e for node 'worker-0' (kubelet-serving), left pending: no machine",
        "ALARM     more keys",
        "1 of 2 machines have joined",
    ]


def test_thousands_and_forged_names_are_some_short_lines() -> None:
    evil = entry("csr-\x1b[2K\nALARM   ok \u202e", "x" * 200_000)
    lines = csr_report({"refused": [evil] * 3000, "alarms": [{"node": str(number), "message": "y" * 9000} for number in range(99)]}, ["a"])
    assert len(lines) == 2 * SHOWN + 3
    assert "and 2980 more refused requests" in lines
    for line in lines:
        assert line.isprintable()
        assert len(line) <= 600


def test_csrs_of_machines_are_printed_before_thousands_of_others() -> None:
    foreign = [{**entry(f"csr-{number}"), "node": "stranger"} for number in range(3000)]
    lines = csr_report({"refused": [*foreign, entry("csr-ours")]}, ["worker-0"])
    assert lines[0].startswith("REFUSED   csr-ours")

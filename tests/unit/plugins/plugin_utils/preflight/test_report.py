"""The report of the preflight checks as lines of the terminal."""

from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.preflight.report import screen_lines


def check(name: str, verdict: str, advice: str = "") -> dict[str, Any]:
    return {"check": name, "verdict": verdict, "found": f"found of {name}", "expected": f"expected of {name}", "advice": advice}


REPORT = {
    "checks": [
        *(check(f"fine {number}", "passed") for number in range(38)),
        check("resolver", "not checkable", "set openshift_resolver"),
        check("clock", "not checkable"),
        check("installer", "warning", "read the warning"),
        check("pull secret", "failed", "take the whole pull secret"),
    ],
    "summary": "38 passed, 2 not checkable, 1 failed; 6 machines to order",
}


def test_failed_and_unknown_checks_have_advice_and_the_others_are_one_line() -> None:
    assert screen_lines(REPORT) == [
        "38 checks passed (all of them with -v)",
        "unknown  resolver     found of resolver",
        "         to do:    set openshift_resolver",
        "unknown  clock        found of clock",
        "warning  installer    found of installer",
        "         to do:    read the warning",
        "FAILED   pull secret  found of pull secret",
        "         expected: expected of pull secret",
        "         to do:    take the whole pull secret",
        "38 passed, 2 not checkable, 1 failed; 6 machines to order",
    ]


def test_checks_that_have_nothing_to_check_are_in_the_same_line() -> None:
    orders = {"found": "not checked: no machines to order"}
    checks = [
        check("fine", "passed"),
        {**check("plans", "not checkable"), **orders},
        {**check("metros", "not checkable"), **orders},
        {**check("platform", "not checkable"), "found": "not checked: Ignition files exist"},
        {
            **check("signature", "not checkable", "set the keyring"),
            "found": "not checked: no keyring",
        },
    ]
    assert screen_lines({"checks": checks, "summary": "1 passed"}) == [
        "1 check passed, 3 not made (all of them with -v): no machines to order; Ignition files exist",
        "unknown  signature  not checked: no keyring",
        "         to do:    set the keyring",
        "1 passed",
    ]

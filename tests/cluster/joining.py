"""Writes docs/generated/joining.md from the table of hostile requests and the list of rules: ``python -m tests.cluster.joining``.

What it says why a request stays out is the verdict the collection gives, at the time of writing; tests/docs/test_joining.py holds the page
to it, tests/unit/plugins/module_utils/test_csr.py and tests/cluster/test_csr_approval.py hold the verdicts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# As pytest does it, where this is run by itself.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift.csr import OWN_KEY
from tests.unit.plugins.module_utils.csr_cases import CASES, SERVING, Case
from tests.unit.plugins.module_utils.test_csr import judged_case

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "generated" / "joining.md"
UNIT = "tests/unit/plugins/module_utils/test_csr.py"
REAL = "tests/cluster/test_csr_approval.py"
TROUBLE = "tests/cluster/test_csr_trouble.py"


@dataclass(frozen=True)
class Rule:
    """One rule with the tests that hold it: `unit` in UNIT, `real` in REAL or TROUBLE. The table stands for all cases of CASES."""

    told: str
    unit: tuple[str, ...]
    real: tuple[str, ...]


TABLE = "test_odd_and_hostile_requests_stay_pending_with_their_reason"
FILED = "test_nothing_odd_or_hostile_is_approved"

RULES = [
    Rule(
        "the signer is one of the two of kubelets; requests of other signers are not touched",
        ("test_not_ours_to_decide",),
        ("test_renewals_and_other_signers_are_not_touched",),
    ),
    Rule(
        "a renewal by a joined node is not touched, the cluster answers it",
        ("test_not_ours_to_decide",),
        ("test_renewals_and_other_signers_are_not_touched",),
    ),
    Rule("the usages are exactly one of the sets kubelets ask for", (TABLE, "test_what_kubelets_send_is_approved"), (FILED,)),
    Rule("a first certificate is asked for by the node bootstrapper, with exactly its groups", (TABLE,), (FILED,)),
    Rule("a serving certificate is asked for by the node itself", (TABLE,), (FILED, "test_names_of_serving_requests_by_another_node")),
    Rule("the subject is exactly one `system:node:<name>` and one `system:nodes`", (TABLE,), (FILED,)),
    Rule(
        "the name is that of a machine of the inventory that is there with the cluster's mark, letter by letter",
        (TABLE, "test_a_name_longer_than_a_common_name_should_be_is_approved"),
        (FILED,),
    ),
    Rule("a first certificate has no alternative names", (TABLE,), (FILED,)),
    Rule(
        "a serving certificate is for the node's own name, and addresses the Metal API says its machine has, or declared ones",
        (TABLE, "test_short_names_by_choice"),
        (FILED,),
    ),
    Rule("the key is ECDSA P-256, or RSA from 2048 bits, and the signature proves that the asker has it", (TABLE,), (FILED,)),
    Rule(
        "what is judged is what is signed: one clean PEM block, DER without a spare byte, one attribute, one extension", (TABLE,), (FILED,)
    ),
    Rule(
        "the first request comes after the machine was made, and within the window",
        (TABLE, "test_a_machine_named_without_time_may_come_at_any_time"),
        (FILED,),
    ),
    Rule(
        "no first certificate under the name of a Node that is there",
        (TABLE,),
        (FILED, "test_a_second_key_for_a_joined_machine_is_refused"),
    ),
    Rule(
        "of several requests of a machine only the newest is alive: a kubelet that asks again has forgotten its older key",
        ("test_of_several_waiting_requests_of_a_machine_only_the_newest_lives",),
        ("test_only_the_newest_key_of_a_restarted_kubelet",),
    ),
    Rule(
        "nothing is approved that is older than an approved or denied request of the same machine, also when that was removed since",
        (
            "test_nothing_older_than_an_answered_request_is_approved",
            "test_an_answer_is_remembered_when_the_cluster_has_removed_the_request",
            "test_within_one_second_an_answer_makes_no_request_newer",
        ),
        ("test_five_older_keys_of_a_machine_get_no_certificate", "test_a_newer_request_that_was_denied_makes_no_older_one_good"),
    ),
    Rule(
        "a machine that has joined is not new when its Node is deleted (cluster-machine-approver: a Machine with a nodeRef)",
        (TABLE, "test_who_has_filed_as_the_node_has_joined", "test_a_machine_whose_node_was_there_is_not_new"),
        (FILED, "test_who_has_joined_is_not_new_when_its_node_is_deleted", "test_who_has_joined_is_known_to_later_runs"),
    ),
    Rule(
        "a machine of the same name that was created later is another one, and new",
        ("test_a_replaced_machine_of_the_same_name_is_new",),
        ("test_who_has_joined_is_known_to_later_runs",),
    ),
    Rule(
        "of two machines with one name none is approved, and the others are",
        ("test_two_machines_of_one_name_keep_only_themselves_waiting",),
        (),
    ),
    Rule(
        "one approval for each machine: another key right after it waits until the first had its time to register",
        ("test_a_second_key_right_after_an_approval_waits_for_the_node",),
        ("test_another_key_right_after_an_approval_waits_and_is_not_locked_out",),
    ),
    Rule(
        "a machine whose certificate was never fetched is not locked out",
        ("test_a_machine_whose_certificate_was_never_fetched_is_not_locked_out",),
        ("test_another_key_right_after_an_approval_waits_and_is_not_locked_out",),
    ),
    Rule(
        "another key sooner than a waiting kubelet asks again, or after an approval, is an alarm and stops nobody",
        (
            "test_two_who_say_to_be_one_machine_are_an_alarm",
            "test_what_a_waiting_kubelet_does_is_no_alarm",
            "test_an_alarm_stops_nobody",
            "test_an_alarm_tells_how_to_find_out_whose_the_keys_are",
            "test_names_of_requests_are_printed_on_one_line_and_cut",
        ),
        ("test_a_stranger_who_asks_after_the_machine_is_an_alarm", "test_a_stranger_who_asks_before_the_machine_is_an_alarm"),
    ),
    Rule(
        "a node that is silent since its certificates ended gets others by choice only",
        ("test_a_silent_node_is_recovered_by_choice_only",),
        ("test_a_silent_node_is_recovered_by_choice",),
    ),
    Rule(
        "too many pending requests stop every approval until somebody has looked",
        ("test_too_many_pending_requests_stop_everything",),
        ("test_many_pending_requests_are_read_page_by_page",),
    ),
    Rule(
        "one odd request stops nothing",
        ("test_one_odd_request_stops_nothing",),
        ("test_a_good_one_among_them_is_approved_signed_and_not_twice",),
    ),
    Rule("not yet is not no", ("test_not_yet_is_not_no",), ("test_not_yet_is_not_no",)),
    Rule("refusing is leaving pending; denying is a choice", ("test_denying_is_a_choice",), ("test_denying_is_a_choice",)),
    Rule(
        "the approval is for exactly the object that was judged, not for a later one of its name",
        (),
        ("test_approval_is_for_exactly_the_request_that_was_judged",),
    ),
    Rule("check mode tells all verdicts and writes nothing", (), ("test_a_good_one_among_them_is_approved_signed_and_not_twice",)),
    Rule("requests are followed: an approval comes within a second of its request", (), ("test_a_machine_joins_while_the_module_follows",)),
    Rule(
        "a request that cannot be approved or denied is reported and tried again, and the others go on",
        (),
        (
            "test_one_request_that_cannot_be_approved_keeps_no_other_waiting",
            "test_without_waiting_what_was_done_is_told_with_what_was_not",
            "test_denials_come_after_approvals_and_are_tried_again",
        ),
    ),
    Rule(
        "a watch that fails, or that has become silent, is followed by a new list and a new watch",
        (),
        (
            "test_an_error_in_the_watch_is_followed_by_a_list",
            "test_a_list_that_is_refused_for_some_time_ends_nothing",
            "test_a_watch_that_has_become_silent_is_given_up_after_its_time",
        ),
    ),
    Rule("what is named by whoever files a request forges no line", (), ("test_names_of_requests_forge_no_line",)),
]

HEAD = """\
# Who may join

<!-- Made by `python -m tests.cluster.joining` from the tests' own tables; tests/docs/test_joining.py fails when it is not up to date. -->

Whoever has reached the machine config server once has the token of the node bootstrapper, and can ask with it for the certificate of
any node name. So every request of a kubelet is judged, by `equinix_metal.openshift.csr_approval` and the role of the same name. It is
approved only when it fits a machine that the inventory wants and the Metal API has with this cluster's mark. Each gets a verdict and
a reason:

| verdict | what it means |
| --- | --- |
| approved | all rules hold |
| pending, not in `refused` | nothing speaks against it, something is still missing: it is approved as soon as that is there |
| pending, in `refused` | a rule speaks against it: somebody should look. It is shown as a warning as soon as it is seen |
| denied | the same, where `deny_refused` (`openshift_deny_refused`) was chosen |
| ignored | not this collection's to decide: another signer, a renewal, decided already |

Refusing is leaving pending: what is refused today may be right tomorrow, when an old Node was removed or an address became known. A denied
kubelet asks again within seconds.

A machine joins once. It has joined when a Node of it was registered after its creation, or when a request was filed with its own node
certificate since. What is known of it is kept in the ConfigMap `equinix-metal-csr-history` in the namespace `kube-system`, since the
cluster removes answered requests after an hour and a Node may be deleted. A machine that was created later under the same name (a new
device, or one that was reinstalled) is another machine, and may join once the Node of the earlier one was removed. A machine that has lost
its certificate is let in again with `recover_nodes` (`openshift_recover_nodes`).

## What can not be told apart

With the token, somebody can ask for the *first* certificate under the name of a machine of ours that has none yet, and no rule sees a
difference. A waiting kubelet has its key in memory alone, so there is nothing to compare the request with. It asks with another key when it
was started again, and when nobody has answered for 15 minutes: so of several requests the newest is let in, and a key after an approval
that led to no Node, or the machine would be locked out. Who was let in under its name registers the Node, and is given the serving
certificate too when it asks for the machine's own name and addresses.

So it is reported, and that is all that can be done about it. A machine for which CSRs with different keys were filed sooner than a kubelet
asks again, or after an approval, is in `alarms` of the module's result with the requests, when they were filed, and the SHA-256 of their
keys. A warning names it as soon as it is seen, during `install.yml` and `scale.yml` as well as with `playbooks/approve.yml`, and a line
`ALARM` at the end of the role. What was there before the run, as after one that was interrupted, is one line for all machines:

| who asks first | the other's request | what is told |
| --- | --- | --- |
| the machine, then a stranger, before an answer | the machine's stays pending, as that of a restarted kubelet does | alarm |
| a stranger, then the machine, before an answer | the machine is let in | alarm |
| the machine, which is let in, then a stranger | the stranger's waits for the Node, then it is refused | alarm, `refused` |
| a stranger, who is let in, then the machine | the machine's is refused, once there is a Node | alarm, `refused` |

None of these is an error that ends the run: a kubelet that is started again while it waits is daily life at an install, and the first line
is all that is to be seen of it. Nor does a run wait for a machine whose Node is there and Ready. To know who was let in:

- Ask the machine, at an address that the Metal API tells. Once it was let in, and until the first renewal of its certificate, its own key
  is in `/var/lib/kubelet/pki/kubelet-client-current.pem`: it has to be the key of the request that was approved. `{own_key}` shows it.
  Without that file the machine still waits, and somebody else is in its place.
- Or look again with `playbooks/approve.yml` after a quarter of an hour. A machine that still waits has asked once more by then, and its
  request is in `refused`. A restarted kubelet that was let in does not ask.

If it was somebody else, remove the Node, have the machine under another name, and find out who could read the token: a certificate can not
be called back before it ends. The cluster itself forgets approved requests after an hour, and with them goes what an alarm can be seen by.
A stranger who is let in before the machine has asked at all can only be told by a later run.

## The rules, and what holds them

Unit tests are in `{unit}`, those with a real API server and signer in `{real}` and `{trouble}`.

| rule | as a decision | at a real API server |
| --- | --- | --- |
"""

MIDDLE = """
## What does not get in

{filed} odd and hostile requests. The tests file all of them at a real API server, as the bootstrapper, a node, or somebody impersonated;
{taken} of them it takes, and none of those is approved, each is named with the reason given here. Of the others the reason is what would be
said if it had taken them. The tests judge {alone} more that no API server would ever tell.
"""


def verdict(case: Case) -> str:
    """Why the case stays out."""
    return judged_case(case).reason


def page() -> str:
    filed = [case for case in CASES if case.possible]
    rules = [f"| {rule.told} | {_named(rule.unit)} | {_named(rule.real)} |\n" for rule in RULES]
    serving = [case for case in filed if case.obj()["spec"]["signerName"] == SERVING]
    first = [case for case in filed if case not in serving]
    return "".join(
        [
            HEAD.format(unit=UNIT, real=REAL, trouble=TROUBLE, own_key=OWN_KEY),
            *rules,
            MIDDLE.format(filed=len(filed), taken=sum(not case.server for case in filed), alone=len(CASES) - len(filed)),
            "\n### First certificates\n\n",
            *_cases(first),
            "\n### Serving certificates\n\n",
            *_cases(serving),
        ]
    )


def _named(tests: Iterable[str]) -> str:
    names = {TABLE: "the table below", FILED: "the table below, filed"}
    return ", ".join(names.get(test, f"`{test}`") for test in tests) or "-"


def _cases(cases: Iterable[Case]) -> list[str]:
    lines = ["| request | why it stays out |\n", "| --- | --- |\n"]
    for case in cases:
        by_server = " (the API server does not take it)" if case.server else ""
        lines.append(f"| {case.title} | {_cell(verdict(case))}{by_server} |\n")
    return lines


def _cell(text: str) -> str:
    for character in "\\|*<>[]_":
        text = text.replace(character, f"\\{character}")
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

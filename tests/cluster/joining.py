"""Writes docs/generated/joining.md from the table of hostile CSRs and the list of rules: ``python -m tests.cluster.joining``.

The reasons are the module's own verdicts; tests/docs/test_joining.py verifies that the page is up to date,
tests/unit/plugins/module_utils/test_csr.py and tests/cluster/test_csr_approval.py verify the verdicts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# As pytest does it, where this is run by itself.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.equinix_metal.openshift.plugins.module_utils.joining.csr import OWN_KEY
from tests.unit.plugins.module_utils.csr_cases import CASES, SERVING, Case
from tests.unit.plugins.module_utils.test_csr import judged_case

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "generated" / "joining.md"
UNIT = "tests/unit/plugins/module_utils/test_csr.py"
REAL = "tests/cluster/test_csr_approval.py"
FAULTS = "tests/cluster/test_csr_faults.py"


@dataclass(frozen=True)
class Rule:
    """One rule with its tests: `unit` in UNIT, `real` in REAL or FAULTS. TABLE stands for all cases of CASES."""

    title: str
    unit: tuple[str, ...]
    real: tuple[str, ...]


TABLE = "test_malformed_and_hostile_csrs_stay_pending_with_their_reason"
FILED = "test_malformed_and_hostile_csrs_are_not_approved"

RULES = [
    Rule(
        "the signer is one of the two for kubelets; CSRs for other signers are ignored",
        ("test_csrs_of_other_signers_and_renewals_are_ignored",),
        ("test_renewals_and_csrs_for_other_signers_stay_unchanged",),
    ),
    Rule(
        "a renewal by a joined node is ignored, the cluster answers it",
        ("test_csrs_of_other_signers_and_renewals_are_ignored",),
        ("test_renewals_and_csrs_for_other_signers_stay_unchanged",),
    ),
    Rule("the usages are exactly one of the sets that kubelets request", (TABLE, "test_what_kubelets_send_is_approved"), (FILED,)),
    Rule("the requester of a first certificate is the node bootstrapper, with exactly its groups", (TABLE,), (FILED,)),
    Rule(
        "the requester of a serving certificate is the node itself",
        (TABLE,),
        (FILED, "test_a_serving_csr_filed_by_another_node_is_forbidden"),
    ),
    Rule("the subject is exactly one `system:node:<name>` and one `system:nodes`", (TABLE,), (FILED,)),
    Rule(
        "the name is exactly that of a machine of the inventory whose device has the cluster's ownership tag",
        (TABLE, "test_a_name_longer_than_a_common_name_should_be_is_approved"),
        (FILED,),
    ),
    Rule("a first certificate has no alternative names", (TABLE,), (FILED,)),
    Rule(
        "a serving certificate is for the node's own name, and for addresses of its device in the Metal API, or declared ones",
        (TABLE, "test_short_names_are_approved_on_request"),
        (FILED,),
    ),
    Rule("the key is ECDSA P-256, or RSA from 2048 bits, and the signature proves possession of the key", (TABLE,), (FILED,)),
    Rule(
        "the evaluated bytes are those that are signed: one PEM block, DER without extra bytes, one attribute, one extension",
        (TABLE,),
        (FILED,),
    ),
    Rule(
        "the first CSR is filed after the machine's creation, and within the window",
        (TABLE, "test_a_machine_without_a_creation_time_may_join_at_any_time"),
        (FILED,),
    ),
    Rule(
        "no first certificate under the name of an existing Node",
        (TABLE,),
        (FILED, "test_a_second_key_of_a_joined_machine_is_refused"),
    ),
    Rule(
        "of several CSRs of a machine only the newest is valid: a kubelet that files another one no longer has the older key",
        ("test_only_the_newest_pending_csr_of_a_machine_is_approved",),
        ("test_only_the_newest_key_of_a_restarted_kubelet_is_approved",),
    ),
    Rule(
        "no CSR is approved that is older than an approved or denied one of the same machine, also if that was deleted since",
        (
            "test_nothing_older_than_an_answered_request_is_approved",
            "test_an_answer_is_remembered_when_the_cluster_has_removed_the_request",
            "test_within_one_second_an_answer_makes_no_request_newer",
        ),
        ("test_five_older_keys_of_a_machine_get_no_certificate", "test_a_denied_csr_leaves_older_csrs_invalid"),
    ),
    Rule(
        "a machine that has joined may not join again when its Node is deleted (cluster-machine-approver: a Machine with a nodeRef)",
        (TABLE, "test_a_machine_that_filed_a_csr_as_the_node_has_joined", "test_a_machine_whose_node_was_there_is_not_new"),
        (FILED, "test_a_joined_machine_may_not_join_again_after_its_node_is_deleted", "test_later_runs_read_which_machines_have_joined"),
    ),
    Rule(
        "a machine of the same name that was created later is another one, and may join",
        ("test_a_replaced_machine_of_the_same_name_is_new",),
        ("test_later_runs_read_which_machines_have_joined",),
    ),
    Rule(
        "of two machines with one name none is approved; all others are",
        ("test_two_machines_of_one_name_block_only_each_other",),
        (),
    ),
    Rule(
        "one approval for each machine: another key right after it waits until the first had time to register",
        ("test_a_second_key_right_after_an_approval_waits_for_the_node",),
        ("test_another_key_right_after_an_approval_waits_and_is_approved_later",),
    ),
    Rule(
        "a machine that did not fetch its certificate is not locked out",
        ("test_a_machine_whose_certificate_was_never_fetched_is_not_locked_out",),
        ("test_another_key_right_after_an_approval_waits_and_is_approved_later",),
    ),
    Rule(
        "another key sooner than a waiting kubelet files the next CSR, or after an approval, is an alarm and blocks no machine",
        (
            "test_two_keys_for_one_machine_are_an_alarm",
            "test_the_retries_of_a_waiting_kubelet_are_no_alarm",
            "test_an_alarm_blocks_no_approval",
            "test_an_alarm_explains_how_to_identify_the_keys",
            "test_names_of_requests_are_printed_on_one_line_and_cut",
        ),
        ("test_a_rogue_csr_after_that_of_the_machine_is_an_alarm", "test_a_rogue_csr_before_that_of_the_machine_is_an_alarm"),
    ),
    Rule(
        "a Node that is Unknown since its certificates expired gets others only with `recover_nodes`",
        ("test_an_unknown_node_is_recovered_on_request_only",),
        ("test_recover_nodes_approves_the_csr_of_an_unknown_node",),
    ),
    Rule(
        "too many pending CSRs stop every approval until a user has checked them",
        ("test_excess_pending_csrs_stop_every_approval",),
        ("test_many_pending_csrs_are_read_page_by_page",),
    ),
    Rule(
        "one malformed CSR blocks no other",
        ("test_a_malformed_csr_blocks_no_other",),
        ("test_one_valid_csr_among_others_is_approved_and_signed_once",),
    ),
    Rule("a pending condition is no refusal", ("test_a_pending_condition_is_no_refusal",), ("test_a_pending_condition_is_no_refusal",)),
    Rule(
        "a refused CSR stays pending; it is denied only with `deny_refused`",
        ("test_deny_refused_denies_refused_csrs",),
        ("test_deny_refused_denies_refused_csrs",),
    ),
    Rule(
        "the approval is for exactly the evaluated object, not for a later one of its name",
        (),
        ("test_an_approval_applies_only_to_the_csr_that_was_read",),
    ),
    Rule("check mode returns all verdicts and writes nothing", (), ("test_one_valid_csr_among_others_is_approved_and_signed_once",)),
    Rule("CSRs are watched: an approval follows within a second", (), ("test_a_watch_approves_the_csrs_of_a_joining_machine",)),
    Rule(
        "a CSR that cannot be approved or denied is reported and retried, and the others continue",
        (),
        (
            "test_a_csr_that_cannot_be_approved_delays_no_other",
            "test_without_wait_an_error_returns_approved_and_failed_csrs",
            "test_denials_are_sent_after_approvals_and_retried",
        ),
    ),
    Rule(
        "after a watch that fails or returns nothing for too long, CSRs are listed and watched again",
        (),
        (
            "test_an_error_event_of_a_watch_is_followed_by_a_list",
            "test_a_list_that_is_refused_for_some_time_is_retried",
            "test_a_silent_watch_is_replaced_after_its_timeout",
        ),
    ),
    Rule("names that a client chooses cannot forge a line of output", (), ("test_names_of_csrs_cannot_forge_an_output_line",)),
]

HEAD = """\
# Which machines may join the cluster

<!-- Made by `python -m tests.cluster.joining` from the tests' own tables; tests/docs/test_joining.py fails when it is not up to date. -->

    ansible-playbook playbooks/approve.yml --check      # prints the verdict and the reason for each CSR

Every client that has reached the machine config server once has the node bootstrapper's token, and can file a CSR for any node name with
it. So `equinix_metal.openshift.csr_approval` and the role of the same name evaluate every kubelet CSR. It is approved only if it matches
a machine of the inventory whose device has this cluster's ownership tag. Each CSR gets a verdict and a reason:

| verdict | meaning |
| --- | --- |
| approved | all rules hold |
| pending, not in `refused` | no rule is violated, but a condition is pending: it is approved as soon as that is met |
| pending, in `refused` | a rule is violated. It is printed at once as a warning, for a user to check |
| denied | the same, with `deny_refused` (`openshift_deny_refused`) |
| ignored | not decided by this collection: another signer, a renewal, decided already |

A refused CSR stays pending, since it may become valid later, when an old Node was deleted or an address is reported. A denied kubelet
files another CSR within seconds.

A machine joins once. It has joined when a Node of it was registered after its creation, or when a CSR was filed with its own node
certificate since. The module keeps this history in the ConfigMap `equinix-metal-csr-history` in the namespace `kube-system`, since the
cluster deletes answered CSRs after an hour and a Node may be deleted. A machine that was created later under the same name (a new device,
or a reinstalled one) is another machine, and may join once the Node of the earlier one was deleted. A machine whose certificate has
expired joins again with `recover_nodes` (`openshift_recover_nodes`).

## CSRs that cannot be distinguished

With the token, an unauthorized client can file a CSR for the *first* certificate of a machine that has none yet, and no rule can detect
that. A waiting kubelet has its key in memory alone, so the CSR cannot be compared with it. The kubelet files a CSR with another key after
a restart, and when nobody has answered for 15 minutes. So of several CSRs the newest is approved, and so is a key after an approval that
led to no Node; otherwise the machine would be locked out. The client that was approved under its name registers the Node, and gets the
serving certificate too if it requests the machine's own name and addresses.

So this can only be reported. A machine for which CSRs with different keys were filed sooner than a kubelet files the next one, or after
an approval, is in `alarms` of the module's result with the CSRs, their times, and the SHA-256 of their keys. A warning names it at once,
during `install.yml`, `scale.yml` and `playbooks/approve.yml`, and a line `ALARM` at the end of the role. CSRs from before the run, for
example of an interrupted one, are one line for all machines:

| order of the CSRs | result for the second client | report |
| --- | --- | --- |
| the machine, then an unauthorized client, before an answer | the machine's CSR stays pending, like that of a restarted kubelet | alarm |
| an unauthorized client, then the machine, before an answer | the machine is approved | alarm |
| the machine, which is approved, then an unauthorized client | the client's CSR waits for the Node, then it is refused | alarm, `refused` |
| an unauthorized client, which is approved, then the machine | the machine's CSR is refused, once there is a Node | alarm, `refused` |

None of these ends the run: kubelets restart while they wait in many installs, and in the first row the alarm is the only sign. A run does
not wait for a machine whose Node exists and is Ready. To find out which client was approved:

- Read the key on the machine, at an address that the Metal API returns. After the approval, and until the first renewal of its
  certificate, its own key is in `/var/lib/kubelet/pki/kubelet-client-current.pem`: it has to be the key of the approved CSR. `{own_key}`
  prints it. If the file does not exist, the machine still waits, and an unauthorized client was approved.
- Or run `playbooks/approve.yml` again after a quarter of an hour. A machine that still waits has filed another CSR by then, which is in
  `refused`. A restarted kubelet that was approved files none.

If an unauthorized client was approved, delete the Node, reinstall the machine under another name, and find out who could read the token:
a certificate cannot be revoked before it expires. The cluster deletes approved CSRs after an hour, and with them the evidence of an
alarm. An unauthorized client that is approved before the machine has filed any CSR can only be reported by a later run.

## Rules and their tests

Unit tests are in `{unit}`, those with a real API server and signer in `{real}` and `{faults}`.

| rule | unit test | test with a real API server |
| --- | --- | --- |
"""

MIDDLE = """
## Malformed and hostile CSRs

{filed} malformed and hostile CSRs. The tests file all of them at a real API server, as the bootstrapper, a node, or an impersonated user.
It accepts {taken} of them. None of those is approved, and each is reported with the reason given here. For the others the table has the
reason that the module would report. The tests evaluate {alone} more that no API server would ever return.
"""


def verdict(case: Case) -> str:
    """Return why the CSR is not approved."""
    return judged_case(case).reason


def page() -> str:
    filed = [case for case in CASES if case.possible]
    rules = [f"| {rule.title} | {_named(rule.unit)} | {_named(rule.real)} |\n" for rule in RULES]
    serving = [case for case in filed if case.obj()["spec"]["signerName"] == SERVING]
    first = [case for case in filed if case not in serving]
    return "".join(
        [
            HEAD.format(unit=UNIT, real=REAL, faults=FAULTS, own_key=OWN_KEY),
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
    lines = ["| CSR | reason |\n", "| --- | --- |\n"]
    for case in cases:
        by_server = " (the API server does not accept it)" if case.server else ""
        lines.append(f"| {case.title} | {_cell(verdict(case))}{by_server} |\n")
    return lines


def _cell(text: str) -> str:
    for character in "\\|*<>[]_":
        text = text.replace(character, f"\\{character}")
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

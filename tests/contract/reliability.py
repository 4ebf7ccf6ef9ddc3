"""Writes docs/generated/reliability.md from the fault table and its recorded outcomes: ``python -m tests.contract.reliability``.

Merges the outcomes that runs of the whole table (``pytest -m long tests/contract``) have recorded since, of one module or of all.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection
from pathlib import Path

# As pytest does it, where this is run by itself.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from tests.contract import outcomes
from tests.contract.faults import FAULTS, Fault, Kind, Service, Verdict, Verdicts
from tests.contract.subjects import SUBJECTS
from tests.e2e.kills import MOMENTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "generated" / "reliability.md"

WORDS: dict[Verdict, str] = {"success": "success", "error": "one clear error", "either": "success or one clear error"}
COLUMNS: dict[Service, list[tuple[str, tuple[Kind, ...]]]] = {
    "metal": [("while reading", ("read", "ask")), ("creating", ("create",)), ("changing", ("change",)), ("deleting", ("delete",))],
    "cluster": [
        ("while reading", ("read",)),
        ("following requests", ("follow",)),
        ("running a command that reads", ("run",)),
        ("removing an etcd member", ("remove",)),
        ("writing", ("change", "delete")),
    ],
}

HEAD = """\
# API faults: what each module does

<!-- Made by `python -m tests.contract.reliability` from tests/contract/faults.py, which tests/contract/test_faults.py holds, and from the
     recorded outcomes of each fault, tests/contract/outcomes.json. -->

The tests run every module and the inventory plugin under every fault of these tables: once, and permanently, in every step of the
resource's lifecycle. [The last table](#modules-under-test) says how much of that has been run. In each case

- the run succeeds, or fails with one error of one line: the attempted request, the answer, and the request id (if there was an answer);
- there is no traceback, and the token is in no message;
- nothing is ordered twice, nothing is left over, and no unauthorized client joins;
- the run ends within its limits (`metal_api_timeout` or `api_timeout` for a call without an answer, `metal_api_retries`, `wait_timeout`)
  and does not overload the service;
- the result reports every change, also when the answer was lost;
- the same task run again without the fault leads to the same state as without any fault, and a third run changes nothing.

"Success or one clear error" depends on what the module needs of the answer; numbers in brackets count the outcomes of the runs. A dash
means that there is no such case, or that no request of the tested modules could meet the fault.
"""

TAIL = """
## Retries

- Calls that the service refuses because of its rate limit (429) are repeated after the time in its answer.
- Reads and deletes are repeated after errors of the service, lost connections and unreadable answers.
- After any other write whose answer was lost, the effect is read before the write is repeated.
- Pauses grow and are random, so that clients do not retry at the same time. If the service counts calls (`X-RateLimit-Remaining`,
  `X-RateLimit-Reset`), calls are spread over the rest of its window before it refuses one.
- The modules of etcd run `etcdctl` in a pod, through the API server and over a WebSocket (GET, whatever the command does). A command that
  only reads is run in another pod if there is no answer. After a lost answer to the removal of a member the members are read again before
  it is repeated.
- `etcd_backup` creates its pod again, with the same random name, if the answer to its creation was lost, so that no second backup is made.
- The cluster modules wait (`wait`) for an API server that does not answer as for any other pending condition; with `wait: false` it is an
  error at once.

`status.yml` prints a fault of an API as a part of the status: `tests/contract/test_status.py` has those of the Metal API that last,
`tests/cluster/test_status.py` a cluster that does not answer.

`dns_records` and `openshift_installer` use neither API: `tests/contract/test_zone.py` has the faults of DNS servers (refused, no answer,
half a message), `tests/contract/test_installer.py` those of a mirror (refused, truncated, files that do not match the signature).

## Which run may write to a cluster

    ansible-playbook install.yml        # on two computers at the same moment, as a job of AWX, after a kill -9

Only one run at a time writes to a cluster: the one that holds its **cluster lock**. A run is one `ansible-playbook`, or one task of
`metal_device_set` that is used alone. The lock is kept at the Metal API, which is the only thing that two controllers, jobs of AWX and
modules that outlive their playbook share. It is a virtual network with the tags `openshift-cluster=<name>.<domain>` and
`openshift-role=lock`, which costs nothing and is attached to no device; further tags record the run that holds the lock, its user, host
and job, since when, and when the lock was renewed.

- `install.yml`, `scale.yml`, `replace.yml`, `stop.yml`, `start.yml` and `destroy.yml` check for the lock of another run when they start,
  with one request. They take the lock
  before their first write to the Metal API and release it when they end, also when they fail. A run with nothing to do takes no lock and
  writes nothing.
- `install.yml` of a cluster whose bootstrap is not complete takes the lock at its start, before it restores or writes a file of the cluster
  folder. When it is about to create its first object, after `openshift-install` has ended and before devices are ordered, it verifies that
  no other run has held the lock meanwhile. `destroy.yml` takes it before it deletes anything at all, and deletes nothing if another run has
  created an object since the list that was confirmed.
- Anything that a module has read without the lock is discarded: once it holds the lock it reads again and decides anew.
- Before a write the lock is read again if the last read was more than 5 seconds ago, and after every pause. It is renewed when a third of
  its lifetime has passed (300 s), also in waits. No write is sent when the remaining lifetime is shorter than
  a request may take (`metal_api_timeout` and 5 s), and an expired lock is never renewed.
- After every pause of a create (429, a failed connection, waiting for the lock) the object is searched again before it is created.
- A module ends when its playbook has ended: it checks before each request, and each second of a pause.

| the run that holds the lock | the next run |
|---|---|
| runs on the same computer | fails at once and prints which run writes, since when, and how to break its lock |
| was killed on the same computer | continues `metal_api_timeout` and 5 s after that run's last write, which can no longer arrive |
| runs on another computer | waits until the lock is renewed, which proves that the run is alive, and fails |
| was killed on another computer | waits until the lock expires, and continues |
| has ended normally | continues |

On the same computer a run has ended when its process and all of its modules have ended: each keeps a locked file in the folder for
temporary files (`TMPDIR`), which the kernel unlocks however the module ends. A container has process ids of its own, so a run in another
container counts as one on another computer. To break the lock of a run that has certainly ended:

    ansible-playbook playbooks/unlock.yml -e openshift_unlock=<id of the lock>

The id is in the error message of the run that could not take the lock; `-e openshift_unlock=<id>` does the same as the first step of
these playbooks. Both print whose lock they break, and end when no request of that run can arrive any more.
If that run is alive after all, it notices before its next write, and takes the lock again unless another run holds it.

In playbooks of your own pass the run to modules as `cluster_lock`, see `metal_cluster_lock`. Without it `metal_device_set` takes the lock
of its ownership tags during the task, and waits for other runs; other modules take no lock. If two runs order a device of the same name
nevertheless, `metal_device` and `metal_device_set` find it in the next list: the run that ordered the younger device deletes it and
reports it in its result (`duplicates`).

A project has a quota of virtual networks, of which each cluster that is being written to needs one. If the quota is used up, or if the
service has no virtual networks, runs fail with that message; with `openshift_lock=false` they run without the lock.

### Limits

- **Lists that are not up to date.** The Metal API has no compare-and-swap: a run holds the lock when a list has its lock object and no
  other. If two runs take it at the same moment and the service returns to each only its own, both hold it. The second list after an order
  is for that case.
- **Requests that arrive late.** A write that the service executes later than `metal_api_timeout` and 5 s after it was sent may coincide
  with another run. The same holds for a write of a computer that was suspended between the last read of the lock and the request, for
  longer than the lock's lifetime.
- **A broken lock whose run is alive.** Until its next check that run may send one more request, which is waited for.
- **Writes to other services.** DNS records, published files and the cluster's own API have no such lock. A run with nothing to write at
  the Metal API may change them at the same time as another run, which makes the same changes. `playbooks/approve.yml` takes no lock.
- **Clients without the lock**: the console, other tools, modules without `cluster_lock`, and runs with `openshift_lock=false`.

### Costs

A run that changes nothing sends one more request (a list of virtual networks); without a folder of the cluster it first reads the objects
with the cluster's tag (four lists at most). A run that writes sends the list, the create, a second list and the delete of the lock
object, one read of it for each module that writes, and one read and one update for each 100 seconds.

### Tests

`tests/unit/plugins/module_utils/test_lock_protocol.py` tries every interleaving of two and three runs that may be killed at every step,
and shows that without any one of the rules a device is ordered twice. `tests/contract/test_cluster_lock.py` starts runs at the same
moment against the sandbox, with writes that take seconds. `python -m tests.e2e.kills` kills playbooks at {moments} moments that a seed
decides, while a module waits after a 429, during a create and during a delete: the main process, its process group, or all processes; and
at once runs the playbook again or destroys the cluster. Afterwards there has to be one device of each name, ordered once, or none, and no
device may appear after the deletion has ended. The playbooks have only the roles that write devices, with the lock: in none of the
{moments} moments of seed 7 a device was ordered twice, left over, or created late.
"""


def page() -> str:
    found = outcomes.read(everything())
    parts = [HEAD, "\n## The Metal API\n\n", _table("metal", found), "\n## The cluster's API\n\n", _table("cluster", found)]
    return "".join([*parts, "\n## Modules under test\n\n", _subjects(found), TAIL.replace("{moments}", str(MOMENTS))])


def _table(service: Service, found: outcomes.Outcomes) -> str:
    columns = COLUMNS[service]
    lines = [
        f"| fault | {' | '.join(title for title, _kinds in columns)} | permanently |\n",
        "|---" * (len(columns) + 2) + "|\n",
    ]
    notes: list[str] = []
    none = []
    for fault in FAULTS:
        verdicts = fault.verdicts(service)
        if not isinstance(verdicts, Verdicts):
            none.append(f"- {fault.title}: {verdicts}.\n")
            continue
        mark = ""
        if reason := fault.reason(service):
            if reason not in notes:
                notes.append(reason)
            mark = f" ({notes.index(reason) + 1})"
        cells = [_cell(verdicts.of(kinds[0]), _came(found, service, fault, kinds, always=False)) for _title, kinds in columns]
        every = tuple(kind for _title, kinds in columns for kind in kinds)
        cells.append(_cell(verdicts.always, _came(found, service, fault, every, always=True)))
        lines.append(f"| {fault.title}{mark} | {' | '.join(cells)} |\n")
    listed = "".join(f"{number}. {note[0].upper()}{note[1:]}.\n" for number, note in enumerate(notes, 1))
    return "".join(lines) + (f"\n{listed}" if listed else "") + "\nNot applicable:\n\n" + "".join(none)


def _came(found: outcomes.Outcomes, service: Service, fault: Fault, kinds: Collection[str], *, always: bool) -> Counter[str]:
    """Return how often each outcome was recorded, over all subjects."""
    return Counter(
        came
        for subject in SUBJECTS
        if subject.service == service
        for meeting, came in found.get(subject.title, {}).get(fault.name, {}).items()
        if meeting.split(" ")[0] in kinds and meeting.endswith(" always") == always
    )


def _cell(verdict: Verdict | None, came: Counter[str]) -> str:
    met = {name: count for name, count in sorted(came.items(), reverse=True) if name != "none"}
    if verdict is None or (came and not met):
        return "-"
    if not met:
        return WORDS[verdict]
    if len(met) == 1:
        return WORDS["success" if "success" in met else "error"]
    return " or ".join(f"{WORDS['success' if name == 'success' else 'error']} ({count})" for name, count in met.items())


def _subjects(found: outcomes.Outcomes) -> str:
    """Return the table of runs by subject; the ordinary suite runs a part of all combinations."""
    lines = ["| module | run | of | success | one clear error | fault not met |\n", "|---|---|---|---|---|---|\n"]
    possible = everything()
    for subject in SUBJECTS:
        came = Counter(word for faults in found.get(subject.title, {}).values() for word in faults.values())
        whole = sum(len(steps) for (title, _fault), steps in possible.items() if title == subject.title)
        lines.append(f"| `{subject.title}` | {came.total()} | {whole} | {came['success']} | {came['error']} | {came['none']} |\n")
    return "".join(lines)


def everything() -> dict[tuple[str, str], list[str]]:
    """Return every step in which a subject can meet a fault."""
    return {
        (subject.title, fault.name): [" ".join((*meeting, *more)) for meeting in subject.meetings for more in ((), ("always",))]
        for subject in SUBJECTS
        for fault in FAULTS
        if isinstance(fault.verdicts(subject.service), Verdicts)
    }


if __name__ == "__main__":
    outcomes.take_up(everything())
    PAGE.write_text(page(), encoding="utf-8")

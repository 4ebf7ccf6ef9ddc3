"""Writes docs/generated/reliability.md from the fault table and what became of it: ``python -m tests.contract.reliability``.

Takes up what runs of the whole table (``pytest -m long tests/contract``) have written down since, of one module or of all.
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
    "cluster": [("while reading", ("read",)), ("following requests", ("follow",)), ("approving", ("change",))],
}

HEAD = """\
# What goes wrong on the way, and what becomes of it

<!-- Made by `python -m tests.contract.reliability` from tests/contract/faults.py, which tests/contract/test_faults.py holds, and from the
     recorded outcomes of each fault, tests/contract/outcomes.json. -->

Every module and the inventory plugin are to meet every trouble of these tables: once, and as long as it lasts, in every step of the life
of what they look after. How much of that was tried by now is told at the end. In each case

- it ends in success, or in one error of one line that says what was attempted, what was answered, and the request's id (as far as there was
  an answer);
- there is no traceback, and the token is in no message;
- nothing is ever ordered twice, nothing is left over, and no stranger is let in;
- it ends within its limits (`metal_api_timeout` or `api_timeout` for a silent call, `metal_api_retries`, `wait_timeout`) and does not
  besiege the service meanwhile;
- what it changed it says, also when the answer was lost;
- the same task run once more, without the trouble, brings about exactly what it does without any, and a third run is quiet.

"Success or one clear error" depends on what the module needs of the answer; how often it was which is said behind it, as far as it was
tried. A dash says that there is no such case, or that nobody who was tried had anything to meet.
"""

TAIL = """
How it is done: calls the service refused for their number (429) are repeated after the time it asks for; reads and deletes are repeated
after faults of the service, lost connections and unreadable answers; of every other write whose answer was lost the effect is looked up
before it is made again. The pauses grow and are spread, so that many callers do not come back at once. Where the service counts calls
(`X-RateLimit-Remaining`, `X-RateLimit-Reset`), they are spread over what is left of its window before it refuses one. The modules of the
cluster wait (`wait`) for an API that does not answer as for anything else that is still missing; with `wait: false` it is an error at once.

`dns_records` speaks to neither: what it says of a DNS server that refuses, is silent or answers with half a message is in
`tests/contract/test_zone.py`. `openshift_installer` reads a mirror: what it says of one that refuses, is cut off or has other files than it
signs is in `tests/contract/test_installer.py`.

## Which run may write to a cluster

    ansible-playbook install.yml        # on two computers at the same moment, as a job of AWX, after a kill -9

Only one run at a time writes to a cluster: the one that holds its **cluster lock**. A run is one `ansible-playbook`, or one task of
`metal_device_set` that is used by itself. The lock is kept at the Metal API, which is all that two controllers, jobs of AWX and modules
that outlive their playbook have in common. It is a virtual network with the tags `openshift-cluster=<name>.<domain>` and
`openshift-role=lock`, which costs nothing and touches no device; further tags say which run holds it, of which user, host and job, since
when, and when it was renewed.

- `install.yml`, `scale.yml` and `destroy.yml` look for the lock of another run when they begin, with one request. They take the lock
  before their first write to the Metal API (`destroy.yml` before it deletes anything at all) and release it when they end, also when they
  fail. A run with nothing to do takes none and writes nothing.
- What a module has read without the lock is thrown away: once the lock is taken it reads again and decides anew.
- Before a write the lock is read again when that was more than 5 seconds ago, and after every pause. It is renewed when a third of its
  lifetime is over (`openshift_lock_lifetime`, 300 s), also in waits. No write is sent when less is left of it than a request may take
  (`metal_api_timeout` and 5 s), and an expired lock is never renewed.
- After every pause of a create (429, a connection that was not made, waiting for the lock) what is to be created is looked for again.
- A module ends when its playbook does not run any more: it looks before each request, and each second of a pause.

| the run that holds the lock | the next run |
|---|---|
| runs on the same computer | fails at once and says who writes, since when, and how the lock is broken |
| was killed on the same computer | goes on when what that run had sent is over: `metal_api_timeout` and 5 s after its last write |
| runs elsewhere | waits until the lock is renewed, which is when it is sure, and fails |
| was killed elsewhere | waits until the lock expires, and goes on |
| has ended well | goes on |

A run is known to have ended on the same computer when its process is gone and none of its modules runs any more: each keeps a file locked
in the folder for temporary files (`TMPDIR`), which the kernel unlocks whatever ends the module. A container has process ids of its own,
so what ends in another one is seen as elsewhere. To break the lock of a run that has certainly ended:

    ansible-playbook playbooks/unlock.yml -e openshift_unlock=<id of the lock>

The id stands in the message of the run that could not go on; `-e openshift_unlock=<id>` does the same as the first step of `install.yml`,
`scale.yml` and `destroy.yml`. Both say whose lock they break, and end when nothing which that run had sent can arrive any more. If that
run is alive after all, it finds out before its next write, and takes the lock again unless another run has it.

In tests of your own, in other playbooks: give tasks the run as `cluster_lock`, see `metal_cluster_lock`. Without it `metal_device_set`
takes the lock of its ownership tags for the time of the task, and waits for others; other modules take none. Where two runs order a
device of the same name all the same, `metal_device` and `metal_device_set` see it in the next list: the younger of the two is deleted by
the run that ordered it, and the result says so (`duplicates`).

A project has a quota of virtual networks, of which each cluster that is being written to needs one. Where there is no room for it, or
where the service has no virtual networks, runs fail and say so; with `openshift_lock=false` they go without the lock.

### What it cannot guarantee

- **Lists that lag behind.** The Metal API has no compare-and-swap: a run holds the lock when a list shows its lock object and no other.
  If two runs take it at the same moment and the service shows each only its own, both hold it. The second look after an order is for that
  case.
- **Requests that arrive late.** A write that the service carries out later than `metal_api_timeout` and 5 s after it was sent may meet
  another run. So may one of a computer that was frozen between the last look at the lock and the request, for longer than the lock
  lasted.
- **A lock that is broken while its run is alive**: until that run looks the next time it may send one more request, which is waited for.
- **What is no request to the Metal API.** DNS records, published files and the cluster's own API have no such lock. A run that has found
  nothing to write at the Metal API may work on them beside another one, which does the same work. `playbooks/approve.yml` takes no lock.
- **Whoever does not ask**: the console, other tools, modules without `cluster_lock`, and runs with `openshift_lock=false`.

### What it costs

A run that changes nothing sends one request more (a list of virtual networks), and one without a folder of the cluster reads what exists
with the cluster's tag before anything else (four lists at most). One that writes sends the list, the create, a second list
and the delete of the lock object, one read of it for each module that writes, and one read and one update for each 100 seconds that it
lasts.

### How it was tried

`tests/unit/plugins/module_utils/test_lock_protocol.py` tries every interleaving of two and three runs that may be killed at every step,
and shows that without any one of the rules a device is bought twice. `tests/contract/test_cluster_lock.py` has runs at the same moment
against the sandbox, with writes that take seconds. `python -m tests.e2e.kills` kills playbooks at {moments} moments that a seed decides,
while a module waits after a 429, during a create and during a delete: the main process, its group, or all that runs; and at once runs the
playbook again or destroys the cluster. In the end there has to be one device of each name, ordered once, or none, and none that comes
after `destroy.yml` has ended. With `--writes` the playbooks have only the roles that write devices, with the lock: of the {moments}
moments of seed 7 none bought a device twice, left one, or had one come later.
"""


def page() -> str:
    found = outcomes.read(everything())
    parts = [HEAD, "\n## The Metal API\n\n", _table("metal", found), "\n## The cluster's API\n\n", _table("cluster", found)]
    return "".join([*parts, "\n## Who has met them\n\n", _subjects(found), TAIL.replace("{moments}", str(MOMENTS))])


def _table(service: Service, found: outcomes.Outcomes) -> str:
    columns = COLUMNS[service]
    lines = [
        f"| trouble | {' | '.join(title for title, _kinds in columns)} | when it does not pass |\n",
        "|---" * (len(columns) + 2) + "|\n",
    ]
    notes: list[str] = []
    none = []
    for fault in FAULTS:
        verdicts = fault.verdicts(service)
        if not isinstance(verdicts, Verdicts):
            none.append(f"- {fault.told}: {verdicts}.\n")
            continue
        mark = ""
        if reason := fault.reason(service):
            if reason not in notes:
                notes.append(reason)
            mark = f" ({notes.index(reason) + 1})"
        cells = [_cell(verdicts.of(kinds[0]), _came(found, service, fault, kinds, always=False)) for _title, kinds in columns]
        every = tuple(kind for _title, kinds in columns for kind in kinds)
        cells.append(_cell(verdicts.always, _came(found, service, fault, every, always=True)))
        lines.append(f"| {fault.told}{mark} | {' | '.join(cells)} |\n")
    told = "".join(f"{number}. {note[0].upper()}{note[1:]}.\n" for number, note in enumerate(notes, 1))
    return "".join(lines) + (f"\n{told}" if told else "") + "\nNo such case:\n\n" + "".join(none)


def _came(found: outcomes.Outcomes, service: Service, fault: Fault, kinds: Collection[str], *, always: bool) -> Counter[str]:
    """How often it came to what, over all subjects."""
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
    """How much of the table each has been through; the ordinary suite takes a part of it, the whole takes its time."""
    lines = ["| who | tried | of | success | one clear error | nothing to meet |\n", "|---|---|---|---|---|---|\n"]
    possible = everything()
    for subject in SUBJECTS:
        came = Counter(word for faults in found.get(subject.title, {}).values() for word in faults.values())
        whole = sum(len(steps) for (title, _fault), steps in possible.items() if title == subject.title)
        lines.append(f"| `{subject.title}` | {came.total()} | {whole} | {came['success']} | {came['error']} | {came['none']} |\n")
    return "".join(lines)


def everything() -> dict[tuple[str, str], list[str]]:
    """Every step in which a subject can meet a trouble."""
    return {
        (subject.title, fault.name): [" ".join((*meeting, *more)) for meeting in subject.meetings for more in ((), ("always",))]
        for subject in SUBJECTS
        for fault in FAULTS
        if isinstance(fault.verdicts(subject.service), Verdicts)
    }


if __name__ == "__main__":
    outcomes.take_up(everything())
    PAGE.write_text(page(), encoding="utf-8")

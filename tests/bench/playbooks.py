"""The example cluster's life, and what each playbook asks of the API."""

from pathlib import Path

from tests.bench.figures import Report, Table, columns
from tests.e2e.harness import User

SPEED = 240


def bench(report: Report, folder: Path) -> None:
    report.note("playbooks: the example cluster is installed, checked, scaled and destroyed")
    table = Table(
        f"The example cluster, machines at {SPEED} times life",
        columns("playbook | seconds = .1f | reads | writes | changed"),
    )
    with User(folder, speed=SPEED).at_work() as user:
        for title, playbook in (
            ("install", "install.yml"),
            ("install again", "install.yml"),
            ("scale, nothing to do", "scale.yml"),
            ("status", "status.yml"),
            ("destroy", "destroy.yml"),
        ):
            run = (user.destroy() if playbook == "destroy.yml" else user.play(playbook)).ended_well()
            table.row(title, run.seconds, len(run.requests) - len(run.writes), len(run.writes), run.changed)
            if title in {"install again", "scale, nothing to do", "status"}:
                report.target(f"{title}: writes", str(len(run.writes)), "0", met=not run.writes)
    report.show(table)

"""``make nightly PART=bench``: what things cost, in calls to the API and in seconds, and how that grows.

Ends with 1 when a figure misses its target. Times are of the computer this runs on: what is judged are calls, growth and shares.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from tests.bench import device_set, install, inventory, ironic, joining, overhead, playbooks, sandbox, scaling
from tests.bench.figures import Report

BENCHES: dict[str, Callable[[Report, Path], None]] = {
    "inventory": inventory.bench,
    "device_set": device_set.bench,
    "sandbox": sandbox.bench,
    "ironic": ironic.bench,
    "joining": joining.bench,
    "playbooks": playbooks.bench,
    "overhead": overhead.bench,
    "install": install.bench,
    "scaling": scaling.bench,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("benches", nargs="*", metavar="BENCH", help=f"some of them only: {', '.join(BENCHES)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures and targets to FILE as well")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.benches) - set(BENCHES))
    if unknown:
        parser.error(f"no such bench: {', '.join(unknown)}")
    console = Console(width=None if sys.stdout.isatty() else 140)
    # Ended from outside, it ends its sandboxes too.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    report, started = Report(console), time.monotonic()
    for name, bench in BENCHES.items():
        if not arguments.benches or name in arguments.benches:
            with tempfile.TemporaryDirectory(prefix=f"bench-{name}-") as folder:
                bench(report, Path(folder))
    report.show_targets()
    console.print(f"measured in {time.monotonic() - started:.0f} s")
    if arguments.json:
        report.write(arguments.json)
    for missed in report.missed:
        print(f"missed: {missed.name}: {missed.figure}, wanted {missed.wanted}", file=sys.stderr)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())

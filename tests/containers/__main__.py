"""``python -m tests.containers [PYTEST ARGUMENT ...]``: run the tests of machines that are containers, in a network namespace.

They are skipped, or fail with CI=true, where the computer cannot run containers.
"""

import os
import sys
from pathlib import Path

from metal_api.state_folder import StartError
from sandbox.machine_kinds import MachineKinds
from sandbox.openshift.binaries import BinariesError, ensure_kube_vip
from sandbox.serve import enter_for

try:
    ensure_kube_vip()
    enter_for("pytest", [str(Path(__file__).parent), *sys.argv[1:]], MachineKinds.parse("container"))
except (StartError, BinariesError) as error:
    print(f"tests/containers: skipped: {error}")
    sys.exit(int(os.environ.get("CI") == "true"))

"""``python -m tests.kernels [PYTEST ARGUMENT ...]``: run the tests of machines with a kernel of their own, in a network namespace.

They are skipped, or fail with CI=true, where the computer cannot run these machines.
"""

import os
import sys
from pathlib import Path

from rich.console import Console

from metal_api.state_folder import StartError
from sandbox import namespace
from sandbox.kernels.image import ensure_image
from sandbox.openshift.binaries import BinariesError, ensure_binaries, ensure_kubelet

console = Console(stderr=True)
try:
    ensure_image(console)
    ensure_binaries(console)
    ensure_kubelet(console)
    namespace.enter("pytest", [str(Path(__file__).parent), *sys.argv[1:]], as_root=True)
except (StartError, BinariesError) as error:
    print(f"tests/kernels: skipped: {error}")
    sys.exit(int(os.environ.get("CI") == "true"))

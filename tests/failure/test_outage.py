"""An outage of the Metal API in the middle of a task is reported while it lasts."""

import subprocess
import sys
from pathlib import Path

import yaml

from sandbox.testing.process import RunningSandbox
from tests.failure.failing import environment_of

DEVICE = {
    "hostname": "outage-0.failing.metal.test",
    "plan": "c3.small.x86",
    "metro": "da",
    "operating_system": "ubuntu_24_04",
    "ownership_tags": ["openshift-cluster=outage.metal.test"],
}
MODULE = "equinix_metal.openshift.metal_device"


def test_the_line_comes_before_the_end_of_the_task(tmp_path: Path, sandbox: RunningSandbox, sandbox_environment: dict[str, str]) -> None:
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars": {"ansible_python_interpreter": sys.executable},
        "tasks": [
            {"name": "Create it", MODULE: DEVICE | {"wait_timeout": 300, "progress_interval": 5}},
            {"name": "Delete it", MODULE: DEVICE | {"state": "absent"}},
        ],
    }
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play], sort_keys=False), encoding="utf-8")
    sandbox.call("POST", "faults", json={"method": "GET", "path": "/devices", "status": 503})
    process = subprocess.Popen(
        [Path(sys.executable).parent / "ansible-playbook", "-i", "localhost,", tmp_path / "play.yml"],
        env=environment_of(sandbox_environment),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    seen = []
    try:
        for line in process.stdout:
            seen.append(line)
            if "has served no request for 30 s" in line:
                sandbox.call("DELETE", "faults")
    finally:
        sandbox.call("DELETE", "faults")
        process.wait(120)
    output = "".join(seen)
    assert process.returncode == 0, output
    # Without the line the API would have stayed down, and the task would have failed.
    assert "the API returned 503" in next(line for line in seen if "has served no request" in line)
    assert "The Metal API serves requests again, after" in output
    assert output.index("serves requests again") < output.index("changed: [localhost]")

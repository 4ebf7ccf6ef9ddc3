"""Why no default plan could be chosen is a problem of each machine that needs one, not an error."""

import socket
from typing import Any

from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.rules.machines import with_default_plans
from ansible_collections.equinix_metal.openshift.plugins.plugin_utils.world.default_plans import collect

MACHINES: dict[str, Any] = {
    "control_plane": [{"hostname": "master-0.demo", "role": "control-plane", "metro": "da", "plan": "c3.small.x86"}],
    "workers": [{"hostname": "worker-0.demo", "role": "worker", "metro": "da"}],
}
SETTINGS: dict[str, Any] = {
    "machines": MACHINES,
    "cluster_name": "demo",
    "base_domain": "metal.test",
    "metal_api_url": "",
    "metal_api_token": "x",
    "metal_project_id": "2b70eb8f-fa18-47c0-aba7-222a842362fd",
    "timeout": 5,
    "metal_api_retries": 0,
}


def test_a_service_that_does_not_answer() -> None:
    with socket.socket() as closed:
        # Bound and not listening: connections are refused.
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/metal/v1"
        plans = collect({**SETTINGS, "metal_api_url": url})
    (worker,) = with_default_plans(MACHINES["workers"], plans)
    assert worker["plan_problem"].startswith("no default plan can be chosen: ")
    assert "plan" not in worker
    assert with_default_plans(MACHINES["control_plane"], plans) == MACHINES["control_plane"]

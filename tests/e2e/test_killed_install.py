"""A killed install that is not repeated: the service terminates its bootstrap device."""

from pathlib import Path

import pytest

from tests.e2e.harness import Moment, User, until

pytestmark = [pytest.mark.e2e, pytest.mark.long]

TIMEOUTS = "provision_wait_timeout=140 provision_bootstrap_timeout=140 cluster_bootstrap_timeout=140"
PATIENCE = ("-e", f"provision_bootstrap_lifetime=150 {TIMEOUTS}")


def test_the_bootstrap_device_of_a_killed_install_is_terminated(tmp_path: Path) -> None:
    user = User(tmp_path, speed=600)
    with user.at_work():
        # The role after the machines were ordered.
        killed = user.play("install.yml", *PATIENCE, kill=Moment("dns"))
        assert killed.code == -9, killed.tail
        assert "bootstrap-0" in user.hostnames()
        until(lambda: "bootstrap-0" not in user.hostnames(), within=220, what="the bootstrap machine has ended")
        assert user.hostnames() == ["master-0", "master-1", "master-2"]
        user.leaves_nothing()

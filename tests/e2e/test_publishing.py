"""Installs whose boot files another host publishes, over SSH, which is gone at the end; and one that changes to a bucket halfway."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.boot_files.methods import Method, host, object_storage
from tests.e2e.harness import NAME, Moment, User
from tests.ports import may_listen

pytestmark = [pytest.mark.e2e, pytest.mark.long]

NODES = ["master-0", "master-1", "master-2", "worker-0", "worker-1"]


@pytest.fixture
def user(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[User]:
    """A sandbox of its own; object storage needs one that answers at the vendor's names, at port 443."""
    storage = "object_storage" in request.node.name
    if storage and not may_listen(443):
        pytest.skip("needs port 443: root, or the sysctl net.ipv4.ip_unprivileged_port_start")
    user = User(tmp_path / "user", speed=600, vendor_names=storage)
    user.folder.mkdir()
    with user.at_work():
        yield user


def choose(user: User, method: Method) -> None:
    own = user.userdata if method.name == "object_storage" else {}
    # Constants of a role are set by -e alone.
    user.constants = {name: value for name, value in method.variables.items() if name.startswith("__")}
    variables = {name: value for name, value in method.variables.items() if name not in user.constants}
    desired = {"all": {"vars": {**variables, **own}, "hosts": {"publisher": method.host} if method.host else {}}}
    (user.inventory / "03-publishing.yml").write_text(yaml.safe_dump(desired), encoding="utf-8")


@pytest.mark.debian("openssh-server")
def test_an_unreachable_publisher_does_not_block_destroy(user: User, tmp_path: Path) -> None:
    with host(user.cluster, tmp_path / "workspace") as method:
        choose(user, method)
        user.play("install.yml", kill=Moment("provision", 3.0))
        assert user.hostnames()
        off = user.play("destroy.yml", "-e", f"openshift_destroy_confirm={NAME}", "-e", "ansible_port=1")
        assert off.code != 0
        assert "Make sure this host can be reached over ssh" in off.flat, off.tail
        assert user.sandbox.inventory_is_empty()
        assert (user.cluster / "ignition").exists(), "what is needed to take the rest away"
        user.destroy().ended_well()
        assert not user.cluster.exists()
        assert list((method.workspace / "run").iterdir()) == []


def test_object_storage_is_refused_while_machines_boot_from_the_controller(user: User, tmp_path: Path) -> None:
    """What was ordered has the addresses of one method, and is lost when nothing answers there any more."""
    user.play("install.yml", kill=Moment("cluster", 1.0))
    assert (ordered := user.hostnames())
    with object_storage(user.cluster, tmp_path / "workspace") as method:
        choose(user, method)
        refused = user.play("install.yml")
        assert refused.code != 0
        assert f"{ordered[0]}.{NAME}" in refused.flat, refused.tail
        assert "were ordered with addresses of the method controller" in refused.flat
        assert method.objects == []
        (user.inventory / "03-publishing.yml").unlink()
        user.play("install.yml").ended_well()
        assert user.nodes() == NODES
    user.leaves_nothing()
    assert not user.processes()

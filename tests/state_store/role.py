"""The role state_store alone, in a play of its own."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from sandbox.testing.process import REPOSITORY
from tests.boot_files.storage import ACCESS_KEY, SECRET_KEY
from tests.role_play import constants, played

CLUSTER = "demo.metal.test"
PASSWORD = "pl4nted password of the archive"
KUBEADMIN = "pl4nt-edKub"


def folder_of(path: Path, infra_id: str = "demo-abc12") -> Path:
    """Create a cluster folder with the files of an install."""
    (path / "ignition" / "auth").mkdir(parents=True)
    (path / "ignition" / "metadata.json").write_text(json.dumps({"infraID": infra_id}), encoding="utf-8")
    (path / "ignition" / "auth" / "kubeadmin-password").write_text(KUBEADMIN, encoding="utf-8")
    return path


def play(folder: Path, *verbs: str, check: bool = False, **variables: Any) -> tuple[int, str]:
    """Run files of tasks of the role, one after the other; return how the play ended and what was printed, which has no secret."""
    tasks = [
        {
            "name": f"Run {verb}",
            "ansible.builtin.include_role": {"name": "equinix_metal.openshift.state_store", "tasks_from": verb},
            "vars": constants(variables),
        }
        for verb in verbs
    ]
    given = {
        "openshift_cluster_name": "demo",
        "openshift_base_domain": "metal.test",
        "openshift_directory": str(folder),
        "openshift_state_password": PASSWORD,
        "ansible_python_interpreter": sys.executable,
        **variables,
    }
    playbook = folder.parent / "play.json"
    content = [{"name": "Store", "hosts": "localhost", "connection": "local", "gather_facts": False, "vars": given, "tasks": tasks}]
    playbook.write_text(json.dumps(content), encoding="utf-8")
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / "collections"), "ANSIBLE_NOCOLOR": "1"}
    arguments = ["-i", "localhost,", "-vvv", "--diff", *(["--check"] if check else [])]
    code, output = played(playbook, *arguments, environment=environment)
    assert not [secret for secret in (PASSWORD, SECRET_KEY, ACCESS_KEY, KUBEADMIN) if secret in output]
    return code, output

"""Kubeconfigs of one cluster and one user."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


def write_kubeconfig(path: Path, cluster: Mapping[str, Any], user: Mapping[str, Any]) -> Path:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "admin",
        "clusters": [{"name": "demo", "cluster": dict(cluster)}],
        "users": [{"name": "admin", "user": dict(user)}],
        "contexts": [{"name": "admin", "context": {"cluster": "demo", "user": "admin"}}],
    }
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path

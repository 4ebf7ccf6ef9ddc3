"""The wheel of the Metal API server: it is installed without a checkout."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    built = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(built, check=True, capture_output=True)
    (made,) = folder.iterdir()
    return made


def test_it_has_the_server_with_its_data_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.partition("/")[0] for name in names} == {"metal_api", f"metal_api-{PROJECT['version']}.dist-info"}
    tracked = subprocess.run(["git", "ls-files", "metal_api"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    assert set(tracked) <= names


def test_it_runs_where_no_checkout_is(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target), str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    for command in ([str(target / "bin" / "metal-api")], [sys.executable, "-m", "metal_api"]):
        ran = subprocess.run(
            [*command, "serve", "--help"], cwd=tmp_path, env={"PYTHONPATH": str(target)}, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert "--rack" in ran.stdout


def test_its_dependencies_are_ranges_around_the_tested_versions() -> None:
    lines = (ROOT / "requirements" / "metal-api.txt").read_text(encoding="utf-8").splitlines()
    tested = {Requirement(line).name: line.partition("==")[2] for line in lines if line and not line.startswith("#")}
    ranges = {requirement.name: requirement.specifier for requirement in map(Requirement, PROJECT["dependencies"])}
    assert ranges.keys() == tested.keys()
    assert not [name for name, version in tested.items() if not ranges[name].contains(version)]
    imported = {
        match[1]
        for path in (ROOT / "metal_api").rglob("*.py")
        for match in re.finditer(r"(?m)^(?:import|from) (\w+)", path.read_text(encoding="utf-8"))
    }
    # What the rack's own Ironic and its client bring along.
    brought = {"cotyledon", "ironic", "keystoneauth1", "sqlalchemy", "metal_api"}
    modules = {"PyYAML": "yaml", "openstacksdk": "openstack", "prometheus-client": "prometheus_client"}
    assert imported - set(sys.stdlib_module_names) - brought <= {modules.get(name, name) for name in ranges}

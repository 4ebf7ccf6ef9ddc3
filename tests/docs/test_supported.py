"""docs/supported.md lists the versions that the code has: each table of versions is the one that is computed here."""

from pathlib import Path

import yaml

from sandbox.openshift.installer import catalogue
from tools.matrix import read_table

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "supported.md").read_text(encoding="utf-8")


def rows(header: str) -> list[tuple[str, str]]:
    """Return the rows of the table with this header."""
    lines = PAGE.split(f"{header}\n| --- | --- |\n")[1].split("\n\n")[0].splitlines()
    return [(first.strip(), second.strip()) for first, second in (line.strip("| ").split(" | ") for line in lines)]


def test_versions_of_ansible_core_are_those_of_the_matrix() -> None:
    def numbers(pythons: tuple[str, ...]) -> str:
        return ", ".join(sorted(pythons, key=lambda number: int(number.split(".")[1])))

    assert rows("| ansible-core | Python of the controller |") == [(each.series, numbers(each.pythons)) for each in read_table()]


def test_collections_are_those_of_the_metadata() -> None:
    dependencies = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["dependencies"]
    assert dict(rows("| collection | version |")) == dependencies


def test_releases_are_those_of_the_sandbox_s_mirror() -> None:
    listed = {release.split(" ")[0]: kubernetes for release, kubernetes in rows("| release | Kubernetes |")}
    versions = (*catalogue.VERSIONS, *catalogue.OKD_VERSIONS)
    assert listed == {version: catalogue.release(version, "x86_64").kubernetes for version in versions}

"""The table of install-configs, ``install_configs.yml``, as tests read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Literal

import yaml

TABLE: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "install_configs.yml").read_text(encoding="utf-8"))
GROUND: dict[str, Any] = TABLE["ground"]

Answer = Literal["accepted", "warned", "refused"]


@dataclass(frozen=True)
class InstallConfigCase:
    """One entry of the table, with its names put in."""

    entry: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    @property
    def installer(self) -> Answer:
        answer: Answer = self.entry["installer"]
        return answer

    @property
    def variables(self) -> dict[str, Any]:
        """Of the inventory."""
        return {**GROUND, **self.entry.get("variables", {})}

    @property
    def texts(self) -> list[str]:
        """Pieces of what the installer says."""
        text = self.entry.get("text", [])
        return [text] if isinstance(text, str) else list(text)

    @property
    def preflight(self) -> tuple[str, str, list[str]]:
        """Verdict, check and texts of preflight. A case that it has nothing to say of has no check."""
        if "preflight" in self.entry:
            verdict, check, text = self.entry["preflight"]
            return verdict, check, [text]
        verdict = {"accepted": "passed", "warned": "warning", "refused": "failed"}[self.installer]
        return verdict, self.entry.get("check", ""), [text.strip("[],") for text in self.texts]


def cases() -> list[InstallConfigCase]:
    names = {name: str(value) for name, value in TABLE["names"].items()}
    return [InstallConfigCase(_filled(entry, names)) for entry in TABLE["cases"]]


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return Template(value).safe_substitute(names)
    if isinstance(value, list):
        return [_filled(item, names) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, names) for key, item in value.items()}
    return value

"""What the bench measured: tables of figures, and which of them had a target."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

Figure = float | int | str | None


@dataclass(frozen=True)
class Column:
    """``form``: how a figure is written (format specification); one that is missing is a dash."""

    name: str
    form: str = ","

    def shown(self, figure: Figure) -> str:
        if figure is None:
            return "-"
        return figure if isinstance(figure, str) else format(figure, self.form)


def columns(text: str) -> list[Column]:
    """Return the columns of ``name | name = form``."""
    return [Column(*(part.strip() for part in each.split(" = "))) for each in text.split("|")]


@dataclass
class Table:
    title: str
    columns: list[Column]
    notes: list[str] = field(default_factory=list)
    rows: list[list[Figure]] = field(default_factory=list)

    def row(self, *figures: Figure) -> None:
        if len(figures) != len(self.columns):
            raise ValueError(f"{self.title}: {len(figures)} figures for {len(self.columns)} columns")
        self.rows.append(list(figures))


@dataclass(frozen=True)
class Target:
    """``figure``: what was measured, as it is shown."""

    name: str
    figure: str
    wanted: str
    met: bool


class Report:
    """Shows each table as soon as it is whole, and at the end the targets."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tables: list[Table] = []
        self.targets: list[Target] = []

    def note(self, text: str) -> None:
        """What is being measured now: it takes minutes."""
        self._console.print(f"[dim]{text} ...[/dim]")

    def show(self, table: Table) -> None:
        self._tables.append(table)
        shown = RichTable(title=table.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
        for column in table.columns:
            shown.add_column(column.name, justify="right")
        for row in table.rows:
            shown.add_row(*(column.shown(figure) for column, figure in zip(table.columns, row, strict=True)))
        self._console.print(shown)
        for note in table.notes:
            self._console.print(f"  {note}", style="dim")
        self._console.print()

    def target(self, name: str, figure: str, wanted: str, *, met: bool) -> None:
        self.targets.append(Target(name, figure, wanted, met))

    @property
    def missed(self) -> list[Target]:
        return [target for target in self.targets if not target.met]

    def show_targets(self) -> None:
        shown = RichTable(title="Targets", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
        for name in ("figure", "measured", "wanted", ""):
            shown.add_column(name)
        for target in self.targets:
            shown.add_row(target.name, target.figure, target.wanted, "[green]met[/green]" if target.met else "[bold red]MISSED[/bold red]")
        self._console.print(shown)

    def write(self, path: Path) -> None:
        tables: list[dict[str, Any]] = [
            {"title": each.title, "notes": each.notes, "rows": [_named(each.columns, row) for row in each.rows]} for each in self._tables
        ]
        path.write_text(json.dumps({"tables": tables, "targets": [vars(each) for each in self.targets]}, indent=2), encoding="utf-8")


def _named(columns: list[Column], row: list[Figure]) -> dict[str, Figure]:
    return {column.name: figure for column, figure in zip(columns, row, strict=True)}

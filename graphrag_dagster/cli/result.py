"""What a command has found: JSON for scripts, lines and tables for people."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Literal

import polars as pl
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from graphrag_dagster.cli.console import OUT, print_json
from graphrag_dagster.kernel.common.printable import shorten

_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows that people are shown as a table; numbers stand right, null is a dash.

    Attributes:
        rows: what is shown.
        title: what stands above.
        names: headings by column, where the column's own words do not do.
        most: how many rows are shown, the others are counted (the command has ``--all``); default: all.
        bare: whether it stands without lines, and each row in one line of the terminal.
        styles: by row; default: none.
    """

    rows: pl.DataFrame
    title: str | None = None
    names: Mapping[str, str] | None = None
    most: int | None = None
    bare: bool = False
    styles: Sequence[str | None] = ()


#: A line of plain text, a line with styles, a table, or anything that rich renders.
Part = str | Text | Frame | RenderableType


@dataclass(frozen=True, slots=True)
class Result:
    """What a command has found.

    Attributes:
        facts: what ``--json`` gives, or a function that finds it; frames in it become lists of rows,
            dataclasses objects.
        shown: what people see, in order; only gone through where it is shown.
        notes: lines below in yellow.
        code: exit code.
    """

    facts: Mapping[str, Any] | Sequence[Any] | Callable[[], Any]
    shown: Iterable[Part] = ()
    notes: Sequence[str] = ()
    code: int = 0


def show(result: Result, *, as_json: bool) -> int:
    """Print a result and return its exit code."""
    if as_json:
        print_json(_plain(result.facts() if callable(result.facts) else result.facts))
        return result.code
    for part in result.shown:
        say(part)
    OUT.warn(*result.notes)
    return result.code


def say(part: Part) -> None:
    """Print a part of a result."""
    match part:
        case str():
            OUT.say(part, markup=False)
        case Text():
            OUT.print(part, soft_wrap=True)
        case Frame():
            OUT.print(table(part))
            if part.most is not None and (more := part.rows.height - part.most) > 0:
                OUT.print(f"… {more:,} more: --all", style="dim", markup=False)
        case _:
            OUT.print(part)


@contextmanager
def quiet(wanted: bool) -> Iterator[None]:
    """Keep standard output free for JSON within the block."""
    OUT.quiet = wanted
    try:
        yield
    finally:
        OUT.quiet = False


def table(frame: Frame) -> Table:
    """Return rows as a table of rich."""
    look: dict[str, Any] = {"box": None, "padding": (0, 1, 0, 0)} if frame.bare else {}
    made = Table(title=Text(frame.title) if frame.title else None, title_justify="left", **look)
    for name, kind in frame.rows.schema.items():
        justify: Literal["left", "right"] = "right" if kind.is_numeric() else "left"
        heading = (frame.names or {}).get(name, name.replace("_", " "))
        made.add_column(Text(heading), justify=justify, overflow="fold", no_wrap=frame.bare)
    shown = frame.rows if frame.most is None else frame.rows.head(frame.most)
    for row, values in enumerate(shown.iter_rows()):
        style = frame.styles[row] if row < len(frame.styles) else None
        made.add_row(*(Text(cell(value)) for value in values), style=style)
    return made


def facts_table(rows: Iterable[tuple[str, str | Text]]) -> Table:
    """Return labelled lines, their labels below each other."""
    made = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    made.add_column()
    made.add_column(overflow="fold")
    for label, line in rows:
        made.add_row(label, Text(line) if isinstance(line, str) else line)
    return made


def labelled(facts: Mapping[str, Any]) -> Table:
    """Return facts below each other, each beside its key in words."""
    return facts_table((key.replace("_", " "), cell(value)) for key, value in facts.items())


def cell(value: object) -> str:
    """Render a value of a table: numbers with separators, lists with commas."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            whole = math.isfinite(value) and (value == round(value) or abs(value) >= 100)
            return f"{value:,.0f}" if whole else f"{value:,.3g}"
        case list():
            return ", ".join(map(cell, value))
    return shorten(str(value), _LONGEST)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    match value:
        case pl.DataFrame():
            return value.to_dicts()
        case Mapping():
            return {key: _plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value

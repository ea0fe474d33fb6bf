"""Packing context units into chunks: seeded shuffle, greedy fill (paper §3.1.6, spec_graphrag §7)."""

import csv
import io
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from graphrag_dagster.core.errors import QuestionError
from graphrag_dagster.core.language.tasks import ContextUnit

Count = Callable[[str], int]
HEADER = "id|title|content"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Units that go into one map call: as records, rendered, and the tokens of each row."""

    units: tuple[ContextUnit, ...]
    rendered: str
    row_tokens: tuple[int, ...]


def row(unit: ContextUnit) -> str:
    """Render a unit as one row; quotes, bars and line breaks inside cells cannot end it."""
    buffer = io.StringIO()
    csv.writer(buffer, delimiter="|", lineterminator="").writerow([unit.id, unit.title, unit.text])
    return buffer.getvalue()


def render(units: Sequence[ContextUnit]) -> str:
    """Render units as a table with a header."""
    return "\n".join([HEADER, *(row(unit) for unit in units)])


def fill(units: Sequence[ContextUnit], *, count: Count, limit: int, seed: int) -> list[Chunk]:
    """Shuffle units and fill chunks one after the other, each unit into exactly one.

    Args:
        units: in an order that does not depend on ranks or arrival.
        count: tokens of a text.
        limit: most tokens of a rendered chunk, header included. A unit that does not fit alone is cut.
        seed: the same seed gives the same order.

    Raises:
        QuestionError: not even the header and the beginning of one unit fit.
    """
    shuffled = list(units)
    random.Random(seed).shuffle(shuffled)  # noqa: S311
    chunks: list[Chunk] = []
    current: list[ContextUnit] = []
    for unit in shuffled:
        if current and count(render([*current, unit])) > limit:
            chunks.append(_chunk(current, count))
            current = []
        current.append(unit if current else _fitting(unit, count, limit))
    if current:
        chunks.append(_chunk(current, count))
    return chunks


def _chunk(units: Sequence[ContextUnit], count: Count) -> Chunk:
    return Chunk(tuple(units), render(units), tuple(count(row(unit)) for unit in units))


def _fitting(unit: ContextUnit, count: Count, limit: int) -> ContextUnit:
    if count(render([unit])) <= limit:
        return unit
    low, high = 0, len(unit.text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(render([_cut(unit, middle)])) <= limit:
            low = middle
        else:
            high = middle - 1
    while low and count(render([_cut(unit, low)])) > limit:
        low -= 1
    if not low:
        raise QuestionError(
            f"a context of {limit} tokens cannot hold even the beginning of {unit.title!r}; raise "
            "search.context_tokens in corpus.yaml"
        )
    return _cut(unit, low)


def _cut(unit: ContextUnit, characters: int) -> ContextUnit:
    text = unit.text[:characters]
    kept = tuple(sentence for sentence in unit.sentences if sentence[0] in text)
    return replace(unit, text=text, sentences=kept)

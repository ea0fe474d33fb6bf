"""Packs context units into chunks: seeded shuffle, then greedy fill (GraphRAG paper §3.1.6)."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.questions.context.context_units import row_text
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit

Count = Callable[[str], int]
HEADER = "id|title|content"


@dataclass(frozen=True, slots=True)
class Chunk:
    """The units of one map call: as records, rendered as a table, and the tokens of each row."""

    units: tuple[ContextUnit, ...]
    rendered: str
    row_tokens: tuple[int, ...]


def row(unit: ContextUnit) -> str:
    """Render a unit as one row; quotes, bars and line breaks in cells are escaped."""
    return row_text([unit.id, unit.title, unit.text])


def render(units: Sequence[ContextUnit]) -> str:
    """Render units as a table with a header."""
    return "\n".join([HEADER, *map(row, units)])


def shuffle_units(units: Sequence[ContextUnit], seed: int) -> list[ContextUnit]:
    """Return the units in an order that depends only on the seed, their titles and texts."""
    return sorted(units, key=lambda unit: (stable_id(seed, unit.title, unit.text), unit.id))


def fill_chunks(units: Sequence[ContextUnit], *, count: Count, limit: int, seed: int) -> list[Chunk]:
    """Shuffle units and fill chunks one after the other, each unit into exactly one.

    Args:
        units: with ids that do not depend on ranks or arrival.
        count: counts the tokens of a text.
        limit: most tokens of a rendered chunk, header included. A unit too large for a chunk is cut.
        seed: the same seed gives the same order.

    Raises:
        QuestionError: not even the header and the beginning of one unit fit.
    """
    waiting = deque((unit, count("\n" + row(unit))) for unit in shuffle_units(units, seed))
    header = count(HEADER)
    chunks: list[Chunk] = []
    while waiting:
        taken: list[tuple[ContextUnit, int]] = []
        total = header
        while waiting and (total + waiting[0][1] <= limit or _fits([*taken, waiting[0]], count, limit)):
            taken.append(waiting.popleft())
            total += taken[-1][1]
        # The sum is an estimate; the limit applies to the tokens of the rendered whole.
        while len(taken) > 1 and not _fits(taken, count, limit):
            waiting.appendleft(taken.pop())
        if not taken or not _fits(taken, count, limit):
            first = taken.pop()[0] if taken else waiting.popleft()[0]
            cut = _shorten_to_fit(first, count, limit)
            taken = [(cut, count("\n" + row(cut)))]
        chosen = tuple(unit for unit, _ in taken)
        chunks.append(Chunk(chosen, render(chosen), tuple(tokens for _, tokens in taken)))
    return chunks


def first_that_fit(units: Iterable[ContextUnit], *, count: Count, limit: int) -> list[Chunk]:
    """Return one chunk of the leading units that fit, in their order; no chunk without units.

    No more units are read than those and the next.

    Raises:
        QuestionError: not even the header and the beginning of the first unit fit.
    """
    taken: list[tuple[ContextUnit, int]] = []
    total = count(HEADER)
    first: ContextUnit | None = None
    for unit in units:
        first = first or unit
        tokens = count("\n" + row(unit))
        if total + tokens > limit and not _fits([*taken, (unit, tokens)], count, limit):
            break
        taken.append((unit, tokens))
        total += tokens
    while len(taken) > 1 and not _fits(taken, count, limit):
        taken.pop()
    if first and (not taken or not _fits(taken, count, limit)):
        cut = _shorten_to_fit(first, count, limit)
        taken = [(cut, count("\n" + row(cut)))]
    chosen = tuple(unit for unit, _ in taken)
    return [Chunk(chosen, render(chosen), tuple(tokens for _, tokens in taken))] if chosen else []


def _fits(taken: Sequence[tuple[ContextUnit, int]], count: Count, limit: int) -> bool:
    return count(render([unit for unit, _ in taken])) <= limit


def _shorten_to_fit(unit: ContextUnit, count: Count, limit: int) -> ContextUnit:
    """Cut the unit's text so that the unit fits."""
    low, high = 0, len(unit.text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(render([shorten_unit(unit, middle)])) <= limit:
            low = middle
        else:
            high = middle - 1
    while low and count(render([shorten_unit(unit, low)])) > limit:
        low -= 1
    if not low:
        raise QuestionError(
            f"a context of {limit} tokens cannot hold even the beginning of {unit.title!r}; raise "
            "search.context_tokens in corpus.yaml"
        )
    return shorten_unit(unit, low)


def shorten_unit(unit: ContextUnit, characters: int) -> ContextUnit:
    """Return a unit with its text cut, and only the sentences that remain complete."""
    text = unit.text[:characters]
    normalised = " ".join(text.split())
    sentences = tuple(sentence for sentence in unit.sentences if sentence[0] in normalised)
    return replace(unit, text=text, sentences=sentences)


Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Packing:
    """A compact form of chunks: chunk i holds the units ``numbers[begins[i]:begins[i + 1]]``.

    Attributes:
        begins: where each chunk begins, and where the last one ends [chunks + 1].
        numbers: of the units, 1…
        characters: length of each unit's text, which may be cut.
        tokens: of each row.
    """

    begins: Numbers
    numbers: Numbers
    characters: Numbers
    tokens: Numbers

    @classmethod
    def of(cls, chunks: Sequence[Chunk]) -> "Packing":
        """Return the packing of chunks."""
        rows = [unit for chunk in chunks for unit in chunk.units]
        return cls(
            np.cumsum([0, *(len(chunk.units) for chunk in chunks)], dtype=np.int64),
            np.array([unit.id for unit in rows], dtype=np.int64),
            np.array([len(unit.text) for unit in rows], dtype=np.int64),
            np.array([tokens for chunk in chunks for tokens in chunk.row_tokens], dtype=np.int64),
        )

    def chunks(self, units: Sequence[ContextUnit]) -> list[Chunk]:
        """Rebuild the chunks from all units, given in the order of their numbers."""
        return [self._chunk(units, begin, end) for begin, end in pairwise(self.begins.tolist())]

    def _chunk(self, units: Sequence[ContextUnit], begin: int, end: int) -> Chunk:
        numbers, characters = self.numbers[begin:end].tolist(), self.characters[begin:end].tolist()
        packed = (units[number - 1] for number in numbers)
        chosen = tuple(
            unit if len(unit.text) == length else shorten_unit(unit, length)
            for unit, length in zip(packed, characters, strict=True)
        )
        return Chunk(chosen, render(chosen), tuple(self.tokens[begin:end].tolist()))

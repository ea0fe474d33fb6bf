"""A context during packing: rows in the order they were added, and the exact end of the budget."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.tasks.task_ports import RecordKind
from graphrag_dagster.systems.graphrag.reports.report_context import HEADERS, ElementRows, rendered

#: Rows that get in together or not at all: kind and place.
Step = Iterable[tuple[RecordKind, int]]


@dataclass(frozen=True, slots=True)
class _Mark:
    """Number of rows of each kind in a draft, and the sum of their tokens and headers."""

    sizes: tuple[int, ...]
    tokens: int


class NumberTokens:
    """Extra tokens of row numbers compared with the number 1, under which rows are counted."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._sums = [0]

    def extra_tokens(self, rows: int) -> int:
        """Return how many tokens the numbers 1…rows have more than as many ones."""
        for number in range(len(self._sums), rows + 1):
            self._sums.append(self._sums[-1] + self._count(str(number)) - self._count("1"))
        return self._sums[rows]


class Draft:
    """Chosen rows of each kind; grows step by step while the rendered text fits.

    Args:
        headers: tokens of the header of each kind.
        limit: most tokens of the rendered text.
        numbers: where the tokens of a text are those of its rows and headers together, what the numbers of
            the rows need; None where a text must be counted whole.
    """

    def __init__(
        self,
        rows: Mapping[RecordKind, ElementRows],
        headers: Mapping[RecordKind, int],
        count: Callable[[str], int],
        limit: int,
        numbers: "NumberTokens | None" = None,
    ) -> None:
        self._rows = rows
        self._headers = headers
        self._count = count
        self._limit = limit
        self._numbers = numbers
        self._chosen: dict[RecordKind, dict[int, None]] = {kind: {} for kind in HEADERS}
        self._tokens = 0
        self._counted: tuple[str, int] | None = None

    @property
    def tokens(self) -> int:
        """The sum of the tokens of the rows and headers."""
        return self._tokens

    def add(self, step: Step) -> None:
        """Take rows in, whether they fit or not; what is in already stays once."""
        for kind, place in step:
            chosen = self._chosen[kind]
            if place not in chosen:
                if not chosen:
                    self._tokens += self._headers[kind]
                chosen[place] = None
                self._tokens += self._rows[kind].tokens_of(place)

    def take(self, kind: RecordKind, places: NDArray[np.int64]) -> None:
        """Take rows of a kind of which none is in yet, whether they fit or not."""
        if len(places):
            self._tokens += self._headers[kind] + int(self._rows[kind].tokens(places).sum())
            self._chosen[kind] = dict.fromkeys(places.tolist())

    def grow(self, steps: Iterable[Step]) -> bool:
        """Take steps in until the first that does not fit; return whether all did.

        The sum of the tokens of rows says where to look; the tokens of the rendered text decide.
        """
        pending = iter(steps)
        marks = [self._mark()]

        def more() -> bool:
            for step in pending:
                self.add(step)
                marks.append(self._mark())
                return True
            return False

        while self._tokens <= self._limit and more():
            pass
        place = len(marks) - 1 if self._tokens <= self._limit else max(len(marks) - 2, 0)
        if self.fits(marks[place]):
            while (place + 1 < len(marks) or more()) and self.fits(marks[place + 1]):
                place += 1
        else:
            while place > 0 and not self.fits(marks[place]):
                place -= 1
        all_in = place + 1 == len(marks) and not more()
        self._cut(marks[place])
        return all_in

    def fits(self, mark: _Mark | None = None) -> bool:
        """Return whether the rendered text is within the limit."""
        mark = mark or self._mark()
        tokens = (
            self._count_whole(self.text(mark))
            if self._numbers is None
            else self._sum_of_rows(mark, self._numbers)
        )
        return tokens <= self._limit

    def rendered(self) -> tuple[str, int]:
        """Return the text and its tokens."""
        text = self.text()
        return text, self._count_whole(text) if self._numbers is None else self._sum_of_rows(
            self._mark(), self._numbers
        )

    def text(self, mark: _Mark | None = None) -> str:
        """Return the rendered text; with a mark, as it was there."""
        return rendered({kind: self._rows[kind].texts_at(self.places(kind, mark)) for kind in HEADERS})

    def places(self, kind: RecordKind, mark: _Mark | None = None) -> list[int]:
        """Return the chosen rows of a kind in the order of their numbers in the text."""
        sizes = dict(zip(HEADERS, (mark or self._mark()).sizes, strict=True))
        return sorted(islice(self._chosen[kind], sizes[kind]))

    def _count_whole(self, text: str) -> int:
        if self._counted is None or text != self._counted[0]:
            self._counted = (text, self._count(text))
        return self._counted[1]

    @staticmethod
    def _sum_of_rows(mark: _Mark, numbers: "NumberTokens") -> int:
        return mark.tokens + sum(map(numbers.extra_tokens, mark.sizes))

    def _mark(self) -> _Mark:
        return _Mark(tuple(map(len, self._chosen.values())), self._tokens)

    def _cut(self, mark: _Mark) -> None:
        for chosen, size in zip(self._chosen.values(), mark.sizes, strict=True):
            while len(chosen) > size:
                chosen.popitem()
        self._tokens = mark.tokens

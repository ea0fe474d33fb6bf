"""Declaration of a query template."""

import re
from dataclasses import dataclass
from functools import cached_property

#: Words of any number, and the same or a group of a narrower pattern.
_WORDS, _SLOT = re.compile(r"(?<!\?P)<(\w+)>"), re.compile(r"<(\w+)>")


@dataclass(frozen=True)
class Template:
    """A form of questions, and the query that answers them.

    Attributes:
        name: of the template.
        examples: questions that it answers; the first stands for it where there is room for one.
        asks: patterns of questions without period, folder and politeness, in whatever capitals; ``<slot>``
            stands for any words, of which slots make parameters, pieces of SQL and words.
        sql: select over tables and the parts of queries; ``{piece}`` stands for SQL of a slot. Words of
            the text unit ``text_unit_id`` are cited with a row.
        order: how its rows are ordered.
        says: how the question was read; ``{where}`` is which documents are meant.
        item: a line for each row, with ``{column}``.
        table: whose rows they are; none where they are groups.
        key: column with the key of that table.
        most: rows shown unless the question says how many.
        names: fewest and most entities that may be named, or words that are looked for.
        ranks: it is asked for the first rows, not for how many there are.
        dated: rows without a ``date`` are left out, and counted.
    """

    name: str
    examples: tuple[str, ...]
    asks: tuple[str, ...]
    sql: str
    order: str
    says: str
    item: str
    table: str = ""
    key: str = ""
    most: int = 20
    names: tuple[int, int] = (1, 1)
    ranks: bool = False
    dated: bool = False

    @cached_property
    def slots(self) -> frozenset[str]:
        """The slots of all patterns."""
        return frozenset(name for pattern in self.asks for name in _SLOT.findall(pattern))

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """The patterns, each slot a group of its name."""
        return tuple(re.compile(_WORDS.sub(r"(?P<\1>.+?)", one), re.IGNORECASE) for one in self.asks)

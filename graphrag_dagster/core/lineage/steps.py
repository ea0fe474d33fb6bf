"""The way from a row to the words it rests on."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Words:
    """Characters ``start_char`` to ``end_char`` of a document's text, and the sentences around them.

    ``exact``: the words themselves are known; otherwise they are the whole text unit that the row came from,
    or those of its sentences that name both ends of a relationship.
    """

    document_id: str
    document_title: str
    path: str
    text_unit_id: str
    start_char: int
    end_char: int
    quotation: str
    sentence_start: int
    sentence_end: int
    sentence: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """A row on the way: what it is, what it says, the words it rests on, and the rows it was made from.

    ``facts`` are further columns of the row; ``left_out`` counts the rows below that are not in ``steps``.
    """

    kind: str
    id: str
    title: str
    text: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[Words, ...] = ()
    steps: tuple["Step", ...] = ()
    left_out: int = 0

    def all_words(self) -> Iterator[Words]:
        """Yield the words of this row and of all below."""
        yield from self.words
        for step in self.steps:
            yield from step.all_words()

    def to_dict(self) -> dict[str, Any]:
        """Return the row and all below as values that JSON can hold."""
        return asdict(self)

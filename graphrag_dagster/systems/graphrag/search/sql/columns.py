"""Properties of documents: columns of table-like files, and metadata of other files."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.scope.selecting import metadata_in
from graphrag_dagster.kernel.retrieval.words import words

_LONGEST_VALUE = 1000


@dataclass(frozen=True, slots=True)
class Property:
    """Keys of the documents' metadata that are the same words; ``numeric``: some values are numbers."""

    keys: tuple[str, ...]
    numeric: bool

    @property
    def key(self) -> str:
        """As it is told: the first of the keys."""
        return self.keys[0]


def property_named(phrase: str, index: IndexSnapshot, *, numeric: bool = False) -> Property | None:
    """Return the property that a phrase names, without case and signs; None for none.

    Args:
        phrase: its name; a plural is one too.
        index: of the corpus.
        numeric: only one that has numbers.
    """
    known = index.once(_properties)
    wanted = tuple(words(phrase))
    shorter = (*wanted[:-1], wanted[-1].removesuffix("s")) if wanted else ()
    found = known.get(wanted) or known.get(shorter)
    return found if found and (found.numeric or not numeric) else None


def property_and_value(phrase: str, index: IndexSnapshot) -> tuple[Property, str] | None:
    """Return the property that a phrase begins with, the longest, and the value that follows it."""
    parts = phrase.split()
    for count in range(len(parts) - 1, 0, -1):
        if found := property_named(" ".join(parts[:count]), index):
            rest = parts[count:]
            if rest[0].lower() in {"is", "=", "of", "equal"} and len(rest) > 1:
                rest = rest[1:]
            return found, " ".join(rest).strip("\"'“”")[:_LONGEST_VALUE]
    return None


def properties(index: IndexSnapshot) -> tuple[Property, ...]:
    """Return the properties of all documents, in the order in which they come."""
    return tuple(index.once(_properties).values())


def _properties(index: IndexSnapshot) -> Mapping[tuple[str, ...], Property]:
    values = index.once(metadata_in).group_by("key", maintain_order=True)
    found: dict[tuple[str, ...], Property] = {}
    for key, numeric in values.agg(pl.col("number").is_not_null().any()).iter_rows():
        known = found.get(name := tuple(words(key)), Property((), False))
        found[name] = Property((*known.keys, key), known.numeric or numeric)
    return found

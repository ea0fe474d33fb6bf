"""Properties of documents: columns of table-like files, and what other files say of themselves."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.retrieval.words import words

_LONGEST_VALUE = 1000


@dataclass(frozen=True, slots=True)
class Property:
    """A key of the documents' metadata; ``numeric``: some of its values are numbers."""

    key: str
    numeric: bool

    @property
    def pointer(self) -> str:
        """Where it stands in the metadata, as a JSON pointer."""
        return "/" + self.key.replace("~", "~0").replace("/", "~1")


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
    numeric: dict[str, bool] = {}
    for text in index.documents["metadata"]:
        for key, value in json.loads(text or "{}").items():
            numeric[key] = numeric.get(key, False) or _is_number(value)
    found: dict[tuple[str, ...], Property] = {}
    for key, numbers in numeric.items():
        found.setdefault(tuple(words(key)), Property(key, numbers))
    return found


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return True
    try:
        float(value if isinstance(value, str) else "")
    except ValueError:
        return False
    return True

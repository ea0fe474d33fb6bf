"""Metadata of documents as typed values."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping

import polars as pl

from graphrag_dagster.kernel.common.values import value_of
from graphrag_dagster.kernel.tables import DOCUMENT_METADATA

#: A longer text is no value that anybody filters by.
LONGEST_VALUE = 1_000
#: Values of one document that are taken: a file of rows may hold a thousand columns, and lists in each.
_MOST_VALUES = 2_000


def metadata_of(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of ``corpus.document_metadata`` for rows of ``corpus.documents``.

    Everything else of the metadata stays in ``corpus.documents``.
    """
    return DOCUMENT_METADATA.frame(
        row
        for document_id, metadata in documents.select("document_id", "metadata").iter_rows()
        for row in _rows(document_id, metadata)
    )


def values_in(metadata: str) -> Iterator[tuple[str, object]]:
    """Yield the values of a JSON object with their keys, those inside others under keys with dots."""
    found = json.loads(metadata) if metadata else {}
    yield from _values("", found if isinstance(found, Mapping) else {})


def _rows(document_id: str, metadata: str) -> Iterator[dict[str, object]]:
    places: Counter[str] = Counter()
    for key, written in values_in(metadata):
        value = value_of(written)
        if not value.text or len(value.text) > LONGEST_VALUE:
            continue
        yield {
            "document_id": document_id,
            "key": key,
            "position": places[key],
            **value.columns(),
        }
        places[key] += 1
        if places.total() == _MOST_VALUES:
            return


def _values(key: str, written: object) -> Iterator[tuple[str, object]]:
    if isinstance(written, Mapping):
        for name, inner in written.items():
            yield from _values(f"{key}.{name}" if key else str(name), inner)
    elif isinstance(written, list):
        for inner in written:
            yield from _values(key, inner)
    elif written is not None:
        yield key, written

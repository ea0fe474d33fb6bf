"""Fingerprints of reports: a hash of everything a report is written from; the same hash, the same report.

It covers a community's rows, their documents, its context nodes, and likewise its sub-communities, whose
reports may replace them. More than is used may be in it, never less. The short numbers of records are not
part of it, because they shift with every new one: a report is kept with the numbers of its own context, and
these are resolved again.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.systems.graphrag.reports.context_nodes import Attached
from graphrag_dagster.systems.graphrag.reports.elements import Elements
from graphrag_dagster.systems.graphrag.resolution.applying import Resolved

_BYTES = 16
_Digests = NDArray[np.uint8]
_Places = NDArray[np.int64]


class Fingerprints:
    """Hashes of what reports are written from.

    Args:
        basis: what decides all reports beside the tables: code, engine, model, settings.
        elements: the indexed graph.
        attached: the context nodes of each community, by its id.
        entities: rows of ``graph.entities``.
        relationships: rows of ``graph.relationships``.
        text_chunks: rows of ``corpus.text_chunks``.
        gleaned_entities: rows of ``extraction.gleaned_entities``.
        gleaned_relationships: rows of ``extraction.gleaned_relationships``.
        aliases: rows of ``resolution.aliases``.
    """

    def __init__(
        self,
        basis: str,
        elements: Elements,
        attached: Mapping[str, Sequence[Attached]],
        *,
        entities: pl.DataFrame,
        relationships: pl.DataFrame,
        text_chunks: pl.DataFrame,
        gleaned_entities: pl.DataFrame,
        gleaned_relationships: pl.DataFrame,
        aliases: pl.DataFrame,
    ) -> None:
        self._basis = basis
        self._elements = elements
        self._attached = attached
        units = text_chunks.sort("human_readable_id").select(
            "text_unit_id", "start_char", "end_char", document=pl.col("document_id").rle_id().cast(pl.Int64)
        )
        resolved = Resolved(aliases, text_chunks)
        named = resolved.named(gleaned_entities, "name").join(units, on="text_unit_id")
        stated = (
            resolved.named(gleaned_relationships, "source", "target")
            .join(units, on="text_unit_id")
            .with_columns(
                source=pl.min_horizontal("source", "target"), target=pl.max_horizontal("source", "target")
            )
        )
        self._documents = _of_documents(units, named, stated)
        self._named_in = _documents_of(entities.sort("name"), named, "name")
        self._stated_in = _documents_of(relationships.sort("source", "target"), stated, "source", "target")
        self._entities, self._edges = _of_entities(elements), _of_edges(elements)

    def of(self, communities: pl.DataFrame) -> dict[str, str]:
        """Return the fingerprint of each community by its id.

        Args:
            communities: rows of ``graph.communities``.
        """
        found: dict[str, str] = {}
        for name in communities.sort("level", descending=True)["community_id"]:
            community = self._elements.communities[name]
            told = [self._basis, *(f"{child} {found[child]}" for child in community.children)]
            parts = [self._of_records(community.members, community.edges)]
            for node in self._attached.get(name, ()):
                told.append(f"{node.home} {node.similarity!r}")
                parts.append(self._of_records(np.array([node.entity]), np.array(node.edges, dtype=np.int64)))
            told_of = _digest("\n".join(told).encode("utf-8", "surrogatepass"))
            found[name] = _digest(b"".join([told_of, *parts])).hex()
        return found

    def _of_records(self, entities: _Places, edges: _Places) -> bytes:
        """Hash of rows in their order, and of the documents that they are found in."""
        found = [self._named_in[one] for one in entities] + [self._stated_in[one] for one in edges]
        documents = np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)
        rows = (self._entities[entities], self._edges[edges], self._documents[documents])
        return _digest(b"".join(_digest(digests.tobytes()) for digests in rows))


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_BYTES).digest()


def _digests(texts: Iterable[str]) -> _Digests:
    found = b"".join(_digest(text.encode("utf-8", "surrogatepass")) for text in texts)
    return np.frombuffer(found, np.uint8).reshape(-1, _BYTES)


def _of_entities(elements: Elements) -> _Digests:
    """Of each entity: its row, and the claims about it."""
    claims = list(map("\n".join, zip(elements.claims.ids, elements.claims.texts, strict=True)))
    rows = zip(elements.entities.ids, elements.entities.texts, elements.entity_values, strict=True)
    about = (elements.claims_of.get(place, ()) for place in range(len(elements.entity_values)))
    return _digests(
        "\n".join([name, text, *map(str, values), *(claims[one] for one in found)])
        for (name, text, values), found in zip(rows, about, strict=True)
    )


def _of_edges(elements: Elements) -> _Digests:
    rows = zip(
        elements.relationships.ids, elements.relationships.texts, elements.relationship_values, strict=True
    )
    return _digests("\n".join([name, text, *map(str, values)]) for name, text, values in rows)


def _of_documents(units: pl.DataFrame, named: pl.DataFrame, stated: pl.DataFrame) -> _Digests:
    """Of each document, in the order of the corpus: its units, and what was found where in them."""
    lines = [
        _lines(units, "text_unit_id", "start_char", "end_char"),
        _lines(named, "text_unit_id", "name", "spans"),
        _lines(stated, "text_unit_id", "source", "target", "spans"),
    ]
    by_document = pl.concat(lines).sort("document", "line").group_by("document", maintain_order=True)
    return _digests(by_document.agg(pl.col("line").str.join("\n"))["line"])


def _lines(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    return rows.select("document", line=pl.struct(columns).struct.json_encode())


def _documents_of(records: pl.DataFrame, found: pl.DataFrame, *keys: str) -> list[_Places]:
    """The numbers of the documents that each record is found in, in the order of the records."""
    by_record = found.select(*keys, "document").unique().group_by(keys).agg(pl.col("document").sort())
    aligned = records.select(keys).join(by_record, on=keys, how="left", maintain_order="left")["document"]
    ends = aligned.list.len().fill_null(0).cum_sum().to_list()
    documents = aligned.drop_nulls().explode().to_numpy()
    return [documents[start:end] for start, end in pairwise([0, *ends])]
